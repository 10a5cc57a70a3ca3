# The exchange on simulated ranks takes as long as its closed form says, within 5 %. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

if ! command -v smpicc >/dev/null; then
	echo "skipped: no SimGrid here"
	exit 77
fi

# within PERCENT: every row in stdout, of which there are some.
within() {
	tail -n +2 stdout >rows
	holds "there are rows" test -s rows
	while read -r row; do
		holds "within $1 %: $row" awk -v d="${row##*,}" -v most="$1" 'BEGIN { exit !(d < most && -d < most) }'
	done <rows
}

for ranks in 8 32; do
	for way in raw,exact,all-reduce twobit,exact,gather topk,exact,gather twobit,twobit,shard twobit,exact,shard \
		twobit,twobit,server; do
		set -- "$@" "star,neutral,lenet,$way,$ranks"
	done
done
for way in raw,exact,all-reduce twobit,exact,gather raw,exact,tiers; do
	set -- "$@" "nodes,neutral,lenet,$way"
done
check "a switch that never blocks, and machines that share a port" "$SOURCE/bench/simgrid/run" "$STATIC" "$@"
within 5
check "plan async, where workers that do not keep step bind, or the server" "$SOURCE/bench/simgrid/run" "$STATIC" \
	star,neutral,lenet,twobit,twobit,async@0.05,8 star,neutral,lenet,twobit,twobit,async@0.001,8 \
	star,neutral,lenet,twobit,exact,async@0.02,8 star,neutral,lenet,twobit,exact,async@0.2,64
within 8
check "two sites, which the closed form does not model" "$SOURCE/bench/simgrid/run" "$STATIC" \
	sites,neutral,lenet,twobit,twobit,shard
holds "are slower than it says" grep -q -e ',-[1-9][0-9.]*$' stdout
finish
