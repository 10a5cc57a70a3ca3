# Every global symbol of the libraries begins with crumb_, and they import only functions that move and compare bytes.
# SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

nm -D --defined-only "$SHARED" | awk '{ print $NF }' | sed 's/@.*//' >shared
nm -g --defined-only "$STATIC" 2>/dev/null | awk 'NF == 3 { print $NF }' >static
for library in "$EXCHANGE_STATIC" ${EXCHANGE_MPI_STATIC:+"$EXCHANGE_MPI_STATIC"}; do
	nm -g --defined-only "$library" 2>/dev/null | awk 'NF == 3 { print $NF }' >"$(basename "$library")"
done
for library in shared static *.a; do
	holds "$library: there are symbols" test -s $library
	grep -v '^crumb_' $library >others
	holds "$library: only crumb_: $(tr '\n' ' ' <others)" test ! -s others
done

# exports LIBRARY HEADER...: the shared library exports what the headers declare, and nothing else.
exports() {
	nm -D --defined-only "$1" | awk '{ print $NF }' | sed 's/@.*//' | sort >exported
	shift
	(cd "$SOURCE/include" && sed -n 's/^CRUMB_API .*[ *]\(crumb_[a-z0-9_]*\)(.*/\1/p' "$@") | sort >declared
	holds "exports are what $* declare: $(diff declared exported | tr '\n' ' ')" cmp -s declared exported
}
exports "$SHARED" crumb.h crumb_parallel.h
exports "$EXCHANGE" crumb_exchange.h
[ -z "${EXCHANGE_MPI:-}" ] || exports "$EXCHANGE_MPI" crumb_exchange_mpi.h
sed -n 's/^CRUMB_API .*[ *]\(crumb_[a-z0-9_]*\)(.*/\1/p' "$SOURCE"/include/crumb_exchange*.h >functions
holds "the exchange has at most a dozen functions" test "$(wc -l <functions)" -le 12
holds "all with its prefix" sh -c '! grep -v "^crumb_exchange_" functions'

# The library imports no function with which it could allocate, print, start a thread, obey the locale or read the
# environment. Names that begin with an underscore are the compiler's.
allowed='_.*|crumb_.*|bcmp|mem(chr|cmp|cpy|move|set)|str(chr|cmp|cspn|len|ncmp|spn)|getauxval'
nm -D --undefined-only "$SHARED" | awk '{ print $NF }' | sed 's/@.*//' >shared
nm -u "$STATIC" 2>/dev/null | awk 'NF == 2 { print $2 }' | sort -u >static
for library in shared static; do
	holds "$library: there are imports" test -s $library
	grep -Evx "$allowed" $library >others
	holds "$library: nothing but bytes: $(tr '\n' ' ' <others)" test ! -s others
done
finish
