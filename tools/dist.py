#!/usr/bin/env python3
"""Writes what a release consists of: kolk.h and kolk.c, which are all of the library in two files; with `all` also
kolk-VERSION.tar.gz, all tracked files; and SHA256SUMS. The same sources give the same bytes, whenever and wherever.

A header's text stands where it is first included. One that is first included under a condition (#if __STDC_HOSTED__)
stands once more where it is included without that condition; its include guard makes that right.

Usage: tools/dist.py two|all FOLDER
"""

import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PUBLIC = "include/kolk"
LONG_AGO = 315532800  # 1980, the first year that every archiver knows
DIRECTIVE = re.compile(r'\s*#\s*(if|ifdef|ifndef|elif|else|endif|include)\b\s*(.*)')
GUARD = re.compile(r'#ifndef (\w+)\n#define \1$', re.MULTILINE)

# Before all others: what makes the C library declare what it has, and the file that emits base.inl's functions.
FIRST = ["src/os/system.h", "src/core/base.c"]

ABOUT = """\
/* kolk {version}, {what}. Both files are made by `make dist` out of kolk's sources, where each part is the file that the
 * line above it names: read and change it there.
 *
{licence}
 */
"""

# Included behind a header of the C library, what kolk needs of that is not declared.
ALONE = """
#if defined(__GLIBC__) && !defined(_GNU_SOURCE)
#error "kolk.c is a file of its own: compile it apart, or include it before all headers"
#endif
"""

KOLK_H = "the header. A program includes it, is compiled together with kolk.c, and needs nothing else: cc -std=c11 game.c kolk.c"
KOLK_C = "the library. Compile it as C11 or later together with your program, which includes kolk.h and may be C or C++"

# In one file a name of one part may be a variable in another one, and what a header offers need not be used by anybody.
QUIET = """
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
"""


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def fail(sentence):
    sys.exit(f"tools/dist.py: {sentence}")


class Amalgamation:
    """The text of files and of what they include. `others` says what stands for a header that is not to be put in."""

    def __init__(self, others):
        self.others = others
        self.seen = {}  # of each file, the sets of conditions under which it stands already
        self.parts = []

    def add(self, path, conditions=frozenset()):
        if any(stands <= conditions for stands in self.seen.get(path, [])):
            return
        self.seen.setdefault(path, []).append(conditions)
        if path in self.others:
            self.parts.append(self.others[path])
            return
        text = read(path)
        guard = GUARD.search(text) if path.endswith((".h", ".inl")) else None
        self.parts.append(f"\n/* ==== {path} {'=' * (108 - len(path))} */\n\n")
        stack = []
        for line in text.splitlines(keepends=True):
            found = DIRECTIVE.match(line)
            word, rest = found.groups() if found else (None, None)
            if word == "include" and rest.startswith('"'):
                within = [condition for condition in stack if not guard or condition != f"ifndef {guard[1]}"]
                self.add(self.resolve(path, rest.split('"')[1]), conditions | set(within))
                continue
            if word in ("if", "ifdef", "ifndef"):
                stack.append(f"{word} {rest}".strip())
            elif word in ("elif", "else"):
                stack[-1] = f"{stack[-1]}, {word} {rest}".strip()
            elif word == "endif":
                stack.pop()
            self.parts.append(line)

    @staticmethod
    def resolve(path, name):
        for folder in (os.path.dirname(path), "include"):
            included = os.path.normpath(os.path.join(folder, name))
            if os.path.isfile(os.path.join(TOP, included)):
                return included.replace(os.sep, "/")
        fail(f'{path} includes "{name}", which is not there.')
        return None

    def text(self):
        return re.sub(r"\n{3,}", "\n\n", "".join(self.parts))


def about(what):
    licence = "\n".join((" * " + line).rstrip() for line in read("LICENSE").strip().splitlines())
    return ABOUT.format(version=read("VERSION").strip(), what=what, licence=licence)


def kolk_h():
    header = Amalgamation({})
    header.add(f"{PUBLIC}/kolk.h")
    return about(KOLK_H) + header.text().replace("#include <kolk/kolk.h>", '#include "kolk.h"')


def kolk_c():
    public = sorted(f"{PUBLIC}/{name}" for name in os.listdir(os.path.join(TOP, PUBLIC)))
    first, *rest = public
    library = Amalgamation({first: '#include "kolk.h"\n', **{path: "" for path in rest}})
    sources = sorted(f"{folder}/{name}" for folder, name in below("src") if name.endswith(".c"))
    for path in FIRST + sources:
        library.add(path)
        if path == FIRST[0]:
            library.parts.append(QUIET)
    text = library.text()
    if '#include "kolk.h"' not in text:
        fail("kolk.c would not include kolk.h.")
    return about(KOLK_C) + ALONE + text


def below(folder):
    for at, folders, names in os.walk(os.path.join(TOP, folder)):
        made = (".git", "__pycache__", "build") if os.path.samefile(at, TOP) else ("__pycache__",)
        folders[:] = [name for name in folders if name not in made]
        for name in names:
            yield os.path.relpath(at, TOP).replace(os.sep, "/"), name


def tracked():
    """All files that belong to the sources; of a copy that is not under git, all that there are but build/."""
    if os.path.exists(os.path.join(TOP, ".git")):
        try:
            git = ["git", "-C", TOP, "-c", "safe.directory=*", "ls-files", "-z"]
            paths = subprocess.run(git, check=True, stdout=subprocess.PIPE).stdout.decode().split("\0")
        except (OSError, subprocess.CalledProcessError):
            fail("git can't tell which files belong to the sources.")
    else:
        paths = [os.path.normpath(os.path.join(folder, name)) for folder, name in below(".")]
    return sorted(path for path in paths if path and os.path.lexists(os.path.join(TOP, path)))


def archive(name):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in tracked():
            info = tar.gettarinfo(os.path.join(TOP, path), f"{name}/{path}")
            info.mtime, info.uid, info.gid, info.uname, info.gname = LONG_AGO, 0, 0, "root", "root"
            info.mode = 0o755 if info.mode & 0o100 else 0o644
            if info.isreg():
                with open(os.path.join(TOP, path), "rb") as file:
                    tar.addfile(info, file)
            else:
                tar.addfile(info)
    return gzip.compress(packed.getvalue(), 9, mtime=0)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("two", "all"):
        print("usage: tools/dist.py two|all FOLDER", file=sys.stderr)
        return 2
    folder = sys.argv[2]
    files = {"kolk.h": kolk_h().encode(), "kolk.c": kolk_c().encode()}
    if sys.argv[1] == "all":
        name = f"kolk-{read('VERSION').strip()}"
        files[f"{name}.tar.gz"] = archive(name)
        sums = [f"{hashlib.sha256(data).hexdigest()}  {path}\n" for path, data in files.items()]
        files["SHA256SUMS"] = "".join(sums).encode()
    os.makedirs(folder, exist_ok=True)
    for path, data in files.items():
        with open(os.path.join(folder, path), "wb") as file:
            file.write(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
