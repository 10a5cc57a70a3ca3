# The beginning of the scripts that measure on emulated networks, which source it with their arguments after they have
# set results, the file in bench/results. It sets build, a built tree ($BUILD, or build), file, where the rows go (the
# argument, or results), and work, a folder that is removed in the end. It skips where no network can be emulated.
# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034 # its variables are for others
set -eu
case $#${1:-} in
0 | 1[!-]*) ;;
*)
	sed -n '2,/SPDX/{/SPDX/d;s/^# \{0,1\}//;p}' "$0" >&2
	exit 2
	;;
esac
case ${1:-} in
'') file=bench/results/$results ;;
/*) file=$1 ;;
*) file=$PWD/$1 ;;
esac
cd "$(dirname "$0")/.."
build=${BUILD:-build}
EMULATOR=$build/bench/emulator
# Open MPI's own choice of algorithm is up to half again as slow, which would make crumb look better than it is.
OMPI_MCA_coll_tuned_use_dynamic_rules=1
OMPI_MCA_coll_tuned_allreduce_algorithm=4
export EMULATOR OMPI_MCA_coll_tuned_use_dynamic_rules OMPI_MCA_coll_tuned_allreduce_algorithm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# emulated HOSTS MBIT DELAY_US PROGRAM [ARGUMENT]...: what it prints, or what went wrong.
emulated() {
	status=0
	bench/emulate "$@" 2>"$work/log" || status=$?
	[ $status = 0 ] || cat "$work/log" >&2
	return $status
}
emulated 4 100 100 true
: >>"$file" # or it cannot be written, before all that time
