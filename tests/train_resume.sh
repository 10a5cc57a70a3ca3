# A run that is killed and resumed ends as one that was not, to the bit; and what cannot be resumed says so.
# SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

without_times() { python3 "$SOURCE/tests/without_times.py" "$1"; }
same_checkpoint() { python3 "$SOURCE/tests/same_checkpoint.py" "$1" "$2"; }
python3 "$SOURCE/tests/small_mnist.py" 300 100 200
# One codec with a residual, one that is random; two threads.
set -- --data mnist:small --batch 50 --epochs 20 --learners 3 --schedule cosine --weight-decay 1e-4 --threads 2 \
	--optimizer adam --lr 0.002 --average 0.9 \
	--codec 'conv=adacomp:bin=50;fc,last=terngrad;bias=raw'

check "in one go" "$CRUMB_TRAIN" "$@" --checkpoint whole --log whole.log
holds "the two newest stay" test "$(ls whole | xargs)" = "epoch0000019-rank0 epoch0000020-rank0"
without_times whole.log >want
holds "a log of all epochs and the end" test "$(wc -l <want)" = 21

# Another log is another file; one that is not the run's stays as it is.
"$CRUMB_TRAIN" "$@" --epochs 1 --checkpoint logged --log first.log >/dev/null 2>&1
check "another log" "$CRUMB_TRAIN" "$@" --epochs 2 --checkpoint logged --resume --log second.log
holds "has the second epoch and the end" test "$(wc -l <second.log)" = 2
holds "the first has the first" test "$(wc -l <first.log)" = 2
yes "not a log" | head -1000 >other
cp other before
refused 1 "other is not the log of the run" "$CRUMB_TRAIN" "$@" --epochs 3 --checkpoint logged --resume --log other
same "which stays" other before
"$CRUMB_TRAIN" "$@" --epochs 5 --codec adacomp:bin=50 --log longer.log >/dev/null 2>&1
refused 1 "longer.log is not the log of the run" "$CRUMB_TRAIN" "$@" --epochs 3 --checkpoint logged --resume \
	--log longer.log
rm longer.log
cp second.log before
refused 1 "second.log has epochs of a run, but mistyped no checkpoint" \
	"$CRUMB_TRAIN" "$@" --checkpoint mistyped --resume --log second.log
refused 1 "is of another run" "$CRUMB_TRAIN" "$@" --seed 9 --checkpoint logged --resume --log second.log
cp -r small kept
printf '\001' | dd of=small/train-images-idx3-ubyte bs=1 seek=5000 conv=notrunc 2>/dev/null
refused 1 "300 training samples, 100 test samples, checksum " "$CRUMB_TRAIN" "$@" --checkpoint logged --resume \
	--log second.log
rm -r small
mv kept small
same "which stays" second.log before
cp other before
refused 1 "other is not the log of the run" "$CRUMB_TRAIN" "$@" --checkpoint mistyped --resume --log other
"$CRUMB_TRAIN" "$@" --epochs 1 --checkpoint unlogged >/dev/null 2>&1
refused 1 "other is not the log of the run" "$CRUMB_TRAIN" "$@" --epochs 2 --checkpoint unlogged --resume --log other
same "which stays" other before
check "a first log" "$CRUMB_TRAIN" "$@" --epochs 2 --checkpoint unlogged --resume --log late.log
[ ! -d /proc/self ] || refused 1 "/proc/self: " "$CRUMB_TRAIN" "$@" --checkpoint /proc/self

# Two runs with one folder, or one log.
"$CRUMB_TRAIN" "$@" --epochs 1000000 --checkpoint busy --log busy.log >/dev/null 2>&1 &
while kill -0 $! && ! grep -q '"event": "epoch"' busy.log 2>/dev/null; do sleep 0.1; done
refused 1 "busy: another run is writing there" "$CRUMB_TRAIN" "$@" --checkpoint busy --resume --log other
same "its log stays" other before
refused 1 "busy.log: another run is writing there" "$CRUMB_TRAIN" "$@" --epochs 1 --log busy.log
kill $!
wait $! 2>/dev/null
holds "a killed run leaves its lock's file" test -e busy/rank0.lock
mkdir left && mv busy/rank0.lock left
check "which locks nobody out" "$CRUMB_TRAIN" "$@" --epochs 1 --checkpoint left --log busy.log --dump-gradients dump
holds "and goes away" test "$(ls left)" = epoch0000001-rank0
check "gradients are added" "$CRUMB_TRAIN" "$@" --epochs 2 --checkpoint left --resume --dump-gradients dump
holds "of a resumed run" test "$(ls dump | sed -n 's/-flat.npy$//p' | xargs)" = "step0000001 step0000006 step0000012"
if [ "$(id -u)" != 0 ]; then
	: >busy/rank0.lock
	chmod a-w busy
	refused 1 "busy: Permission denied" "$CRUMB_TRAIN" "$@" --checkpoint busy --resume
	chmod u+w busy
fi

# Killed twenty times, at moments drawn from seed 1; a run that comes to its end before is begun anew.
python3 -c 'import random
random.seed(1)
print(*(f"{random.uniform(0.02, 0.3):.3f}" for _ in range(100)), sep="\n")' >moments
killed=0
while [ $killed -lt 20 ] && read -r moment; do
	"$CRUMB_TRAIN" "$@" --checkpoint parts --resume --log parts.log >/dev/null 2>&1 &
	sleep "$moment"
	kill -9 $! 2>/dev/null
	wait $! 2>/dev/null
	case $? in
	137) killed=$((killed + 1)) ;;
	0) rm -r parts parts.log ;;
	*) holds "a run that was not killed ends well" false ;;
	esac
done <moments
holds "$killed were killed" test $killed -eq 20
check "to the end" "$CRUMB_TRAIN" "$@" --checkpoint parts --resume --log parts.log
without_times parts.log >got
same "the same log" got want
check "the same weights, moments and packers" same_checkpoint parts/epoch0000020-rank0 whole/epoch0000020-rank0
check "another end to it" "$CRUMB_TRAIN" "$@" --checkpoint parts --resume --log parts.log
without_times parts.log >got
same "changes nothing" got want
check "other threads" "$CRUMB_TRAIN" "$@" --threads 1 --checkpoint parts --resume

# ---- how often ----
check "every third epoch" "$CRUMB_TRAIN" "$@" --epochs 7 --checkpoint some --every 3
holds "and the last" test "$(ls some | xargs)" = "epoch0000006-rank0 epoch0000007-rank0"

# ---- a run is lengthened ----
set -- "$@" --schedule step:every=3,factor=0.5
check "seven epochs" "$CRUMB_TRAIN" "$@" --epochs 7 --checkpoint seven --log seven.log
check "without checkpoints" "$CRUMB_TRAIN" "$@" --epochs 7 --log none.log
without_times none.log >none
without_times seven.log >got
same "checkpoints change nothing" none got
check "five" "$CRUMB_TRAIN" "$@" --epochs 5 --checkpoint longer --log longer.log
check "and two more, otherwise watched" "$CRUMB_TRAIN" "$@" --epochs 7 --checkpoint longer --resume --log longer.log \
	--threads 1 --every 3 --timeout 9 --learners 3
holds "nothing is said of the rate" sh -c '! grep -q "learning rate" stderr'
check "are the same weights, moments and packers" same_checkpoint longer/epoch0000007-rank0 seven/epoch0000007-rank0
without_times longer.log >lengthened
same "and the same log" got lengthened
for schedule in poly cosine; do
	check "$schedule, two epochs" "$CRUMB_TRAIN" "$@" --schedule $schedule --epochs 2 --checkpoint $schedule
	check "and a third" "$CRUMB_TRAIN" "$@" --schedule $schedule --epochs 3 --checkpoint $schedule --resume
	holds "whose rate is named" \
		grep -qx '  the learning rate goes on as that of 3 epochs; it was that of 2' stderr
done
set -- "$@" --schedule cosine

# ---- learners that step alone have their own optimizers' state ----
for optimizer in adamw sgd; do
	outer="--optimizer $optimizer --schedule constant --clip-norm 1 --local-steps 4"
	# shellcheck disable=SC2086 # a list
	check "outer steps, $optimizer" "$CRUMB_TRAIN" "$@" $outer --epochs 4 --checkpoint outer-$optimizer \
		--log outer.log
	# shellcheck disable=SC2086
	check "two epochs of them" "$CRUMB_TRAIN" "$@" $outer --epochs 2 --checkpoint parts-$optimizer --log part.log
	# shellcheck disable=SC2086
	check "and two more" "$CRUMB_TRAIN" "$@" $outer --epochs 4 --checkpoint parts-$optimizer --log part.log \
		--resume --threads 1
	check "are the same weights, moments and packers" \
		same_checkpoint parts-$optimizer/epoch0000004-rank0 outer-$optimizer/epoch0000004-rank0
	without_times outer.log >want
	without_times part.log >got
	same "and the same log" got want
	holds "two exchanges an epoch" grep -q "'steps': 2, 'skipped': 0" want
done
without_times whole.log >want

# ---- other learners: 4, then 2, then 8 ----
# Unbroken and resumed, the errors are within 2 points of each other in the last epoch; what is said and logged.
set -- --data digits:1500 --batch 96 --epochs 6 --codec adacomp
check "4 learners" "$CRUMB_TRAIN" "$@" --learners 4 --log four.log
check "two epochs" "$CRUMB_TRAIN" "$@" --learners 4 --log others.log --checkpoint others --epochs 2
check "two of 2 learners" "$CRUMB_TRAIN" "$@" --learners 2 --log others.log --checkpoint others --resume --epochs 4
holds "are said" grep -qx '  4 learners on 1 ranks go on as 2 on 1: what is owed is divided anew' stderr
check "two of 8" "$CRUMB_TRAIN" "$@" --learners 8 --log others.log --checkpoint others --resume
cat >curve.py <<'END'
import json
def epochs(path):
    return [event for event in map(json.loads, open(path)) if event["event"] == "epoch"]
events = [json.loads(line) for line in open("others.log")]
divided = [event for event in events if event["event"] == "divided"]
assert [(event["epoch"], event["from"]["learners"]) for event in divided] == [(2, 4), (4, 2)]
assert [event["learners"] for event in epochs("others.log")] == [4, 4, 2, 2, 8, 8]
assert epochs("others.log")[:2] == [dict(event, seconds=mine["seconds"], command=mine["command"]) for event, mine
                                    in zip(epochs("four.log")[:2], epochs("others.log"))]
assert abs(epochs("others.log")[-1]["error"] - epochs("four.log")[-1]["error"]) < 0.02
END
check "the curve" python3 curve.py
outer="--optimizer adam --lr 0.002 --local-steps 4 --plan shard --down twobit:threshold=auto"
# shellcheck disable=SC2086 # a list
{
	check "outer steps of 3" "$CRUMB_TRAIN" "$@" $outer --learners 3 --checkpoint steps --epochs 2
	check "of 5" "$CRUMB_TRAIN" "$@" $outer --learners 5 --checkpoint steps --epochs 3 --resume
}
set -- --data mnist:small --batch 50 --epochs 20 --learners 3 --schedule cosine --weight-decay 1e-4 --threads 2 \
	--optimizer adam --lr 0.002 --average 0.9 \
	--codec 'conv=adacomp:bin=50;fc,last=terngrad;bias=raw'

# ---- states that are carried on ----
python3 -c 'print("the quick brown fox jumps over the lazy dog, and again. " * 20)' >fox
fox="$CRUMB_TRAIN --model char-lstm --data text:fox --batch 9 --learners 2 --optimizer adam --lr 0.004 --carry-state"
# shellcheck disable=SC2086 # a list
{
	check "three epochs" $fox --epochs 3 --checkpoint fox3 --log fox3.log
	check "two" $fox --epochs 2 --checkpoint fox2 --log fox2.log
	check "and one more" $fox --epochs 3 --checkpoint fox2 --log fox2.log --resume
}
check "are the same weights, moments and states" same_checkpoint fox2/epoch0000003-rank0 fox3/epoch0000003-rank0
without_times fox2.log >got
without_times fox3.log >want3
same "and the same log" got want3

# ---- what is refused ----
refused 2 '--resume wants --checkpoint' "$CRUMB_TRAIN" --resume
refused 2 '--resume takes no value' "$CRUMB_TRAIN" --resume=1
refused 2 '--checkpoint wants one --codec' "$CRUMB_TRAIN" --codec raw --codec half --checkpoint x
"$CRUMB_TRAIN" --data digits:40 --batch 20 --learners 2 --epochs 1 --codec alq --checkpoint measured >/dev/null 2>&1
refused 1 'then "--measure 1", now "--measure 2"' "$CRUMB_TRAIN" --data digits:40 --batch 20 --learners 2 --epochs 2 \
	--codec alq --checkpoint measured --resume --measure 2
refused 1 'whole holds checkpoints' "$CRUMB_TRAIN" "$@" --checkpoint whole --log whole.log
without_times whole.log | head -n 21 >got
same "the log stays" got want
# Both sides as they may be typed, and the two runs not in full.
while read -r option value was; do
	now="--$option $value"
	[ "$value" = yes ] && now="--$option" value=
	refused 1 "whole/epoch0000020-rank0 is of another run: then \"$was\", now \"$now\"" \
		"$CRUMB_TRAIN" "$@" "--$option" $value --checkpoint whole --resume
	holds "in one line below the codec" test "$(grep -vc 'no slice of' stderr)" = 2
done <<END
lr 0.01 --lr 0.002
model lenet-relu --model lenet
optimizer rmsprop:decay=0.9,epsilon=1e-06 --optimizer adam:beta1=0.9,beta2=0.999,epsilon=1e-08
schedule step:every=7,factor=0.5 --schedule cosine
batch 60 --batch 50
data digits:300 --data mnist:small
seed 7 --seed 1
local-steps 4 --local-steps 0
clip-norm 1 --clip-norm 0
flat yes no --flat
decay-first yes no --decay-first
END
refused 1 'then "--codec conv=adacomp:bin=50;fc,last=terngrad;bias=raw", now "--codec raw"' "$CRUMB_TRAIN" \
	--data mnist:small --batch 50 --epochs 20 --learners 3 --schedule cosine --weight-decay 1e-4 --optimizer adam \
	--lr 0.002 --average 0.9 --codec raw --checkpoint whole --resume
refused 1 'whole has come to epoch 20: --epochs 19 is before it' \
	"$CRUMB_TRAIN" "$@" --epochs 19 --checkpoint whole --resume
head -1 whole.log >short
refused 1 'short is not the log of the run' "$CRUMB_TRAIN" "$@" --checkpoint whole --resume --log short

# ---- a damaged file: the one before it is used ----
cat >damage.py <<'END'
import sys
data = bytearray(open("whole/" + sys.argv[1], "rb").read())
exec(sys.argv[2])
open("damaged/" + sys.argv[1], "wb").write(data)
END
for damage in 'data[100000] ^= 1' 'del data[-1:]' 'data += b"x"' 'data[0] ^= 1' 'data[200] ^= 1' 'del data[20:]' \
	'del data[3:]' 'del data[:]' 'data[-2000000] ^= 64'; do
	rm -rf damaged && cp -r whole damaged
	python3 damage.py epoch0000020-rank0 "$damage"
	check "$damage" "$CRUMB_TRAIN" "$@" --checkpoint damaged --resume
	holds "says so in one line" test "$(grep -c 'epoch0000020-rank0: a damaged .* epoch 19 is used$' stderr)" = 1
	check "comes to the same" same_checkpoint damaged/epoch0000020-rank0 whole/epoch0000020-rank0
	python3 damage.py epoch0000020-rank0 "$damage"
	python3 damage.py epoch0000019-rank0 'data[1000] ^= 1'
	refused 1 'epoch0000020-rank0: a damaged checkpoint; damaged/epoch0000019-rank0: a damaged checkpoint' \
		"$CRUMB_TRAIN" "$@" --checkpoint damaged --resume
	rm damaged/epoch0000019-rank0
	refused 1 'damaged/epoch0000020-rank0: a damaged checkpoint; there is no other' \
		"$CRUMB_TRAIN" "$@" --checkpoint damaged --resume
done
rm -rf damaged && cp -r whole damaged && cp whole/epoch0000019-rank0 damaged/epoch0000020-rank0
check "the file of another epoch" "$CRUMB_TRAIN" "$@" --checkpoint damaged --resume
holds "says so" grep -q 'epoch 20: the file of rank 0 is of epoch 19; the one of epoch 19 is used$' stderr
check "comes to the same" same_checkpoint damaged/epoch0000020-rank0 whole/epoch0000020-rank0
refused 1 'nowhere/x: No such file' "$CRUMB_TRAIN" "$@" --checkpoint nowhere/x
for run in first resumed; do
	refused 1 'every step of epoch 2 was skipped' "$CRUMB_TRAIN" --data digits:200 --batch 20 --epochs 3 --lr 1 \
		--checkpoint diverged --resume
	holds "$run: the epoch is not kept" test "$(ls diverged)" = epoch0000001-rank0
done
refused 1 'moments: Not a directory' "$CRUMB_TRAIN" "$@" --checkpoint moments
if [ -e /dev/full ]; then
	mkdir full && ln -s /dev/full full/rank0.tmp
	refused 1 'epoch0000001-rank0: No space left' "$CRUMB_TRAIN" "$@" --checkpoint full
	holds "and no checkpoint" test -z "$(ls full | grep epoch)"
fi
finish
