# Every mutant of scripts/test-mutants is a change of the sources as they are, and a test that it names is there.
# SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

for patch in "$SOURCE"/tests/mutants/*.patch; do
	check "$(basename "$patch") applies" git -C "$SOURCE" apply --check "$patch"
done
sed -n 's/^Noticed by \(.*\)\.$/\1/p' "$SOURCE"/tests/mutants/*.patch | tr '|' '\n' | sort -u >named
holds "there are names" test -s named
cd "$SOURCE/tests" || exit 1
while read -r name; do
	case $name in
	reference) file=reference/test_reference.py ;;
	python_*) file=python/${name#python_}.py ;;
	cli_*) file=$(ls cli/"${name#cli_}".[sp]*) ;;
	mpi_*) file=mpi/${name#mpi_}.sh ;;
	test_*) file=$name.c ;;
	*) file=$name.sh ;;
	esac
	holds "there is a test $name" test -f "$file"
done <"$folder/named"
finish
