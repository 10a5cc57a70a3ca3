# A packer carried by --state from step to step; roundtrip.py compares it with the library. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"
need_numpy
"$PYTHON" -c 'import numpy as np
np.save("g.npy", np.random.default_rng(1).uniform(-0.2, 0.2, 3000).astype("f4"))'

check "first step" "$CRUMB" pack -c twobit --state state g.npy -o frame1
holds "nothing reaches the threshold yet" grep -q '"sent": 0,' <<END
$("$CRUMB" peek --json frame1)
END
for step in 2 3 4 5 6; do
	check "step $step" "$CRUMB" pack -c twobit --state state g.npy -o "frame$step"
done
holds "what was owed is sent" sh -c '! "$0" peek --json frame6 | grep -q "\"sent\": 0,"' "$CRUMB"
check "a seed" "$CRUMB" pack -c terngrad --seed 1 g.npy -o seed1
check "the same seed" "$CRUMB" pack -c terngrad --seed 1 g.npy -o seed1again
check "another seed" "$CRUMB" pack -c terngrad --seed 2 g.npy -o seed2
holds "one seed, one frame" cmp seed1 seed1again
holds "two seeds, two frames" sh -c '! cmp -s seed1 seed2'
check "a random codec's state" "$CRUMB" pack -c terngrad --seed 1 --state random.state g.npy -o random1
check "its next step" "$CRUMB" pack -c terngrad --seed 1 --state random.state g.npy -o random2
holds "begins like one without" cmp seed1 random1
holds "and goes on" sh -c '! cmp -s random1 random2'

# Processes with one state at once: as many steps as one after another, none of them lost.
"$PYTHON" -c 'import numpy as np
np.save("long.npy", np.random.default_rng(2).uniform(-0.2, 0.2, 300000).astype("f4"))'
other=./many.state
for round in 1 2 3; do
	for process in 1 2 3 4 5 6 7 8; do
		"$CRUMB" pack -c terngrad --state one.state long.npy -o "one.$round.$process"
	done
	for process in 1 2 3 4; do
		"$CRUMB" pack -c terngrad --state many.state long.npy -o "many.$round.$process" &
		"$CRUMB" pack -c terngrad --state "$other" long.npy -o "many.$round.9$process" &
	done
	wait
	[ -h link.state ] || ln -s many.state link.state
	other=link.state
	cksum one.$round.* | cut -d ' ' -f 1 | sort >one.sums
	cksum many.$round.* | cut -d ' ' -f 1 | sort >many.sums
	holds "round $round: the frames of eight steps" cmp many.sums one.sums
	holds "round $round: the state after eight steps" cmp many.state one.state
done
holds "the link stays" test -h link.state
holds "no lock is left" sh -c '! ls | grep "lock$"'

# A lock's file is in the way only while somebody holds it, and nobody else's file is removed.
: >many.state.lock
check "the lock of a process that was killed" "$CRUMB" pack -c terngrad --state many.state long.npy -o frame
holds "is not left" test ! -e many.state.lock
echo mine >many.state.lock
check "a file of that name" "$CRUMB" pack -c terngrad --state many.state long.npy -o frame
holds "stays" grep -qx mine many.state.lock
rm many.state.lock
mkdir many.state.lock
cp many.state before
refused 1 "many.state cannot be locked: Is a directory" "$CRUMB" pack -c terngrad --state many.state long.npy -o none
holds "the state has not moved" cmp many.state before
holds "no frame" test ! -e none
finish
