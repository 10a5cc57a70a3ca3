# Every symbol that the libraries define for others begins with crumb_, and what they ask of others is to move and compare bytes. SPDX-License-Identifier: MIT
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

# It allocates nothing, prints nothing, starts no thread and reads no environment: there is nothing it could do so with. What begins
# with an underscore is the compiler's.
allowed='_.*|crumb_.*|bcmp|mem(chr|cmp|cpy|move|set)|str(chr|cmp|cspn|len|ncmp|spn)|getauxval'
nm -D --undefined-only "$SHARED" | awk '{ print $NF }' | sed 's/@.*//' >shared
nm -u "$STATIC" 2>/dev/null | awk 'NF == 2 { print $2 }' | sort -u >static
for library in shared static; do
	holds "$library: it asks for something" test -s $library
	grep -Evx "$allowed" $library >others
	holds "$library: nothing but bytes: $(tr '\n' ' ' <others)" test ! -s others
done
finish
