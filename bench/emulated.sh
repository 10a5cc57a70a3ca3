# The beginning of the scripts that measure on emulated networks: measured.sh's, and a function. It skips where no
# network can be emulated. SPDX-License-Identifier: MIT
# shellcheck shell=sh
. "$(dirname "$0")/measured.sh"

# emulated HOSTS MBIT DELAY_US PROGRAM [ARGUMENT]...: what it prints, or what went wrong.
emulated() {
	status=0
	bench/emulate "$@" 2>"$work/log" || status=$?
	[ $status = 0 ] || cat "$work/log" >&2
	return $status
}
emulated 4 100 100 true
