# An installed tree has what it should, and the examples build against it wherever it lies. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

case $CC in
*clang*) cxx=clang++ ;;
*) cxx=g++ ;;
esac
for program in $cxx pkg-config readelf; do
	if ! command -v $program >/dev/null; then
		echo "skipped: no $program here"
		exit 77
	fi
done

check "cmake --install" env DESTDIR="$folder/root" "$CMAKE" --install "$BUILD" --prefix /opt/crumb
tree=$folder/root/opt/crumb
library=$tree/$LIBDIR

# ---- the files ----
major=${VERSION%%.*}
{
	echo ./bin/crumb
	echo ./bin/crumb-report
	echo ./include/crumb.h
	echo ./include/crumb_parallel.h
	echo ./$LIBDIR/libcrumb.so."$major"
	for part in '' _exchange ${MPI:+_exchange_mpi}; do
		for name in libcrumb$part.a libcrumb$part.so libcrumb$part.so."$VERSION" \
			pkgconfig/crumb"$(echo $part | tr _ -)".pc; do
			echo "./$LIBDIR/$name"
		done
		[ -z "$part" ] || printf '%s\n' "./include/crumb$part.h" "./$LIBDIR/libcrumb$part.so.${VERSION%.*}"
	done
	for name in config config-version core core-"$CONFIG" exchange exchange-"$CONFIG" \
		${MPI:+exchange_mpi exchange_mpi-"$CONFIG"}; do
		echo "./$LIBDIR/cmake/crumb/crumb-$name.cmake"
	done
	for tool in crumb ${CRUMB_TRAIN:+crumb-train}; do
		echo "./share/bash-completion/completions/$tool"
	done
	echo ./share/zsh/site-functions/_crumb
	(cd "$SOURCE" && printf './share/doc/crumb/%s\n' README.md LICENSE CHANGELOG.md doc/*.md)
	for page in crumb.1 crumb-codecs.7 crumb.3 crumb_exchange.3; do
		echo "./share/man/man${page##*.}/$page"
	done
	[ -z "${CRUMB_TRAIN:-}" ] || printf '%s\n' ./bin/crumb-train ./share/man/man1/crumb-train.1
} | sort >wanted
(cd "$tree" && find . ! -type d | sort) >found
holds "these files, no others: $(diff wanted found | tr '\n' ' ')" cmp wanted found
holds "nothing outside of the prefix" test "$(find root | grep -c -v '^root/opt/crumb/')" = 3
holds "the SONAME" sh -c "readelf -d '$library/libcrumb.so' | grep -q 'SONAME.*\[libcrumb.so.$major\]'"
holds "the SONAME leads to the library" test "$(readlink "$library/libcrumb.so.$major")" = "libcrumb.so.$VERSION"
check "the tool runs" "$tree/bin/crumb" --version
holds "and is of this version" grep -q "^crumb $VERSION," stdout
holds "no text names the build folder" sh -c "! grep -rIl '$BUILD' '$tree'"
if [ "$CONFIG" = release ]; then # without debugging information
	holds "nor does a program or library" sh -c "! grep -rl '$BUILD' '$tree'"
	strip -o stripped "$library/libcrumb.so.$VERSION"
	# gcc 12 makes 0.99 MB of it, gcc 14 1.04 MB.
	holds "the library, stripped, is under 1.1 MB" test "$(wc -c <stripped)" -lt 1100000
fi

# ---- the examples: here, and after the tree has moved ----
export PKG_CONFIG_LIBDIR LD_LIBRARY_PATH
# example WHAT PROGRAM: what the examples print.
example() {
	check "$1" "$2"
	holds "$1: what it prints" grep -q '^0\.5 -0\.5 0 0 *$' stdout
}
# use WHERE: builds against the tree and runs, in a folder WHERE.
use() {
	PKG_CONFIG_LIBDIR=$library/pkgconfig
	LD_LIBRARY_PATH=
	mkdir "$1"
	for package in crumb "crumb --static"; do
		# shellcheck disable=SC2046,SC2086 # lists of flags
		check "$1: C, pkg-config $package" "$CC" -Wall -Wextra -Werror "$SOURCE/tests/install/example.c" \
			-o "$1/c" $(pkg-config --cflags --libs $package)
		# shellcheck disable=SC2046,SC2086
		check "$1: C++, pkg-config $package" $cxx -Wall -Wextra -Werror "$SOURCE/tests/install/example.cc" \
			-o "$1/cc" $(pkg-config --cflags --libs $package)
		LD_LIBRARY_PATH=$library
		example "$1: C with pkg-config" "$1/c"
		example "$1: C++ with pkg-config" "$1/cc"
		LD_LIBRARY_PATH=
	done
	for package in crumb-exchange "crumb-exchange --static"; do
		# shellcheck disable=SC2046,SC2086
		check "$1: C, pkg-config $package" "$CC" -Wall -Wextra -Werror -o "$1/exchange" \
			"$SOURCE/tests/install/exchange_example.c" $(pkg-config --cflags --libs $package)
		LD_LIBRARY_PATH=$library
		example "$1: exchange with pkg-config" "$1/exchange"
		LD_LIBRARY_PATH=
	done
	check "$1: find_package" "$CMAKE" -S "$SOURCE/tests/install" -B "$1/build" -DCMAKE_PREFIX_PATH="$tree" \
		-DWANTED="$VERSION" -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER=$cxx
	check "$1: the examples build" "$CMAKE" --build "$1/build"
	for name in crumb_c crumb_cc static_c static_cc exchange exchange_static; do
		example "$1: $name with CMake" "$1/build/$name"
	done
	holds "$1: crumb::crumb is shared" sh -c "readelf -d '$1/build/crumb_c' | grep -q 'NEEDED.*libcrumb.so.$major'"
	holds "$1: crumb::static is static" sh -c "! readelf -d '$1/build/static_c' | grep -q libcrumb"
}
use here
holds "pkg-config's version" test "$(pkg-config --modversion crumb)" = "$VERSION"
holds "pkg-config's private library" sh -c 'pkg-config --static --libs crumb | grep -q -e "-lm\>"'
holds "and not otherwise" sh -c '! pkg-config --libs crumb | grep -q -e "-lm\>"'
mv root elsewhere
tree=$folder/elsewhere/opt/crumb
library=$tree/$LIBDIR
use moved
# finds WANTED...: what find_package(crumb WANTED...) says on a machine without MPI.
finds() {
	wanted=$(IFS=';' && echo "$*")
	rm -rf found
	"$CMAKE" -S "$SOURCE/tests/install" -B found -DCMAKE_PREFIX_PATH="$tree" "-DWANTED=$wanted" \
		-DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER=$cxx -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON 2>&1
}
check "find_package takes its minor version" finds "${VERSION%.*}" COMPONENTS exchange
check "find_package does without an optional component" finds "$VERSION" COMPONENTS exchange \
	OPTIONAL_COMPONENTS exchange_mpi tree
for version in $((major + 1)) 0.0; do
	! finds $version COMPONENTS exchange >stdout
	holds "find_package: no version $version" grep -q "requested version \"$version\"" stdout
done
! finds "$VERSION" COMPONENTS tree >stdout
holds "find_package: no component tree" grep -q 'installed without its component tree' stdout
if [ -n "$MPI" ]; then
	! finds "$VERSION" COMPONENTS exchange_mpi >stdout
	holds "find_package: no MPI" grep -q 'exchange_mpi wants MPI for C, which was not found' stdout
fi

# ---- how a distribution builds ----
check "folders and flags of its own" "$CMAKE" -S "$SOURCE" -B own -G "Unix Makefiles" -DCRUMB_TOOLS=OFF \
	-DCMAKE_C_COMPILER="$CC" -DCMAKE_INSTALL_LIBDIR=/own/lib "-DCMAKE_C_FLAGS_RELEASE=-O1 -g"
holds "an absolute folder of libraries" grep -qx 'libdir=/own/lib' own/crumb.pc
holds "flags of a release" grep -q '^C_FLAGS = .*-O1 -g' own/CMakeFiles/crumb_static.dir/flags.make
mkdir copied && cp "$SOURCE"/python/crumb_report/*.* copied
check "crumb-report of files of another time" "$SOURCE/scripts/zip-report" ./zipped copied/*
holds "is the same" cmp zipped "$tree/bin/crumb-report"
finish
