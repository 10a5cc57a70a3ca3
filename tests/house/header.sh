# The public headers stand alone in C and C++, and warn nobody. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

printf '#include <%s>\n' crumb_parallel.h crumb_exchange.h crumb.h >alone.c
cp alone.c alone.cc
for standard in c99 c11; do
	check "$standard" "$CC" -std=$standard -pedantic -Wall -Wextra -Werror -I"$SOURCE/include" -c alone.c -o alone.o
done
case $CC in
*clang*) cxx=clang++ ;;
*) cxx=g++ ;;
esac
if command -v $cxx >/dev/null; then
	check "c++11" $cxx -std=c++11 -pedantic -Wall -Wextra -Werror -I"$SOURCE/include" -c alone.cc -o alone.o
else
	echo "skipped: no $cxx here"
	exit 77
fi
finish
