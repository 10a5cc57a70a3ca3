# Kills, stops or gives a NaN to a random rank at a random step, or holds up the server of plan async, $CHAOS_RUNS times
# (12): no job may hang, none may compute anything wrong (each rank compares its parameters after every step with those
# of one process alone), and messages must be true. $CHAOS_SEED makes other runs. SPDX-License-Identifier: MIT
. "$SOURCE/tests/mpi/mpirun.sh"

runs=${CHAOS_RUNS:-12}
# shellcheck disable=SC2016 # awk's own dollars
awk -v runs="$runs" -v seed="${CHAOS_SEED:-1}" '
function nth(list, i, parts) { return parts[1 + i % split(list, parts, " ")] }
BEGIN {
	srand(seed)
	for (i = 0; i < runs; i++) {
		ranks = 2 + int(rand() * 4)
		fault = nth("kill stop nan", i + int(i / 12)) # each plan has each fault in 36 runs
		victim = int(rand() * ranks)
		step = int(rand() * 50)
		plan = nth("gather shard server tiers tiers-shard async-0 async-2 async " \
			"overlap-gather overlap-shard overlap-tiers overlap-tiers-shard", i)
		spec = nth("adacomp twobit:threshold=0.05 terngrad:shared=1 raw seide", i)
		if (plan ~ /^async/) {
			sub(":shared=1", "", spec)
			if (fault == "nan" && rand() < 0.5) {
				fault = "late"
				victim = 0
			}
		}
		print fault, ranks, victim, step, plan, spec
	}
}' >runs

recover=
case $("$MPIRUN" --version) in *'(Open MPI) 4'*) recover=--enable-recovery ;; esac
while read -r fault n victim step plan spec; do
	what="$fault of rank $victim of $n at step $step, $plan, $spec"
	seconds=1 recovery='' outcome=$fault
	[ "$fault" != late ] || seconds=2
	case $fault-$plan in
	*-async-0) ;;
	stop-async* | kill-async*)
		if [ "$victim" != 0 ] && [ "$n" != 2 ]; then # the others go on, where the launcher lets them
			[ "$fault" != kill ] || recovery=$recover
			[ "$fault$recovery" = kill ] || outcome=missed
		fi
		;;
	esac
	# shellcheck disable=SC2086 # an option or none
	timeout 60 "$MPIRUN" $recovery -n "$n" "$MPI_RANK" fault "$fault" "$victim" "$step" "$plan" "$spec" $seconds \
		>stdout 2>stderr </dev/null
	status=$?
	holds "$what: no hang" test $status != 124
	holds "$what: nothing wrong" sh -c "! grep -q 'wrong parameters' stderr"
	case $outcome in
	nan | late | missed)
		holds "$what: the others go on" test $status = 0
		holds "$what: to the end" grep -q '^all right$' stdout
		[ $outcome != missed ] || holds "$what: and say without whom" grep -qx "rank $victim is given up" stdout
		;;
	stop)
		holds "$what: status $status" test $status = 4
		silent="nothing from ranks\{0,1\} [0-9, ]*$victim[0-9, ]* within 1[.0-9]* s"
		case $plan in async*) step='[0-9]*' ;; esac # the others have gone on
		holds "$what: it is named" grep -q "step $step: rank [0-9]: $silent" stderr
		;;
	kill) holds "$what: status $status" test $status = 137 ;;
	esac
done <runs
holds "no process is left" sh -c '! pgrep -f "^$MPI_RANK fault"'
finish
