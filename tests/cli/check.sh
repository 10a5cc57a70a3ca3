# Shared functions of the shell tests; read with ".". SPDX-License-Identifier: MIT
#
# Each test runs in an empty folder of its own, ends with "N passed, N failed" and fails when one of its checks does.
# $CRUMB: the tool, $LIBRARY_RUN: library_run.c built, $PYTHON: one that has numpy, $SOURCE: the repository.
set -u
LC_ALL=C
export LC_ALL
passed=0 failed=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

pass() { passed=$((passed + 1)); }
fail() {
	failed=$((failed + 1))
	echo "FAILED: $*"
	cat stdout stderr 2>/dev/null
}

# check WHAT COMMAND...: the command succeeds; its output is in stdout and stderr.
check() {
	what=$1
	shift
	if "$@" >stdout 2>stderr; then pass; else fail "$what: status $?"; fi
}

# holds WHAT CONDITION...: the condition does; it may read what the last check left in stdout and stderr.
holds() {
	what=$1
	shift
	if "$@" >/dev/null; then pass; else fail "$what"; fi
}

# same WHAT FILE FILE: two files are equal, and not empty.
same() { holds "$1" sh -c 'test -s "$1" && cmp "$1" "$2"' same "$2" "$3"; }

# refused STATUS TEXT COMMAND...: the command exits with the status, TEXT stands in its message, and nothing else.
refused() {
	want=$1 text=$2
	shift 2
	"$@" >stdout 2>stderr
	got=$?
	if [ "$got" != "$want" ]; then
		fail "$*: status $got instead of $want"
	elif ! grep -qF -e "$text" stderr; then
		fail "$*: no \"$text\" in its message"
	elif [ -s stdout ]; then
		fail "$*: wrote to standard output"
	else
		pass
	fi
}

# Ends the test.
finish() {
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
	exit
}

need_numpy() {
	"$PYTHON" -c 'import numpy' 2>/dev/null && return
	echo "skipped: Python has no numpy here"
	exit 77
}
