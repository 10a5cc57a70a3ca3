# Help, versions, wrong usage and wrong specs. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

check "--help" "$CRUMB" --help
check "--version" "$CRUMB" --version
holds "--version names the instruction sets" grep -q 'frame format .* portable' stdout
commands=$("$CRUMB" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
holds "the commands that --help names" test -n "$commands"
for option in help -h; do
	"$CRUMB" --help >wanted
	check "$option" "$CRUMB" $option
	holds "is --help" cmp stdout wanted
done
for command in $commands; do
	check "$command --help" "$CRUMB" "$command" --help
	holds "$command --help has a synopsis" grep -q "^usage: crumb $command" stdout
	mv stdout wanted
	check "$command -h" "$CRUMB" "$command" -h
	holds "is $command --help" cmp stdout wanted
	check "help $command" "$CRUMB" help "$command"
	holds "is $command --help" cmp stdout wanted
	refused 2 "Did you mean \"$command\"?" "$CRUMB" "x$command"
	refused 2 "Did you mean \"$command\"?" "$CRUMB" help "x$command"
	for option in $(sed -n 's/^  .*--\([a-z0-9]*\) .*/\1/p' wanted); do
		refused 2 "Did you mean \"--$option\"?" "$CRUMB" "$command" "--${option}s"
	done
	refused 2 "--nonsense is no option here" "$CRUMB" "$command" --nonsense
	refused 2 "-z is no option here" "$CRUMB" "$command" -z
done

# The list for people and the one for programs say the same.
check "list" "$CRUMB" list
"$CRUMB" list --json >rows
for flag in residual=residual random=random "fixed=fixed length" agrees=agrees momentum=momentum; do
	sed -n "s/^\([a-z]*\) .*\[${flag#*=}\].*/\1/p" stdout >listed
	sed -n "s/^{\"name\": \"\([a-z]*\)\".*\"${flag%%=*}\": true.*/\1/p" rows >wanted
	holds "[${flag#*=}] of some codecs" test -s wanted
	holds "[${flag#*=}] of these codecs" cmp listed wanted
done

refused 2 "usage: crumb COMMAND" "$CRUMB"
refused 2 'there is no command "squeeze"' "$CRUMB" squeeze
refused 2 'there is no command "squeeze"' "$CRUMB" help squeeze
refused 2 "it takes one command, not 2" "$CRUMB" help pack peek
refused 2 "it takes one gradient, not 0" "$CRUMB" pack -c raw -o out
refused 2 "it takes one gradient, not 2" "$CRUMB" pack -c raw -o out a b
refused 2 "-c SPEC is missing" "$CRUMB" pack -o out in.npy
refused 2 "-o OUT is missing" "$CRUMB" pack -c raw in.npy
refused 2 "one --codec, and not raw and block" "$CRUMB" pack -c raw -c block -o out in.npy
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
caret 0 vogus
caret 1 bogus # block begins like it
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

# meant WORD COMMAND...: the message on a wrong word suggests this one; "" is none.
meant() {
	meant=$1
	shift
	refused 2 "crumb" "$CRUMB" "$@"
	if [ -n "$meant" ]; then
		holds "$*: $meant was meant" grep -qxF "Did you mean \"$meant\"?" stderr
	else
		holds "$*: nothing is suggested" sh -c '! grep "Did you mean" stderr'
	fi
}
for codec in $(sed -n 's/^{"name": "\([a-z]*\)".*/\1/p' rows); do
	meant "$codec" pack -c "${codec}s" in.npy -o out
	meant "$codec" plan -c "conv=$codec;fc=${codec}x:x=1"
	meant "$codec" bench -c "$(echo "$codec" | tr a-z A-Z)"
	for key in $("$CRUMB" list | sed -n "/^$codec /,/^[a-z]/s/^    \([a-z0-9]*\)=.*/\1/p"); do
		meant "$key" pack -c "$codec:x$key=1" in.npy -o out
	done
done
meant adacomp bench -c adacmop:bin=50
meant terngrad bench -c tern
meant coding bench -c adacomp:bin=50,codign=entropy
meant entropy bench -c adacomp:coding=entropi,bin=50
meant lstm plan -c "conv,fc=raw;lsmt=terngrad"
meant bucket plan -c "conv,fc=raw;lstm=terngrad:buckte=5"
meant resnet50 plan -m resnet5
meant shard plan --plan shrad
meant "" pack -c sparse in.npy -o out
meant "" pack -c x in.npy -o out
meant "" pack -c raw: in.npy -o out
meant "" pack -c conv=raw in.npy -o out
meant "" pack -c adacomp:bin=5,bin=6 in.npy -o out
meant "" plan -c "conv,fc=raw;conv"
meant "" squeeze
meant "" "$(printf '%500s' '' | tr ' ' p)"

# A terminal would obey control characters: ESC, DEL, and CSI in UTF-8 (U+009B).
evil=$(printf 'r\033[31m\t\177\302\233w')
clean() { LC_ALL=C tr -d '[:print:]\n' <stderr | cmp - /dev/null; }
refused 2 'r?[31m???w' "$CRUMB" pack -c "$evil" in.npy -o out
holds "a spec" clean
holds "its caret" grep -qx '   ^' stderr
refused 2 'r?[31m???w' "$CRUMB" "$evil"
holds "a command" clean
refused 2 'r?[31m???w' "$CRUMB" pack "--$evil"
holds "an option" clean
refused 2 'r?[31m???w' "$CRUMB" plan -m "$evil"
holds "a network" clean
refused 1 'r?[31m???w: No such file' "$CRUMB" peek "$evil"
holds "a file" clean
holds "U+00DF is none" sh -c '"$0" peek ß 2>&1 | grep -q "ß: No such file"' "$CRUMB"
finish
