# Every global symbol of the libraries begins with crumb_, and they import only functions that move and compare bytes.
# SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

nm -D --defined-only "$SHARED" | awk '{ print $NF }' | sed 's/@.*//' >shared
nm -g --defined-only "$STATIC" 2>/dev/null | awk 'NF == 3 { print $NF }' >static
for library in shared static; do
	holds "$library: there are symbols" test -s $library
	grep -v '^crumb_' $library >others
	holds "$library: only crumb_: $(tr '\n' ' ' <others)" test ! -s others
done

# The shared library exports what the headers declare, and nothing else.
sed -n 's/^CRUMB_API .*[ *]\(crumb_[a-z0-9_]*\)(.*/\1/p' "$SOURCE"/include/*.h | sort >declared
sort shared >exported
holds "exports are what the headers declare: $(diff declared exported | tr '\n' ' ')" cmp -s declared exported

# The library imports no function with which it could allocate, print, start a thread or read the environment. Names
# that begin with an underscore are the compiler's.
allowed='_.*|crumb_.*|bcmp|mem(chr|cmp|cpy|move|set)|str(chr|cmp|cspn|len|ncmp|spn)|getauxval'
nm -D --undefined-only "$SHARED" | awk '{ print $NF }' | sed 's/@.*//' >shared
nm -u "$STATIC" 2>/dev/null | awk 'NF == 2 { print $2 }' | sort -u >static
for library in shared static; do
	holds "$library: there are imports" test -s $library
	grep -Evx "$allowed" $library >others
	holds "$library: nothing but bytes: $(tr '\n' ' ' <others)" test ! -s others
done
finish
