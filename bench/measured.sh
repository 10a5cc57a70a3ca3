# The beginning of the scripts that measure, which source it with their arguments after they have set results, the file
# in bench/results. It sets build, a built tree ($BUILD, or build), file, where the rows go (the argument, or results),
# and work, a folder that is removed in the end. SPDX-License-Identifier: MIT
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
: >>"$file" # a file that cannot be written is told before all that time
work=$(mktemp -d)
trap 'rm -rf "$work"; [ -s "$file" ] || [ ! -f "$file" ] || rm "$file"' EXIT
trap 'exit 1' HUP INT TERM
