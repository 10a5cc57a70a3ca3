# Completion in bash offers what the tools take: all of it, and nothing else. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"
if ! command -v bash >/dev/null; then
	echo "skipped: no bash here"
	exit 77
fi
mkdir bin
ln -s "$CRUMB" bin/crumb
[ -z "${CRUMB_TRAIN:-}" ] || ln -s "$CRUMB_TRAIN" bin/crumb-train
PATH=$PWD/bin:$PATH
cat >offer.bash <<'END'
source "$SOURCE/cli/completion.bash"
COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
while IFS= read -r COMP_LINE; do
	COMP_POINT=${#COMP_LINE} COMPREPLY=()
	_crumb "${COMP_LINE%% *}" 2>>errors
	printf '%s\n' "${COMPREPLY[@]}"
done
END

# offers LINE: what is offered at the end of the line is what stands in "wanted", in any order.
offers() {
	printf '%s\n' "$1" | bash --norc offer.bash | sort >found
	tr ' ' '\n' <wanted | sort >sorted
	holds "after \"$1\": $(tr '\n' ' ' <found)" cmp found sorted
}
# offers_words LINE WORD...: it is these words.
offers_words() {
	line=$1
	shift
	echo "$*" >wanted
	offers "$line"
}
long_options() { sed -n 's/^  *\(-[a-z], \)\{0,1\}\(--[a-z-]*\).*/\2/p'; }

"$CRUMB" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' >commands
cp commands wanted
offers "crumb "
offers "crumb help "
offers_words "crumb pa" pack
offers_words "crumb --" --help --version
while read -r command; do
	"$CRUMB" "$command" --help | long_options >wanted
	holds "$command has options" test -s wanted
	offers "crumb $command x.npy -"
done <commands
offers_words "crumb pack --se" --seed
offers_words "crumb pack x" # files, by bash itself

"$CRUMB" list --json | sed 's/^{"name": "\([a-z]*\)".*/\1/' >codecs
for line in "crumb pack -c " "crumb pack --codec " "crumb pack --codec=" "crumb plan --down " "crumb bench -c raw -c " \
	"crumb plan -c conv=" "crumb plan -c 'conv=raw;fc,last="; do
	case $line in
	*\'*) sed "s/^/conv=raw;fc,last=/" codecs >wanted ;; # in quotes, bash replaces all
	*) cp codecs wanted ;;
	esac
	offers "$line"
done
while read -r codec; do
	offers_words "crumb pack -c $codec" "$codec"
	keys=$("$CRUMB" list --json | sed -n "/\"name\": \"$codec\"/s/.*\"keys\": \[\(.*\)\], \"res.*/\1/p" |
		grep -o '{"name": "[a-z0-9]*"' | cut -d '"' -f 4)
	# shellcheck disable=SC2046,SC2086 # words
	offers_words "crumb pack -c $codec:" $(printf '%s=\n' $keys | grep -v '^=$')
	for key in $keys; do
		# shellcheck disable=SC2046,SC2086 # words
		offers_words "crumb bench -c $codec:$key" $(printf '%s=\n' $keys | grep "^$key")
		choices=$("$CRUMB" list --json | grep -F "\"name\": \"$codec\"" |
			grep -o "{\"name\": \"$key\"[^}]*" | sed -n 's/.*"choices": \[\(.*\)\]/\1/p' | tr -d '",')
		# shellcheck disable=SC2086
		offers_words "crumb pack -c $codec:$key=" $choices
	done
done <codecs
offers_words "crumb pack -c adacomp:bin=50,cod" 50,coding= # bash replaces what follows the '='
offers_words "crumb pack -c adacomp:bin=50,coding=ent" entropy
offers_words "crumb plan -c \"conv=raw;fc=adacomp:b" "conv=raw;fc=adacomp:bin="
offers_words "crumb pack -c /etc/:*["
offers_words "crumb pack -c bogus:b"
offers_words "crumb pack -c adacomp:bogus="

"$CRUMB" plan --help | sed -n 's/^Networks: \(.*\)\.$/\1/p' | tr -d , >wanted
holds "there are networks" grep -q "lenet .*vgg-a" wanted
offers "crumb plan -m "
offers_words "crumb plan --model=vgg" vgg-a
offers_words "crumb plan --plan s" shard server
printf 'crumb plan --plan \n' | bash --norc offer.bash >plans
while read -r plan; do
	refused 2 "--nodes NODES is missing" "$CRUMB" plan -m lenet --plan "$plan"
done <plans
if [ -n "${CRUMB_TRAIN:-}" ]; then
	"$CRUMB_TRAIN" --help | long_options >wanted
	offers "crumb-train -"
	kinds="conv= fc= lstm= embedding= bias= batchnorm= last="
	echo $kinds auto | tr ' ' '\n' | cat codecs - >wanted
	offers "crumb-train --codec "
	offers_words "crumb-train --codec au" auto
	offers_words "crumb-train --down ex" exact
	offers_words "crumb-train --codec las" last=
	offers_words "crumb-train --codec last=ada" adacomp
	"$CRUMB_TRAIN" --help | sed -n '/^Networks:/,/^$/s/^  \([^ ]*\) .*/\1/p' >wanted
	offers "crumb-train --flat --model "
	"$CRUMB_TRAIN" --help | sed -n '/^Plans:/,/^$/s/^  \([^ ]*\) .*/\1/p' >wanted
	offers "crumb-train --plan "
	offers_words "crumb-train --model l" lenet lenet-relu
	offers_words "crumb-train "
fi
holds "no error on the way" test ! -s errors

# ---- zsh offers what bash does, which takes a word for a whole ----
if command -v zsh >/dev/null; then
	mkdir -p share/bash-completion/completions share/zsh/site-functions
	cp "$SOURCE/cli/completion.bash" share/bash-completion/completions/crumb
	cp "$SOURCE/cli/completion.zsh" share/zsh/site-functions/_crumb
	cat >offer.zsh <<'END'
fpath=($PWD/share/zsh/site-functions $fpath)
autoload -Uz _crumb
compset() { PREFIX=${PREFIX#*=} }
compadd() { while [[ $1 != -- ]]; do shift; done; shift; (($#)) && print -rl -- "$@" }
_default() { print files }
while IFS= read -r line; do
	words=(${(z)line}) CURRENT=0
	[[ $line == *\  ]] && words+=("")
	CURRENT=$#words PREFIX=$words[-1]
	_crumb
done
END
	sed 's/^COMP_WORDBREAKS=.*/COMP_WORDBREAKS=/' offer.bash >whole.bash
	for line in "crumb " "crumb pa" "crumb pack -" "crumb pack -c " "crumb pack -c adacomp:bin=50,coding=ent" \
		"crumb pack --codec=adacomp:bi" "crumb plan -m vgg" "crumb pack x"; do
		printf '%s\n' "$line" | bash --norc whole.bash | sed 's/^$/files/' | sort >want
		printf '%s\n' "$line" | zsh -f offer.zsh | sort >found
		holds "in zsh, after \"$line\": $(tr '\n' ' ' <found)" cmp found want
	done
elif [ "$failed" = 0 ]; then
	echo "skipped: no zsh here"
	exit 77
fi
finish
