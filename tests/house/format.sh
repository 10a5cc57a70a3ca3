# Every C file is as clang-format 14 writes it; other versions differ in details. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

if ! clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
	echo "skipped: no clang-format 14 here"
	exit 77
fi
find "$SOURCE"/include "$SOURCE"/src "$SOURCE"/exchange "$SOURCE"/nets "$SOURCE"/train "$SOURCE"/cli "$SOURCE"/bench \
	"$SOURCE"/measure "$SOURCE"/page "$SOURCE"/examples "$SOURCE"/tests -name '*.[ch]' >files
holds "there are files" test -s files
check "they are" sh -c 'tr "\n" "\0" <files | xargs -0 clang-format --dry-run -Werror'
finish
