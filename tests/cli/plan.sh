# crumb plan: its numbers among each other, and against what is known. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

plan="$CRUMB plan -m alexnet --nodes 4 --link 1G --compute 256img/s"

# ---- every line of JSON ----
cat >laws.py <<'END'
import json, math, sys

PARAMETERS, SLICES = 60965224, 16

def close(a, b, within=1e-6):
    assert abs(a - b) <= within * abs(b), (a, b)

for line in open(sys.argv[1]):
    row = json.loads(line)
    nodes, together, seconds, plan = row["nodes"], row["ranks"], row["seconds"], row["plan"]
    ranks = nodes * together
    if plan == "all-reduce":
        plain = row
    if plan == "async":  # one rank is no worker, and a step is the worker's, its port's or its thread's
        more = ranks / (ranks - 1)
        close(row["port_bytes"], more * (ranks - together) * max(row["up_bytes"], row["down_bytes"]))
        close(seconds["compute"], more * row["batch"] / 256)
        own = more * 8 * (row["up_bytes"] + row["down_bytes"]) / row["link"]
        assert seconds["wire"] >= own * (1 - 1e-6) and row["step"] >= 8 * row["port_bytes"] / row["link"] * (1 - 1e-6)
        close(row["down_bytes"], 4 * PARAMETERS, 0.001)
        close(row["step"], sum(seconds.values()))
        close(row["samples_per_second"], ranks * row["gpus"] * row["batch"] / row["step"])
        close(row["speedup"], plain["step"] / row["step"])
        assert (row["pays_above"] < row["link"] and (row["pays_below"] is None or row["link"] < row["pays_below"])) == (
            row["step"] < plain["step"]), row
        continue
    known = {"all-reduce": 2 * (ranks - 1) / ranks * row["up_bytes"],
             "gather": together * (ranks - together) * row["up_bytes"],
             "server": (ranks - together) * (row["up_bytes"] + row["down_bytes"]),
             "tiers": (nodes - 1) * row["up_bytes"]}
    if plan in known:
        close(row["port_bytes"], known[plan], 1e-6)
    else:
        assert plan in ("shard", "tiers-shard")
        owners = ranks if plan == "shard" else nodes
        others = together * (ranks - together) if plan == "shard" else nodes - 1
        share = row["port_bytes"] / others / (row["up_bytes"] + row["down_bytes"])
        assert 0.999 / owners < share < (1.01 if owners < 9 else 1.25) / owners, share
    close(row["dense_bytes"], 4 * PARAMETERS)
    close(seconds["compute"], row["batch"] / 256)
    close(seconds["wire"], 8 * row["port_bytes"] / row["link"])
    close(row["step"], sum(seconds.values()))
    close(row["samples_per_second"], ranks * row["gpus"] * row["batch"] / row["step"])
    close(row["speedup"], plain["step"] / row["step"])
    assert seconds[row["binds"]] == max(seconds.values())
    assert (seconds["codec"] > 0) == (plan != "all-reduce")

    # At the rate where a codec begins or ceases to pay, both take equal time.
    above, below = row["pays_above"], row["pays_below"]
    def step_at(rate, row):
        return row["step"] - row["seconds"]["wire"] + 8 * row["port_bytes"] / rate
    for rate in above, below:
        if rate:
            close(step_at(rate, row), step_at(rate, plain))
    if plan != "all-reduce":
        pays = above < row["link"] and (below is None or row["link"] < below)
        assert pays == (row["step"] < plain["step"]), row

    if row["codec"] == "raw":
        close(row["up_bytes"], 4 * PARAMETERS + (0 if plan == "all-reduce" else 32 * SLICES))
    if row["codec"] == "twobit":
        close(row["up_bytes"], PARAMETERS / 4, 0.01)
    if row["codec"] == "terngrad:shared=1" and plan not in ("gather", "tiers", "all-reduce"):
        body = PARAMETERS - 4097000 + 8192  # the classifier comes down raw
        summed = nodes if plan == "tiers-shard" else ranks
        close(row["down_bytes"], math.ceil(math.log2(2 * summed + 1)) / 8 * body + 4 * 4097000, 0.01)
    elif plan not in ("gather", "tiers", "all-reduce"):
        close(row["down_bytes"], 4 * PARAMETERS, 0.001)
    else:
        assert row["down_bytes"] == 0
END
check "JSON" $plan --nodes 128 --link 100G --gpus 2 --inside 100G -c raw -c twobit -c terngrad:shared=1 -c adacomp \
	--plan gather --plan shard --plan server --json
cp stdout rows
holds "a line each: two links, two sizes, all-reduce and twelve ways" test "$(wc -l <rows)" = 52
check "they agree" "$PYTHON" laws.py rows
check "JSON of nodes" $plan --nodes 16 --ranks 4 --inside 100G -c raw -c twobit -c terngrad:shared=1 --plan gather \
	--plan shard --plan server --plan tiers --plan tiers-shard --json
cp stdout rows
holds "a line each: two sizes, all-reduce and fifteen ways" test "$(wc -l <rows)" = 32
check "they agree" "$PYTHON" laws.py rows

check "JSON of async" $plan --nodes 128 --link 100G --ranks 2 --gpus 2 --inside 100G -c raw -c twobit -c adacomp \
	--plan async --json
cp stdout rows
holds "a line each: two links, two sizes, all-reduce and three codecs" test "$(wc -l <rows)" = 16
check "they agree" "$PYTHON" laws.py rows

# field NAME: of the last line in stdout.
field() { tail -1 stdout | sed "s/.*\"$1\": \"\{0,1\}\([^,\"}]*\).*/\1/"; }

# ---- what is chosen ----
check "two nodes" $CRUMB plan -m vgg-a --nodes 2 --link 1M --compute 1s -c adacomp --json
holds "the fastest plan: gather" test "$(field plan)" = gather
check "nodes of ranks" $CRUMB plan -m vgg-a --nodes 2 --ranks 4 --link 1M --compute 1s -c adacomp --json
holds "the fastest plan: tiers" test "$(field plan)" = tiers
check "many nodes" $CRUMB plan -m vgg-a --nodes 500 --link 100M --compute 1s -c half --json
holds "the fastest plan: shard" test "$(field plan)" = shard
holds "the wire binds" test "$(field binds)" = wire
check "a number of parameters" $CRUMB plan -m 1.3b --nodes 64 --link 1G --compute 2s -c raw --plan shard --json
holds "is that many" test "$(field up_bytes)" = 5200000032
holds "and owned evenly: within a slice of 1/64" \
	"$PYTHON" -c "assert 0 <= $(field port_bytes) - 63 / 32 * 5200000032 < 63 * 2 * 4 * 65536"
check "a number that is none in binary" $CRUMB plan -m 8.03B --nodes 2 --link 1G --compute 2s -c raw --json
holds "is whole" test "$(field up_bytes)" = 32120000032
check "numbers that are rounded up" $CRUMB plan -m 249.9999M --nodes 2 --link 1G --compute 999.99ms -c raw
holds "have three digits" grep -q '249999900 parameters, 1.00 GB of gradient' stdout
holds "and the larger unit" grep -q '^raw *all-reduce *1.00 GB *1.00 s ' stdout
check "down" $CRUMB plan -m vgg-a --nodes 16 --link 1G --compute 1s -c twobit --down twobit --plan shard --json
holds "the mean comes down as its spec says" test "$(field up_bytes)" = "$(field down_bytes)"
check "a time for a batch" \
	$CRUMB plan -m lenet --nodes 2 --link 1G --compute 125ms --batch 16 --latency 1ms -c raw --plan server --json
holds "is a speed" test "$(field compute)" = 0.125
holds "three messages" test "$(field latency)" = 0.003
check "one node" $CRUMB plan -m resnet50 --nodes 1 --gpus 8 --link 1G --inside 8G --compute 1s -c half --json
holds "sends nothing" test "$(field wire)" = 0
holds "but its GPUs do: 3 times 102 MB at 1 GB/s" grep -q '"inside": 0.306684' stdout

# ---- the table ----
# Codecs are measured here and now, so the link is one that none is slower than, on any machine.
check "yes" $CRUMB plan -m alexnet --nodes 4 --link 10M --compute 256img/s -c twobit
holds "a row each" test "$(grep -c '^raw  *all-reduce \|^twobit  *gather ' stdout)" = 2
holds "it helps" grep -q '^twobit in plan [a-z]*: [0-9.]* times the speed' stdout
check "async" $plan --nodes 8 --link 10M -c twobit --down twobit --plan server --plan async
holds "is shown" grep -q '^twobit  *async ' stdout
holds "and no choice" grep -q '^twobit in plan server: ' stdout
holds "as it says" grep -q '^twobit in plan async: .* It is no choice by time' stdout
check "async, every codec that it can have" $CRUMB plan -m lenet --nodes 8 --link 100T --compute 5img/s --plan async
holds "alq's learners agree" sh -c "! grep -q '^alq ' stdout && grep -q '^adacomp  *async ' stdout"
check "no" $CRUMB plan -m lenet --nodes 8 --link 100T --compute 5img/s
rows=$(sed -n 's/^\([a-z]*\)  *\(all-reduce\|gather\|shard\|server\) .*/\1/p' stdout | sort -u | wc -l)
holds "every codec has a row" test "$rows" = "$("$CRUMB" list --json | wc -l)"
holds "nothing helps" grep -q '^No codec helps here: .* 100 % is compute' stdout

check "--down exact" $plan -c half --down exact
finish
