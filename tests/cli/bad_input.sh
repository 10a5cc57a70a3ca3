# Arrays, frames and states that are not what they should be: a line each, and nothing is touched.
# SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"
need_numpy
"$PYTHON" - <<'END'
import numpy as np

def raw(path, header, data=b"", version=(1, 0)):
    size = len(header).to_bytes(2 if version[0] == 1 else 4, "little")
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY" + bytes(version) + size + header + data)

grad = np.linspace(-1, 1, 12, dtype="f4")
np.save("good.npy", grad)
np.save("large.npy", np.where(np.arange(12) == 3, np.float32(2.0**120), grad))
np.save("short.npy", grad[:5])
np.save("matrix.npy", grad.reshape(3, 4))
np.save("scalar.npy", grad[0])
np.save("empty.npy", grad[:0])
np.save("fortran.npy", np.asfortranarray(grad.reshape(3, 4)))
np.save("big.npy", grad.astype(">f4"))
np.save("double.npy", grad.astype("f8"))
np.save("integer.npy", grad.astype("i4"))
np.save("u2.npy", np.arange(12, dtype="u2"))
np.save("V2.npy", np.arange(12, dtype="u2").view("V2"))  # as JAX and TensorFlow save bfloat16
np.save("text.npy", np.array(["a", "b"]))
np.save("record.npy", np.zeros(3, dtype=[("a", "f4"), ("b", "f4")]))
for name, value in ("nan", np.nan), ("infinite", -np.inf), ("huge", 3e38):
    bad = grad.copy()
    bad[7] = value
    np.save(name + ".npy", bad)
whole = open("good.npy", "rb").read()
for size in 0, 3, 8, 11, 60:
    open(f"cut{size}.npy", "wb").write(whole[:size])
open("cut-data.npy", "wb").write(whole[:-1])
open("no-data.npy", "wb").write(whole[:128])
open("long.npy", "wb").write(whole + b"x")
open("noise.npy", "wb").write(bytes(range(256)))
data = grad.tobytes()
raw("version2.npy", b"{'descr': '<f4', 'fortran_order': False, 'shape': (12,), }\n", data, (2, 0))
raw("version3.npy", b"{'shape':(12,),'fortran_order':False,'descr':\"<f4\"}", data, (3, 0))
raw("version9.npy", b"{}", data, (9, 0))
raw("overflow.npy", b"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", data)
raw("digits.npy", b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,), }", data)
raw("hollow.npy", b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999, 0), }")
for i, header in enumerate((
        b"", b"{", b"{}", b"nonsense", b"{'descr': '<f4'}", b"{'descr': '<f4', 'fortran_order': False}",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (12,)",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': 12}",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (-12,)}",
        b"{'descr': '<f4', 'fortran_order': 0, 'shape': (12,)}",
        b"{'descr': '<f4, 'fortran_order': False, 'shape': (12,)}", b"{'descr': '<f4', 'descr': '<f4', 'shape': (12,)}",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (12,), 'more': 1}",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (12 3)}",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (12,)} x",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (12,)}\0")):
    raw(f"header{i}.npy", header, data)
END

for name in good matrix version2 version3 scalar empty hollow; do
	check "pack $name.npy" "$CRUMB" pack -c raw "$name.npy" -o "$name.frame"
done
holds "C order is flat memory" cmp good.frame matrix.frame
holds "version 2" cmp good.frame version2.frame
holds "version 3" cmp good.frame version3.frame
holds "zeros in a shape" cmp empty.frame hollow.frame
check "a u2 array of bfloat16" "$CRUMB" pack -c raw --dtype bf16 u2.npy -o bf16.frame
check "a V2 array of bfloat16" "$CRUMB" pack -c raw --dtype bf16 V2.npy -o V2.frame
holds "is the same" cmp bf16.frame V2.frame

check "a state" "$CRUMB" pack -c adacomp --state state good.npy -o frame
cp state state.before
array() { # TEXT FILE: pack refuses it, makes no frame, and leaves the state alone
	refused 1 "$1" "$CRUMB" pack -c adacomp --state state "$2" -o out
	holds "$2 leaves the state" cmp state state.before
	holds "$2 leaves no frame" test ! -e out
}
array "No such file or directory" absent.npy
array "Is a directory" .
array "fortran.npy: in Fortran order" fortran.npy
array "big.npy: big-endian elements (>f4)" big.npy
array "elements of type <f8" double.npy
array "elements of type <i4" integer.npy
array "if they hold bfloat16, say --dtype bf16" u2.npy
array "if they hold bfloat16, say --dtype bf16" V2.npy
array "elements of type <U1" text.npy
array "elements of type structured" record.npy
array "not a .npy file" cut0.npy
array "not a .npy file" cut3.npy
array "not a .npy file" noise.npy
array "truncated in its header" cut8.npy
array "truncated in its header" cut11.npy
array "truncated in its header" cut60.npy
array "cut-data.npy: truncated: 47 bytes of elements" cut-data.npy
array "no-data.npy: truncated: 0 bytes of elements" no-data.npy
array "long.npy: 1 bytes follow the last element" long.npy
array "of version 9" version9.npy
array "truncated" overflow.npy
array "truncated" digits.npy
for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
	array "header$i.npy: its .npy header is malformed" "header$i.npy"
done
for name in nan infinite huge; do
	array "$name.npy: element 7, counted from 0: a NaN" "$name.npy"
	refused 1 "$name.npy: element 7, counted from 0: a NaN" "$CRUMB" compare -c raw "$name.npy"
done
for spec in terngrad:shared=1 alq qsgd; do
	refused 1 "nan.npy: element 7, " "$CRUMB" pack -c $spec nan.npy -o out
done
for at in 0 1 16 4097 4998; do # the first one counts
	"$PYTHON" -c 'import sys, numpy as np
grad = np.zeros(5000, dtype="f2")
grad[int(sys.argv[1]):] = np.nan
np.save("late.npy", grad)' $at
	refused 1 "late.npy: element $at, " "$CRUMB" pack -c adacomp late.npy -o out
done
refused 1 "--dtype bf16 wants <u2" "$CRUMB" pack -c raw --dtype bf16 good.npy -o out

# States.
array "state is the state of 12 elements, and short.npy has 5" short.npy
refused 1 "state is the state of adacomp, not of twobit" "$CRUMB" pack -c twobit --state state good.npy -o out
refused 1 "state is the state of adacomp, not of adacomp:bin=50" \
	"$CRUMB" pack -c adacomp:bin=50 --state state good.npy -o out
head -c 100 state >cut.state
: >empty.state
{ cat state && echo; } >long.state
for bad in cut.state empty.state long.state good.npy; do
	cp "$bad" before
	refused 1 "$bad: " "$CRUMB" pack -c adacomp --state "$bad" matrix.npy -o out
	holds "$bad is left alone" cmp "$bad" before
done
refused 1 "No such file or directory" "$CRUMB" pack -c raw --state nowhere/state good.npy -o out
refused 2 "--state has to be a file of its own" "$CRUMB" pack -c raw --state out good.npy -o out
refused 2 "--state has to be a file of its own" "$CRUMB" pack -c raw --state ./state good.npy -o state
refused 2 "--state takes a file that can be replaced" "$CRUMB" pack -c raw --state - good.npy -o out
refused 2 "--state takes a file that can be replaced, not /dev/null" "$CRUMB" pack -c raw --state /dev/null good.npy \
	-o out
holds "and nothing is left" test ! -e /dev/null.lock
refused 2 "the frame would replace the gradient" "$CRUMB" pack -c raw good.npy -o ./good.npy
refused 2 "the array would replace the frames" "$CRUMB" unpack good.frame -o good.frame

# Frames.
size=$(wc -c <good.frame)
: >none.frame
head -c $((size - 1)) good.frame >cut.frame
head -c 20 good.frame >header.frame
{ head -c $((size - 1)) good.frame && printf x; } >flipped.frame
{ cat good.frame && echo; } >tail.frame
cat good.frame empty.frame >mixed.frame
for bad in none cut header flipped tail; do
	refused 1 "$bad.frame: " "$CRUMB" unpack good.frame "$bad.frame" -o out
done
refused 1 "mixed.frame: at byte $size: a frame of 0 elements after one of 12" "$CRUMB" unpack mixed.frame -o out
refused 1 "empty.frame: at byte 0: a frame of 0 elements after one of 12" "$CRUMB" unpack good.frame empty.frame -o out
refused 1 "No such file or directory" "$CRUMB" unpack absent.frame -o out
check "the largest gradient" "$CRUMB" pack -c raw large.npy -o large.frame
for i in $(seq 256); do cat large.frame; done >many.frame
refused 1 "element 3 of the sum is too large for f4" "$CRUMB" unpack many.frame -o out
check "its mean" "$CRUMB" unpack --mean many.frame -o mean.npy
holds "no array was written" test ! -e out
holds "the frame is as it was" test "$(wc -c <good.frame)" = "$size"
holds "no temporary file is left" sh -c '! ls | grep "\.tmp$"'
finish
