# crumb-train as its users meet it: options and their errors, the table, the log, what fails and how.
# SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

python3 "$SOURCE/tests/small_mnist.py" 300 100 90
small="$CRUMB_TRAIN --data mnist:small --batch 25 --epochs 2 --learners 7"

# stripped LOG LOG: the first in the file "one", the second in "other", without times.
stripped() {
	python3 "$SOURCE/tests/without_times.py" "$1" >one
	python3 "$SOURCE/tests/without_times.py" "$2" >other
}

# ---- options ----
check "--help" "$CRUMB_TRAIN" --help
for option in model data augment whiten carry-state learners batch learner-batch epochs lr optimizer momentum \
	weight-decay decay-first clip-norm measure local-steps outer-lr outer-momentum average dropout schedule \
	warmup seed codec flat compression-params plan down overlap timeout threads log probe dump-gradients \
	checkpoint every resume estimate staleness node-size report help version; do
	holds "--help has --$option" grep -q -e "^  --$option" stdout
done
mv stdout wanted
for option in -h help "--codec raw -h"; do
	check "$option" "$CRUMB_TRAIN" $option
	same "is --help" stdout wanted
done
check "--version" "$CRUMB_TRAIN" --version
holds "--version says which" grep -q -E '^crumb-train [0-9]+\.[0-9]+\.[0-9]+$' stdout

# meant NAME ARGUMENT...: the message on a wrong name suggests this one.
meant() {
	meant=$1
	shift
	refused 2 "crumb-train: " "$CRUMB_TRAIN" "$@"
	holds "$*: $meant was meant" grep -qxF "Did you mean \"$meant\"?" stderr
}
for option in $(sed -n 's/^  --\([a-z-]*\).*/\1/p' wanted); do
	[ "$option" = lr ] || meant "--$option" "--x$option" # two letters are like too many others
done
for model in $(sed -n '/^Networks:/,/^$/s/^  \([^ ]*\) .*/\1/p' wanted); do
	meant "$model" --model "x$model"
done
for plan in $(sed -n '/^Plans:/,/^$/s/^  \([^ ]*\) .*/\1/p' wanted); do
	meant "$plan" --plan "x$plan"
done
meant adacomp --codec adacmop:bin=50
meant bin --codec 'conv=adacomp:bni=50;fc=raw'
meant terngrad --plan shard --down terngard
refused 2 'no "r?[31mg"' "$CRUMB_TRAIN" --model "$(printf 'r\033[31mg')"
refused 1 'r?[31mg' "$CRUMB_TRAIN" --data "mnist:$(printf 'r\033[31mg')"
holds "control characters are not printed" sh -c '! grep -q "$(printf "\033")" stderr'

refused 2 '"raw" is no option' "$CRUMB_TRAIN" raw
refused 2 'no option "--codecs"' "$CRUMB_TRAIN" --codecs raw
refused 2 '--help takes no value' "$CRUMB_TRAIN" --help=1
refused 2 '--flat takes no value' "$CRUMB_TRAIN" --flat=1
refused 2 '--lr wants X' "$CRUMB_TRAIN" --lr
refused 2 'no "lenet5"' "$CRUMB_TRAIN" --model lenet5
for data in letters digits: digits2 mnist:; do
	refused 2 "no \"$data\"" "$CRUMB_TRAIN" --data "$data"
done
for count in 39 x -50 50x 1e3 1000001 99999999999999999999; do
	refused 1 "digits to draw: \"$count\"" "$CRUMB_TRAIN" --data "colour-digits:$count"
done
for number in 0 -1 1.5 x "" 99999999999999999999; do
	refused 2 "--learners: \"$number\"" "$CRUMB_TRAIN" --learners "$number"
	refused 2 "--threads: \"$number\"" "$CRUMB_TRAIN" "--threads=$number"
done
for number in -1 x nan inf "" 0.1x; do
	refused 2 "--lr: \"$number\"" "$CRUMB_TRAIN" --lr "$number"
done
refused 2 '--momentum: "1"' "$CRUMB_TRAIN" --momentum 1
refused 2 '--seed: "-1"' "$CRUMB_TRAIN" --seed -1
refused 2 'without a sample' "$CRUMB_TRAIN" --batch 7 --learners 8

# A caret stands under the first offending character.
carets() {
	refused 2 "$3" "$CRUMB_TRAIN" "$1" "$2"
	printf '  %s\n' "$2" >want
	printf '  %*s^\n' "$4" '' >>want
	sed -n 2,3p stderr >got
	same "the caret under $2" want got
}
carets --codec 'adacomp:bin=x' 'not understood' 12
carets --codec 'conv=adacomp:bin=50;fd=raw' 'not understood' 21
carets --schedule 'step:every=0' 'not understood' 11

# ---- plans, and MXNet's names ----
for alias in gather=device server=dist_sync tiers=dist_sync_device async=dist_async; do
	check "--plan ${alias%=*}" $small --epochs 1 --codec terngrad --plan "${alias%=*}"
	cut -d ' ' -f 1-8 stdout >one # but the time
	check "--plan ${alias#*=}" $small --epochs 1 --codec terngrad --plan "${alias#*=}"
	cut -d ' ' -f 1-8 stdout >many
	same "are the same" one many
done
refused 2 'no "tree": there are gather (device), shard, server (dist_sync), ' "$CRUMB_TRAIN" --plan tree

# A process alone is server and worker at once: its numbers are those of plan server.
check "--plan server" $small --epochs 2 --codec adacomp --plan server
cut -d ' ' -f 1-8 stdout >one
check "--plan async" $small --epochs 2 --codec adacomp --plan async --staleness 3
cut -d ' ' -f 1-8 stdout >many
same "are the same" one many
refused 2 '--staleness wants --plan async: with --plan server all' "$CRUMB_TRAIN" --plan server --staleness 2
refused 2 '"-1" is neither none nor a whole number up to 1000000000' "$CRUMB_TRAIN" --plan async --staleness -1
for option in "--local-steps 4" "--average 0.9" --carry-state "--probe 4 --log log" "--dump-gradients there"; do
	word=${option%% *}
	refused 2 "--plan async takes no $word, " "$CRUMB_TRAIN" --plan async $option
done
refused 2 '--codec auto chooses --plan' "$CRUMB_TRAIN" --plan async --codec auto
refused 1 'plan async is not for terngrad:shared=1, whose' $small --plan async --codec terngrad:shared=1

# ---- a way down, and rules of a policy, that nothing would use ----
refused 2 '--down terngrad wants --plan shard, server, tiers-shard or async: with --plan gather no mean comes down' \
	"$CRUMB_TRAIN" --down terngrad
refused 2 'with --plan gather no' "$CRUMB_TRAIN" --down 'conv=half' --plan device
# idle POLICY RULE...: lenet runs with the policy, and a line names each rule that applies to no slice of it.
idle() {
	policy=$1
	shift
	check "$policy" $small --epochs 1 --codec "$policy"
	for rule in "$@"; do
		echo "crumb-train: --codec: no slice of lenet is left for \"$rule\": there are conv, fc, bias, last"
	done >want
	grep '^crumb-train' stderr >got
	holds "names $# rules" cmp want got
}
idle terngrad
idle 'conv=adacomp:bin=50;fc,last=adacomp:bin=500;bias,batchnorm=raw'
idle 'conv=half;lstm,embedding=terngrad' 'lstm,embedding=terngrad'
idle 'batchnorm=half;fc=half;lstm=raw' batchnorm=half lstm=raw
idle 'conv=half;conv=raw' conv=raw
none='no slice of lenet is for a rule of "lstm=half;embedding=raw": there are conv, fc, bias, last'
refused 1 "--codec: $none" $small --codec raw --codec 'lstm=half;embedding=raw'
refused 1 "--down: $none" $small --plan server --down 'lstm=half;embedding=raw'
refused 1 'no slice of lenet is for a rule of "last,bias=half": there are fc' $small --flat --codec 'last,bias=half'
check "fc is for the last layer, too" "$CRUMB_TRAIN" --model resnet20 --data colour-digits:100 --batch 8 --estimate \
	--codec 'fc=half'
holds "without a word" sh -c '! grep -q "^crumb-train" stderr'

# ---- what is no log is left alone, and so is a log if the run cannot start ----
echo "a text of its own" >text
cp text before
refused 1 "text is a file, and not a log" $small --log text
same "the text stays" text before
refused 2 "--report would replace the text" "$CRUMB_TRAIN" --data text:text --log new.log --report ./text
check "a run" $small --log earlier
cp earlier before
refused 1 "nowhere/dump: No such file" $small --log earlier --dump-gradients nowhere/dump
same "its log stays" earlier before

# ---- a batch by learner ----
check "--batch" $small --learners 5 --log whole
check "--learner-batch" $small --batch 70 --learners 5 --learner-batch 5 --log each
stripped each whole
same "five times five are twenty-five" one other

# ---- statistics of several mini-batches ----
for measure in 1 3; do
	check "--measure $measure" $small --codec adacomp --codec alq --measure $measure --log $measure.log
	for codec in adacomp alq; do
		grep -o "\"codec\": \"$codec\".*\"test_loss\": [^,]*" $measure.log >$codec.$measure
		holds "$codec's numbers" test -s $codec.$measure
	done
done
same "adacomp measures nothing" adacomp.1 adacomp.3
holds "alq takes other levels" sh -c '! cmp -s alq.1 alq.3'
for option in "--plan async" "--plan tiers" "--local-steps 2" --carry-state --overlap "--codec auto"; do
	refused 2 "--measure takes no ${option%% [0-9]*}, " "$CRUMB_TRAIN" --measure 2 $option
done
refused 2 "--measure is of no use without a codec whose learners agree" "$CRUMB_TRAIN" --measure 2 --codec adacomp
for option in "--log x" "--report x" "--checkpoint x" "--dump-gradients x" "--probe 5"; do
	refused 2 "--estimate takes no ${option% *}, " "$CRUMB_TRAIN" --estimate $option
done

# ---- what crumb plan wants to know ----
check "--estimate" $small --learners 5 --estimate
holds "options for crumb plan" grep -qx -e '--batch 5 --compute [0-9.e-]*ms' stdout
check "--estimate, 30 steps from one exchange to the next" $small --learners 5 --local-steps 30 --estimate
holds "what a learner computes meanwhile, an epoch at most" grep -qx -e '--batch 60 --compute [0-9.e+-]*ms' stdout

# ---- auto ----
carets --codec 'auto|4 shard exact row' 'not understood' 20
for option in "--plan async" "--local-steps 2" "--clip-norm 1" --flat "--codec auto"; do
	refused 2 "--overlap takes no ${option%% [0-9]*}, " "$CRUMB_TRAIN" --overlap $option
done
for option in "--plan shard" "--plan gather" "--down exact"; do
	refused 2 'chooses --plan and --down itself' "$CRUMB_TRAIN" --codec auto $option
done
for option in "--node-size 2" "--outer-lr 1" "--outer-momentum 0" "--every 2" "--momentum 0 --optimizer adam" \
	--decay-first; do
	refused 2 "${option%% *} is of no use without --" "$CRUMB_TRAIN" $option
done
refused 2 '--plan tiers takes no --down, ' "$CRUMB_TRAIN" --plan tiers --down half
refused 2 '--plan tiers-shard takes no --probe, ' "$CRUMB_TRAIN" --plan tiers-shard --probe 1 --log log
refused 2 'chooses --plan and --down itself' "$CRUMB_TRAIN" --codec auto --down half
refused 2 'takes no --checkpoint' "$CRUMB_TRAIN" --codec auto --checkpoint there
check "auto, alone" $small --epochs 1 --codec auto
script='auto|2 shard strom:threshold=auto adacomp|5 server exact twobit:threshold=auto|8 gather exact half'
for threads in 1 3; do
	check "a script, $threads threads" $small --epochs 1 --threads $threads --codec "$script" --log log
	grep -o '"loss": [^,]*, "error": [^,]*' log >numbers$threads
	holds "has so many choices" test "$(grep -c '"event": "choice"' log)" = 3
	holds "and tells its script" \
		grep -qF '"script": "auto|2 shard conv,fc,last=strom:threshold=auto;bias=raw conv' log
done
same "the same numbers" numbers1 numbers3
carets --down 'half:type=f8' 'not understood' 11
for pair in '{"type":"2bit","threshold":0.25}=twobit:threshold=0.25' \
	'{ "threshold" : 0.25, "type" : "1bit" }=onebit:threshold=0.25' \
	"{'type':'2bit', 'threshold':0.5}=twobit:threshold=0.5" \
	"{'type':'2bit','threshold':'auto'}=twobit:threshold=auto" \
	'{"type":"none"}=raw' '{"type":"2bit"}=twobit' '{"type":"2bit","threshold":"auto"}=twobit:threshold=auto'; do
	check "--compression-params ${pair%%\}*}}" $small --epochs 1 --compression-params "${pair%%\}*}}"
	holds "is ${pair#*\}=}" grep -q "^${pair#*\}=} " stdout
done
carets --compression-params '{"type":"3bit"}' 'not understood' 8
carets --compression-params '{"type":"2bit"' 'not understood' 14
carets --compression-params "{'type\":'2bit'}" 'not understood' 1
carets --compression-params '{"type":"none","threshold":1}' 'not understood' 27
carets --compression-params '{"kind":"2bit"}' 'not understood' 1
carets --compression-params '{"type":"2bit","threshold":"autos"}' 'not understood' 27
refused 2 'not understood' "$CRUMB_TRAIN" --compression-params '{"type":"2bit","threshold":-1}'

# ---- data and files that fail ----
refused 1 'nowhere/train-images-idx3-ubyte' "$CRUMB_TRAIN" --data mnist:nowhere
refused 1 'fewer samples' "$CRUMB_TRAIN" --data mnist:small --batch 301
refused 1 'nowhere/log: No such file' $small --log nowhere/log
if [ -e /dev/full ]; then
	refused 1 '/dev/full: No space left' $small --log /dev/full
	$small --epochs 1 >/dev/full 2>stderr
	holds "a full standard output is status 1" test $? = 1
	holds "and says so" grep -q 'standard output: No space left' stderr
	for option in --help --version; do
		"$CRUMB_TRAIN" $option >/dev/full 2>stderr
		holds "$option: a full standard output is status 1" test $? = 1
		holds "$option: and says so" grep -q 'standard output: No space left' stderr
	done
fi

# ---- a comparison ----
check "three codecs" $small --codec raw --codec 'conv=adacomp:bin=50;fc,last=adacomp:bin=500' --codec terngrad --log log
holds "a table of a head, a rule and three rows" test "$(wc -l <stdout)" = 5
holds "raw's row" grep -q -E '^raw +[0-9.]+ %  +[0-9.]+ MB +1\.0 +[0-9.]+ s$' stdout
holds "the policy's row" grep -q '^conv=adacomp:bin=50;fc,last=adacomp:bin=500 ' stdout
holds "a line an epoch" test "$(grep -c '^  epoch [12]/2  loss ' stderr)" = 6
holds "no bar where there is no terminal" sh -c "! grep -q '$(printf '\033')' stderr"
cat >read_log.py <<'END'
import json, math
events = [json.loads(line) for line in open("log")]
assert [e["event"] for e in events] == 3 * ["epoch", "epoch", "done"]
dense = 4 * 431080 * 12
for first, second, done in zip(events[0::3], events[1::3], events[2::3]):
    for e in first, second, done:
        assert (e["model"], e["data"], e["learners"], e["batch"], e["seed"]) == ("lenet", "mnist:small", 7, 25, 1)
        assert e["codec"] == done["codec"] and e["skipped"] == 0 and 0 <= e["error"] <= 1 and 0 < e["loss"] < 3
        assert set(e["seconds"]) >= {"compute", "pack", "swap", "unpack"} and e["seconds"]["compute"] > 0
        assert set(e["ratio_by_kind"]) == {"conv", "fc", "last", "bias"}
        assert set(e["sent_by_kind"]) == {"conv", "fc", "last", "bias"} and e["sent_by_kind"]["bias"] == 1
        assert min(e["sent_by_kind"].values()) <= e["sent"] <= 1 and e["sent"] > 0
        assert (e["residual_norm"] > 0) == ("adacomp" in e["codec"])
    assert first["steps"] == second["steps"] == 12 and done["steps"] == 24
    assert first["bytes"] == first["epoch_bytes"]
    assert second["bytes"] == done["bytes"] == first["bytes"] + second["epoch_bytes"]
    for ratio, bytes in (first["ratio"], first["bytes"]), (done["ratio"], done["bytes"] / 2):
        assert math.isclose(ratio, dense / bytes, rel_tol=1e-5), (ratio, dense / bytes)
    assert done["error"] == second["error"] and done["loss"] == second["loss"] < first["loss"]
raw, adacomp, terngrad = events[2::3]
assert raw["sent"] == 1 and raw["ratio"] < 1 and raw["error"] < 0.1, raw
assert adacomp["ratio"] > 40 and adacomp["ratio_by_kind"]["bias"] < 1
assert terngrad["ratio_by_kind"]["last"] < 1 < 13 < terngrad["ratio"]
END
check "the log" python3 read_log.py
mkdir same
for what in images-idx3 labels-idx1; do
	cp small/train-$what-ubyte same && cp small/train-$what-ubyte same/t10k-$what-ubyte
done
check "a test on the training set, which changes nothing" \
	"$CRUMB_TRAIN" --data mnist:same --batch 50 --epochs 1 --learners 7 --lr 0 --log log
holds "has the training's loss" python3 -c 'import json, math
e = json.loads(open("log").readline())
assert math.isclose(e["loss"], e["test_loss"], rel_tol=1e-6), (e["loss"], e["test_loss"])'

# ---- every network trains ----
cat >make_more.py <<'END'
import os, random, struct
random.seed(1)
with open("fox", "w") as file:
    file.write("the quick brown fox jumps over the lazy dog, and again. " * 40)
for folder, width in ("frames", 40), ("columns", 1):  # frames: 30 kinds of 11 x 40, as bn50-dnn wants them
    os.mkdir(folder)
    for name, count in ("train", 240), ("t10k", 60):
        with open(f"{folder}/{name}-features-idx3-ubyte", "wb") as file:
            file.write(struct.pack(">4I", 0x803, count, 11, width))
            for i in range(count):
                file.write(bytes(random.randrange(90) + 120 * (k // 14 == i % 30) for k in range(11 * width)))
        with open(f"{folder}/{name}-labels-idx1-ubyte", "wb") as file:
            file.write(struct.pack(">2I", 0x801, count) + bytes(i % (30 if width > 1 else 67) for i in range(count)))
END
python3 make_more.py
while read -r model data lr more; do
	# shellcheck disable=SC2086 # a list
	check "$model" \
		"$CRUMB_TRAIN" --model "$model" --data "$data" --batch 20 --learners 2 --epochs 3 --lr "$lr" $more \
		--log log
	holds "$model trains" python3 -c 'import json
loss = [json.loads(line)["loss"] for line in open("log")]
assert loss[2] < 0.95 * loss[0], loss'
done <<END
lenet digits:400 0.02
lenet-relu digits:400 0.02
mlp digits:100 0.02
cifar-cnn digits:400 0.05
cifarnet colour-digits:200 0.02 --augment crop
resnet20 colour-digits:128 0.01
bn50-dnn idx:frames 0.05
char-lstm text:fox 0.004 --optimizer adam
gpt-mini text:fox 0.004 --optimizer adamw --local-steps 2
END
# The other two are made of the same kinds of layers.
holds "and that is all" test "$("$CRUMB_TRAIN" --help | sed -n '/^Networks:/,/^$/p' | grep -c '^  ')" = 11
check "gpt-small" "$CRUMB_TRAIN" --model gpt-small --data text --batch 1 --learners 1 --estimate
check "resnet32" "$CRUMB_TRAIN" --model resnet32 --data colour-digits:40 --batch 1 --learners 1 --estimate
refused 1 'fox: 2240 characters, fewer than 5121' "$CRUMB_TRAIN" --model gpt-small --data text:fox
refused 2 'it takes no --decay-first' "$CRUMB_TRAIN" --optimizer adamw --decay-first
refused 1 'char-lstm judges 11 places' "$CRUMB_TRAIN" --model char-lstm --data idx:columns
refused 1 'char-lstm has no layer for --dropout' "$CRUMB_TRAIN" --model char-lstm --data text --dropout 0.5
refused 1 'text has no --augment' "$CRUMB_TRAIN" --model char-lstm --data text --augment shift
refused 1 'text has no --whiten' "$CRUMB_TRAIN" --model char-lstm --data text --whiten
refused 1 'lenet has no layer for --carry-state' $small --carry-state
check "--whiten" "$CRUMB_TRAIN" --model cifarnet --data colour-digits:100 --batch 20 --learners 2 --epochs 1 --whiten \
	--augment crop --log log

# ---- states that are carried on: nothing moves, so that the loss is that of the order and of the states ----
fox="$CRUMB_TRAIN --model char-lstm --data text:fox --batch 10 --lr 0 --epochs 2 --log log"
losses() { grep '"event": "epoch"' log | grep -o '"loss": [^,]*' | cut -d ' ' -f 2 | xargs; }
# shellcheck disable=SC2086 # lists
check "each piece from zeros" $fox --learners 1
zeros=$(losses)
for learners in 1 3; do
	check "--carry-state, $learners learners" $fox --learners $learners --carry-state
	carried="${carried:-} $(losses)"
done
holds "from zeros all epochs are equal, and not otherwise; how many learners there are changes nothing" python3 -c '
import math, sys
a, b = map(float, sys.argv[1].split())
epochs = list(map(float, sys.argv[2].split()))
close = lambda x, y: math.isclose(x, y, rel_tol=2e-6)
assert close(a, b) and len(epochs) == 4, epochs
for first, second in zip(epochs[::2], epochs[1::2]):
    assert close(first, epochs[0]) and close(second, epochs[1]), epochs
    assert not close(first, a) and not close(second, first), (epochs, a)' "$zeros" "$carried"

# ---- probes: what does not arrive is owed, or arrives on average ----
refused 2 '--probe wants --log' $small --probe 5
check "--probe" $small --probe 5 --plan server --down seide --codec raw --codec adacomp:bin=50 --log log
cp log down
check "and exact on its way down" $small --probe 5 --codec adacomp:bin=50 --codec terngrad:clip=0 --codec half --log log
cat >read_probes.py <<'END'
import json
for name in "down", "log":
    for line in open(name):
        e = json.loads(line)
        if e["event"] != "probe":
            continue
        slices = [f"{layer['slice']} {layer['kind']}" for layer in e["layers"]]
        assert slices == ["0 conv", "2 conv", "4 fc", "6 last"], e
        for layer in e["layers"]:
            keys = {"raw": set(), "half": set(), "adacomp:bin=50": {"residual"},
                    "terngrad:clip=0": {"clipped", "clip_length", "clip_cosine"}}
            raw = layer["kind"] == "last" and "terngrad" in e["codec"]
            assert layer["codec"] == ("raw" if raw else e["codec"]), layer
            common = {"slice", "kind", "codec", "sent", "bin_sent", "error", "variance", "gradient", "arrived"}
            assert layer.keys() - common == keys[layer["codec"]], layer
            for part in layer.keys() & {"gradient", "arrived", "residual", "clipped"}:
                sizes = [layer[part][key] for key in ("p50", "p90", "p95", "p99", "p99.9", "max")]
                assert sizes == sorted(sizes) and len(layer[part]["histogram"]) == 41, layer
                assert 0 <= layer[part]["zeros"] <= 1, layer
        slope, cosine, drift = (e["arrived"][key] for key in ("slope", "cosine", "drift"))
        kept = e["codec"] not in ("half", "terngrad:clip=0")
        assert e["step"] % 5 == 0 and e["epoch"] == 1 + (e["step"] - 1) // 12, e
        assert (drift < 1e-6) == kept and (kept or 0.9 < slope < 1.1) and 0 < cosine <= 1, e
        assert e["codec"] != "half" or abs(slope - 1) < 1e-4 and cosine > 0.999999, e
END
check "say so" python3 read_probes.py
holds "every five of 24 steps" test "$(cat down log | grep -c '"probe"')" = 20

# ---- every codec trains: no more than 5 points above raw's error ----
# The default thresholds are for larger gradients; onebit's frames are worth 1 an element, whatever the gradient.
set --
for name in $("$CRUMB_TRAIN" --help | sed -n 's/^Codecs: \(.*\) (.*/\1/p'); do
	case $name in
	twobit | strom) set -- "$@" --codec "$name:threshold=0.003" --codec "$name:threshold=auto" ;;
	onebit) ;;
	*) set -- "$@" --codec "$name" ;;
	esac
done
check "every codec" $small --learners 2 --lr 0.01 "$@"
holds "raw, and more" test $# -ge 20
holds "a row each" test "$(($(wc -l <stdout) - 2))" = $(($# / 2))
sed '1,2d' stdout | while read -r codec error rest; do echo "$codec $error"; done >errors
while read -r codec error; do
	holds "$codec trains" awk "/^raw /{raw = \$2} END{exit !($error <= raw + 5)}" errors
done <errors

# ---- the same numbers from any number of threads and whoever looks on, others from another seed ----
cat >strip.py <<'END'
import json, sys
for line in open(sys.argv[1]):
    event = json.loads(line)
    del event["seconds"], event["seed"], event["command"]
    print(json.dumps(event))
END
run() {
	check "$*" $small --dropout 0.2 --warmup 0.5 --codec adacomp --codec terngrad --log log "$@"
	grep -v '"probe"' log >events
	python3 strip.py events
}
run --threads 1 >one
holds "there are events" test "$(wc -l <one)" = 6
for more in "--threads 2 --probe 5" "--threads 3"; do
	run $more >many
	same "$more: as one thread" one many
done
run --seed 2 >other
holds "another seed, other numbers" sh -c "! cmp -s one other"

# ---- the whole gradient as one slice ----
$small --epochs 1 --log layers >stdout 2>stderr
check "--flat" $small --epochs 1 --flat --log flat
holds "is of one kind, and raw all the same" python3 -c 'import json
layers, flat = (json.loads(open(name).readline()) for name in ("layers", "flat"))
assert layers["loss"] == flat["loss"] and list(layers["sent_by_kind"]) != list(flat["sent_by_kind"]) == ["fc"], flat'

# ---- momentum is that of the codec, if it has it, or the optimizer's ----
for momentum in 0 0.9; do
	check "--momentum $momentum" $small --epochs 1 --flat --codec dgc --codec raw --momentum $momentum --log log
	python3 strip.py log | grep '"epoch"' >"momentum$momentum"
done
grep dgc momentum0 >a
grep dgc momentum0.9 >b
same "dgc: the optimizer has none" a b
holds "raw: it has" sh -c 'grep -v dgc momentum0 >a && ! grep -v dgc momentum0.9 | cmp -s a -'
for codec in dgc 'auto|0 gather exact dgc'; do
	check "$codec" $small --epochs 1 --flat --codec "$codec" --log log
	mv b a
	grep -o '"loss": [^,]*' log >b
done
same "dgc in a script: nor then" a b

# ---- gradients in files ----
check "a dump" $small --dump-gradients dump --log dumped
holds "at the first step and at each epoch's last" test "$(ls dump | sed -n 's/-flat.npy$//p' | xargs)" = \
	"step0000001 step0000012 step0000024"
holds "whole and by slice of weights" test "$(ls dump | sed -n 's/^step0000012-//p' | xargs)" = \
	"flat.npy slice00-conv.npy slice02-conv.npy slice04-fc.npy slice06-last.npy"
cat >read_dump.py <<'END'
def read(name):
    data = open(f"dump/{name}.npy", "rb").read()
    assert data[:8] == b"\x93NUMPY\x01\x00" and data[8] + data[9] * 256 == 118 and data[127:128] == b"\n"
    head = eval(data[10:128])
    assert head == {"descr": "<f4", "fortran_order": False, "shape": (len(data) // 4 - 32,)}, head
    return data[128:]

slices = ((500, "00-conv"), (20, ""), (25000, "02-conv"), (50, ""), (400000, "04-fc"), (500, ""),
          (5000, "06-last"), (10, ""))
flats = [read(f"step{step:07}-flat") for step in (1, 12, 24)]
assert len(set(flats)) == 3
for step, flat in zip((1, 12, 24), flats):
    at = 0
    for n, slice in slices:
        part = flat[4 * at:4 * (at + n)]
        assert not slice or read(f"step{step:07}-slice{slice}") == part and part.strip(b"\0"), slice
        at += n
    assert len(flat) == 4 * at
END
check "the files" python3 read_dump.py
check "without a dump" $small --log undumped
stripped dumped undumped
same "a dump changes nothing" one other
overlapped="$small --codec adacomp --decay-first --weight-decay 0.01 --threads 3 --probe 9"
check "one after the other" $overlapped --dump-gradients apart --log apart.log
check "--overlap" $overlapped --dump-gradients together --log together.log --overlap
stripped apart.log together.log
same "the same numbers" one other
holds "the same gradients" diff -r apart together
refused 1 'dump holds gradients of a run' $small --epochs 1 --dump-gradients dump
mkdir there
check "a folder that is there" $small --epochs 1 --dump-gradients there
refused 2 'one --codec, not 2' $small --codec raw --codec terngrad --dump-gradients dump
refused 1 'nowhere/dump: No such file' $small --dump-gradients nowhere/dump
cp apart.log kept
refused 1 'dumped: Not a directory' $small --dump-gradients dumped --log kept
same "a run that cannot begin leaves the log that is there" apart.log kept
if [ -e /dev/full ]; then
	mkdir full && ln -s /dev/full full/step0000012-slice04-fc.npy
	refused 1 'full/step0000012-slice04-fc.npy: No space left' $small --dump-gradients full
fi

# ---- gradients that are not finite ----
refused 1 'every step of epoch' $small --lr 1e6 --epochs 9 --local-steps 5
refused 1 'every step of epoch' $small --lr 1e6 --epochs 9 --log log
holds "one line tells of it" test "$(grep -c 'is not finite' stderr)" = 1
holds "the log counts" python3 -c '
import json
events = [json.loads(line) for line in open("log")]
last = events[-1]
failed, last = last, events[-2]
assert failed["event"] == "failed" and failed["step"] == 24 and "was skipped" in failed["why"], failed
assert last["event"] == "epoch" and (last["steps"], last["skipped"]) == (0, 12), last
assert last["loss"] is None, last'

check "one codec diverges" sh -c '"$@"; test $? = 1' diverge "$CRUMB_TRAIN" --data digits:200 --batch 20 \
	--epochs 2 --lr 1 --codec raw --codec twobit:threshold=0.001 --log log
holds "says which" grep -q '^crumb-train: raw: every step of epoch 2 was skipped' stderr
holds "the table has the codec that diverged" grep -q '^raw  *diverged  ' stdout
holds "and the one after it" grep -q '^twobit:threshold=0.001  *[0-9.]* %  ' stdout
holds "so has the log" test "$(sed 's/^{"event": "\([a-z]*\)", "codec": "\([a-z]*\).*/\1 \2/' log | xargs)" = \
	"epoch raw epoch raw failed raw epoch twobit epoch twobit done twobit"

# ---- digits: they are learned, and a codec that sends nothing shows ----
check "digits" "$CRUMB_TRAIN" --data digits:2000 --batch 50 --lr 0.04 --epochs 1 --codec raw \
	--codec twobit:threshold=1e6
holds "raw learns" sh -c "grep '^raw' stdout | awk '{exit !(\$2 < 50)}'"
holds "nothing sent is nothing learned" sh -c "grep '^twobit' stdout | awk '{exit !(\$2 > 70)}'"
finish
