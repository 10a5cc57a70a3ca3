# Completion in bash for crumb and crumb-train; their --help and "crumb list" say what there is.
# SPDX-License-Identifier: MIT

# Reads a page of help. Prints its options; or the names of its section TITLE, beside the title or in rows below.
_crumb_options() { sed -n 's/^  .\{0,4\}\(--[a-z-]*\).*/\1/p'; }
_crumb_section() { sed -n "/^$1:/{s/^$1://;s/[,.]//g;p;:row;n;/^  /!q;s/^  \([^ ]*\) .*/\1/p;b row}"; }

# Prints what can stand at the end of a codec or policy: a codec, a key of it, or a value of a key. $1: the tool.
_crumb_spec() {
	local spec=${2##*;} name key
	[[ ${spec%%:*} == *=* ]] && spec=${spec#*=} # KIND=SPEC
	name=${spec%%:*} key=${spec##*[:,]}
	if [[ $spec != *:* ]]; then
		"$1" list --json | sed 's/^{"name": "\([a-z]*\)".*/\1/'
	elif [[ $key == *=* ]]; then
		"$1" list --json | sed -n "/^{\"name\": \"$name\"/s/.*{\"name\": \"${key%%=*}\"[^}]*\"choices\": \[\([^]]*\).*/\1/p" |
			tr -d '",'
	else
		"$1" list --json | grep "^{\"name\": \"$name\"" | tr '{' '\n' |
			sed -n 's/^"name": "\([a-z0-9]*\)", "brief".*/\1=/p'
	fi
}

_crumb() {
	local tool=$1 line=${COMP_LINE:0:COMP_POINT} breaks=${COMP_WORDBREAKS//[^:=;]/}
	local words whole option piece names kept
	read -ra words <<<"$line"
	[[ $line == *[[:blank:]] ]] && words+=("")
	((${#words[@]} > 1)) || return
	whole=${words[-1]} option=${words[-2]} # bash's own word may be what follows a ':' or '=' only
	[[ $whole == --*=* ]] && option=${whole%%=*} whole=${whole#*=}
	[[ $whole == [\"\']* ]] && whole=${whole:1} breaks="" # within quotes it is the whole
	piece=$whole
	local help=("$tool" --help)
	[[ $tool == *-train ]] || ((${#words[@]} < 3)) || help=("$tool" "${words[1]}" --help)

	case $option in
	-c | --codec | --down)
		[[ $whole == *[!a-z0-9.,:\;=-]* ]] && return
		names=$(_crumb_spec "${tool%-train}" "$whole" 2>/dev/null) piece=${whole##*[:,=;]}
		if [[ $tool == *-train && ${whole##*;} != *[:=]* ]]; then
			names+=" conv= fc= lstm= embedding= bias= batchnorm= last="
			[[ $whole == *[,\;]* ]] || names+=" $([[ $option == --down ]] && echo exact || echo auto)"
		fi
		;;
	-m | --model) names=$("${help[@]}" 2>/dev/null | _crumb_section Networks) ;;
	--plan)
		names="gather shard server tiers tiers-shard async"
		;;
	*)
		if [[ $whole == -* ]]; then
			names=$("${help[@]}" 2>/dev/null | _crumb_options)
			names=${names:---help --version}
		elif [[ ${#words[@]} == 2 || $option == help ]] && [[ $tool != *-train ]]; then
			names=$("$tool" --help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p')
		fi
		;;
	esac

	kept=${whole%"$piece"}
	[[ $breaks && $kept == *[$breaks]* ]] && kept=${kept##*[$breaks]}
	mapfile -t COMPREPLY < <(compgen -P "$kept" -W "$names" -- "$piece")
	[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
}
complete -o default -F _crumb crumb crumb-train
