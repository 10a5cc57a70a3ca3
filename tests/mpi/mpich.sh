# exchange/transports/mpi.c compiles with MPICH, too. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

if ! command -v mpicc.mpich >/dev/null; then
	echo "skipped: no MPICH here"
	exit 77
fi
check "exchange/transports/mpi.c compiles" mpicc.mpich -std=c11 -O2 -Wall -Wextra -Werror -Wno-stringop-overflow \
	-I"$SOURCE/include" -I"$SOURCE" -c "$SOURCE/exchange/transports/mpi.c"
finish
