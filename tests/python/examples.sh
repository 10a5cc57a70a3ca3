# The examples run, and ddp_mnist.py without crumb's two lines is plain DDP. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"
if ! "$PYTHON" -c "import numpy, torch" 2>/dev/null; then
	echo "skipped: $PYTHON has no torch"
	exit 77
fi

check "compare.py" "$PYTHON" "$SOURCE/examples/compare.py"
holds "a line a codec" test "$(grep -c 'bits an element' stdout)" = "$(grep -c '^CODEC(' "$SOURCE/src/codecs.def")"
check "compare.py, a gradient and specs" "$PYTHON" - <<'END'
import numpy as np
np.save("g.npy", np.ones((3, 100)))
END
check "compare.py g.npy" "$PYTHON" "$SOURCE/examples/compare.py" g.npy raw sign
holds "two lines" test "$(grep -c 'bits an element' stdout)" = 2
"$PYTHON" -c 'import numpy; numpy.save("zeros.npy", numpy.zeros(5))'
refused 1 "zeros.npy is empty, all zeros or not finite" "$PYTHON" "$SOURCE/examples/compare.py" zeros.npy
refused 1 "compare.py: [Errno" "$PYTHON" "$SOURCE/examples/compare.py" absent.npy

"$PYTHON" - <<'END'
import gzip, os, random
random.seed(1)
os.mkdir("mnist")
for name, count in (("train", 400), ("t10k", 50)):
    gzip.open(f"mnist/{name}-images-idx3-ubyte.gz", "wb").write(bytes(16) + random.randbytes(784 * count))
    labels = bytes(random.randrange(10) for _ in range(count))
    gzip.open(f"mnist/{name}-labels-idx1-ubyte.gz", "wb").write(bytes(8) + labels)
END
grep -v "crumb's .* line" "$SOURCE/examples/ddp_mnist.py" >plain.py
holds "two lines are crumb's" test "$(diff "$SOURCE/examples/ddp_mnist.py" plain.py | grep -c '^<.*crumb\.torch')" = 2
holds "and no others" sh -c '! grep -v "^[^i ]" plain.py | grep "crumb\."'
ranks() { # PROGRAM ARGUMENT...: in WORLD_SIZE processes
	export MASTER_ADDR=127.0.0.1 WORLD_SIZE OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo MASTER_PORT
	MASTER_PORT=$("$PYTHON" -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
	others=
	for rank in $(seq $((WORLD_SIZE - 1))); do
		RANK=$rank timeout 280 "$PYTHON" "$@" &
		others="$others $!"
	done
	RANK=0 timeout 280 "$PYTHON" "$@" || return
	for other in $others; do wait "$other" || return; done
}
WORLD_SIZE=2
for program in "$SOURCE/examples/ddp_mnist.py" plain.py; do
	check "$program" ranks "$program" mnist 1
	holds "$program prints its error" grep -q '^epoch 1: test error [0-9.]* %$' stdout
done
if [ -n "${FSDP2:-}" ] ||
	"$PYTHON" -c "from torch.distributed.fsdp import FSDPModule as m; m.set_all_reduce_hook" 2>/dev/null; then
	WORLD_SIZE=4
	check "hsdp.py" ranks "$SOURCE/examples/hsdp.py" 20
	holds "hsdp.py sends less" grep -q '^loss [0-9.]*; 0[0-9.]* MB sent to the other replica, not [1-9]' stdout
fi
finish
