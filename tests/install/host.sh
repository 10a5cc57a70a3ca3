# Inside another CMake project crumb is its library alone, and changes nothing of that project's.
# SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

printf '%s\n' all clean depend edit_cache install install/local install/strip list_install_components on_crumb \
	on_static rebuild_cache crumb_shared crumb_static crumb_ISA | sort >wanted
printf '%s\n' on_exchange crumb_exchange crumb_exchange_objects crumb_exchange_shared \
	${MPI:+crumb_exchange_mpi crumb_exchange_mpi_shared} | sort - wanted >wanted_exchange
# project BY EXCHANGE WANTED OPTION...: crumb is in the project as BY says; with its exchange ON or OFF.
project() {
	by=$1 exchange=$2 wanted=$3
	shift 3
	check "$by" "$CMAKE" -S "$SOURCE/tests/install/host" -B "$by" -G "Unix Makefiles" -DBY="$by" \
		-DCRUMB_EXCHANGE="$exchange" -DCRUMB_SOURCE="$SOURCE" -DCMAKE_C_COMPILER="$CC" "$@"
	"$CMAKE" --build "$by" --target help | sed -n '/\.[ios]$/d; s/ (the default.*//; s/^\.\.\. //p' |
		sed -E 's/^crumb_(portable|sse2|avx2|avx512|neon)$/crumb_ISA/' | sort -u >targets
	holds "$by: these targets, no others: $(diff $wanted targets | tr '\n' ' ')" cmp $wanted targets
}
project add_subdirectory OFF wanted
project FetchContent ON wanted_exchange -DCMAKE_BUILD_TYPE=Debug -DCMAKE_UNITY_BUILD=ON
check "the project builds" "$CMAKE" --build FetchContent --parallel 2
for library in crumb static exchange; do
	check "on crumb::$library" ./FetchContent/on_$library
	holds "on crumb::$library: what it prints" grep -q '^0\.5 -0\.5 0 0$' stdout
done
check "the project is installed" "$CMAKE" --install FetchContent --prefix "$folder/root"
holds "without crumb's files" test "$(cd root && find . -type f)" = ./bin/on_static
finish
