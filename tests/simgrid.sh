# The exchange on simulated ranks takes as long as its closed form says, within 5 %. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

if ! command -v smpicc >/dev/null; then
	echo "skipped: no SimGrid here"
	exit 77
fi

# within PERCENT GREP-OPTION...: every row in all of those that grep finds, of which there are some.
within() {
	most=$1
	shift
	tail -n +2 all | grep "$@" >rows
	holds "there are rows" test -s rows
	while read -r row; do
		holds "within $most %: $row" \
			awk -v d="${row##*,}" -v most="$most" 'BEGIN { exit !(d < most && -d < most) }'
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
check "all are simulated" "$SOURCE/bench/simgrid/run" "$STATIC" "$@" \
	star,neutral,lenet,twobit,twobit,async@0.05,8 star,neutral,lenet,twobit,twobit,async@0.001,8 \
	star,neutral,lenet,twobit,exact,async@0.02,8 star,neutral,lenet,twobit,exact,async@0.2,64 \
	sites,neutral,lenet,twobit,twobit,shard
mv stdout all
within 5 -v -e async@ -e ^sites # a switch that never blocks, and machines that share a port
within 8 async@                 # where workers that do not keep step bind, or the server
holds "two sites are slower than the closed form, which does not model them" grep -q '^sites.*,-[1-9][0-9.]*$' all
finish
