# A run that ranks were killed in and that a launcher has begun again ends as an unbroken one, to the bit; so does one
# that goes on with its learners on another number of ranks. SPDX-License-Identifier: MIT
. "$SOURCE/tests/mpi/mpirun.sh"
if [ -z "${CRUMB_TRAIN:-}" ]; then
	echo "skipped: no crumb-train here"
	exit 77
fi

# ---- other ranks ----
for plan in gather "shard --down twobit:threshold=auto" "server --local-steps 3 --optimizer adam --lr 0.002"; do
	set -- --data digits:500 --batch 100 --learners 4 --codec 'conv=adacomp;fc=terngrad;bias=raw'
	# shellcheck disable=SC2086 # a list
	set -- "$@" --plan $plan
	overlap=--overlap
	case $plan in *local*) overlap= ;; esac
	check "$plan, unbroken" "$CRUMB_TRAIN" "$@" --epochs 6 --log whole
	rm -rf there log log.*
	check "$plan, two epochs on 4 ranks" ranks 4 "$CRUMB_TRAIN" "$@" --epochs 2 --checkpoint there --log log
	check "two on 2" ranks 2 "$CRUMB_TRAIN" "$@" --epochs 4 --checkpoint there --log log --resume $overlap
	holds "who owed is said" \
		grep -qx '  4 learners on 4 ranks go on as 4 on 2: what is owed is divided anew' stderr
	holds "no file of other ranks stays" test "$(ls there | grep -c 'rank[23]')" = 0
	check "one on 5" ranks 5 "$CRUMB_TRAIN" "$@" --epochs 5 --checkpoint there --log log --resume
	check "and one alone" "$CRUMB_TRAIN" "$@" --epochs 6 --checkpoint there --log log --resume
	python3 "$SOURCE/tests/mpi/log_numbers.py" whole >want
	python3 "$SOURCE/tests/mpi/log_numbers.py" log >got
	same "$plan: the same numbers" want got
done
rm there/epoch0000006-rank0 there/epoch0000005-rank3
lost='there/epoch0000005-rank3: No such file or directory; each of 5 ranks has left a file of what it owes'
refused 1 "$lost" "$CRUMB_TRAIN" "$@" --epochs 6 --checkpoint there --log log --resume

# ---- a folder a rank, as on nodes with disks of their own, of which one is lost ----
# shellcheck disable=SC2016 # the ranks' shells
own='exec "$CRUMB_TRAIN" "$@" --checkpoint own.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}'
set -- --data digits:200 --batch 50 --learners 2 --log own.log
check "three epochs" ranks 2 sh -c "$own" sh "$@" --epochs 3
rm -r own.1
cp own.log before
ranks 2 sh -c "$own" sh "$@" --epochs 4 --resume >stdout 2>stderr
holds "the other one is named" grep -q 'own.0 has a checkpoint of epoch 3, and that of another rank has none' stderr
holds "nothing is lost" sh -c 'head -n "$(wc -l <before)" own.log | cmp before -'

# ---- other learners, and other nodes ----
set -- --data digits:500 --batch 96 --codec adacomp --plan tiers-shard --down twobit:threshold=auto --checkpoint nodes
check "2 nodes of 2" ranks 4 "$CRUMB_TRAIN" "$@" --learners 4 --node-size 2 --epochs 2
check "1 of 2" ranks 2 "$CRUMB_TRAIN" "$@" --learners 2 --node-size 2 --epochs 3 --resume
check "4 of 2" ranks 8 "$CRUMB_TRAIN" "$@" --learners 8 --node-size 2 --epochs 4 --resume
holds "are said" grep -qx '  2 learners on 2 ranks go on as 8 on 8: what is owed is divided anew' stderr

# ---- ranks whose files of an epoch are from before another division, which began anew at the epoch before ----
set -- --data digits:300 --batch 60 --codec adacomp --checkpoint stale
check "two epochs on 4 ranks" ranks 4 "$CRUMB_TRAIN" "$@" --learners 4 --epochs 2
echo damaged >>stale/epoch0000002-rank0
check "the second one on 2" ranks 2 "$CRUMB_TRAIN" "$@" --learners 2 --epochs 2 --resume
check "a third one on 4" ranks 4 "$CRUMB_TRAIN" "$@" --learners 4 --epochs 3 --resume
cat >weights.py <<'END'
import struct, sys
def weights(path):
    data, at = open(path, "rb").read(), 8
    for block in range(5):
        size, = struct.unpack_from("<Q", data, at)
        at += 8 + size
    return data[at - size:at]
assert weights(sys.argv[1]) == weights(sys.argv[2])
END
check "go on from the same weights" python3 weights.py stale/epoch0000003-rank0 stale/epoch0000003-rank2

# ---- killed and begun again: a random rank at random moments, drawn from seed 1, while the launcher's loop runs ----
set -- --data digits:600 --batch 60 --learners 4 --epochs 16 --codec adacomp --optimizer adam --lr 0.002
for plan in gather tiers; do
	check "$plan, unbroken" ranks 4 "$CRUMB_TRAIN" "$@" --plan $plan --checkpoint whole-$plan --log whole-$plan.log
	rm -f began
	(until ranks 4 "$CRUMB_TRAIN" "$@" --plan $plan --checkpoint parts-$plan --log "parts-$plan.log" --resume \
		--timeout 5
	do
		echo again >>began
	done) >loop 2>&1 &
	loop=$!
	python3 -c 'import random
random.seed(1)
for _ in range(1000): print(f"{random.uniform(0.3, 1.5):.2f} {random.randrange(4)}")' >moments
	killed=0
	while [ $killed -lt 3 ] && kill -0 $loop 2>/dev/null && read -r moment victim; do
		sleep "$moment"
		for process in $(pgrep -f "^$CRUMB_TRAIN .*parts-$plan "); do
			tr '\0' '\n' 2>/dev/null <"/proc/$process/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$victim" &&
				kill -9 "$process" && killed=$((killed + 1))
		done
	done <moments
	wait $loop
	holds "$plan: the loop ends well" test $? = 0
	holds "$plan: $killed were killed" test $killed -ge 2
	holds "$plan: it began again" test "$(wc -l <began)" -ge 2
	python3 "$SOURCE/tests/mpi/log_numbers.py" whole-$plan.log >want
	python3 "$SOURCE/tests/mpi/log_numbers.py" "parts-$plan.log" >got
	same "$plan: the same numbers" want got
	for rank in 0 1 2 3; do
		check "$plan: the same weights and packers of rank $rank" python3 "$SOURCE/tests/same_checkpoint.py" \
			whole-$plan/epoch0000016-rank$rank parts-$plan/epoch0000016-rank$rank
	done
done
finish
