# Inside another CMake project crumb is its library alone, and changes nothing of that project's.
# SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

printf '%s\n' all clean depend edit_cache install install/local install/strip list_install_components on_crumb \
	on_static rebuild_cache crumb_shared crumb_static crumb_ISA | sort >wanted
for by in add_subdirectory FetchContent; do
	check "$by" "$CMAKE" -S "$SOURCE/tests/install/host" -B $by -G "Unix Makefiles" -DBY=$by \
		-DCRUMB_SOURCE="$SOURCE" -DCMAKE_C_COMPILER="$CC"
	"$CMAKE" --build $by --target help | sed -n '/\.[ios]$/d; s/ (the default.*//; s/^\.\.\. //p' |
		sed -E 's/^crumb_(portable|sse2|avx2|avx512|neon)$/crumb_ISA/' | sort -u >targets
	holds "$by: these targets, no others: $(diff wanted targets | tr '\n' ' ')" cmp wanted targets
done
check "the project builds" "$CMAKE" --build $by --parallel 2
for library in crumb static; do
	check "on crumb::$library" ./$by/on_$library
	holds "on crumb::$library: what it prints" grep -q '^0\.5 -0\.5 0 0$' stdout
done
check "with the exchange" "$CMAKE" -S "$SOURCE/tests/install/host" -B exchange -DBY=add_subdirectory \
	-DCRUMB_SOURCE="$SOURCE" -DCRUMB_EXCHANGE=ON -DCMAKE_C_COMPILER="$CC"
check "it builds" "$CMAKE" --build exchange --parallel 2 --target on_exchange
check "on crumb::exchange" ./exchange/on_exchange
holds "on crumb::exchange: what it prints" grep -q '^0\.5 -0\.5 0 0$' stdout
check "the project is installed" "$CMAKE" --install $by --prefix "$folder/root"
holds "without crumb's files" test "$(cd root && find . -type f)" = ./bin/on_static
finish
