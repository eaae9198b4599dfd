#!/bin/sh
# runs: once
# What README.md and the public headers promise, and the tests that hold it. A tag is the end of a comment:
#     /* promise: "words of a sentence", "words of a sentence ... words of a later one"; heap.h "words" */
# It is for the function, or the part of a script, that begins in the next line; in a file's first comment it is for the
# file. Only one sentence has the words. It is in the file that is named before them, or else in the header that is
# called like the folder. `...` stands for all that is between. A tag may also name a function: "kolk_pool_oldest".
# promises.txt has the tags of what no test can hold.
# The check complains if words are not there (any more), or are in several sentences; if a tag stands above nothing; if
# no tag quotes a sentence of the comment right above a public function, nor names the function; and if more sentences
# of a file are without a tag than promises.txt allows.
# Usage: promises.sh                     checks
#        promises.sh --list [FILE]       prints each promise with its tests
#        promises.sh --changed [COMMIT]  prints those in lines that have changed since the commit, by default HEAD
#        promises.sh --rest [FILE]       prints the sentences that no tag quotes
set -eu
mode=${1-} which=${2-}
headers=$(ls README.md include/kolk/*.h include/kolk/*.hpp adapters/*/kolk/*.h | grep -vE '/(kolk|compiler)\.h$')
tagged=$(grep -rlI 'promise: ' tests examples fuzz bench tools | grep -vE '/(results|corpus)/|/promises\.' | sort)
changes= # a header, or the first changed line and how many there are
if [ "$mode" = --changed ]; then
  changes=$(git diff -U0 "${which:-HEAD}" -- $headers |
    sed -nE 's|^\+\+\+ b/||p; s/^@@ .* \+([0-9]+)(,([0-9]+))? @@.*/\1 \3/p')
  which=
fi

awk -v mode="$mode" -v which="$which" -v headers="$(echo $headers)" -v changes="$(echo "$changes" | tr '\n' ';')" '
  function complain(text) {
    print text
    complaints++
  }

  # ---- The sentences of the headers

  # Adds a piece of a line to the sentence that is open, or begins new ones. A piece of code is one of its own.
  function add(piece, is_code,   end) {
    gsub(/[ \t]+/, " ", piece)
    sub(/^ /, "", piece)
    for (open = open && !is_code; piece != ""; piece = substr(piece, end + 1)) {
      end = match(piece, /[.?!][)"]* /) && !is_code ? RSTART + RLENGTH - 1 : length(piece)
      if (!open) {
        plain[path, ++n] = !is_code && !private && piece !~ /^---- /
        first_line[path, n] = at_line
      }
      sentence[path, n] = (open ? sentence[path, n] " " : "") substr(piece, 1, end)
      sub(/ $/, "", sentence[path, n])
      last_line[path, n] = at_line
      open = !is_code && sentence[path, n] !~ /[.?!][)"]*$/
    }
  }

  # A public function begins in sentence at[path, name]. The comment right above it begins in above[path, name].
  function note_function(line,   name) {
    if (line ~ /^(KOLK_[A-Z_]+|static inline)[ (]/) declared = 1
    if (!declared || !match(line, /(^|[ *])kolk_[a-z0-9_]*[a-z0-9]\(/)) return
    declared = 0
    name = substr(line, RSTART, RLENGTH - 1)
    sub(/^[ *]/, "", name)
    if (!((path, name) in at)) above[path, name] = comment ? comment : n + 1
    at[path, name] = n + 1
  }

  function read_header(line,   inside, piece, end) {
    for (; (getline line < path) > 0; at_line++) {
      if (line ~ /^\/\* ---- /) private = line ~ /---- (Struct|Inside)/
      if (inside) sub(/^ *\*( |$)/, "", line)
      if (line !~ /[^ ]/ || (inside && line ~ /^-|[^ ]  +[^ ]/)) open = 0
      if (line !~ /[^ ]/ && !inside) comment = 0
      while (line != "") {
        end = index(line, inside ? "*/" : "/*")
        piece = end ? substr(line, 1, end - 1) : line
        if (!inside && piece ~ /[^ ]/) note_function(piece)
        else if (!inside) comment = n + 1
        add(piece, !inside || piece ~ /^    (    )*[^ .].*[;{}]( *\/\/.*)?$/)
        line = end ? substr(line, end + 2) : ""
        if (!end) break
        inside = !inside
        open = 0
      }
    }
  }

  function read_page(line,   is_code) {
    for (; (getline line < path) > 0; at_line++) {
      if (line ~ /^```/) is_code = !is_code
      if (line ~ /^(```|[#|>-]|$)/) open = 0
      add(line, is_code)
      if (line ~ /^[#|]/) open = 0
    }
  }

  # ---- The tags

  # The sentence that has these words; of several that are alike, the first one from here on.
  function find(words, from,   i, found, several) {
    if ((path, words) in at) return at[path, words]
    for (i = 1; i <= sentences[path]; i++) {
      if (!index(sentence[path, i], words)) continue
      if (found && sentence[path, i] != sentence[path, found] && !several++)
        complain(place ": several sentences of " path " have \"" words "\".")
      if (!found || found < from) found = i
    }
    if (found < from) complain(place ": " path " does not say (any more): \"" words "\". See what it promises now.")
    return found < from ? 0 : found
  }

  function note_quote(quote,   parts, from, to, i) {
    to = split(quote, parts, " [.][.][.] ")
    from = find(parts[1], 1)
    to = from && to > 1 ? find(parts[2], from) : from
    if (!to) return
    if (!((path, from, quote) in places)) quotes[path, from] = quotes[path, from] quote "\n"
    places[path, from, quote] = places[path, from, quote] "    " place "\n"
    for (i = from; i <= to; i++) {
      quoted[path, i] = 1
      if ((path, i) in changed) changed[path, from] = 1
    }
    tags++
  }

  # At the line behind the comment.
  function end_tag(line,   k, parts, i, name) {
    if (match(line, /[A-Za-z_0-9]+\(/)) name = substr(line, RSTART, RLENGTH - 1)
    place = FILENAME (whole ? "" : ":" FNR ": " (name ? name : line))
    sub(/: $/, "", place)
    if (!whole && (line !~ /[^ ]/ || (FILENAME ~ /\.(c|cc|h)$/ && (!name || line ~ /^[ #]|;$/))))
      complain(place ": a tag stands above nothing.")
    if (FILENAME ~ /promises\.txt$/) place = "no test: " reason
    k = split(tag, parts, "\"")
    tag = ""
    if (k % 2 == 0) complain(place ": a quotation mark is missing.")
    for (i = 1; i < k; i += 2) {
      name = parts[i]
      gsub(/[,; ]/, "", name)
      if (i == 1 && name == "") name = folder ".h"
      if (name != "") path = path_of[name]
      if (path == "") return complain(place ": no public header is called " name ".")
      note_quote(parts[i + 1])
    }
  }

  BEGIN {
    mark = "(^| )promise: ([A-Za-z_]+[.][a-z]+ )?\""
    n_headers = split(headers, header, " ")
    for (i = 1; i <= n_headers; i++) {
      path = name = header[i]
      sub(/.*\//, "", name)
      path_of[name] = path
      n = open = private = comment = 0
      at_line = 1
      if (path ~ /\.md$/) read_page()
      else read_header()
      close(path)
      sentences[path] = n
    }
    k = split(changes, change, ";")
    for (i = 1; i < k; i++) {
      if (change[i] ~ /[a-z]/) path = change[i]
      split(change[i] " 1", span, " ")
      for (n = 1; n <= sentences[path]; n++)
        if (last_line[path, n] >= span[1] && first_line[path, n] < span[1] + span[2]) changed[path, n] = 1
    }
  }

  FNR == 1 {
    if (tag) complain(file ": a tag stands above nothing.")
    file = FILENAME
    tag = ""
    whole = 1
    inside = 0
    folder = FILENAME
    sub(/\/[^\/]*$/, "", folder)
    sub(/.*\//, "", folder)
  }
  FILENAME ~ /promises\.txt$/ && !/^#/ { allowed[$1] = $2 }
  {
    comment = inside || /^ *(#|\/\/)( |$)/
    if (tag && !comment) end_tag($0)
    if (/^ *\/\*/) comment = inside = 1
    if (index($0, "*/")) inside = 0
    if (!comment && /[^ ]/ && !/^#!/) whole = 0
    if (!comment) next
    sub(/^ *(\/\*|\*\/?|#|\/\/) ?/, "")
    sub(/ *\*\/ *$/, "")
    if (tag && $0 ~ mark) end_tag($0)
    if (tag) tag = tag " " $0
    else if (match($0, mark)) {
      reason = substr($0, 1, RSTART - 1)
      tag = substr($0, RSTART)
      sub(/^ ?promise: /, "", tag)
    }
  }

  END {
    if (tag) complain(file ": a tag stands above nothing.")
    for (p = 1; p <= n_headers; p++) {
      path = header[p]
      shown = path ~ which "$"
      rest = 0
      for (i = 1; i <= sentences[path]; i++) {
        if (plain[path, i] && !((path, i) in quoted) && length(sentence[path, i]) > 12) {
          rest++
          if (shown && mode == "--rest") print path ":" first_line[path, i] ": " sentence[path, i]
        }
        k = shown && (mode == "--list" || (path, i) in changed) ? split(quotes[path, i], quote, "\n") : 0
        for (q = 1; q < k; q++)
          printf "%s:%d: \"%s\"\n%s", path, first_line[path, i], quote[q], places[path, i, quote[q]]
      }
      if (rest > allowed[path] + 0)
        complain(path ": " rest " sentences are without a tag; promises.txt allows " allowed[path] + 0 ": see --rest.")
    }
    for (key in at) {
      split(key, parts, SUBSEP)
      for (i = above[key]; i <= at[key] && !((parts[1], i) in quoted);) i++
      if (i > at[key]) complain(parts[1] ": no tag is for " parts[2] ".")
    }
    if (mode == "") printf "%d tags, %d complaints\n", tags, complaints
    exit complaints > 0
  }' tests/build/promises.txt $tagged
