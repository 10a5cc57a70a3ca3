# scripts/plot: figures of logs and of plans, and what is neither. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"
plot="python3 $SOURCE/scripts/plot"

if ! command -v gnuplot >/dev/null; then
	echo "skipped: no gnuplot here"
	exit 77
fi

# ---- logs: two codecs of three epochs, the second cut off; the same with another seed ----
cat >logs.py <<'END'
import json

def event(kind, codec, seed, epoch, ratio):
    seconds = {"compute": 8, "pack": 0.8, "swap": 1e-4, "unpack": 0.5, "wall": 9.7}
    return {"event": kind, "codec": codec, "model": "lenet", "data": "digits", "learners": 8, "batch": 100,
            "seed": seed, "epoch": epoch, "error": 0.1 / epoch, "ratio": ratio, "seconds": seconds}

for name, seed in ("log", 1), ("other", 2):
    with open(name, "w") as file:
        for codec, ratio in ("raw", 0.9998), ("it's `touch bad`; $(touch bad)\" @_^\\<&", 200):
            events = [event("epoch", codec, seed, epoch, ratio) for epoch in (1, 2, 3)]
            if codec == "raw":
                events.append(event("done", codec, seed, 3, ratio))
            file.writelines(json.dumps(e) + "\n" for e in events)
first = event("epoch", "raw", 1, 1, 1)
def write(name, **changes):
    with open(name, "w") as file:
        file.write(json.dumps({**first, **changes}) + "\n")
write("one")
write("nulls", error=None, ratio=None, seconds=dict.fromkeys(first["seconds"], 0))
write("no-error", error="0.1")
write("no-ratio", ratio=True)
write("no-epoch", epoch=0)
write("no-swap", seconds={"compute": 1, "pack": 1, "wall": 3})
write("other-event", event="start")
END
python3 logs.py

# What a figure says, a text a line; and how many curves it has.
cat >texts.py <<'END'
import sys
from xml.etree import ElementTree
svg = ElementTree.parse(sys.argv[1]).getroot()
assert svg.tag == "{http://www.w3.org/2000/svg}svg"
for text in svg.iter("{http://www.w3.org/2000/svg}text"):
    print("".join(text.itertext()).strip())
END

# says TEXT: the figure whose texts are in stdout has this one.
says() { holds "the figure says $1" grep -qxF -e "$1" stdout; }

check "a figure" $plot log -o log.svg
holds "and no word" sh -c "! cat stdout stderr | grep ."
check "it is SVG" python3 texts.py log.svg
for text in "Test error" "Error (%)" "Compression ratio" "Dense f32 bytes / bytes sent (×)" "Epoch" \
	"Time (s per epoch)" 1 2 3 compute pack swap unpack "tests and the rest" raw \
	"it's \`touch bad\`; \$(touch bad)\" @_^\\<&"; do
	says "$text"
done
holds "names are not commands" test ! -e bad
holds "a run's name: in the legend and over its bars" test "$(grep -cx raw stdout)" = 2

check "several logs" $plot log other -o both.svg
check "it is SVG" python3 texts.py both.svg
says "raw, seed 1"
says "raw, seed 2"
check "the same log twice" $plot log log -o twice.svg
check "it is SVG" python3 texts.py twice.svg
says "raw, log, run 1"
says "raw, log, run 3"
check "one epoch" $plot one -o one.svg
check "no value at all" $plot nulls -o nulls.svg
check "PNG" $plot log -o log.png
holds "it is PNG" sh -c 'head -c 8 log.png | od -An -tx1 | grep -q "89 50 4e 47 0d 0a 1a 0a"'

# ---- a comparison of codecs: an exact one, one that loses, one without an error ----
cat >comparison.py <<'END'
import json
rows = [("raw", 32, 0), ("it's `touch bad`", 2.5, 0.25), ("it's `touch bad`", 2, 0.5), ("nothing", 1, None)]
with open("compared", "w") as file:
    file.writelines(json.dumps({"file": "g.npy", "codec": codec, "bits_per_element": bits, "error": error}) + "\n"
                    for codec, bits, error in rows)
with open("exact", "w") as file:
    file.write(json.dumps({"codec": "raw", "bits_per_element": 32, "error": 0}) + "\n")
with open("wrong", "w") as file:
    file.write(json.dumps({"codec": "raw", "bits_per_element": 32, "error": "0"}) + "\n")
END
python3 comparison.py
check "a comparison" $plot compared -o compared.svg
check "it is SVG" python3 texts.py compared.svg
for text in "Error against rate" "Bits an element, whole frames" "Squared error / squared norm" "raw (exact)" \
	"it's \`touch bad\`" "nothing (no error known)"; do
	says "$text"
done
holds "names are not commands" test ! -e bad
check "nothing to draw" $plot exact -o exact.svg
refused 1 "wrong:1: not a line of a comparison" $plot compared wrong -o x.svg
refused 1 "log: not a comparison, as compared is" $plot log compared -o x.svg

# ---- what is no log, and no figure ----
: >empty
echo 'epoch 1' >text
head -c 200 log >torn
refused 1 "nowhere: No such file" $plot nowhere -o x.svg
refused 1 "empty: no epoch in it" $plot empty -o x.svg
refused 1 "text:1: not a line of JSON" $plot text -o x.svg
refused 1 "torn:1: not a line of JSON" $plot torn -o x.svg
refused 1 "log.png: not a log" $plot log.png -o x.svg
refused 1 "no-error:1: not a line of a log: no error" $plot log no-error -o x.svg
refused 1 "no-ratio:1: not a line of a log: no ratio" $plot no-ratio -o x.svg
refused 1 "no-epoch:1: not a line of a log: no epoch" $plot no-epoch -o x.svg
refused 1 "no-swap:1: not a line of a log: no seconds of swap" $plot no-swap -o x.svg
refused 1 "other-event:1: not a line of a log: no event" $plot other-event -o x.svg
refused 1 "nowhere/x.svg: No such file" $plot log -o nowhere/x.svg
refused 2 "ends in .svg or .png" $plot log -o x.pdf
refused 2 "required: -o" $plot log
cp log log.svg
refused 2 "would replace a log" $plot log.svg -o ./log.svg
mkdir bin
python=$(python3 -c 'import sys; print(sys.executable)')
refused 1 "there is no gnuplot here" env PATH="$folder/bin" "$python" "$SOURCE/scripts/plot" log -o x.svg
printf '#!/bin/sh\necho "no such terminal" >&2\nexit 1\n' >bin/gnuplot
chmod +x bin/gnuplot
refused 1 "no such terminal" env PATH="$folder/bin:$PATH" "$python" "$SOURCE/scripts/plot" log -o x.svg
holds "no figure is left of all this" test ! -e x.svg

# ---- plans ----
cluster="-m lenet --compute 1000img/s -c half -c twobit --json"
check "crumb plan" "$CRUMB" plan $cluster --link 1G --nodes 2 --nodes 8
cp stdout nodes
check "it" $plot nodes -o nodes.svg
check "it is SVG" python3 texts.py nodes.svg
for text in "Speed" "Samples a second" Nodes "A step on 8 nodes" "Time (s)" "plain all-reduce" half twobit compute \
	codec inside latency wire 1 2 3; do
	says "$text"
done
check "crumb plan" "$CRUMB" plan $cluster --nodes 8 --link 1G --link 100M --plan gather --plan server
cp stdout links
check "it" $plot links -o links.svg
check "it is SVG" python3 texts.py links.svg
for text in "Link (b/s)" "A step at 1 Gb/s" "half, gather" "half, server"; do
	says "$text"
done
check "both" $plot nodes links -o both.svg
check "it is SVG" python3 texts.py both.svg
says "twobit, server, 0.1 Gb/s"
head -1 nodes >point
check "a point" $plot point -o point.svg
check "it is SVG" python3 texts.py point.svg
sed 's/"step": [^,]*/"step": 0/' nodes >no-step
sed 's/"wire": [^,}]*/"wire": null/' nodes >no-wire
sed '2s/"codec"/"cadec"/' nodes >no-codec
refused 1 "no-step:1: not a line of a plan: no step" $plot no-step -o x.svg
refused 1 "no-wire:1: not a line of a plan: no seconds of wire" $plot no-wire -o x.svg
refused 1 "no-codec:2: not a line of a plan: no codec" $plot no-codec -o x.svg
refused 1 "log:1: not a line of a plan: no plan" $plot nodes log -o x.svg
refused 1 "nodes:1: not a line of a log: no event" $plot log nodes -o x.svg

# ---- a log as crumb-train writes it ----
if [ -n "${CRUMB_TRAIN:-}" ]; then
	python3 - <<'END'
import os, random, struct
os.mkdir("small")
for name in "train", "t10k":
    with open(f"small/{name}-images-idx3-ubyte", "wb") as file:
        file.write(struct.pack(">4I", 0x803, 40, 28, 28) + random.Random(1).randbytes(40 * 784))
    with open(f"small/{name}-labels-idx1-ubyte", "wb") as file:
        file.write(struct.pack(">2I", 0x801, 40) + bytes(i % 10 for i in range(40)))
END
	check "crumb-train" "$CRUMB_TRAIN" --data mnist:small --batch 20 --learners 2 --epochs 2 --threads 1 \
		--codec raw --codec terngrad --log real
	check "its log" $plot real -o real.svg
	check "it is SVG" python3 texts.py real.svg
	says terngrad
fi
python3 -c 'import struct
head = b"{\x27descr\x27: \x27<f4\x27, \x27fortran_order\x27: False, \x27shape\x27: (99,), }"
open("g.npy", "wb").write(b"\x93NUMPY\1\0" + bytes([len(head), 0]) + head + struct.pack("<99f", *range(99)))'
"$CRUMB" compare --json g.npy >real_comparison
check "what crumb compare writes" $plot real_comparison -o real.svg
check "it is SVG" python3 texts.py real.svg
says terngrad
finish
