# That crumb bench measures what it was asked to, whatever it measures. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"
need_numpy
"$CRUMB" list --json >codecs
check "every codec" "$CRUMB" bench -n 1000 --json
cp stdout rows
check "all instruction sets" "$CRUMB" bench -n 4099 -c twobit -c raw --isa all --json
cp stdout all
check "one of them" "$CRUMB" bench -n 33 -c raw --isa portable --json
cp stdout one
check "text" "$CRUMB" bench -n 33 -c adacomp:bin=50
holds "its row" grep -q "^adacomp:bin=50  *[a-z0-9]* " stdout
holds "JSON" "$PYTHON" - "$("$CRUMB" --version)" <<'END'
import json, sys
load = lambda path: [json.loads(row) for row in open(path)]
isas = sys.argv[1].split(" of ")[1].split()
keys = {"codec", "isa", "n", "threads", "pack_gbps", "pack_safe_gbps", "unpack_gbps", "floor_gbps", "read_gbps",
        "scale_gbps", "memcpy_gbps"}
rows = load("rows")
assert [row["codec"] for row in rows] == [codec["name"] for codec in load("codecs")], rows
for row in rows + load("all") + load("one"):
    assert set(row) == keys, row
    assert all(row[key] > 0 for key in keys if key.endswith("_gbps")), row
    assert row["threads"] == 1
assert all(row["n"] == 1000 for row in rows)
assert [(row["codec"], row["isa"]) for row in load("all")] == \
    [(codec, isa) for codec in ("twobit", "raw") for isa in isas]
assert load("one")[0]["isa"] == "portable"
END
finish
