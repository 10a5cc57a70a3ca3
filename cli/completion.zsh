#compdef crumb crumb-train
# Completion in zsh for crumb and crumb-train: it asks bash's, which is installed beside.
# SPDX-License-Identifier: MIT
local root=${functions_source[_crumb]:A:h:h:h}
local ask='source "$1" && COMP_WORDBREAKS= COMP_LINE=$2 COMP_POINT=${#2} && _crumb "$3"
	printf "%s\n" "${COMPREPLY[@]}"'
local from=$root/bash-completion/completions/crumb line="${(j: :)words[1,CURRENT]}"
local -a offers=(${(f)"$(bash -c $ask bash $from $line $words[1] 2>/dev/null)"})
[[ $PREFIX != --*=* ]] || compset -P 1 '*='
if (($#offers)); then
	compadd -S '' -- ${(M)offers:#*=}
	compadd -- ${offers:#*=}
else
	_default
fi
