# Every experiment, shortened to seconds: all its assertions hold, and none does if compressed gradients do not arrive
# or one sign of twenty is flipped. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
run="python3 $SOURCE/experiments/run"

check "--quick" $run all --quick --threads 1 --into honest --train "$CRUMB_TRAIN"
grep holds: stdout >held
holds "assertions hold: $(wc -l <held)" test "$(wc -l <held)" -ge 18
holds "and no other" cmp held stdout

# Raw rows are kept; the others are run again.
cat >raw_rows.py <<'END2'
import csv, glob, os, sys
os.mkdir(sys.argv[1])
for path in glob.glob("honest/*.csv"):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    with open(os.path.join(sys.argv[1], os.path.basename(path)), "w", newline="") as file:
        out = csv.DictWriter(file, rows[0])
        out.writeheader()
        out.writerows(row for row in rows if row["codec"] == "raw")
END2
for control in nothing flip; do
	python3 raw_rows.py $control
	CRUMB_CONTROL=$control $run all --quick --threads 1 --into $control --train "$CONTROL" >stdout 2>stderr
	holds "$control: it fails" test $? = 1
	grep 'does not hold:' stdout | sed 's/does not hold/holds/' >refuted
	holds "$control: and so does every assertion" cmp refuted held
done

# ---- rows that stand are not run again; what is missing, wrong or too slow says so ----
cp honest/adacomp-table2.csv before
check "again" $run adacomp-table2 --quick --into honest --train /nowhere
holds "nothing is run" cmp before honest/adacomp-table2.csv
cp -r honest killed
sed -i '$d' killed/mxnet-2bit.csv
check "again after a kill" $run mxnet-2bit --quick --into killed --train "$CRUMB_TRAIN"
holds "no epoch stands twice" test "$(wc -l <killed/mxnet-2bit-epochs.csv)" = "$(wc -l <honest/mxnet-2bit-epochs.csv)"
holds "and none is lost" test "$(wc -l <killed/mxnet-2bit.csv)" = "$(wc -l <honest/mxnet-2bit.csv)"
for signal in XCPU SEGV; do
	printf '#!/bin/sh\nkill -%s $$\n' $signal >$signal
	chmod +x $signal
done
$run mxnet-2bit --quick --into x --train ./XCPU >stdout 2>stderr
holds "too slow" grep -q 'left after 0.7 hours of CPU time$' stderr
refused 1 'killed by SIGSEGV' $run mxnet-2bit --quick --into x --train ./SEGV
refused 1 './absent is no program: build crumb first' $run mxnet-2bit --quick --into x --train ./absent
refused 1 'crumb-train ended with status 1' $run mxnet-2bit --quick --into x --train false
refused 1 'crumb-train wrote nothing to' $run mxnet-2bit --quick --into x --train true
: >file
refused 1 "run: [Errno" $run mxnet-2bit --quick --into file --train true
cp -r honest not_a_number
python3 - <<'END2'
import csv
with open("not_a_number/mxnet-density.csv", newline="") as file:
    rows = list(csv.DictReader(file))
with open("not_a_number/mxnet-density.csv", "w", newline="") as file:
    out = csv.DictWriter(file, rows[0])
    out.writeheader()
    out.writerows(row | {"ratio": "nan"} for row in rows)
END2
$run mxnet-density --quick --into not_a_number >stdout 2>stderr
holds "what is not a number holds for nothing" test "$(grep -c 'does not hold:' stdout)/$(wc -l <stdout)" = 1/1
check "--list" $run --list
holds "names them" grep -q '^adacomp-table2 ' stdout
holds "and their rows" grep -q '^    run      short  .* minutes  mnist-cnn, 8 learners, raw, seed 1' stdout

# ---- a run that was cut off goes on from its checkpoint, and a row that another process runs is left to it ----
cat >cut <<'END2'
#!/bin/sh
while [ "$1" != --checkpoint ]; do shift; done
mkdir "$2" && : >"$2/checkpoint" && kill -KILL $$
END2
cat >slow <<'END2'
#!/bin/sh
echo "$@" >>commands
kill -XCPU $$
END2
chmod +x cut slow
again="$run mxnet-2bit --quick --into y --checkpoints kept --train"
refused 1 'killed by SIGKILL' $again ./cut
$again ./slow >stdout 2>stderr
holds "the first row goes on, the second begins" test "$(grep -c -- '--resume$' commands)/$(wc -l <commands)" = 1/2
rm -r commands kept
refused 1 'killed by SIGKILL' $again ./cut
flock kept/*/lock $again ./slow >stdout 2>stderr
holds "the first row is left out, the second begins" test "$(grep -c -- '--resume$' commands)/$(wc -l <commands)" = 0/1

# ---- claims that no quick row judges, on made-up results ----
cat >made_up.py <<'END2'
import math, os, sys
sys.path.insert(0, os.path.join(os.environ["SOURCE"], "experiments"))
import adacomp, claims

def jumps(*logarithms):
    layers = [{"task": "cifar10-cnn", "learners": "4", "codec": "raw", "seed": seed, "slice": "0", "epoch": str(i + 1),
               "variance": str(math.exp(of))} for seed in "12" for i, of in enumerate(logarithms)]
    claim = claims.jumps("", "", "cifar10-cnn", 4, "raw", (3,), 3)
    return claims.judge(claim, claims.Results([], False, layers))[0]

assert jumps(0, 0.1, 0.5, 0.6) and not jumps(0, 0.1, 0.2, 0.3)
assert not jumps(0, 0.4, 0.5, 0.6)  # at another epoch
assert not jumps(0, 0.1) and not jumps(0, 0, 0, 0)  # no probe after the drop; no change at all

def best(error, of_topk):
    task = adacomp.TWENTY_EPOCHS[128]
    codecs = {"raw": 0.2} | dict.fromkeys(adacomp.BINS, 0.2) | dict.fromkeys(adacomp.FRACTIONS, error)
    rows = [{"task": task, "learners": "8", "codec": codec, "seed": "1", "error": str(of),
             "ratio": str(of_topk if codec in adacomp.FRACTIONS else 100)} for codec, of in codecs.items()]
    return claims.judge(adacomp.beside_dryden(128), claims.Results(rows, False))

def length(task, seeds):
    rows = [{"task": task, "learners": "8", "codec": "terngrad", "seed": str(seed)} for seed in range(seeds)]
    claim = claims.near("", task, 8, "terngrad")
    return claims.length(claim, claims.Results(rows, False)), claims.same(claim)

lengths, same = zip(*(length(*of) for of in (("cifar10-cnn", 3), ("cifar10-cnn, 20 epochs", 1), (
    "cifar10-cnn, 20 epochs, half the rate", 2), ("cifar10-cnn, 140 epochs", 1))))
assert list(lengths) == sorted(lengths) and len(set(lengths)) == 4 and len(set(same)) == 1
assert length("mnist-cnn, TernGrad's", 1)[0] > length("mnist-cnn", 3)[0]  # 11 epochs, the paper's, and 20
assert length("cifar10-cnn, Adam", 1)[1] != same[0]

assert best(0.2, 20)[0] and not best(0.2, 21)[0]
assert best(0.3, 20) == (True, "AdaComp 100, top-k below 20") and not best(0.3, 21)[0]
assert not best(math.nan, 20)[0]
END2
check "jumps of the variance, figure 7a, and which of a claim's runs are the longest" python3 made_up.py

# ---- what is killed leaves its crumb-train, and its lock with it ----
cat >sleeps <<'END2'
#!/bin/sh
echo $$ >pid
exec sleep 60
END2
chmod +x sleeps
rm -rf kept
$again ./sleeps >killed.out 2>killed.err &
until [ -s pid ] || ! kill -0 $! 2>/dev/null; do sleep 0.1; done
kill -KILL $!
refused 1 'killed by SIGKILL' $again ./cut
holds "the first row is left to the process that runs" grep -q 'threshold=0.01, .* is left to' stderr
holds "the second begins" grep -q 'threshold=10, seed 1$' stderr
kill "$(cat pid)"

refused 1 'no experiment adacomp-table3' $run adacomp-table3
refused 1 'CRUMB_DATA names no folder' env -u CRUMB_DATA python3 "$SOURCE/experiments/run" mnist --into x
refused 1 'nowhere/mnist' env CRUMB_DATA=nowhere python3 "$SOURCE/experiments/run" mnist --into x --train "$CRUMB_TRAIN"
finish
