# A big-endian machine is refused in one clear line, whichever file comes first. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

"$CC" -U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__ -fsyntax-only -I"$SOURCE/include" -I"$SOURCE/src" \
	"$SOURCE"/src/*.c "$SOURCE"/src/*/*.c >stdout 2>stderr
holds "it does not compile" test $? != 0
holds "for one reason" test "$(grep -c 'error:' stderr)" = 1
holds "which is clear" grep 'error: .*crumb runs on little-endian hosts only' stderr
finish
