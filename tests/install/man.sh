# The man pages: without fault, and all that the tables and the header say is in them. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

if ! command -v mandoc >/dev/null; then
	echo "skipped: no mandoc here"
	exit 77
fi

# shown PAGE: as a reader sees it, a paragraph a line, spaces folded.
shown() { mandoc -T ascii -O width=1000 "$MAN/$1" | sed "s/.$(printf '\b')//g" | tr -s ' ' | sed 's/^ //'; }

# in_page WHAT: every line of the file "lines" is found in the page that is shown in the file "page".
in_page() {
	holds "$1: there are lines" test -s lines
	while read -r line; do
		holds "$1: $line" grep -qF -e "$line" page
	done <lines
}

for page in "$MAN"/*.[137]; do
	check "$page" mandoc -T lint "$page"
	holds "$page: a version" grep -qF "crumb $VERSION" "$page"
	holds "$page: nothing left to fill in" sh -c "! grep -n '@' '$page'"
done

# Rows of help: options, and what is listed below them.
rows() { sed -n 's/^  *\(-[a-z], \)\{0,1\}\([a-z-][^ ]*\)\( [^ ]\{1,\}\)\{0,1\}   *\([^ ].*\)/\4/p'; }

shown crumb.1 >page
for command in $("$CRUMB" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
	"$CRUMB" "$command" --help >help
	{
		sed -n '1s/^usage: //p' help
		grep -v -e '--help ' help | rows
		sed '1,/--help /d' help | grep .
	} >lines
	in_page "crumb.1, $command"
done

if [ -n "${CRUMB_TRAIN:-}" ]; then
	shown crumb-train.1 >page
	"$CRUMB_TRAIN" --help >help
	rows <help >lines
	in_page crumb-train.1
	sed -n 's/^  \(--[^ ]*\).*/\1/p' help >lines
	in_page crumb-train.1
fi

shown crumb-codecs.7 >page
"$CRUMB" list --json >list
cat >lines.py <<'END'
import json
for codec in map(json.loads, open("list")):
    print(codec["name"], codec["brief"], sep="\n")
    for key in codec["keys"]:
        print(key["name"] + "=", key["brief"], *key.get("choices", []), sep="\n")
END
python3 lines.py >lines
"$CRUMB" list | sed -n 's/^    \([^ ]*=[^ ]*\) .*/\1/p' >>lines # keys with their defaults
in_page crumb-codecs.7

shown crumb.3 | tr '\n' ' ' | tr -s ' ' >page
# declared HEADER...: their functions, in the file "lines".
declared() {
	(cd "$SOURCE/include" && cat "$@") | tr '\n' ' ' | grep -o 'CRUMB_API [^;]*;' | tr -s ' ' |
		sed 's/^CRUMB_API //; /__attribute/d' >lines
}
declared crumb.h crumb_parallel.h
in_page "crumb.3, functions"
sed -n 's/^\t\(CRUMB_[A-Z0-9_]*\).*/\1/p' "$SOURCE/include/crumb.h" >lines
in_page "crumb.3, constants"
shown crumb_exchange.3 | tr '\n' ' ' | tr -s ' ' >page
declared crumb_exchange.h crumb_exchange_mpi.h
in_page "crumb_exchange.3, functions"

check "the pages as HTML" "$CMAKE" --build "$BUILD" --target html
for page in "$MAN"/*.[137]; do
	holds "$(basename "$page").html" grep -q '</html>' "$BUILD/html/$(basename "$page").html"
done

# ---- what the maker refuses ----
ln -s "$SOURCE" source # whose own path may have spaces
maker="python3 source/scripts/man"
header=$SOURCE/include/crumb.h
echo '@nonsense@' >wrong.in
refused 1 'wrong.in: there is no @nonsense@' $maker wrong.in page.1 "$header"
refused 1 'nothing.in: No such file' $maker nothing.in page.1 "$header"
refused 1 'wrong.in: not the header' $maker wrong.in page.1 wrong.in
echo '@commands@' >commands.in
refused 1 'returned non-zero exit status' $maker commands.in page.1 "$header" false
refused 1 'nothing for @commands@' $maker commands.in page.1 "$header" printf 'usage: x\nbrief\n'
refused 2 'scripts/man TEMPLATE' $maker wrong.in
holds "no page is left of all this" test ! -e page.1
finish
