# The documents' tables are what experiments/tables makes of the results. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"
mkdir doc bench
cp "$SOURCE/README.md" .
cp "$SOURCE/doc/MEASUREMENTS.md" "$SOURCE/doc/PLAN.md" doc
cp -r "$SOURCE/experiments" .
cp -r "$SOURCE/bench/results" bench
check "experiments/tables" python3 experiments/tables
for document in README.md doc/MEASUREMENTS.md doc/PLAN.md; do
	holds "$document is as the results have it" cmp $document "$SOURCE/$document"
done
cat >order.py <<'END'
import csv
rows = list(csv.DictReader(open("experiments/results/rate-distortion.csv")))
for data, when in {(row["data"], row["when"]) for row in rows}:
    error = {row["codec"]: float(row["error"]) for row in rows if (row["data"], row["when"]) == (data, when)}
    alq = max(error["alq"], error["alq:normalized=1"])
    amq = error["amq"], error["amq:normalized=1"]
    infinite, nuqsgd = error["qsgd:bits=3,bucket=8192,zero=0,norm=max"], error["nuqsgd:bits=3,bucket=8192,zero=0"]
    assert alq <= min(amq) and max(amq) < infinite < nuqsgd, (data, when, alq, amq, infinite, nuqsgd)
END
check "the order of the ALQ paper's methods" python3 order.py
for text in "doc/MEASUREMENTS.md" "experiments/results/rate-distortion.csv"; do
	sed -i 's/0\.8/0.7/' "$text"
	check "experiments/tables" python3 experiments/tables
done
holds "another result, another table" sh -c "! cmp -s doc/MEASUREMENTS.md '$SOURCE/doc/MEASUREMENTS.md'"
echo '# empty' >doc/MEASUREMENTS.md
refused 1 'no place for' python3 experiments/tables
finish
