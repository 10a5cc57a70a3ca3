# For a fixed number of learners the parameters have the same bits on any number of ranks, and nothing is lost.
# SPDX-License-Identifier: MIT
. "$SOURCE/tests/mpi/mpirun.sh"

for n in 2 8; do
	check "the same bits on $n ranks" ranks $n "$MPI_RANK" same
	holds "all of it" grep -q '^all right$' stdout
	check "nothing is lost on $n ranks" ranks $n "$MPI_RANK" conserved
	holds "all of it" grep -q '^all right$' stdout
done
check "all that was sent in time" ranks 4 "$MPI_RANK" held
holds "comes" grep -q '^all right$' stdout
finish
