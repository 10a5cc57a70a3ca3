# Each public header stands alone in C and C++, and warns nobody. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

case $CC in
*clang*) cxx=clang++ ;;
*) cxx=g++ ;;
esac
if ! command -v $cxx >/dev/null; then
	echo "skipped: no $cxx here"
	exit 77
fi
ln -s "$SOURCE/include" include # whose own path may have spaces
pkg-config --exists ompi-c || EXCHANGE_MPI= # whose mpi.h would be in the compiler's path
for header in crumb crumb_parallel crumb_exchange ${EXCHANGE_MPI:+crumb_exchange_mpi}; do
	printf '#include <%s.h>\n' "$header" >alone.c
	cp alone.c alone.cc
	flags="-pedantic -Wall -Wextra -Werror -Iinclude"
	[ $header != crumb_exchange_mpi ] || flags="$flags $(pkg-config --cflags ompi-c | sed 's/-I/-isystem /g')"
	for standard in c99 c11; do
		# shellcheck disable=SC2086 # a list
		check "$header, $standard" "$CC" -std=$standard $flags -c alone.c -o alone.o
	done
	# shellcheck disable=SC2086
	check "$header, c++11" $cxx -std=c++11 $flags -c alone.cc -o alone.o
done
finish
