#!/bin/bash
# runs: long once
# bash, zsh and fish complete the kolk command: verbs, each option of each verb, the values that the help lists, files,
# folders and programs; and offer no file where none is expected.
# Usage: completion.sh, with KOLK=the kolk command
set -euo pipefail
. tests/help/script.sh
command -v python3 > /dev/null || skip "there is no python3"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work/home XDG_CONFIG_HOME=$work/home XDG_DATA_HOME=$work/home
mkdir -p "$work/home" "$work/here/red/inner"
touch "$work/here/green.json" "$work/home/.zshrc"
printf '#!/bin/sh\n' > "$work/home/paint-it"
chmod +x "$work/home/paint-it"
tools/completion.py "$KOLK" "$work/for"

# What is typed, and then what is offered: in any order, without what follows a folder or an option. In bash, FILES
# stands for the files and folders that readline offers by itself.
verbs=$("$KOLK" --help | sed -n '/^Verbs/,/^$/s/^  \([a-z]*\) .*/\1/p')
{
  echo "kolk :" $verbs
  for verb in $verbs; do
    [ "$verb" = help ] || echo "kolk $verb --:" $("$KOLK" "$verb" --help | grep -oE '^ +(-[a-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+')
  done
  cat << 'END'
kolk so:soak
kolk help so:soak
kolk top --sort=resi:resident
kolk top --sort re:resident
kolk run --debug fill,g:fill,guard
kolk replay --seed :
kolk soak --fo:--for
kolk demo --seed :
kolk replay gr:green.json
kolk report -o gr:green.json
kolk run --stats -- paint-:paint-it
kolk record paint-:paint-it
kolk run autoloa:
END
} > "$work/wanted"
cut -d: -f1 "$work/wanted" > "$work/typed"

cat > "$work/ask.bash" << 'END'
source "$1"
compopt() { files=; }
while IFS= read -r line; do
  files=FILES COMPREPLY=() COMP_LINE=$line COMP_POINT=${#line}
  read -ra COMP_WORDS <<< "${line//=/ = }"
  [[ $line == *' ' ]] && COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _kolk
  [[ ${#COMPREPLY[@]} == 0 ]] || files=
  echo "$line:${COMPREPLY[*]}$files"
done
END

# A key runs this in an interactive shell. Each compadd adds matches, or none with -O, -A and -D.
cat > "$work/ask.zsh" << 'END'
fpath=($1 $fpath)
autoload -U compinit
compinit -u -D
compadd() {
  if [[ -z ${argv[(r)-[OAD]]} ]]; then
    local -a added
    builtin compadd -A added "$@"
    hits+=($added)
  fi
  builtin compadd "$@"
}
ask() {
  local line
  local -a hits
  while IFS= read -r line; do
    hits=() BUFFER=$line CURSOR=$#line
    zle list-choices
    print -r -- "$line:$hits" >> $2
  done < $1
  exit
}
END

wrong=0
compare() { # SHELL: what it said is in $work/said
  while IFS=: read -r typed wanted; do
    said=$(awk -v typed="$typed:" 'index($0, typed) == 1 { print substr($0, length(typed) + 1); exit }' "$work/said" |
      tr ' ' '\n' | sed 's/^--[a-z]*=//; s/=$//; s|/$||' | grep . | sort -u | xargs || true)
    wanted=$(tr ' ' '\n' <<< "$wanted" | grep . | sort -u | xargs || true)
    case "$1 $wanted" in
      'bash green.json' | 'bash red') wanted=FILES ;;
      'zsh fill,guard') wanted=guard ;; # the rest of the word stays
    esac
    [ "$said" = "$wanted" ] && continue
    echo "$1 offers for '$typed': $said; expected: $wanted"
    wrong=$((wrong + 1))
  done < "$work/wanted"
}

PATH="$work/home:$PATH"
cd "$work/here"
bash --norc "$work/ask.bash" "$work/for/kolk" < "$work/typed" > "$work/said"
sed -i '1s/ --help --version//' "$work/said"
compare bash

if command -v zsh > /dev/null; then
  rm -f "$work/said"
  timeout 60 zsh -f -c '
    zmodload zsh/zpty
    zpty shell zsh -f -i
    zpty -w shell "TERM=dumb; source $1/ask.zsh $1/for; start() { ask $1/typed $1/said }; zle -N start; bindkey ^X start; echo rea\"\"dy"
    zpty -r shell output "*ready*"
    zpty -w -n shell $(printf "\\030")
    while zpty -r shell output; do :; done' zsh "$work" > /dev/null || true
  compare zsh
else
  echo "left out: zsh, as there is none"
fi

if command -v fish > /dev/null; then
  fish --no-config -c 'source $argv[1]
    while read -l line
      echo "$line:"(complete -C "$line" | string split -f 1 \t | string join " ")
    end' "$work/for/kolk.fish" < "$work/typed" > "$work/said" 2>&1
  compare fish
  fish --no-config -c 'source $argv[1]; complete -C "kolk so"' "$work/for/kolk.fish" | grep 'load on every kind of pool' > /dev/null ||
    { echo "fish does not say what soak is."; wrong=$((wrong + 1)); }
else
  echo "left out: fish, as there is none"
fi

echo "$(wc -l < "$work/wanted") lines, $wrong wrong"
[ $wrong = 0 ]
