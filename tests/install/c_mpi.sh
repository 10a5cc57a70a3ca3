# The C example and a program with a life of its own build with the installed exchange, and run over MPI: the example by
# the lines in its comment, with few changed lines, and it sends few bytes. A NaN on one rank costs that step alone.
# SPDX-License-Identifier: MIT
MPIRUN=mpirun
. "$SOURCE/tests/mpi/mpirun.sh"
if ! command -v mpicc >/dev/null || ! command -v pkg-config >/dev/null; then
	echo "skipped: no mpicc and pkg-config here"
	exit 77
fi
check "cmake --install" "$CMAKE" --install "$BUILD" --prefix "$folder/root"
export PKG_CONFIG_LIBDIR="$folder/root/$LIBDIR/pkgconfig" LD_LIBRARY_PATH="$folder/root/$LIBDIR"
cp "$SOURCE/examples/c_mpi.c" .

changed=$(sed -n '/^#ifdef CRUMB/,/^#e/p' c_mpi.c | grep -vc '^#')
holds "under 20 changed lines: $changed" test "$changed" -gt 5 -a "$changed" -lt 20

# Counts the bytes that rank 0 hands to MPI, whatever the program says; an all-reduce as what a ring of 4 sends.
cat >count.c <<'END'
#include <mpi.h>
#include <stdio.h>
static double sent;
int MPI_Isend(const void *a, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r)
{
	sent += n;
	return PMPI_Isend(a, n, t, to, tag, c, r);
}
int MPI_Allreduce(const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
{
	int size;
	PMPI_Type_size(t, &size);
	sent += 2.0 * 3 / 4 * n * size;
	return PMPI_Allreduce(a, b, n, t, op, c);
}
int MPI_Finalize(void)
{
	int rank;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (!rank)
		printf("%.0f bytes a step\n", sent / 400);
	return PMPI_Finalize();
}
END
check "the counter" mpicc -shared -fPIC count.c -o count.so
# run COMMAND: as the comment has it, and with a limit of time.
run() { check "$1" timeout 120 sh -c "LD_PRELOAD=$folder/count.so; export LD_PRELOAD; exec $1"; }
bytes() { sed -n 's/^\([0-9]*\) bytes a step$/\1/p' stdout; }

for line in 1 2; do
	sed -n 's/^ \*   \(mpicc .*\) && \(mpirun .*\)$/\1\n\2/p' c_mpi.c |
		sed -n "$((2 * line - 1)),$((2 * line))p" >lines
	compile=$(sed -n 1p lines) start=$(sed -n 2p lines)
	check "$compile" sh -c "${compile:-false}"
	run "$start"
	holds "$start finds it" grep -q '^relative error 0\.0[0-2]' stdout
	[ $line = 2 ] || holds "an all-reduce in f32: $(bytes)" test "$(bytes)" = 6000
done
for way in "adacomp:bin=50 gather" "adacomp:bin=500 shard" "adacomp:bin=50 tiers"; do # $start is the one with crumb
	run "$start $way"
	holds "$way finds it" grep -q '^relative error 0\.0[0-2]' stdout
	case $way in
	*gather) holds "$way sends a fifth: $(bytes)" test "$(bytes)" -lt 1200 ;;
	esac
done
refused_by() { ! timeout 60 sh -c "$1" >stdout 2>stderr && grep -q "$2" stdout stderr; }
holds "a wrong policy" refused_by "$start nonsense" 'no policy: "nonsense"'
holds "a wrong plan" refused_by "$start sign tree" 'no such plan: "tree"'

sed -i 's|^.*const int error = crumb_exchange_mean|if (rank == 1 \&\& step % 100 == 7) grad[5] = NAN;\n&|' \
	c_mpi.c
check "with NaNs" sh -c "$compile"
run "$start"
holds "four steps are left out" test "$(grep -c '^step [0-9]*7: rank 1: a NaN' stderr)" = 16
holds "and it finds it all the same" grep -q '^relative error 0\.0[0-2]' stdout

# shellcheck disable=SC2046 # a list of flags
check "a host" mpicc -std=c11 -Wall -Wextra -Werror "$SOURCE/tests/install/mpi_host.c" -o host \
	$(pkg-config --cflags --libs crumb-exchange-mpi) -lm
check "mpirun host" ranks 4 ./host
holds "it is content" grep -qx 'all right' stdout
finish
