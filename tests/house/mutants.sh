# Every mutant of scripts/test-mutants still is a change of the sources as they are. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

for patch in "$SOURCE"/tests/mutants/*.patch; do
	check "$(basename "$patch") applies" git -C "$SOURCE" apply --check "$patch"
done
finish
