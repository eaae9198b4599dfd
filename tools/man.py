#!/usr/bin/env python3
"""Writes the manual pages into FOLDER, which is emptied before.

    command PROGRAM   section 1: kolk, and kolk-VERB for each verb, from the program's --help and that of each verb
    library           section 3: kolk_NAME for each NAME.h of include/kolk, from the header's comments; and for each
                      function and macro of it a page that leads there; or the same for an adapter's HEADER

Usage: tools/man.py command PROGRAM FOLDER
       tools/man.py library FOLDER [HEADER]
"""

import os
import re
import shutil
import subprocess
import sys
import textwrap

sys.dont_write_bytecode = True
from headers import STATUS, TOP, Header, comment_lines, members, one_line  # noqa: E402

NOT_PAGES = {"compiler", "kolk"}  # headers without a manual
WIDTH = 75  # of what a terminal of 80 columns shows unfilled

# ---- roff ----

SPECIAL = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}


def roff(text):
    return "".join(SPECIAL.get(letter, letter) for letter in text)


def line(text):
    """A line of text, which must not begin as a request."""
    return ("\\&" if text.startswith(".") else "") + roff(text)


def paragraph(text):
    """A line in which words in backquotes are bold."""
    return re.sub(r"\\\(ga(\S(?:.*?\S)?)\\\(ga", r"\\fB\1\\fP", line(text))


def bold(text):
    return f"\\fB{roff(text)}\\fP"


def title(name, section, version):
    return [f'.TH {roff(name)} {section} "" "{version}" "{version}"', ".nh", ".ad l"]


def heading(text):
    return [f'.SH "{roff(text)}"']


def code(lines):
    """Lines shown as they are."""
    return [".PP", ".RS 4", ".EX", *map(line, textwrap.dedent("\n".join(lines)).split("\n")), ".EE", ".nh", ".RE"]


def terms(pairs):
    """A list of terms, in roff, and of the lines of roff that explain them: paragraphs."""
    out = []
    for term, lines in pairs:
        first, *more = lines[lines[:1] == [".PP"]:] or ["\\&"]
        out += [".TP", term, first, *([".RS", *more, ".RE"] if more else [])]
    return out


# ---- texts: what plain lines of a help or a comment mean ----

# The facts of a header: each is a word or a few, and a text from the tenth column on. FACT is how they begin.
FACT = re.compile(r"(?=.{9} \S)[A-Z][a-z]+  +")
FACTS = re.compile(r"(?P<words>[A-Z][a-z]+(?:, [A-Z][a-z]+)*)(?:  +|(?<=.{9}) )(?=\S)")
TERM = re.compile(r"(?:\S.*?\S|\S)   +(?=\S)")


def indent(text):
    return len(text) - len(text.lstrip())


def parts(lines):
    """Splits at empty lines and where indented lines begin or end."""
    part = []
    for text in [*lines, ""]:
        if part and (not text or (indent(text) >= 2) != (indent(part[0]) >= 2)):
            yield part
            part = []
        if text:
            part.append(text)


def table(part):
    """If these indented lines are a table of terms, returns its rows, each a term and lines; otherwise None."""
    base = indent(part[0])
    columns = {match.end() for text in part if indent(text) == base and (match := TERM.match(text[base:]))}
    if not columns:  # a term with its text in the lines below, far to the right
        columns = {indent(text) - base for text in part if indent(text) != base} - set(range(16))
    if len(columns) != 1 or any("//" in text or text.endswith(("{", "}")) for text in part):
        return None
    column, rows = base + columns.pop(), []
    for text in part:
        if indent(text) == base:
            term, rest = text[base:column].rstrip(), text[column:]
            has_text = TERM.match(text[base:]) or " " not in term and text[column - 1] == " "
            rows.append((term, [rest]) if has_text else (text.strip(), []))
        elif indent(text) >= column:
            rows[-1][1].append(text[column:])
        else:
            return None
    return rows


def prose(lines):
    """Paragraphs, with indented lines as tables or as code; and the facts of a header, if they are among the lines."""
    at = next((at for at, text in enumerate(lines) if FACT.match(text)), len(lines))
    out = []
    for part in parts(lines[:at]):
        rows = table(part) if indent(part[0]) >= 2 else None
        if rows:
            out += terms((bold(term), prose(text)) for term, text in rows)
        elif indent(part[0]) >= 2:
            out += code(part)
        else:
            out += [".PP", paragraph(" ".join(part))]
    rows = []
    for text in lines[at:]:
        match = FACTS.match(text)
        if match:
            rows.append((bold(match["words"]), [text[match.end():]]))
        elif text and indent(text) == 0:
            rows.append((None, [text]))
        else:
            rows[-1][1].append(text[10:])
    for term, text in rows:
        out += terms([(term, prose(text))]) if term else prose(text)
    return out


# ---- section 1 ----

OPTION = re.compile(r"  (?:-(?P<letter>\w), |    )--(?P<name>[a-z-]+)(?: (?P<argument>\S+))?  +(?P<help>\S.*)")
ROW = re.compile(r"  (?P<term>\S+)  +(?P<text>\S.*)")


def fail(sentence):
    sys.exit(f"tools/man.py: {sentence}")


class Help:
    """What `kolk --help` or `kolk VERB --help` prints: the rows of each heading, as matches, and the text below."""

    def __init__(self, program, *verb):
        shown = subprocess.run([program, *verb, "--help"], check=True, capture_output=True, text=True).stdout
        first, self.synopsis, *rest = shown.rstrip("\n").split("\n\n")
        self.about = first.split(": ", 1)[1]
        self.synopsis = self.synopsis.split("\n", 1)[0].strip()
        self.rows = {}
        while rest and (match := re.match(r"([A-Z][a-z ]+)\n  ", rest[0])):
            lines = rest.pop(0).split("\n")[1:]
            row = OPTION if match[1].startswith("Options") else ROW
            self.rows[match[1]] = [row.fullmatch(text) or fail(f"this is no row: {text}") for text in lines]
        self.text = "\n\n".join(rest).split("\n") if rest else []


def words(text):
    """A synopsis: what is in capitals is to be replaced."""
    return re.sub(r"[a-z-]+|[A-Z]+", lambda word: f"\\f{'I' if word[0].isupper() else 'B'}{roff(word[0])}\\fP", text)


def options(rows):
    def term(row):
        names = ([f"-{row['letter']}"] if row["letter"] else []) + [f"--{row['name']}"]
        argument = f" \\fI{roff(row['argument'])}\\fP" if row["argument"] else ""
        return ", ".join(map(bold, names)) + argument

    return terms((term(row), [line(row["help"])]) for row in rows)


def see_also(pages):
    return [*heading("SEE ALSO"), ",\n".join(f"{bold(name)}({section})" for name, section in pages)]


def command(program, folder):
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    general = Help(program)
    verbs = [row["term"] for row in general.rows["Verbs"] if row["term"] != "help"]
    common = general.rows["Options of every verb"]
    codes = terms((bold(row["term"]), [line(row["text"])]) for row in general.rows["Exit codes"])

    def page(name, help_, *body):
        write(folder, name, 1, [
            *title(name, 1, version),
            *heading("NAME"), f"{roff(name)} \\- {roff(help_.about)}",
            *heading("SYNOPSIS"), words(help_.synopsis), *body])

    page("kolk", general,
         *heading("DESCRIPTION"), f"Each verb has a manual page of its own, and prints its options with {bold('--help')}.",
         *terms((bold(row["term"]), [line(row["text"])]) for row in general.rows["Verbs"]),
         *heading("OPTIONS"), "Every verb has these options:", *options(common),
         *heading("EXIT STATUS"), *codes,
         *see_also([(f"kolk-{verb}", 1) for verb in verbs] + [(f"kolk_{name}", 3) for name in headers()]))
    for verb in verbs:
        help_ = Help(program, verb)
        text = " ".join(help_.text)
        mentioned = [other for other in verbs if other != verb and re.search(rf"\bkolk {other}\b", text)]
        page(f"kolk-{verb}", help_,
             *heading("DESCRIPTION"), *(prose(help_.text) or [f"It {roff(help_.about)}."]),
             *heading("OPTIONS"), *options(help_.rows.get("Options", []) + common),
             *heading("EXIT STATUS"), "Unless the description states otherwise:", *codes,
             *see_also([("kolk", 1)] + [(f"kolk-{other}", 1) for other in mentioned]
                       + ([("kolk_base", 3)] if "KOLK_" in text + str(help_.rows) else [])))


# ---- section 3 ----


def headers():
    names = sorted(name[:-2] for name in os.listdir(os.path.join(TOP, "include/kolk")) if name.endswith(".h"))
    return [name for name in names if name not in NOT_PAGES]


def prototype(text):
    """A function in lines of at most WIDTH columns."""
    if len(text) <= WIDTH:
        return [text]
    begin = text.index("(") + 1
    first, *more = re.split(r"(?<=,) ", text[begin:])
    lines = [text[:begin] + first]
    for part in more:
        if len(f"{lines[-1]} {part}") <= WIDTH:
            lines[-1] += f" {part}"
        else:
            lines.append(" " * min(begin, 40) + part)
    return lines


def aggregate(declaration, opaque):
    kind = re.match(r"(?:typedef )?(\w+)", declaration.text)[1]
    out = [".PP", bold(f"{kind} {declaration.name}".strip())]
    if opaque:
        return out
    out += [".RS 4", ".PD 0"]
    for name, before, behind in members(declaration.text):
        if re.search(r"\w_;$|^KOLK_\w+\(", name):
            continue
        if before and behind:  # it begins a group of members
            out += prose(before)
        lines = behind or before
        out += terms([(bold(name), prose(lines))]) if lines else [".PP", bold(name)]
    return out + [".PD", ".RE"]


def called(declarations):
    """What a program writes: functions, macros and constants, with the comments behind them."""
    out = []
    for declaration in declarations:
        lines = [*map(bold, prototype(declaration.text)), ".fi"]
        if out[-1:] == [".fi"]:
            out[-1:] = lines
        else:
            out += [".PP", ".nf", *lines]
        remarks = [text for remark in declaration.remarks for text in prose(comment_lines(remark))]
        if remarks:
            out += [".RS 4", *remarks, ".RE"]
    return out


def render(item, opaque):
    """An item, unless all that it declares is private. If `opaque`, without the members of structs."""
    if item.hidden and not item.declarations:
        return []
    comment = prose(comment_lines(item.comment)) if item.comment else []
    out = called(one for one in item.declarations if one.kind not in ("aggregate", "statuses"))
    out += [".RS 4", *comment, ".RE"] if out and comment else comment
    for declaration in item.declarations:
        if declaration.kind == "aggregate":
            out += aggregate(declaration, opaque)
        elif declaration.kind == "statuses":
            rows = STATUS.findall(re.sub(r" *\\\n *", " ", declaration.text))
            out += terms((f"{bold(name)} ({number})", [line(sentence)]) for name, number, sentence in rows)
    return out


def section_lines(section):
    name, _, remark = section.title.partition(": ")
    out = prose([remark[0].upper() + remark[1:] + "."]) if remark else []
    out += prose(comment_lines(section.comment)) if section.comment else []
    for item in section.items:
        out += render(item, opaque="read no field" in remark)
    return [*heading(name), *out] if out else []


def library(folder, *adapters):
    with open(os.path.join(TOP, "VERSION"), encoding="utf-8") as file:
        version = f"kolk {file.read().strip()}"
    for path in adapters or [os.path.join(TOP, f"include/kolk/{name}.h") for name in headers()]:
        name = os.path.basename(path)[:-2]
        part, include = (f"kolk-{name}", name) if adapters else ("kolk", "kolk")
        page, header = f"kolk_{name}", Header(path)
        at = [*header.first, ""].index("")
        about, _, more = " ".join(header.first[:at]).split(": ", 1)[1].partition(". ")
        write(folder, page, 3, [
            *title(page, 3, version),
            *heading("NAME"), f"{page} \\- {roff(about.removesuffix('.'))}",
            *heading("LIBRARY"), roff(f"{part} (lib{part}, -l{part})"),
            *heading("SYNOPSIS"), ".nf", bold(f"#include <kolk/{include}.h>"), ".fi",
            *heading("DESCRIPTION"), *prose([more, *header.first[at:]]),
            *(text for section in header.sections for text in section_lines(section)),
            *see_also([("kolk", 1)] + [(f"kolk_{other}", 3) for other in headers() if other != name])])
        declared = [one for section in header.sections for item in section.items for one in item.declarations]
        for declaration in declared:
            if declaration.kind in ("function", "macro"):
                write(folder, declaration.name, 3, [f".so man3/{page}.3"])


def write(folder, name, section, lines):
    text = re.sub(r"^(\.(?:SH|RS)\b.*\n)\.PP\n", r"\1", "\n".join(lines) + "\n", flags=re.MULTILINE)
    with open(os.path.join(folder, f"{name}.{section}"), "w", encoding="utf-8") as file:
        file.write(text)


def main():
    what, arguments = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("", [])
    if (what, len(arguments)) not in (("command", 2), ("library", 1), ("library", 2)):
        sys.exit(re.search(r"Usage: (.*)", __doc__, re.DOTALL)[0].strip())
    folder = arguments[what == "command"]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    {"command": command, "library": library}[what](*arguments)


if __name__ == "__main__":
    main()
