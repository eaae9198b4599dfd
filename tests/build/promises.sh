#!/bin/sh
# runs: once
# docs/promises.md lists the promises of README.md and of the public headers, each with its tests. A row is
#     | of | "words of the promise ... more of its words" | `file`: `test`, `test`; `file` |
# The file under whose heading it stands still says these words, in the order of the rows. Each test is there: a file in
# tests, examples, fuzz, bench or tools, named by the end of its path, and what is named behind it, which is a function
# or a word of a script. A row without a file says "no test". Each public header has a table, and each public function
# of a header is named in it.
# Usage: promises.sh [--rest FILE]    prints instead what no row quotes of FILE
set -eu
files=$(mktemp)
trap 'rm -f "$files"' EXIT
find tests examples fuzz bench tools -type f ! -path '*/results/*' ! -path '*/corpus/*' > "$files"
rest=
[ "${1-}" != --rest ] || rest=$2
headers=README.md
for header in include/kolk/*.h include/kolk/*.hpp adapters/*/kolk/*.h; do
  case $header in */kolk.h | */compiler.h) ;; *) headers="$headers $header" ;; esac
done

awk -v files="$files" -v headers="$headers" -v rest="$rest" '
  function complain(text) {
    printf "docs/promises.md:%d: %s\n", FNR, text
    complaints++
  }

  # The text of a file as words between single spaces, without the marks of comments.
  function flatten(path,   line, text, header) {
    header = path ~ /\.hp*$/
    text = " "
    while ((getline line < path) > 0) {
      if (header) {
        sub(/^ *(\/\*|\*\/|\*|\/\/)/, "", line)
        sub(/\*\/ *$/, "", line)
      }
      text = text " " line
    }
    close(path)
    gsub(/[ \t]+/, " ", text)
    return text
  }

  # The public functions that a header declares or defines, one a line.
  function list_functions(path,   line, name, declared) {
    while ((getline line < path) > 0) {
      if (line ~ /^(KOLK_API_|KOLK_USES_\([0-9]\)|KOLK_INLINE_|static inline)/) declared = 1
      if (!declared || !match(line, /(^|[ *])kolk_[a-z0-9_]+\(/)) continue
      name = substr(line, RSTART, RLENGTH - 1)
      sub(/^[ *]/, "", name)
      if (name !~ /_$/) functions[name] = path
      declared = 0
    }
    close(path)
  }

  # The path of the file that ends in this; it complains if there is none, or more than one.
  function find_file(end,   n, path, found) {
    for (n = 1; n <= n_files; n++)
      if (substr("/" all_files[n], length(all_files[n]) - length(end) + 1) == "/" end) {
        path = all_files[n]
        found++
      }
    if (found == 1) return path
    complain(row ": " (found ? "more than one file ends in " : "there is no file ") end ".")
    return ""
  }

  function has_word(path, word,   line, text, at, before, after) {
    if (!(path in texts)) {
      while ((getline line < path) > 0) text = text line "\n"
      close(path)
      texts[path] = text
    }
    text = texts[path]
    if (word ~ /^test_/) return index(text, "void " word "(")
    while ((at = index(text, word)) > 0) {
      before = at == 1 ? " " : substr(text, at - 1, 1)
      after = substr(text, at + length(word), 1)
      if (before !~ /[A-Za-z0-9_]/ && after !~ /[A-Za-z0-9_]/) return 1
      text = substr(text, at + length(word))
    }
    return 0
  }

  # A quote: its pieces follow each other in the text, not before the last row began.
  function check_quote(quote,   n, i, pieces, at, from) {
    n = split(quote, pieces, / \.\.\. /)
    from = place
    for (i = 1; i <= n; i++) {
      at = index(substr(text, from), pieces[i])
      if (!at) {
        at = index(text, pieces[i])
        complain(row ": " of_file (at ? " says this only before the last row: \"" : " does not say (any more): \"") \
          pieces[i] "\". Change the row, and see whether its tests hold what is promised now.")
        return
      }
      at += from - 1
      if (i == 1) place = at
      from = at + length(pieces[i])
    }
    for (i = place; rest && i < from; i++) quoted[i] = 1
  }

  # The last cell: files in backticks, and behind each the tests in it.
  function check_tests(cell,   n, i, parts, path, named) {
    n = split(cell, parts, "`")
    if (n % 2 == 0) complain(row ": a backtick is missing.")
    for (i = 2; i <= n; i += 2)
      if (parts[i] ~ /[.\/]/) {
        path = find_file(parts[i])
        named++
      } else if (!named)
        complain(row ": no file is named before `" parts[i] "`.")
      else if (path != "" && !has_word(path, parts[i]))
        complain(row ": " path " has no `" parts[i] "`.")
    if (!named && cell !~ /no test: ./) complain(row ": it names no test, and does not say \"no test: why\".")
  }

  function end_table(   name, i, run) {
    for (name in functions) complain(functions[name] ": no row of its table names `" name "`.")
    split("", functions)
    if (rest == "" || rest != of_file) return
    for (i = 1; i <= length(text) + 1; i++) {
      if (i <= length(text) && !(i in quoted))
        run = run substr(text, i, 1)
      else {
        if (length(run) > 12) print run
        run = ""
      }
    }
  }

  BEGIN {
    while ((getline path < files) > 0) all_files[++n_files] = path
    close(files)
    n = split(headers, list, " ")
    for (i = 1; i <= n; i++) missing[list[i]] = 1
  }

  /^## \[/ {
    end_table()
    of_file = $0
    sub(/.*\]\(\.\.\//, "", of_file)
    sub(/\).*/, "", of_file)
    if (!(of_file in missing)) complain(of_file ": no public header, or it has two tables.")
    delete missing[of_file]
    text = flatten(of_file)
    place = 1
    split("", quoted)
    if (of_file ~ /\.h$/) list_functions(of_file)
    next
  }
  /^## / { end_table(); of_file = "" }
  of_file == "" || !/^\|/ || /^\|---/ || /^\| of \|/ { next }
  {
    rows++
    line = $0
    gsub(/\\\|/, "\001", line)
    n = split(line, cells, "|")
    for (i in cells) {
      gsub("\001", "|", cells[i])
      gsub(/^ +| +$/, "", cells[i])
    }
    row = of_file ", " cells[2] " " substr(cells[3], 1, 60) (length(cells[3]) > 60 ? "..." : "")
    if (n != 5 || cells[3] !~ /^".+"$/) {
      complain(row ": this is not a row | of | \"promise\" | tests |.")
      next
    }
    names = cells[2]
    while (match(names, /kolk_[a-z0-9_]+/)) {
      delete functions[substr(names, RSTART, RLENGTH)]
      names = substr(names, RSTART + RLENGTH)
    }
    check_quote(substr(cells[3], 2, length(cells[3]) - 2))
    check_tests(cells[4])
    if (cells[4] ~ /no test: /) untested++
  }
  END {
    end_table()
    for (path in missing) complain(path ": it has no table.")
    if (rest != "") exit
    printf "%d rows, %d of them without a test, %d complaints\n", rows, untested, complaints
    exit complaints > 0
  }' docs/promises.md
