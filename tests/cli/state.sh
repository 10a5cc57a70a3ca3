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
finish
