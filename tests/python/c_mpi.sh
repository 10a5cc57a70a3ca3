# The C example finds what it looks for, with MPI_Allreduce and with crumb in its place. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"
if ! command -v mpicc >/dev/null || ! command -v mpirun >/dev/null; then
	echo "skipped: no mpicc and mpirun here"
	exit 77
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none
added=$(sed -n '/^#ifdef CRUMB/,/^#\(else\|endif\)/p' "$SOURCE/examples/c_mpi.c" | grep -vc '^#\(if\|else\|endif\)')
holds "$added lines are crumb's" test "$added" -lt 20
check "plain" mpicc -O2 -Wall -Werror "$SOURCE/examples/c_mpi.c" -o plain -lm
check "crumb" mpicc -O2 -Wall -Werror -DCRUMB -I"$SOURCE/include" "$SOURCE/examples/c_mpi.c" -o less "$STATIC" -lm
for program in plain less; do
	check "$program" timeout 60 mpirun -n 2 ./"$program"
	holds "$program finds it" grep -q '^relative error 0\.00' stdout
done
finish
