# Inside another CMake project crumb is its library alone, and changes nothing of that project's.
# SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

printf '%s\n' all clean depend edit_cache install install/local install/strip list_install_components on_crumb \
	on_static rebuild_cache crumb_shared crumb_static crumb_ISA | sort >wanted
printf '%s\n' on_exchange crumb_exchange crumb_exchange_objects crumb_exchange_shared \
	${MPI:+crumb_exchange_mpi crumb_exchange_mpi_shared} | sort - wanted >wanted_exchange
# project BY EXCHANGE WANTED: crumb is in the project as BY says; with its exchange ON or OFF.
project() {
	check "$1" "$CMAKE" -S "$SOURCE/tests/install/host" -B "$1" -G "Unix Makefiles" -DBY="$1" \
		-DCRUMB_EXCHANGE="$2" -DCRUMB_SOURCE="$SOURCE" -DCMAKE_C_COMPILER="$CC"
	"$CMAKE" --build "$1" --target help | sed -n '/\.[ios]$/d; s/ (the default.*//; s/^\.\.\. //p' |
		sed -E 's/^crumb_(portable|sse2|avx2|avx512|neon)$/crumb_ISA/' | sort -u >targets
	holds "$1: these targets, no others: $(diff "$3" targets | tr '\n' ' ')" cmp "$3" targets
}
project add_subdirectory OFF wanted
project FetchContent ON wanted_exchange
check "the project builds" "$CMAKE" --build FetchContent --parallel 2
for library in crumb static exchange; do
	check "on crumb::$library" ./FetchContent/on_$library
	holds "on crumb::$library: what it prints" grep -q '^0\.5 -0\.5 0 0$' stdout
done
check "the project is installed" "$CMAKE" --install FetchContent --prefix "$folder/root"
holds "without crumb's files" test "$(cd root && find . -type f)" = ./bin/on_static
finish
