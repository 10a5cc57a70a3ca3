# crumb-train under mpirun gives the numbers of one process; and one line, a status and a log that names the step if a
# rank hangs, dies or has other options. SPDX-License-Identifier: MIT
. "$SOURCE/tests/mpi/mpirun.sh"
if [ -z "${CRUMB_TRAIN:-}" ]; then
	echo "skipped: no crumb-train here"
	exit 77
fi

# ---- the same numbers ----
for plan in gather shard server "shard --local-steps 4 --optimizer adamw --lr 0.001" "gather --measure 2"; do
	options="--data digits:500 --epochs 1 --learners 5 --batch 50 --codec adacomp --codec terngrad:shared=1"
	options="$options --plan $plan --log log"
	check "$plan, alone" "$CRUMB_TRAIN" $options
	python3 "$SOURCE/tests/mpi/log_numbers.py" log >one
	for n in 2 6; do
		check "$plan, $n ranks" ranks $n "$CRUMB_TRAIN" $options
		holds "one table" test "$(wc -l <stdout)" = 4
		for log in log log.1 log.$((n - 1)); do
			python3 "$SOURCE/tests/mpi/log_numbers.py" $log >many
			same "$plan: $log of $n ranks as of one" one many
		done
	done
	case $plan in *--*) continue ;; esac
	check "$plan, 3 ranks with overlap" ranks 3 "$CRUMB_TRAIN" $options --overlap
	python3 "$SOURCE/tests/mpi/log_numbers.py" log >many
	same "$plan: overlap changes nothing" one many
done
options="--model mlp --data digits:64 --epochs 1 --learners 2 --batch 64 --codec raw"
ln -s /dev/null nothing
check "a device is the log of all ranks" ranks 2 "$CRUMB_TRAIN" $options --log nothing
holds "no file is made beside it" test ! -e nothing.1
options="$options --log log"
check "messages of five pieces, alone" "$CRUMB_TRAIN" $options
python3 "$SOURCE/tests/mpi/log_numbers.py" log >one
check "messages of five pieces" ranks 2 "$CRUMB_TRAIN" $options
python3 "$SOURCE/tests/mpi/log_numbers.py" log >many
same "the same numbers" one many
# ---- plan async: in lock step as plan server, and after a restart; otherwise all of the work, by ranks that agree ----
options="--data digits:500 --learners 4 --batch 50 --codec adacomp --log log"
cat >async.py <<'END'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
for event in events:
    if len(sys.argv) > 2:
        counts = event["async"]
        assert counts["pushes"] == sum(counts["histogram"]) == 40 * (1 + (event["event"] == "done")), counts
        assert counts["ahead"] <= int(sys.argv[2]) and counts["waiting"] >= 0 and event["steps"] % 10 == 0, event
    else:
        print(event["event"], *(event[key] for key in ("loss", "error", "test_loss", "bytes", "residual_norm")))
END
check "server" "$CRUMB_TRAIN" $options --epochs 2 --plan server
python3 async.py log >one
rm -rf kept
for more in "--epochs 1" "--epochs 2 --resume"; do
	check "async, $more" ranks 5 "$CRUMB_TRAIN" $options --plan async --staleness 0 --checkpoint kept $more
	[ "$more" = "--epochs 1" ] || python3 async.py log >many
done
same "in lock step as plan server" one many
rm kept/epoch0000002-rank0
check "a server that is an epoch behind" ranks 5 "$CRUMB_TRAIN" $options --plan async --staleness 0 --checkpoint kept \
	--epochs 2 --resume
python3 async.py log >many
same "goes on from there" one many
for n in 0 1 2; do
	check "async, staleness $n" ranks 5 "$CRUMB_TRAIN" $options --epochs 2 --plan async --staleness $n --down qsgd
	holds "no more than that" python3 async.py log $n
done
ranks 6 "$CRUMB_TRAIN" $options --plan async >stdout 2>stderr
holds "no worker without a learner" grep -q '4 learners are too few for 5 workers' stderr

python3 -c 'print("the quick brown fox jumps over the lazy dog, and again. " * 20)' >fox
options="--model char-lstm --data text:fox --batch 9 --learners 4 --epochs 2 --lr 0.1 --carry-state --log log"
check "--carry-state, alone" "$CRUMB_TRAIN" $options
python3 "$SOURCE/tests/mpi/log_numbers.py" log >one
check "--carry-state, 3 ranks" ranks 3 "$CRUMB_TRAIN" $options
python3 "$SOURCE/tests/mpi/log_numbers.py" log >many
same "--carry-state: 3 ranks as one" one many

# ---- nodes: the same numbers on all ranks, and with raw those of any plan, to rounding ----
options="--data digits:500 --epochs 1 --learners 4 --batch 50 --codec raw --codec twobit --log log"
losses() { python3 -c 'import json, sys
for event in map(json.loads, open(sys.argv[1])):
    if event["event"] == "epoch" and event["codec"].startswith(sys.argv[2]):
        print("%.3f" % event["loss"])' "$@"; }
check "gather" ranks 4 "$CRUMB_TRAIN" $options
losses log raw >one
for plan in tiers tiers-shard; do
	check "$plan" ranks 4 "$CRUMB_TRAIN" $options --plan $plan --node-size 2
	losses log raw >many
	same "$plan: raw loses as gather does" one many
	losses log '' >many
	losses log.3 '' >last
	same "$plan: the last rank's log is the first one's" many last
	check "$plan, overlap" ranks 4 "$CRUMB_TRAIN" $options --plan $plan --node-size 2 --overlap
	losses log '' >last
	same "$plan: overlap changes nothing" many last
done
ranks 4 "$CRUMB_TRAIN" $options --plan tiers --node-size 3 >stdout 2>stderr
holds "no nodes of three" grep -q '4 ranks are no nodes of 3' stderr

check "--estimate" ranks 3 "$CRUMB_TRAIN" --learners 3 --batch 96 --estimate
want='--batch 32 --compute [0-9.e+-]*ms --nodes 3 --link [0-9.e+-]*M --latency [0-9.e+-]*us'
holds "options for crumb plan" grep -qx -e "$want" stdout

# ---- auto: its choices, taken as a script, give its numbers again, on other ranks, too ----
cat >choice.py <<'END'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
choices = [event for event in events if event["event"] == "choice"]
assert [choice["step"] for choice in choices] == [4], choices
assert choices[0]["chosen"].keys() == {"plan", "down", "up"}
assert choices[0]["link"]["rate"] > 0 and choices[0]["link"]["latency"] > 0
assert choices[0]["seconds"].keys() == {"measured", "predicted", "raw", "compute"}
print(choices[0]["script"])
END
numbers() { grep -o '"loss": [^,]*, "error": [^,]*' "$1"; }
options="--data digits:3000 --epochs 1 --learners 4 --batch 500 --log log"
check "auto" ranks 2 "$CRUMB_TRAIN" $options --codec auto
line='^  auto, step 4: [a-z]* [a-z]* [a-z]* .* (down .*), predicted [0-9.e+]* ms a step, raw '
holds "says why" grep -q "$line" stderr
script=$(python3 choice.py log)
numbers log >want
holds "is auto" test "${script%%|*}" = auto
holds "all ranks choose the same" test "$script" = "$(python3 choice.py log.1)"
[ "$script" != auto ] || script='auto|1 shard exact raw'
check "its script" ranks 3 "$CRUMB_TRAIN" $options --codec "$script"
numbers log >got
same "gives the same numbers" want got

# ---- probes: the first learner's layers are those of one process ----
options="--data digits:600 --epochs 1 --learners 3 --batch 60 --plan shard --codec adacomp --codec terngrad:shared=1"
options="$options --probe 10 --log log"
layers() { grep -o '"layers": .*' log; }
check "--probe, alone" "$CRUMB_TRAIN" $options
layers >one
check "--probe, 3 ranks" ranks 3 "$CRUMB_TRAIN" $options
layers >many
holds "one probe a codec" test "$(wc -l <one)" = 2
same "the same layers" one many
holds "and nothing of what arrived" sh -c "! grep -q '\"arrived\": {\"slope' log"
holds "or on other ranks" sh -c "! grep -q '\"probe\"' log.1 log.2"
check "mpirun --help" ranks 3 "$CRUMB_TRAIN" --help
holds "is printed once" test "$(grep -c '^Usage' stdout)" = 1

# ---- a job that fails ----
# One line of crumb-train's says why, and every log's last line names the step.
named() {
	python3 -c '
import json, sys
for path in sys.argv[2:]:
    last = [json.loads(line) for line in open(path)][-1]
    assert last["event"] in ("step", "failed") and last["step"] >= int(sys.argv[1]), last
' "$@"
}
# strike SIGNAL: sends it to rank 2 of the job whose options begin with --epochs 1000.
strike() {
	for process in $(pgrep -f "^$CRUMB_TRAIN --epochs 1000"); do
		tr '\0' '\n' <"/proc/$process/environ" | grep -qx OMPI_COMM_WORLD_RANK=2 && kill -"$1" "$process"
	done
}
# until_said FILE PATTERN: or the job has ended.
until_said() {
	until grep -qs "$2" "$1" || ! kill -0 $job; do
		sleep 0.1
	done
}
# fails SIGNAL: sends it to rank 2 of a long job once its log has come to a step.
fails() {
	rm -f log*
	ranks 4 "$CRUMB_TRAIN" --epochs 1000 --batch 40 --timeout 2 --codec twobit --log log >stdout 2>stderr &
	job=$!
	until_said log.2 '"step": [1-9]'
	strike "$1"
	wait $job
	status=$?
	holds "$1: a status, $status" test $status != 0 -a $status != 124
	holds "$1: each log names the step" named 1 log log.1 log.2 log.3
	holds "$1: no rank is left" sh -c '! pgrep -f "^$CRUMB_TRAIN --epochs 1000"'
}
fails STOP
silent='nothing from ranks\{0,1\} [013, ]*2[3, ]* within 2 s'
lines=$(grep -c "crumb-train: twobit: step [0-9]*: rank [0-9]: $silent" stderr)
holds "one line says who hangs, and when" test "$lines" = 1
holds "and nothing else" test "$(grep -c crumb-train: stderr)" = 1
fails KILL
holds "mpirun says who died" sh -c "tr '\n' ' ' <stderr | grep -q 'rank 2.*signal 9'" # on two lines of Open MPI 5's

# ---- plan async goes on without a worker that is stopped, and refuses it when it wakes up ----
set -- --data digits:1000 --batch 40 --learners 5 --codec adacomp --plan async --staleness 2 --momentum 0
set -- "$@" --timeout 2 --checkpoint left
rm -f log*
ranks 5 "$CRUMB_TRAIN" --epochs 1000 "$@" --epochs 4 --log log >stdout 2>stderr &
job=$!
until_said log.2 '"step": [1-9]'
strike STOP
until_said log '"lost"'
strike CONT
wait $job
holds "without rank 2: status $?" test $? = 0
given='^  rank 2 is given up: it has left, or nothing came from it within 2 s; others take over its work'
holds "it is named" grep -q "$given" stderr
holds "and told so" grep -q 'crumb-train: adacomp: step [0-9]*: rank 2: rank 0 has given this rank up' stderr
cat >lost.py <<'END'
import json
events = [json.loads(line) for line in open("log")]
assert [(event["lost"], event["epoch"]) for event in events if event["event"] == "lost"] == [(2, 1)], events
epochs = [event for event in events if event["event"] == "epoch"]
assert len(epochs) == 4 and events[-1]["event"] == "done" and epochs[3]["loss"] < epochs[0]["loss"], epochs
assert all(event["steps"] == 25 for event in epochs[1:]), "all of the work is done"
assert events[-1]["error"] * 1000 == round(events[-1]["error"] * 1000), "by all of the test set"
END
check "all of the work" python3 lost.py
holds "all files are there" test "$(ls left | grep -c epoch0000004)" = 5
check "all ranks go on from them" ranks 5 "$CRUMB_TRAIN" "$@" --epochs 5 --log log --resume
check "fewer, too" ranks 4 "$CRUMB_TRAIN" "$@" --epochs 6 --resume

# The server's last messages are long, and it goes on to the next codec.
check "many learners, two codecs" ranks 3 "$CRUMB_TRAIN" --data digits:200 --plan async --learners 60 --batch 60 \
	--epochs 1 --threads 1 --timeout 20 --codec raw --codec half

# A codec that diverges does so on all ranks, which go on to the next one.
if ranks 2 "$CRUMB_TRAIN" --data digits:200 --batch 20 --epochs 2 --lr 1 --codec raw \
	--codec twobit:threshold=0.001 --log log >stdout 2>stderr; then fail "one codec diverges: no failure"; fi
holds "one table" test "$(grep -c -e '^raw  *diverged  ' -e '^twobit:threshold=0.001  *[0-9.]* %  ' stdout)" = 2
holds "one message" test "$(grep -c 'raw: every step of epoch 2 was skipped' stderr)" = 1
holds "whole logs" test "$(tail -qn1 log log.1 | grep -c '^{"event": "done", "codec": "twobit')" = 2

# Ranks without learners.
for learners in 1 2; do
	check "$learners learners, a dump" ranks 3 "$CRUMB_TRAIN" --data digits:200 --batch 50 --epochs 1 --threads 1 \
		--learners $learners --dump-gradients "dump$learners"
	check "the same alone" "$CRUMB_TRAIN" --data digits:200 --batch 50 --epochs 1 --threads 1 --learners $learners \
		--dump-gradients "alone$learners"
	holds "the same files" diff -r "dump$learners" "alone$learners"
done
refused_by_ranks() { # TEXT N COMMAND...
	text=$1
	shift
	if ranks "$@" >stdout 2>stderr; then fail "$*: no failure"; else holds "$text" grep -qF -e "$text" stderr; fi
}
python3 -c 'import fcntl, time
held = open("log.1", "a")
fcntl.flock(held, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(300)' >held &
while kill -0 $! && [ ! -s held ]; do sleep 0.1; done
cp log before
refused_by_ranks "log.1: another run is writing there" 2 "$CRUMB_TRAIN" --data digits:200 --log log
kill $!
wait $! 2>/dev/null
same "no rank begins its log if another cannot" log before
refused_by_ranks "--plan tiers wants a learner on each of 4 ranks" 4 "$CRUMB_TRAIN" --data digits:200 --learners 2 \
	--plan tiers --node-size 2

# pair OPTION...: two ranks; rank 1 has the options, too. Debian 13's mpirun takes no two commands.
pair() {
	# shellcheck disable=SC2016 # expanded by each rank
	ranks 2 sh -c '[ "$OMPI_COMM_WORLD_RANK" = 1 ] || set --
		exec "$CRUMB_TRAIN" --codec raw --data digits:400 --epochs 1 --threads 1 "$@"' rank "$@"
}
# differ LINE OPTION...: the job of such a pair fails, and one line says how they differ.
differ() {
	want=$1
	shift
	pair "$@" >stdout 2>stderr
	status=$?
	holds "$*: status $status" test $status = 1
	holds "$want" grep -qxF "crumb-train: the ranks' options differ: rank $want" stderr
	holds "once" test "$(grep -c '^crumb-train: ' stderr)" = 1
}
# The ranks' texts differ in letters, not in length.
for rank in 0 1; do
	mkdir $rank
	yes "text $rank and 0 and 1" | head -n 200 >$rank/text
done
# shellcheck disable=SC2016 # expanded by each rank
refused_by_ranks "checksum " 2 sh -c \
	'cd "$OMPI_COMM_WORLD_RANK" && exec "$CRUMB_TRAIN" --data text:text --model char-lstm --batch 2 --learners 2'
differ '1 has "--lr 1", rank 0 "--lr 0.02"' --lr 1
differ '1 has "--plan shard", rank 0 "--plan gather"' --plan shard
differ '1 has "--codec raw --codec half", rank 0 "--codec raw"' --codec half
differ '1 has "--epochs 2", rank 0 "--epochs 1"' --epochs 2
differ '1 has "--flat", rank 0 "no --flat"' --flat
differ '1 has "--checkpoint", rank 0 "no --checkpoint"' --checkpoint there
differ '1 has "--estimate", rank 0 "no --estimate"' --estimate
differ '1 has "--data digits:401", rank 0 "--data digits:400"' --data digits:401
check "options that may differ" pair --threads 2 --timeout 9 --log log
ranks 3 "$CRUMB_TRAIN" --lr x >stdout 2>stderr
holds "wrong usage is status 2, not $?" test $? = 2
finish
