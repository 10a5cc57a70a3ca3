# crumb report, and --report of crumb plan and crumb-train: what they refuse, and that nothing is lost with a page.
# SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"
mkdir bin plotly once none empty-path
echo 'def get_plotlyjs(): return "// as if it were Plotly"' >plotly/offline.py # report_page.py has the real one
echo 'raise ImportError("as if it were not there")' >none/plotly.py
cat >once/plotly.py <<'END'
import os
import sys
if os.path.exists("begun"):
    raise ImportError("gone")
open("begun", "w").close()
__path__ = [os.environ["PYTHONPATH"] + "/../plotly"]
END
PYTHONPATH=$folder
export PYTHONPATH
printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v "$PYTHON")" >bin/python3
chmod +x bin/python3
PATH=$folder/bin:$PATH

# ---- logs: two codecs of three epochs, the second cut off ----
cat >logs.py <<'END'
import json

def event(kind, codec, epoch, ratio):
    seconds = {"compute": 8, "pack": 0.8, "swap": 1e-4, "unpack": 0.5, "wall": 9.7}
    return {"event": kind, "codec": codec, "model": "lenet", "data": "digits", "learners": 8, "batch": 100,
            "seed": 1, "epoch": epoch, "error": 0.1 / epoch, "loss": 1 / epoch, "test_loss": 2 / epoch,
            "bytes": 1000 * epoch, "ratio": ratio, "ratio_by_kind": {"conv": ratio}, "residual_norm": 3, "skipped": 0,
            "seconds": seconds}

with open("log", "w") as file:
    for codec, ratio in ("raw", 0.9998), ("it's `touch bad`; $(touch bad)", 200):
        file.writelines(json.dumps(event("epoch", codec, epoch, ratio)) + "\n" for epoch in (1, 2, 3))
first = event("epoch", "raw", 1, 1)
def write(name, **changes):
    with open(name, "w") as file:
        file.write(json.dumps({**first, **changes}) + "\n")
write("one")
write("nulls", error=None, ratio=None, loss=None, test_loss=None, residual_norm=None, ratio_by_kind={"conv": None},
      seconds=dict.fromkeys(first["seconds"], 0))
write("infinite", loss=float("inf"), test_loss=float("nan"))
write("failed", event="failed", why="all is lost")
write("no-error", error="0.1")
write("no-ratio", ratio=True)
write("no-epoch", epoch="1")
write("huge", bytes=10**400)
write("no-swap", seconds={"compute": 1, "pack": 1, "wall": 3})
write("other-event", event="start")
stats = dict.fromkeys(["skipped", "overflows", "dense_bytes", "frame_bytes", "sent_bytes", "allreduce_bytes",
                       "pack_seconds", "wait_seconds", "unpack_seconds"], 100)
with open("stats", "w") as file:
    file.writelines(json.dumps({**stats, "loss": 1 / steps - 1, "steps": steps}) + "\n" for steps in (10, 20, 10))
END
python3 logs.py

# written WHAT COMMAND...: it writes the page x.html, and no word.
written() {
	rm -f x.html
	check "$@"
	holds "$1: no word" sh -c "! cat stdout stderr | grep ."
	holds "$1: a page" grep -q '^<!DOCTYPE html>' x.html
}
page="-o x.html"
for log in log one nulls infinite failed stats; do
	written "$log" "$CRUMB" report "$log" $page
done
# Counts go from 100 to 100, and begin again: 200.
holds "steps that were skipped are counted once" grep -q '>-</td><td class="number" data-value="200">200</td>' x.html
written "several" "$CRUMB" report log one log stats $page
holds "names are not commands" test ! -e bad
holds "a run that was cut off is named so" grep -q 'running' x.html
: >empty
written "a log that begins" "$CRUMB" report empty $page
holds "says so" grep -q 'No epoch has ended yet' x.html
cp log torn
head -c 200 one >>torn
written "a line that is being written" "$CRUMB" report torn $page
check "standard input" sh -c "\"$CRUMB\" report - $page <log"

# ---- what is no log, and no page ----
echo 'epoch 1' >text
head -c 200 log >shred
echo '{"a": 1}' >other
echo '[]' >list
"$CRUMB" peek --json "$SOURCE/tests/golden/sign.crumb" >peeked
printf '\377\n' >binary
cp x.html before
for case in "nowhere: No such file" "text:1: not a line of JSON" "shred:1: not a line of JSON" \
	"other:1: no line of" "peeked:1: no line of" "list:1: no line of" "binary: not a text" \
	'no-error:1: no "error"' 'no-ratio:1: no "ratio"' 'no-epoch:1: no "epoch"' 'huge:1: "bytes" is out of range' \
	'no-swap:1: no seconds of "swap"' 'other-event:1: there is no event "start"'; do
	refused 1 "$case" "$CRUMB" report log "${case%%:*}" $page
done
holds "the page of before stays" cmp x.html before
holds "and nothing beside it" sh -c '! ls x.html.* 2>/dev/null'
refused 1 "nowhere/x.html: No such file" "$CRUMB" report log -o nowhere/x.html
refused 1 "/dev/full: No space left" "$CRUMB" report log -o /dev/full
holds "which is a device still" test -c /dev/full
refused 2 "would replace a log" "$CRUMB" report log -o ./log
refused 1 "standard output: " sh -c '"$CRUMB" report log -o - >&-'
refused 1 "standard output: " sh -c 'PYTHONUNBUFFERED=1 "$CRUMB" report log -o - >/dev/full'
refused 1 "?[31mx: No such file" "$CRUMB" report "$(printf '\033[31mx')" $page
refused 2 "-o PAGE.html is missing" "$CRUMB" report log
refused 2 "at least one file" "$CRUMB" report $page
refused 1 "has no Plotly (as if it were not there)" env PYTHONPATH=$folder/none "$CRUMB" report log $page
refused 1 "python3" env PATH="$folder/empty-path" "$CRUMB" report log $page
cp "$CRUMB" alone
refused 1 "there is no crumb-report beside this program" env PATH="$folder/empty-path" ./alone report log $page

# ---- comparisons and plans ----
python3 -c 'import struct
head = b"{\x27descr\x27: \x27<f4\x27, \x27fortran_order\x27: False, \x27shape\x27: (99,), }"
open("g.npy", "wb").write(b"\x93NUMPY\1\0" + bytes([len(head), 0]) + head + struct.pack("<99f", *range(99)))'
"$CRUMB" compare --json g.npy >compared
written "a comparison" "$CRUMB" report compared $page
refused 1 "different things" "$CRUMB" report compared log $page
sed 's/"error": [^,]*/"error": "0"/' compared >wrong
refused 1 'wrong:1: no "error"' "$CRUMB" report wrong $page
cluster="-m lenet --compute 1000img/s --link 1G --nodes 8 -c half"
"$CRUMB" plan $cluster -c twobit --link 100M --nodes 2 --json >plan
written "plans" "$CRUMB" report plan $page
for change in 's/"step": [^,]*/"step": 0/' 's/"wire": [^,}]*/"wire": null/' 's/"codec"/"cadec"/'; do
	sed "$change" plan >wrong
	refused 1 "wrong:1: " "$CRUMB" report wrong $page
done
# other FIELD VALUE MESSAGE: another plan differs in a field.
other() {
	sed "s/\"$1\": [^,]*/\"$1\": $2/" plan >others
	refused 1 "others:1: $3" "$CRUMB" report plan others $page
}
other ranks 2 '"ranks"'
other batch 64 '"batch"'
other gpus 4 '"gpus"'
other latency 1e-3 '"latency"'
other step 3 'plain all-reduce takes another time'
sed 's/"compute": [^,]*/"compute": 0.01/' plan >others
refused 1 "others:1: lenet computes for another time" "$CRUMB" report plan others $page
ln -s nowhere astray
refused 1 "astray: a link to a file that does not exist" "$CRUMB" report log -o astray
"$CRUMB" plan $cluster >wanted
rm -f x.html
check "crumb plan --report" "$CRUMB" plan $cluster --report x.html
holds "prints as many lines as without" test "$(wc -l <stdout)" = "$(wc -l <wanted)"
holds "marks where codecs break even" grep -q 'breaks even at' x.html
holds "lists what was asked about" test "$(grep -o '<tr><td>' x.html | wc -l)" = 2
refused_page() { # TEXT COMMAND...: it fails, and says why; its answer is printed.
	text=$1
	shift
	if "$@" >stdout 2>stderr; then fail "$*: no failure"; else holds "$*: $text" grep -q "$text" stderr; fi
	holds "$*: the answer" test -s stdout
}
refused_page "nowhere/x.html: No such file" "$CRUMB" plan $cluster --report nowhere/x.html

# ---- crumb-train: a page that goes on with the log ----
[ -n "${CRUMB_TRAIN:-}" ] || finish
train="$CRUMB_TRAIN --data digits:200 --batch 50 --learners 2 --epochs 3 --threads 1 --log run"
check "--report" $train --codec raw --codec 'conv=raw;fc=terngrad' --report x.html
"$CRUMB" report run -o after.html
holds "its last page is of the whole log" cmp x.html after.html
holds "the log has the command" grep -qF "'conv=raw;fc=terngrad' --report x.html\"" run
holds "and the page" grep -qF "&#x27;conv=raw;fc=terngrad&#x27; --report x.html</pre>" x.html
refused 2 "--report wants --log" "$CRUMB_TRAIN" --report x.html
cp run before
for page in nowhere/x.html /dev/full; do
	refused 1 "--report $page cannot be written" $train --report $page
	holds "$page: the older log stays" cmp run before
done
ln -s run linked
for page in run ./run linked; do
	refused 2 "--log and --report name one file, run" $train --report $page
done
for name in "--log -" "--log run --report -"; do
	refused 2 'want the names of files, not "-"' "$CRUMB_TRAIN" $name
done
refused 1 "has no Plotly" env PYTHONPATH=$folder/none $train --report x.html
holds "the older log stays" cmp run before

# A loss that grows out of all bounds is a gap.
check "a run that diverges" "$CRUMB_TRAIN" --model mlp --data digits:60 --batch 15 --learners 1 --epochs 2 --lr 0.5 \
	--codec raw --log diverged
sed 's/"loss": [^,]*/"loss": 3.7e33/' diverged >huge
check "is drawn" "$CRUMB" report huge -o huge.html

# A page fails while the training goes on: Plotly is there but for the second page, then it is there once.
mkdir second
sed -e 's/if os.path.exists("begun"):/open("pages", "a").write("x")\nif os.path.getsize("pages") == 2:/' \
	-e '/^open("begun/d' once/plotly.py >second/plotly.py
if PYTHONPATH=$folder/second $train --report y.html >stdout 2>stderr; then fail "no failure"; else pass; fi
holds "it says why" grep -q "gone" stderr
PYTHONPATH=$folder/second "$CRUMB" report run -o after.html
holds "the last page is whole" cmp y.html after.html
if PYTHONPATH=$folder/once $train --report x.html >stdout 2>stderr; then fail "no failure"; else pass; fi
holds "it says why" grep -q "gone" stderr
holds "in the end, too" grep -q "crumb-train: --report x.html cannot be written" stderr
holds "the run has its table" grep -q '^raw ' stdout
holds "and its log" test "$(grep -c '"event": "epoch"' run)" = 3
finish
