# Help, versions, wrong usage and wrong specs. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

check "--help" "$CRUMB" --help
check "--version" "$CRUMB" --version
holds "--version names the instruction sets" grep -q 'frame format .* portable' stdout
commands=$("$CRUMB" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
holds "the commands that --help names" test -n "$commands"
for command in $commands; do
	check "$command --help" "$CRUMB" "$command" --help
	holds "$command --help has a synopsis" grep -q "^usage: crumb $command" stdout
	refused 2 "--nonsense is no option here" "$CRUMB" "$command" --nonsense
	refused 2 "-z is no option here" "$CRUMB" "$command" -z
done

# The list for people and the one for programs say the same.
check "list" "$CRUMB" list
"$CRUMB" list --json >rows
for flag in residual=residual random=random "fixed=fixed length" agrees=agrees; do
	sed -n "s/^\([a-z]*\) .*\[${flag#*=}\].*/\1/p" stdout >listed
	sed -n "s/^{\"name\": \"\([a-z]*\)\".*\"${flag%%=*}\": true.*/\1/p" rows >wanted
	holds "[${flag#*=}] of some codecs" test -s wanted
	holds "[${flag#*=}] of these codecs" cmp listed wanted
done

refused 2 "usage: crumb COMMAND" "$CRUMB"
refused 2 'there is no command "squeeze"' "$CRUMB" squeeze
refused 2 "it takes one gradient, not 0" "$CRUMB" pack -c raw -o out
refused 2 "it takes one gradient, not 2" "$CRUMB" pack -c raw -o out a b
refused 2 "-c SPEC is missing" "$CRUMB" pack -o out in.npy
refused 2 "-o OUT is missing" "$CRUMB" pack -c raw in.npy
refused 2 "-z is no option here" "$CRUMB" pack in.npy -z -o out
refused 2 "--nonsense is no option here" "$CRUMB" pack in.npy --nonsense
refused 2 "--json=1: it takes no value" "$CRUMB" peek frame --json=1
refused 2 "--codec needs a value" "$CRUMB" pack in.npy -o out --codec
refused 2 "-c needs a value" "$CRUMB" pack in.npy -o out -c
refused 2 "--seed needs a value" "$CRUMB" pack -c raw in.npy -o out --seed
refused 2 'it takes no file: x' "$CRUMB" list x
refused 2 'it takes no file: x' "$CRUMB" bench x
refused 2 "it takes at least one file of frames" "$CRUMB" peek
refused 2 "it takes at least one gradient" "$CRUMB" compare -c raw
refused 2 "--dtype takes bf16 only" "$CRUMB" compare --dtype f4 in.npy
refused 2 "crumb: " "$CRUMB" compare -c bogus in.npy
refused 2 "it takes at least one file of frames" "$CRUMB" unpack -o out.npy
refused 2 "-o OUT.npy is missing" "$CRUMB" unpack frame
refused 2 "-n takes at least 1" "$CRUMB" bench -n 0
refused 2 "vax: " "$CRUMB" bench --isa vax
refused 2 "--dtype takes bf16 only" "$CRUMB" pack -c raw --dtype f4 in.npy -o out
for number in -1 "" 1x 0x10 18446744073709551616 " 1"; do
	refused 2 "--seed takes a whole number, not \"$number\"" "$CRUMB" pack -c raw --seed "$number" in.npy -o out
	refused 2 "-n takes a whole number, not \"$number\"" "$CRUMB" bench -n "$number"
done

# caret COLUMN SPEC: the caret of a wrong spec stands under that column, counted from 0.
caret() {
	refused 2 "crumb: " "$CRUMB" pack -c "$2" in.npy -o out
	spaces=$(printf '%*s' "$1" '')
	printf '  %s\n  %s^\n' "$2" "$spaces" >expected
	sed -n 2,3p stderr >shown
	holds "the caret of \"$2\"" cmp expected shown
}
caret 0 ""
caret 0 bogus
caret 0 ":"
caret 3 raw,
caret 4 raw:x=1
caret 7 twobit:bin=1
caret 17 twobit:threshold=x
caret 17 twobit:threshold=-1
caret 20 twobit:threshold=0.5x
caret 21 twobit:threshold=0.5,bin=3
caret 10 half:type=b
caret 2 "raß"
caret 3 "rawß"
refused 2 "crumb: " "$CRUMB" bench -c bogus
finish
