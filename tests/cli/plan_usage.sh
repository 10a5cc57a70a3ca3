# crumb plan: what it refuses, a table, and a computation that crumb-train measures for it. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

plan="$CRUMB plan -m alexnet --nodes 4 --link 1G --compute 256img/s"

# ---- what is refused ----
refused 2 "-m NAME is missing" "$CRUMB" plan --nodes 2 --link 1G --compute 1s
refused 2 "--nodes NODES is missing" "$CRUMB" plan -m lenet --link 1G --compute 1s
refused 2 "--link RATE is missing" "$CRUMB" plan -m lenet --nodes 2 --compute 1s
refused 2 "--compute SPEED is missing" "$CRUMB" plan -m lenet --nodes 2 --link 1G
refused 2 'there is no network "lenot"' $plan -m lenot
refused 2 'there is no network "7q"' $plan -m 7q
for count in 0 0.5 1.3 1.1T; do
	refused 2 "a network has 1 to 1T parameters, a whole number, not $count" $plan -m $count
done
refused 2 'there is no plan "ring"' $plan --plan ring
refused 2 'plan async needs two ranks' $plan --nodes 1 --plan async
refused 2 'plan async is not for terngrad:shared=1' $plan -c terngrad:shared=1 --plan async
refused 2 'plan async is not for terngrad:shared=1' $plan -c raw --down terngrad:shared=1 --plan async
refused 2 "it takes no file: x" $plan x
refused 2 "--nodes takes 1 to" $plan --nodes 0
refused 2 "--ranks takes 1 to" $plan --ranks 0
refused 2 "--gpus takes 1 to" $plan --gpus 100001
refused 2 "100000 nodes of 11 ranks are more than 1000000 ranks" $plan --nodes 100000 --ranks 11
refused 2 "ranks of one node use no link" $plan --nodes 1 --ranks 2
refused 2 "--report wants the name of a file" $plan --report -
refused 2 "--batch takes a whole number" $plan --batch 1.5
for rate in 1Gb/s G -1G 0x10G 0X10 1e400G nan inf "" "1 G" 1..5G; do
	refused 2 "--link takes a number such as 1G, not \"$rate\"" $plan --link "$rate"
done
refused 2 "--link takes at least 1 bit a second" $plan --link 0
refused 2 "--inside takes at least 1 bit a second" $plan --inside 0G
for time in 25 25min -1us; do
	refused 2 "--latency takes a number such as 25us, not \"$time\"" $plan --latency "$time"
done
for speed in 0img/s 0s 95 fast; do
	refused 2 "--compute takes a speed or a time" $plan --compute "$speed"
done
refused 2 "--compute takes a speed or a time" $plan --compute 1e308s
refused 2 "--link takes a number" $plan --link 1e300
refused 2 "no tensor of lenet is for a rule of lstm=half" $plan -m lenet -c lstm=half
refused 2 "no tensor of lenet is for a rule of lstm=half" $plan -m lenet -c half --down lstm=half
refused 2 "^" $plan -c "conv=twobit;fc=nonsense"
refused 2 "^" $plan --down twobit:x=1

# ---- a table: one codec, for a sanitizer's sake ----
check "nodes of ranks" $CRUMB plan -m lenet --nodes 4 --ranks 2 --link 1G --compute 1s -c half --plan tiers --plan async
holds "tiers" grep -q '^half  *tiers  ' stdout
holds "async" grep -q '^half  *async  ' stdout

# ---- computation, measured ----
mkdir -p bin
cat >bin/crumb-train <<'END'
#!/bin/sh
echo "$*" >>"$ASKED"
[ "$5" = lenet ] && echo "--batch $7 --compute 12.5ms"
END
chmod +x bin/crumb-train
ASKED=$PWD/asked
export ASKED
PATH=$PWD/bin:$PATH check "--compute measure" \
	$CRUMB plan -m lenet --nodes 2 --link 1G --batch 48 --compute measure -c half --json
holds "asks crumb-train" grep -qx -e '--estimate --learners 1 --model lenet --batch 48 --data digits' asked
holds "and takes what it says" grep -q '"seconds": {"compute": 0.0125,' stdout
PATH=$PWD/bin:$PATH refused 1 'crumb-train cannot time alexnet here' \
	$CRUMB plan -m alexnet --nodes 2 --link 1G --compute measure -c half
finish
