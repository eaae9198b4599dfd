"""The changes that tools/mutate.py makes to a C source, one at a time. Each one is a Mutant, found by reading the
tokens and statements inside function bodies. Comments, strings, preprocessor lines and declarations without a value are
left alone. The compiler later rejects changes that break types, so types are not needed here."""
import re
from typing import NamedTuple

TOKEN = re.compile(
    r"""(?P<space>\s+|/\*.*?\*/|//[^\n]*)
    |(?P<directive>^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)
    |(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<mark>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
BINARY = {
    "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["*"],
    "<<": [">>"], ">>": ["<<"], "&": ["|"], "|": ["&"], "^": ["|"],
    "+=": ["-="], "-=": ["+="], "*=": ["/="], "/=": ["*="], "%=": ["*="],
    "<<=": [">>="], ">>=": ["<<="], "&=": ["|="], "|=": ["&="], "^=": ["|="],
    "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="], "!=": ["=="],
    "&&": ["||"], "||": ["&&"],
}  # fmt: skip
ANYWHERE = {"++": ["--"], "--": ["++"], "true": ["false"], "false": ["true"]}
UNARY = {"!": [""], "~": [""], "-": [""]}
COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
PAIRS = {"(": ")", "[": "]", "{": "}"}
# Calls whose effects only a tracer, a sanitizer or Valgrind sees.
FOR_TOOLS = re.compile(r"PROBE\d|kolk_tools_(wrote|copied|add_root|remove_root)_")
TYPE_WORDS = set(
    "const volatile static extern register unsigned signed void char short int long float double bool struct union enum "
    "typedef _Static_assert".split()
)


class Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class Mutant(NamedTuple):
    file: str
    function: str
    line: int
    start: int  # the change replaces the text from start to end
    end: int
    replacement: str
    before: str  # its lines, without comments and extra spaces; with the two above, this names it in the list
    after: str

    @property
    def name(self):
        return self.file, self.function, self.before, self.after


def tokens_of(text):
    tokens = (Token(m.lastgroup, m.group(), m.start(), m.end()) for m in TOKEN.finditer(text))
    return [token for token in tokens if token.kind not in ("space", "directive")]


def squeezed(code):
    return " ".join(re.sub(r"/\*.*?\*/|//[^\n]*", "", code, flags=re.DOTALL).split())


def neighbours(number):
    """Returns the two neighbours of an integer, written in the same form."""
    match = re.fullmatch(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)", number)
    if not match:
        return []
    value = int(match[1], 0)
    form = "{:#x}" if match[1][:2] in ("0x", "0X") else "{}"
    return [(form.format(near) if near >= 0 else " -1") + match[2] for near in (value + 1, value - 1)]


class Reader:
    """Walks through the statements of one file and collects its mutants. Positions are indices of tokens. An end is the
    index after the last token."""

    def __init__(self, file, text):
        self.file, self.text, self.tokens = file, text, tokens_of(text)
        self.function, self.found = "", {}
        self.partner, opened = {}, []
        for i, token in enumerate(self.tokens):
            if token.kind == "mark" and token.text in PAIRS:
                opened.append(i)
            elif token.kind == "mark" and token.text in PAIRS.values():
                self.partner[i] = opened.pop()
                self.partner[self.partner[i]] = i

    def at(self, i):
        return self.tokens[i].text

    def find(self, wanted, i, end):
        """Returns the first of these marks from i on that is outside brackets, or `end`."""
        while i < end and self.at(i) not in wanted:
            i = self.partner[i] + 1 if self.at(i) in PAIRS else i + 1
        return min(i, end)

    def find_back(self, wanted, i, start):
        """Returns the position after the last of these marks before i that is outside brackets, or `start`."""
        while i > start and self.at(i - 1) not in wanted and self.at(i - 1) not in PAIRS:
            i = self.partner[i - 1] if self.at(i - 1) in PAIRS.values() else i - 1
        return i

    # ---- Mutants ----

    def replace(self, i, end, replacement):
        start, stop = self.tokens[i].start, self.tokens[end - 1].end
        first = self.text.rfind("\n", 0, start) + 1
        last = self.text.find("\n", stop)
        before = squeezed(self.text[first:last])
        after = squeezed(self.text[first:start] + replacement + self.text[stop:last])
        line = self.text.count("\n", 0, start) + 1
        mutant = Mutant(self.file, self.function, line, start, stop, replacement, before, after)
        if before != after:
            self.found.setdefault((start, stop, replacement), mutant)

    def words(self, i, end):
        return {self.at(n) for n in range(i, end)}

    def condition(self, i, end, negate):
        """Mutates a condition: forces it to true and to false, and negates it unless a change of its operator already
        does so."""
        if i == end:
            return
        if self.at(i) not in ("0", "1", "true", "false"):
            self.replace(i, end, "1")
            self.replace(i, end, "0")
        parts = self.words(i, end)
        if negate and (parts & {"&&", "||"} or not parts & (COMPARISONS | {"!"})):
            code = self.text[self.tokens[i].start : self.tokens[end - 1].end]
            self.replace(i, end, f"!({code})")

    def returned(self, i, end):
        value = self.text[self.tokens[i].start : self.tokens[end - 1].end]
        if value == "NULL":
            self.replace(i, end, "(void *)16")
        elif value not in ("true", "false"):
            self.replace(i, end, "0")
            self.replace(i, end, "1")

    def operator(self, i, start, end):
        token = self.tokens[i]
        before = self.tokens[i - 1]
        is_binary = before.text in (")", "]") or before.kind in ("number", "string")
        is_binary |= before.kind == "word" and before.text not in ("return", "sizeof", "case", "else")
        for other in (BINARY if is_binary else UNARY).get(token.text, ANYWHERE.get(token.text, [])):
            self.replace(i, i + 1, other)
        stops = ASSIGNMENTS | {"&&", "||", "?", ":", ",", ";", "return", "}"}
        if token.text in ("&&", "||"):
            self.condition(self.find_back(stops, i, start), i, negate=False)
            self.condition(i + 1, self.find(stops | set(PAIRS.values()), i + 1, end), negate=False)
        elif token.text == "?":
            self.condition(self.find_back(stops - {"&&", "||"}, i, start), i, negate=True)

    def expression(self, start, end):
        for i in range(start, end):
            token = self.tokens[i]
            if token.kind == "number":
                for other in neighbours(token.text):
                    self.replace(i, i + 1, other)
            elif token.kind != "string":
                self.operator(i, start, end)

    # ---- Statements ----

    def is_declaration(self, i, end):
        words = [token.kind == "word" for token in self.tokens[i:end]]
        if not words[0] or self.at(i) in TYPE_WORDS:
            return words[0]
        n = self.find({"="}, i, end) - i  # two words, perhaps with asterisks between them
        return all(self.at(k) == "*" for k in range(i + 1, i + n - 1)) and n > 1 and words[n - 1]

    def statement(self, i):
        """Reads the statement at i. Returns the position after it."""
        word = self.at(i)
        if word == "{":
            return self.block(i)
        if word in ("if", "while", "switch", "for"):
            close = self.partner[i + 1]
            self.head(word, i + 2, close)
            i = self.statement(close + 1)
            return self.statement(i + 1) if word == "if" and self.at(i) == "else" else i
        if word == "do":
            i = self.statement(i + 1)
            self.head("while", i + 2, self.partner[i + 1])
            return self.partner[i + 1] + 2
        if word in ("case", "default") or self.at(i + 1) == ":":
            return self.find({":"}, i, len(self.tokens)) + 1
        end = self.find({";"}, i, len(self.tokens))
        if word == "_Static_assert" or end == i or FOR_TOOLS.fullmatch(word):
            return end + 1
        if not self.is_declaration(i, end) or word == "return":
            self.replace(i, end + 1, "{}")
        if word == "return" and i + 1 < end:
            self.returned(i + 1, end)
        self.expression(i, end)
        return end + 1

    def head(self, word, i, end):
        self.expression(i, end)
        if word in ("if", "while"):
            self.condition(i, end, negate=True)
        elif word == "for":
            first = self.find({";"}, i, end) + 1
            self.condition(first, self.find({";"}, first, end), negate=True)

    def block(self, i):
        end, i = self.partner[i], i + 1
        while i < end:
            i = self.statement(i)
        return end + 1

    def file_scope(self):
        i = 0
        while i < len(self.tokens):
            before = self.tokens[i - 1] if i else None
            if self.at(i) != "{" or before.kind == "string":  # extern "C" {
                i += 1
            elif before.text == ")":
                self.function = self.at(self.partner[i - 1] - 1)
                i = self.block(i)
            else:  # a type or an initialiser
                i = self.partner[i] + 1
        return sorted(self.found.values(), key=lambda m: (m.start, m.end, m.replacement))


def mutants_of(file, text):
    return Reader(file, text).file_scope()
