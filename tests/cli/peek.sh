# peek describes good and damaged frames. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"
need_numpy
"$PYTHON" -c 'import numpy as np
np.save("g.npy", np.array([0.5, -0.5, 0.25, 1, 0, 0, 0, -2], dtype="f4"))'
check "pack" "$CRUMB" pack -c twobit:threshold=0.25 g.npy -o good
size=$(wc -c <good)
{ head -c $((size - 1)) good && printf x; } >bad
cat good bad good >both

"$CRUMB" peek good >shown
about="8 elements in $size bytes ([0-9.]* bits each), 62.5 % sent, threshold 0.25"
holds "text" grep -q "^good: twobit:threshold=0.25, $about\$" shown
"$CRUMB" peek bad good >shown 2>stderr
holds "status of a damaged frame" test $? = 1
holds "its message" grep -q "^crumb: bad: at byte 0: " stderr
holds "the next file is shown all the same" grep -q "^good: " shown
"$CRUMB" peek absent good >shown 2>stderr
holds "status of an absent file" test $? = 1
holds "its message" grep -q "absent: No such file" stderr
holds "the next file is shown all the same" grep -q "^good: " shown

evil=$(printf 'r\033[31mg')
cp good "$evil"
"$CRUMB" peek "$evil" >shown
holds "a name that a terminal would obey" grep -q '^r?\[31mg: twobit' shown

cp bad 'qu"ote'
"$CRUMB" peek --json good both 'qu"ote' >rows 2>stderr
holds "status" test $? = 1
holds "JSON keeps messages in its rows" test ! -s stderr
holds "JSON" "$PYTHON" - "$size" <<'END'
import json, sys
size = int(sys.argv[1])
rows = [json.loads(row) for row in open("rows")]
good = {"file": "good", "at": 0, "codec": "twobit:threshold=0.25", "n": 8, "bytes": size,
        "bits_per_element": float(size), "sent": 5, "ok": True, "threshold": 0.25}
assert rows[0] == good, rows[0]
assert rows[1] == {**good, "file": "both"}, rows[1]
assert rows[2]["ok"] is False and rows[2]["at"] == size and rows[2]["error"], rows[2]
assert set(rows[2]) == {"file", "at", "ok", "error"}, rows[2]
assert rows[3]["file"] == 'qu"ote' and rows[3]["ok"] is False, rows[3]
assert len(rows) == 4
END
finish
