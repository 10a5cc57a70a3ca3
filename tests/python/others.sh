# bench/others runs what is there and names what is not; PyTorch's conversion to 16 bits is crumb's.
# SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"
"$PYTHON" -m venv --without-pip --system-site-packages there 2>/dev/null
if ! there/bin/python -c "import numpy, torch" 2>/dev/null; then
	echo "skipped: $PYTHON makes no environment with torch"
	exit 77
fi
check "bench/others" "$PYTHON" "$SOURCE/bench/others" there --elements 4096 --rounds 1 -o others.csv
holds "GRACE is named as missing" grep -q "^others: GRACE is left out" stderr
cat >rows.py <<'END'
import csv
rows = list(csv.DictReader(open("others.csv")))
by = {(row["system"], row["codec"], row["settings"]): row for row in rows}
assert {"crumb", "PyTorch's hooks"} <= {row["system"] for row in rows} and all(all(row[key] for key in (
    "kind", "version", "elements", "rounds", "cpu", "isa", "python", "load", "both_gbps")) for row in rows)
half, hook = by["crumb", "half", "type=f16"], by["PyTorch's hooks", "fp16_compress_hook", ""]
assert half["error"] == hook["error"] and 0 < float(half["error"]) < 2 ** -11, (half, hook)
sent = {row["codec"]: round(float(row["bytes_per_element"]) * 4096) for row in rows if row["system"] == "crumb"}
assert (sent["half"], sent["twobit"], hook["bytes_per_element"]) == (32 + 2 * 4096, 32 + 4 + 1024, "2"), sent
for rank in 1, 4:
    assert float(by["PyTorch's hooks", "powerSGD_hook", f"rank {rank}"]["bytes_per_element"]) == rank * 4 * 128 / 4096
END
check "rows" there/bin/python rows.py
refused 1 "4097 elements are no square matrix" "$PYTHON" "$SOURCE/bench/others" there --elements 4097 -o others.csv
refused 1 "nowhere is no virtual environment" "$PYTHON" "$SOURCE/bench/others" nowhere
finish
