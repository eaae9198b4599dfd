"""Kolk's public headers, read without a compiler: their sections, their declarations, and the comments beside them."""

import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# What comes before a function for the compiler's sake, and what follows a member of a descriptor.
MACHINERY = re.compile(
    r"\bKOLK_(\w+_|\w*INLINE)\b(\([0-9, ]*\))?|\bKOLK_ALIGNAS\([^)]*\)|^\s*(extern|(static )?inline)\b", re.MULTILINE)
ALONE = re.compile(r"KOLK_[A-Z_]+_")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
SECTION = re.compile(r"/\* ---- (.*?) -+(?: \*/|\n \*(?=\n))")
MACRO = re.compile(r"#define (KOLK_\w*[A-Z0-9])(\([^)]*\))?(?!\w)((?:[^\n]*\\\n)*[^\n]*)")
STATUS = re.compile(r'X\((KOLK_\w+), (\d+),\s*(?:\\\n\s*)?"(.*?)"\)')
SPACE = re.compile(r"\s*")
DIRECTIVE = re.compile(r"(?:[^\n]*\\\n)*[^\n]*")
BODY = re.compile(r"[^{;]*\)\s*\{")
AGGREGATE = re.compile(r"\s*(?:typedef\s+)?(?:struct|union|enum)\b[^;{}()]*\{")


def for_c(header):
    """Leaves out what is only for C++, and the macros that stand alone on a line."""
    lines, depth, within = [], 0, 0  # within: the depth of the condition whose first branch is for C++
    for text in header.split("\n"):
        if text.startswith("#if"):
            depth += 1
            if not within and re.match(r"#if(def| defined\()? ?__cplusplus", text):
                within = depth
        ends = within == depth and text.startswith(("#el", "#endif"))
        if not within and not ALONE.fullmatch(text):
            lines.append(text)
        if ends:
            within = 0
        depth -= text.startswith("#endif")
    return "\n".join(lines)


def comment_lines(comment):
    """The text of a comment, without what makes it one."""
    lines = re.sub(r"^/\*+ ?|\s*\*/$", "", comment).split("\n")
    return [lines[0].rstrip(), *(re.sub(r"^\s*\* ?", "", text).rstrip() for text in lines[1:])]


def one_line(text):
    return " ".join(MACHINERY.sub(" ", COMMENT.sub(" ", text)).split())


class Declaration:
    """A function, a macro or a type, the comment that it directly follows, and the comments behind it."""

    def __init__(self, text, name, kind):
        self.text, self.name, self.kind, self.comment, self.remarks = text, name, kind, None, []
        self.private = False


class Item:
    """A comment, and the declarations that follow without an empty line between them."""

    def __init__(self, comment=None):
        self.comment, self.declarations, self.hidden = comment, [], False


class Section:
    def __init__(self, title_, comment=None):
        self.title, self.comment, self.items = title_, comment, []


class Header:
    """A header's comment below the line with its licence, as lines, and its sections before its part Inside.
    `declared` has all declarations in order; `private` are those whose names end with `_`, and those of the part Inside."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            _, first, rest = file.read().split("*/", 2)
        self.first = comment_lines(first.lstrip() + "*/")
        self.sections = [Section("Definitions")]
        self.text, self.at = for_c(rest), 0
        self.item, self.seen, self.declared, self.inside = None, set(), [], False
        while self.at < len(self.text):
            begin = self.at
            self.at = SPACE.match(self.text, begin).end()
            lines = self.text.count("\n", begin, self.at)
            if lines > 1:
                self.item = None
            if self.text.startswith("/*", self.at):
                self.take_comment(self.take(COMMENT), lines == 0)
            elif self.text.startswith("#", self.at):
                self.take_directive(self.take(DIRECTIVE))
            elif self.at < len(self.text):
                begin, self.at = self.at, self.end_of_declaration()
                self.add(declare(self.text[begin:self.at]))

    def take(self, pattern):
        match = pattern.match(self.text, self.at)
        self.at = match.end()
        return match[0]

    def take_comment(self, comment, is_remark):
        section = SECTION.match(comment)
        if section and section[1].startswith("Inside"):
            self.inside = True
        elif section:
            more = comment[section.end():]
            self.sections.append(Section(section[1], "/*" + more if more else None))
            self.item = None
        elif is_remark and self.item and self.item.declarations:
            self.item.declarations[-1].remarks.append(comment)
        elif "clang-format" not in comment:
            self.begin_item(comment)

    def take_directive(self, text):
        macro = MACRO.match(text)
        if macro and not macro[1].endswith(("_H", "INLINE")):
            declaration = Declaration(macro[1] + (macro[2] or ""), macro[1], "macro" if macro[2] else "constant")
            if macro[1] == "KOLK_STATUS_LIST":
                declaration.text, declaration.kind = text, "statuses"
            elif not macro[2] and not MACHINERY.search(text):
                declaration.text = one_line(text)
            declaration.remarks = COMMENT.findall(text.split("\n")[0])
            self.add(declaration)
        elif self.item and text.startswith("#define"):
            self.item.hidden = True

    def begin_item(self, comment=None):
        self.item = Item(comment)
        if not self.inside:
            self.sections[-1].items.append(self.item)

    def add(self, declaration):
        if not self.item:
            self.begin_item()
        if not self.item.declarations:
            declaration.comment = self.item.comment
        self.declared.append(declaration)
        declaration.private = self.inside or declaration.name.endswith("_")
        if declaration.private or declaration.name in self.seen:
            self.item.hidden = True
        else:
            self.seen.add(declaration.name)
            self.item.declarations.append(declaration)

    def end_of_declaration(self):
        """Behind its semicolon or, for a function with a body, behind the brace."""
        depth, at = 0, self.at
        has_body = BODY.match(self.text, at)
        while True:
            if self.text.startswith("/*", at):
                at = self.text.index("*/", at) + 2
                continue
            letter = self.text[at]
            depth += (letter in "({") - (letter in ")}")
            at += 1
            if depth == 0 and (letter == ";" or letter == "}" and has_body):
                return at


def declare(text):
    plain = one_line(text)
    if AGGREGATE.match(plain):
        match = re.search(r"(?:struct|union|enum) (\w+) \{", plain) or re.search(r"\} (\w+);$", plain)
        return Declaration(text, match[1] if match else "", "aggregate")
    function = re.search(r"(\w+)\(", plain)
    if function and not plain.startswith("typedef"):
        return Declaration(re.sub(r" ?\{.*", ";", plain), function[1], "function")
    if re.fullmatch(r"typedef struct (\w+) \1;", plain):
        return Declaration(plain, "_", "forward")
    return Declaration(plain, re.search(r"(\w+)( =.*)?;$", plain)[1], "other")


def members(text):
    """The members of a struct or the enumerators of an enum, each with the lines of the comments before and behind."""
    body = re.sub(r"^#.*", "", text[text.index("{") + 1:text.rindex("}")], flags=re.MULTILINE)
    between = "," if re.match(r"(typedef )?enum", text) else ";"
    found, before, at = [], [], 0
    depth, word, newline = 0, "", True
    while at < len(body):
        if body.startswith("/*", at):
            comment = COMMENT.match(body, at)[0]
            at += len(comment)
            if word.strip() and re.match(r"\s*(\n|$)", body[at:]) and depth == 0:  # behind the last enumerator
                found.append((one_line(word), before, comment_lines(comment)))
                before, word = [], ""
            elif found and not newline and not word.strip():
                found[-1][2].extend(comment_lines(comment))
            else:
                before += [""] * bool(before) + comment_lines(comment)
            continue
        letter = body[at]
        at += 1
        depth += (letter in "({[") - (letter in ")}]")
        if depth == 0 and letter == between:
            found.append((one_line(word) + letter.strip(","), before, []))
            before, word, newline = [], "", False
        elif letter == "\n" and not word.strip():
            newline = True
        else:
            word += letter
    if word.strip():
        found.append((one_line(word), before, []))
    return found
