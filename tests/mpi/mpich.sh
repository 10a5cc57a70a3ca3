# With MPICH, too, exchange/transports/ compiles and a program with a life of its own runs. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

if ! command -v mpicc.mpich >/dev/null || ! command -v mpirun.mpich >/dev/null; then
	echo "skipped: no MPICH here"
	exit 77
fi
mpicc="mpicc.mpich -std=c11 -O2 -Wall -Wextra -Werror -Wno-stringop-overflow -I$SOURCE/include -I$SOURCE"
check "a job's ranks" $mpicc -c "$SOURCE/exchange/transports/mpi_job.c"
check "a host" $mpicc "$SOURCE/tests/install/mpi_host.c" "$SOURCE/exchange/transports/communicator.c" \
	"$SOURCE/exchange/transports/mpi.c" "$EXCHANGE_STATIC" "$STATIC" -lm -lpthread -o host
check "mpirun host" timeout 300 mpirun.mpich -n 4 ./host
holds "it is content" grep -qx 'all right' stdout
finish
