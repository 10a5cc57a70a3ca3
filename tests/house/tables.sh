# The documents' tables are what experiments/tables makes of the results. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"
mkdir doc
cp "$SOURCE/doc/MEASUREMENTS.md" doc
cp -r "$SOURCE/experiments" .
check "experiments/tables" python3 experiments/tables
holds "doc/MEASUREMENTS.md is as the results have it" cmp doc/MEASUREMENTS.md "$SOURCE/doc/MEASUREMENTS.md"
for text in "doc/MEASUREMENTS.md" "experiments/results/rate-distortion.csv"; do
	sed -i 's/0\.8/0.7/' "$text"
	check "experiments/tables" python3 experiments/tables
done
holds "another result, another table" sh -c "! cmp -s doc/MEASUREMENTS.md '$SOURCE/doc/MEASUREMENTS.md'"
echo '# empty' >doc/MEASUREMENTS.md
refused 1 'no place for' python3 experiments/tables
finish
