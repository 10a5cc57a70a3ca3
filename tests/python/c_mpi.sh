# The C example builds with the installed library by the lines in its comment, finds what it looks for, and sends
# no more bytes than it says. A NaN on one rank costs that step alone. SPDX-License-Identifier: MIT
MPIRUN=mpirun
. "$SOURCE/tests/mpi/mpirun.sh"
if ! command -v mpicc >/dev/null || ! command -v pkg-config >/dev/null; then
	echo "skipped: no mpicc and pkg-config here"
	exit 77
fi
check "cmake --install" "$CMAKE" --install "$BUILD" --prefix "$folder/root"
export PKG_CONFIG_LIBDIR="$folder/root/$LIBDIR/pkgconfig" LD_LIBRARY_PATH="$folder/root/$LIBDIR"
mkdir examples
cp "$SOURCE/examples/c_mpi.c" examples

# Counts the bytes that rank 0 hands to MPI for all ranks to get, whatever the program says.
cat >count.c <<'END'
#include <mpi.h>
#include <stdio.h>
static double sent;
static void add(int count, MPI_Datatype type)
{
	int size;
	PMPI_Type_size(type, &size);
	sent += (double)count * size;
}
int MPI_Allgather(const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c)
{
	add(n, t);
	return PMPI_Allgather(a, n, t, b, m, u, c);
}
int MPI_Allgatherv(const void *a, int n, MPI_Datatype t, void *b, const int *m, const int *at, MPI_Datatype u,
                   MPI_Comm c)
{
	add(n, t);
	return PMPI_Allgatherv(a, n, t, b, m, at, u, c);
}
int MPI_Allreduce(const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
{
	add(n, t);
	return PMPI_Allreduce(a, b, n, t, op, c);
}
int MPI_Finalize(void)
{
	int rank;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (!rank)
		printf("%.0f bytes were sent in 400 steps\n", sent);
	return PMPI_Finalize();
}
END
check "the counter" mpicc -shared -fPIC count.c -o count.so
# run WHAT COMMAND: as the comment has it, and with a limit of time.
run() { check "$1" timeout 120 sh -c "LD_PRELOAD=$folder/count.so; export LD_PRELOAD; exec $2"; }
said() { sed -n 's/.* one rank gave \([0-9]*\) bytes a step$/\1/p' stdout; }
counted() { sed -n 's/^\([0-9]*\) bytes were sent in 400 steps$/\1/p' stdout; }

for line in 1 2; do
	sed -n 's/^ \*   \(mpicc .*\) && \(mpirun .*\)$/\1\n\2/p' examples/c_mpi.c |
		sed -n "$((2 * line - 1)),$((2 * line))p" >lines
	compile=$(sed -n 1p lines) start=$(sed -n 2p lines)
	check "$compile" sh -c "${compile:-false}"
	run "$start" "$start"
	holds "$start finds it" grep -q '^relative error 0\.0[0-2]' stdout
done

# $start is the one with crumb. A vote and a length, an int each, are no frames.
for spec in adacomp:bin=50 adacomp:bin=500 sign; do
	run "$spec" "$start $spec"
	holds "$spec: what is said and sent, $(said) a step and $(counted)" test \
		$(($(counted) / 400 - $(said) - 8)) -ge -1 -a $(($(counted) / 400 - $(said) - 8)) -le 1
	[ $spec = sign ] || holds "$spec saves 10 times: $(said)" test "$(said)" -lt 400
done
refused_by() { ! timeout 60 sh -c "$1" >stdout 2>stderr && grep -q "$2" stdout stderr; }
holds "a wrong spec" refused_by "$start nonsense" '^.*crumb: no such codec'

sed -i 's|^\t*/\* No rank packs|if (rank == 1 \&\& step % 100 == 7) grad[5] = NAN;\n&|' examples/c_mpi.c
check "with NaNs" sh -c "$compile"
run "with NaNs" "$start"
holds "four steps are left out" test "$(grep -c '^step [0-9]*7 is left out: .*NaN' stderr)" = 4
holds "and it finds it all the same" grep -q '^relative error 0\.0[0-2]' stdout
finish
