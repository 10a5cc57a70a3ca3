# The C example finds what it looks for, with MPI_Allreduce and with crumb in its place. SPDX-License-Identifier: MIT
MPIRUN=mpirun
. "$SOURCE/tests/mpi/mpirun.sh"
if ! command -v mpicc >/dev/null; then
	echo "skipped: no mpicc here"
	exit 77
fi
added=$(sed -n '/^#ifdef CRUMB/,/^#\(else\|endif\)/p' "$SOURCE/examples/c_mpi.c" | grep -vc '^#\(if\|else\|endif\)')
holds "$added lines are crumb's" test "$added" -lt 20
check "plain" mpicc -O2 -Wall -Werror "$SOURCE/examples/c_mpi.c" -o plain -lm
check "crumb" mpicc -O2 -Wall -Werror -DCRUMB -I"$SOURCE/include" "$SOURCE/examples/c_mpi.c" -o less "$STATIC" -lm
for program in plain less; do
	check "$program" ranks 2 ./"$program"
	holds "$program finds it" grep -q '^relative error 0\.00' stdout
done
finish
