# Output goes where it should, and a failed write loses nothing. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"
need_numpy
"$PYTHON" -c 'import numpy as np
for i in range(3): np.save(f"g{i}.npy", np.random.default_rng(i).standard_normal(2000).astype("f4"))'
spec=adacomp:bin=50

# The reference for all other ways.
for i in 0 1 2; do
	check "step $i" "$CRUMB" pack -c $spec --state want.state "g$i.npy" -o "want$i"
done
holds "the steps differ" sh -c '! cmp -s want0 want1'

# Standard input and output.
"$CRUMB" pack -c $spec - -o - <g0.npy >piped
holds "pack - -o -" cmp piped want0
"$CRUMB" pack -c $spec g0.npy -o - | "$CRUMB" unpack - -o - >sum.npy
check "unpack -" "$CRUMB" unpack want0 -o named.npy
holds "unpack - -o -" cmp sum.npy named.npy
"$CRUMB" peek - <want0 >peeked
holds "peek -" grep -q '^-: ' peeked
cat want0 want1 want2 >all
check "concatenated frames" "$CRUMB" unpack all -o a.npy
check "the same frames by name" "$CRUMB" unpack want0 want1 want2 -o b.npy
holds "the same sum" cmp a.npy b.npy

# A full disk: nothing moves, and the step can be repeated.
if [ -c /dev/full ]; then
	cp want.state before
	refused 1 "No space left on device" "$CRUMB" pack -c $spec --state want.state g0.npy -o /dev/full
	holds "the state has not moved" cmp want.state before
	"$CRUMB" pack -c $spec --state want.state g0.npy -o - >/dev/full 2>stderr
	holds "status on a full standard output" test $? = 1
	holds "the state has not moved" cmp want.state before
	refused 1 "No space left on device" "$CRUMB" unpack want0 -o /dev/full
	for command in list "list --json" "peek want0" "peek --json want0" "pack --help" --help --version; do
		"$CRUMB" $command >/dev/full 2>stderr
		holds "status of $command on a full disk" test $? = 1
		holds "message of $command on a full disk" grep -q "No space left on device" stderr
	done
fi
# Standard output is closed, or nobody reads it: nothing moves.
cp want.state before
refused 1 "standard input or output: Bad file descriptor" \
	sh -c 'exec "$@" >&-' closed "$CRUMB" pack -c $spec --state want.state g0.npy -o -
holds "the state has not moved" cmp want.state before
"$PYTHON" -c 'import numpy as np; np.save("long.npy", np.ones(100000, "f4"))' # more than a pipe holds
"$CRUMB" pack -c raw --state raw.state long.npy -o - 2>stderr | true
holds "nothing is left behind" test "$(ls | grep -c -e '\.lock$' -e '\.tmp$')" = 0
mkfifo pipe
head -c 10 pipe >/dev/null &
refused 1 "pipe: Broken pipe" "$CRUMB" pack -c raw --state raw.state long.npy -o pipe
# Ended while it waits for a reader of its frame, when the new state is on the disk.
"$CRUMB" pack -c raw --state raw.state long.npy -o pipe &
until ls | grep -q '^raw.state\..*tmp$' || ! kill -0 $! 2>/dev/null; do sleep 0.05; done
kill $!
wait $! 2>/dev/null
holds "the signal ends it" test $? -gt 128
holds "nothing is left behind" test "$(ls | grep -c '\.tmp$')" = 0
# A process of the same number was killed, and its file is there.
check "another process's file" sh -c 'touch mine.$$-0.tmp; exec "$@" -o mine' left "$CRUMB" pack -c raw g0.npy
rm mine*
refused 2 "--state has to be a file of its own" "$CRUMB" pack -c $spec --state ./same g0.npy -o same
# A name that is not UTF-8 is JSON all the same, as Python has such names.
latin=$(printf 'caf\351.npy')
cp g0.npy "$latin"
"$CRUMB" compare -c raw --json "$latin" >compared
check "JSON of any name" "$PYTHON" -c 'import json, sys
assert json.loads(open("compared").readline())["file"] == sys.argv[1]' "$latin"
# The state cannot be written: no frame appears.
mkdir folder
refused 2 "--state takes a file that can be replaced, not folder" "$CRUMB" pack -c $spec --state folder g0.npy -o out
holds "no frame" test ! -e out
(
	ulimit -f 8 # KiB or half of it: less than the state of 2,000 elements
	"$CRUMB" pack -c $spec --state small.state g0.npy -o out 2>stderr
	test $? = 1
)
holds "status when the state is cut short" test $? = 0
holds "message when the state is cut short" grep -q "small.state: File too large" stderr
holds "no frame and no state" test ! -e out -a ! -e small.state

# A file is replaced whole: other names of the old one keep it, a link stays a link, modes stay.
cp want0 old && ln old kept && chmod 640 old
check "replace" "$CRUMB" pack -c $spec g1.npy -o old
holds "the old file lives on under its other name" cmp kept want0
for mode in 640 666; do
	chmod $mode old
	check "replace what has mode $mode" "$CRUMB" pack -c $spec g1.npy -o old
	holds "the mode stays" test "$(stat -c %a old)" = $mode
done
ln -s old link
check "replace through a link" "$CRUMB" pack -c $spec g0.npy -o link
holds "the link stays" test -h link
holds "and leads to the new frame" cmp old want0
ln -s nowhere astray
refused 1 "astray: a link to a file that does not exist" "$CRUMB" pack -c $spec --state astray g0.npy -o out
refused 1 "astray: a link to a file that does not exist" "$CRUMB" pack -c $spec g0.npy -o astray
holds "no frame, and the link stays" test ! -e out -a -h astray
check "a device is written, not replaced" "$CRUMB" pack -c $spec g0.npy -o /dev/null
holds "/dev/null is still one" test -c /dev/null
holds "no temporary file is left" sh -c '! ls | grep "\.tmp$"'
finish
