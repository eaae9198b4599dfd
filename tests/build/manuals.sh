#!/bin/bash
# runs: long once
# The manual pages are written without a mistake of roff, and nothing is missing: each verb, each option and each word
# of the command's help; each public function, with its prototype and each word of its comment; and each macro with
# arguments.
# Usage: manuals.sh LIBRARY, a static one. KOLK is the kolk command; without it only the library's pages are looked at.
set -euo pipefail
. tests/help/script.sh
export LC_ALL=C
command -v python3 > /dev/null || skip "there is no python3"
command -v mandoc > /dev/null || command -v groff > /dev/null || skip "there is neither mandoc nor groff"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong=0
complain() { echo "$1"; wrong=$((wrong + 1)); }

tools/man.py library "$work/man3"
for header in adapters/*/kolk/*.h; do
  tools/man.py library "$work/adapter" "$header"
  mv "$work/adapter"/* "$work/man3"
done
mkdir "$work/man1"
if [ -x "${KOLK:-}" ]; then tools/man.py command "$KOLK" "$work/man1"; else echo "left out: the pages of section 1, as there is no kolk command"; fi

# A page that leads to another one has nothing else. The date is missing because a page has none.
mapfile -t pages < <(grep -L '^\.so ' "$work"/man?/*)
if command -v mandoc > /dev/null; then
  mandoc -T lint -W warning "${pages[@]}" 2>&1 | grep -v 'WARNING: missing date' > "$work/said" || true
else
  echo "left out: what mandoc finds, as there is none"
fi
if command -v groff > /dev/null; then
  for page in "${pages[@]}"; do groff -man -ww -z "$page"; done >> "$work/said" 2>&1
else
  echo "left out: what groff finds, as there is none"
fi
[ ! -s "$work/said" ] || complain "$(cat "$work/said")"

# What whatis and apropos find is the line below NAME, as it is.
if command -v lexgrog > /dev/null; then
  lexgrog "${pages[@]}" | sed 's/^[^"]*"//; s/"$//' > "$work/found"
  sed -n '/^\.SH "NAME"/{n;p}' "${pages[@]}" | sed "s/\\\\-/-/g; s/\\\\(aq/'/g" | diff - "$work/found" || complain "whatis (>) reads something else."
else
  echo "left out: what lexgrog finds, as there is none"
fi

# What a reader sees, as words: each word of the help is on the page.
shown() {
  if command -v mandoc > /dev/null; then mandoc -T utf8 -O width=1000 "$1"; else groff -man -T utf8 -P -cbou -rLL=1000n "$1"; fi |
    sed 's/.\x08//g'
}
options() { grep -oE '^ +(-[a-z], )?--[a-z-]+' | grep -oE -- '--?[a-z-]+' | sort -u; }
words() { tr -s ' ,\n' '\n' | sed 's/[.;:)]*$//; s/^(//' | sort -u; }
if [ -x "${KOLK:-}" ]; then
  verbs=$("$KOLK" --help | sed -n '/^Verbs/,/^$/s/^  \([a-z]*\) .*/\1/p' | grep -v '^help$')
  [ "$(cd "$work/man1" && ls | sort)" = "$(for verb in '' $verbs; do echo "kolk${verb:+-$verb}.1"; done | sort)" ] ||
    complain "The verbs are: $verbs, the pages: $(ls "$work/man1")"
  for verb in '' $verbs; do
    page=$work/man1/kolk${verb:+-$verb}.1
    "$KOLK" $verb --help | sed "1s/^[^:]*://; /^Verbs$/d; /^Options/d; /^Exit codes$/d" | words > "$work/help"
    shown "$page" > "$work/shown"
    missing=$(words < "$work/shown" | comm -23 "$work/help" -)
    [ -z "$missing" ] || complain "The page of kolk $verb lacks of its help: $missing"
    sed -n '/^OPTIONS/,/^EXIT/p' "$work/shown" > "$work/options"
    missing=$("$KOLK" $verb --help | options | comm -23 - <(options < "$work/options"))
    [ -z "$missing" ] || complain "The page of kolk $verb has not the options: $missing"
  done
fi

# The functions are those that the library exports, and those that headers define or declare before their part "Inside".
for header in include/kolk/*.h adapters/*/kolk/*.h; do
  sed -E '/^\/\* ---- Inside/,$d; /^ *(\/\*|\*)/d; s|/\*.*||' "$header" > "$work/code" # without comments
  grep -v '^#' "$work/code" | grep -oE '\<kolk_[a-z0-9_]*[a-z0-9]\(' || true
  grep -oE '^#define KOLK_[A-Z0-9_]*[A-Z0-9]\(' "$work/code" | sed 's/#define //' | grep -vE 'KOLK_(ALIGNAS|STATUS_LIST)\(' || true
done | tr -d '(' > "$work/names"
nm -g --defined-only "$1" | awk 'NF == 3 && $3 ~ /^kolk_/ && $3 !~ /_$/ { print $3 }' >> "$work/names"
sort -u -o "$work/names" "$work/names"
count=$(wc -l < "$work/names")
: > "$work/shown"
for header in $(ls include/kolk/*.h adapters/*/kolk/*.h | grep -vE '/(kolk|compiler)\.h'); do
  page=$work/man3/kolk_$(basename "$header" .h).3
  shown "$page" > "$page.shown"
  sed '/^\/\* ---- Inside/,$d' "$header" | awk '/^\/\* /, /\*\/$/ { comment = comment $0 "\n"; next }
    /^(KOLK_[A-Z]+_|KOLK_BASE_INLINE|static inline)/ { printf "%s", comment }
    { comment = "" }' | sed 's|^ *[/*]* *||; s|\*/$||; s/`//g' | words > "$work/comments"
  missing=$(words < "$page.shown" | comm -23 "$work/comments" -)
  [ -z "$missing" ] || complain "$(basename "$page") lacks of its comments: $missing"
  sed -nE "s|^ {7}([a-z][A-Za-z0-9_ ]*[ *])?(\w+)\(.*[,;)]$|\2 man3/$(basename "$page")|p" "$page.shown" >> "$work/shown"
done
sort -o "$work/shown" "$work/shown"
for page in "$work"/man3/*.3; do
  read -r request to < "$page"
  page=${page##*/}
  [ "$request" != .so ] || echo "${page%.3} $to"
done | sort > "$work/links"
lists=$(cut -d' ' -f1 "$work/links" | comm -3 "$work/names" -)
[ -z "$lists" ] || complain "Names without a page, or pages without a name: $lists"
lists=$(comm -23 "$work/links" "$work/shown")
[ -z "$lists" ] || complain "Pages that lack the prototype: $lists"

echo "$(ls "$work/man1" | wc -l) pages of the command, $(ls "$work"/man3/*.shown | wc -l) of headers, for $count names"
[ $wrong = 0 ]
