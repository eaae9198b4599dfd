#!/usr/bin/env python3
"""Writes a release: kolk.h and kolk.c, which are the whole library in two files, and kolk.hpp and kolk_gta.hpp for C++;
with `all`, also kolk-VERSION.tar.gz, which contains all tracked files, and in bindings/ what tools/api.py makes;
kolk-VERSION.spdx.json, the list of what a program gets with kolk (SPDX 2.3); and SHA256SUMS. The same sources give the same bytes on every machine and on every date.

If members are named, say pool and slotmap, kolk.h and kolk.c contain only these members and the files that they need;
and the diagnostics only if `watch` is named too. kolk.hpp needs all members, kolk_gta.hpp only bytemap.

A header's text is put where the header is first included. If that include is under a condition (#if __STDC_HOSTED__),
the text is put again where the header is included without the condition; its include guard allows this.

Usage: tools/dist.py two|all FOLDER [MEMBER...]
"""

import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import textwrap
import uuid

sys.dont_write_bytecode = True
import api  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PUBLIC = "include/kolk"
TYPED = f"{PUBLIC}/typed.h"
COPYRIGHT = "Copyright (c) 2026 the kolk authors"

# The first line of each public header, and of the files made here.
IDENTIFIER = """\
/* SPDX-License-Identifier: Zlib */
"""

WATCH = "watch"  # the diagnostics, which can be named like a member; without them, kolk.c is as with KOLK_NO_DIAGNOSTICS

LONG_AGO = 315532800  # 1980, the first year that every archiver knows
DIRECTIVE = re.compile(r'\s*#\s*(if|ifdef|ifndef|elif|else|endif|include)\b\s*(.*)')
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
GUARD = re.compile(r'#ifndef (\w+)\n#define \1$', re.MULTILINE)
SECTION = re.compile(r'^/\* ---- [^\n]* \((\w+\.h)\) -+ \*/\n.*?(?=^/\* ---- )', re.MULTILINE | re.DOTALL)

# These files come first: the header that makes the C library declare all its functions, and the file that emits
# base.inl's functions.
FIRST = ["src/os/system.h", "src/base/base.c"]

MADE = "`{command}` makes this file of kolk's sources: change it there. The line above each part names the part's file.{some}"

SOME = " Of kolk's members, kolk.h and kolk.c have only: {}. Comments mention the other members too."

# Included behind a header of the C library, what kolk needs of that is not declared.
ALONE = """
#if defined(__GLIBC__) && !defined(_GNU_SOURCE)
#error "kolk.c is a file of its own: compile it apart, or include it before all headers"
#endif
"""

KOLK_H = "the header. A program includes it and is linked with kolk.c: cc game.c kolk.c -pthread"
HPP = {
    "kolk.hpp": "the classes for C++. A program of C++ includes it in place of kolk.h, which must be in the same folder",
    "kolk_gta.hpp": "GTA's pool with the names of the plugin-sdk, for C++. It includes kolk.h, which must be in the same folder",
}
KOLK_C = "the library. Compile it as C99 or later, and link it with your program, which includes kolk.h and may be C or C++"

# In one file, a name from one part may be a variable in another, two parts may declare the same, and what a header
# offers may be unused. A program in an older dialect may compile the file with its own warnings.
QUIET = """
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wredundant-decls"
#pragma GCC diagnostic ignored "-Wdeclaration-after-statement"
#if __STDC_VERSION__ < 201112L
#pragma GCC diagnostic ignored "-Wpedantic" /* of what gcc and clang know in C99 too: _Static_assert, _Alignas ... */
#endif
#endif
"""

NO_WATCH = """
#ifndef KOLK_NO_DIAGNOSTICS /* this file has none */
#define KOLK_NO_DIAGNOSTICS
#endif
"""


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def fail(sentence):
    sys.exit(f"tools/dist.py: {sentence}")


def resolve(path, name):
    for folder in (os.path.dirname(path), "include"):
        included = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(os.path.join(TOP, included)):
            return included.replace(os.sep, "/")
    fail(f'{path} includes "{name}", which is not there.')
    return None


def sources():
    return sorted(f"{folder}/{name}" for folder, name in below("src") if name.endswith(".c"))


def all_members():
    """The folders of src/ that have a header of the same name in include/kolk, except base, which is not a member."""
    folders = sorted({source.split("/")[1] for source in sources()})
    return [name for name in folders if name != "base" and os.path.isfile(os.path.join(TOP, PUBLIC, f"{name}.h"))]


def everything():
    return all_members() + [WATCH]


def needed_by(members):
    """The files of these members, all files that those include, and the sources behind each header among them. The
    sources behind NAME.h of include/kolk are all those of src/NAME. The sources behind x.h of src/ are x.c and x_*.c in
    the same folder. src/watch is needed if it is named; src/ffi and src/watch/remote*, which know all members, only with
    all of them."""
    needed, every = set(), sources()
    left = [f"{PUBLIC}/{name}.h" if name != WATCH else f"src/{WATCH}/watch.c" for name in members]
    if set(members) == set(everything()):
        left += [source for source in every if source.startswith((f"src/{WATCH}/", "src/ffi/"))]
    elif WATCH in members:
        left += [source for source in every if re.match(rf"src/{WATCH}/(?!remote)", source)]
    while left:
        path = left.pop()
        if path in needed:
            continue
        needed.add(path)
        left += [resolve(path, name) for name in INCLUDE.findall(read(path))]
        if not path.endswith(".c"):
            folder, name = os.path.split(os.path.splitext(path)[0])
            belong = (f"src/{name}/",) if folder == PUBLIC else (f"{folder}/{name}.c", f"{folder}/{name}_")
            left += [source for source in every if source.startswith(belong)]
    return needed


class Amalgamation:
    """The text of files and of the files that they include. `others` gives the text that replaces a header which is not
    to be included. Sections of typed.h that name such a header are left out."""

    def __init__(self, others):
        self.others = others
        self.seen = {}  # for each file, the sets of conditions under which it has been written
        self.parts = []

    def add(self, path, conditions=frozenset()):
        if any(stands <= conditions for stands in self.seen.get(path, [])):
            return
        self.seen.setdefault(path, []).append(conditions)
        if path in self.others:
            self.parts.append(self.others[path])
            return
        text = read(path).removeprefix(IDENTIFIER)
        if path == TYPED:
            text = SECTION.sub(lambda section: "" if f"{PUBLIC}/{section[1]}" in self.others else section[0], text)
        guard = GUARD.search(text) if path.endswith((".h", ".inl")) else None
        self.parts.append(f"\n/* ==== {path} {'=' * (108 - len(path))} */\n\n")
        stack = []
        for line in text.splitlines(keepends=True):
            found = DIRECTIVE.match(line)
            word, rest = found.groups() if found else (None, None)
            if word == "include" and rest.startswith('"'):
                within = [condition for condition in stack if not guard or condition != f"ifndef {guard[1]}"]
                self.add(resolve(path, rest.split('"')[1]), conditions | set(within))
                continue
            if word in ("if", "ifdef", "ifndef"):
                stack.append(f"{word} {rest}".strip())
            elif word in ("elif", "else"):
                stack[-1] = f"{stack[-1]}, {word} {rest}".strip()
            elif word == "endif":
                stack.pop()
            self.parts.append(line)

    def text(self):
        return re.sub(r"\n{3,}", "\n\n", "".join(self.parts))


class Pair:
    """kolk.h and kolk.c with these members and the members that they need."""

    def __init__(self, members):
        self.needed = needed_by(members)
        self.members = [name for name in all_members() if f"{PUBLIC}/{name}.h" in self.needed]
        self.has_watch = WATCH in members
        self.is_all = self.has_watch and self.members == all_members()
        left_out = set(all_members()) - set(self.members)
        self.header = Amalgamation({f"{PUBLIC}/{name}.h": "" for name in left_out})
        self.header.add(f"{PUBLIC}/kolk.h")
        for name in sorted(os.listdir(os.path.join(TOP, PUBLIC))):
            if name.endswith(".h") and name[:-2] not in left_out and f"{PUBLIC}/{name}" not in self.header.seen:
                fail(f"{PUBLIC}/kolk.h does not include {name}.")

    def about(self, what):
        command, some = "make dist", ""
        if not self.is_all:
            names = " ".join(self.members + [WATCH] * self.has_watch)
            command, some = f'make dist MEMBERS="{names}"', SOME.format(names)
        texts = f"kolk {read('VERSION').strip()}, {what}.", MADE.format(command=command, some=some)
        lines = [line for text in texts for line in [*textwrap.wrap(text, 117, break_on_hyphens=False), ""]]
        comment = "\n".join(f" * {line}".rstrip() for line in lines + read("LICENSE").strip().splitlines())
        return f"{IDENTIFIER}/*{comment.removeprefix(' *')}\n */\n"

    def kolk_h(self):
        return self.about(KOLK_H) + self.header.text().replace("#include <kolk/kolk.h>", '#include "kolk.h"')

    def kolk_c(self):
        first, *rest = sorted(self.header.seen)
        library = Amalgamation({first: '#include "kolk.h"\n', **{path: "" for path in rest}})
        for path in FIRST + [source for source in sources() if source in self.needed]:
            library.add(path)
            if path == FIRST[0]:
                library.parts.append(QUIET if self.has_watch else QUIET + NO_WATCH)
        text = library.text()
        if '#include "kolk.h"' not in text:
            fail("kolk.c would not include kolk.h.")
        return self.about(KOLK_C) + ALONE + text


def below(folder):
    for at, folders, names in os.walk(os.path.join(TOP, folder)):
        made = (".git", "__pycache__", "build") if os.path.samefile(at, TOP) else ("__pycache__",)
        folders[:] = [name for name in folders if name not in made]
        for name in names:
            yield os.path.relpath(at, TOP).replace(os.sep, "/"), name


def tracked():
    """All source files. In a copy that is not under git, these are all files except those in build/."""
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
    made = {f"bindings/{path}": text.encode() for path, text in api.files().items()}
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted({*tracked(), *made}):
            if path in made:
                info = tarfile.TarInfo(f"{name}/{path}")
                info.size = len(made[path])
            else:
                info = tar.gettarinfo(os.path.join(TOP, path), f"{name}/{path}")
            info.mtime, info.uid, info.gid, info.uname, info.gname = LONG_AGO, 0, 0, "root", "root"
            info.mode = 0o755 if info.mode & 0o100 else 0o644
            if path in made:
                tar.addfile(info, io.BytesIO(made[path]))
            elif info.isreg():
                with open(os.path.join(TOP, path), "rb") as file:
                    tar.addfile(info, file)
            else:
                tar.addfile(info)
    return gzip.compress(packed.getvalue(), 9, mtime=0)


def bill(name, files):
    """A bill of materials: kolk, which consists of these files and depends on nothing."""
    listed, sums = [], []
    for path, data in files.items():
        sha1 = hashlib.sha1(data).hexdigest()
        sums.append(sha1)
        listed.append({
            "SPDXID": f"SPDXRef-{path.replace('_', '-')}",
            "fileName": f"./{path}",
            "fileTypes": ["ARCHIVE" if path.endswith(".gz") else "SOURCE"],
            "checksums": [
                {"algorithm": "SHA1", "checksumValue": sha1},
                {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()},
            ],
            "licenseConcluded": "Zlib",
            "licenseInfoInFiles": ["NOASSERTION" if path.endswith(".gz") else "Zlib"],
            "copyrightText": COPYRIGHT,
        })
    code = hashlib.sha1("".join(sorted(sums)).encode()).hexdigest()
    package = {
        "SPDXID": "SPDXRef-kolk",
        "name": "kolk",
        "versionInfo": read("VERSION").strip(),
        "summary": "Object pools for C. The library depends on nothing; the kolk command on libzstd, jansson, ncurses, libdw.",
        "primaryPackagePurpose": "LIBRARY",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": True,
        "packageVerificationCode": {"packageVerificationCodeValue": code},
        "licenseConcluded": "Zlib",
        "licenseDeclared": "Zlib",
        "licenseInfoFromFiles": ["Zlib"],
        "copyrightText": COPYRIGHT,
    }
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-kolk"}]
    relations += [{"spdxElementId": "SPDXRef-kolk", "relationshipType": "CONTAINS", "relatedSpdxElement": each["SPDXID"]} for each in listed]
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, code)}",
        "creationInfo": {"created": "1980-01-01T00:00:00Z", "creators": ["Tool: kolk-tools/dist.py"]},
        "packages": [package],
        "files": listed,
        "relationships": relations,
    }
    return (json.dumps(document, indent=2) + "\n").encode()


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("two", "all"):
        print("usage: tools/dist.py two|all FOLDER [MEMBER...]", file=sys.stderr)
        return 2
    folder = sys.argv[2]
    members = sys.argv[3:] or everything()
    for name in members:
        if name not in everything():
            fail(f"{name} is not a member of kolk: the members are {' '.join(all_members())}; {WATCH} has the diagnostics.")
    pair = Pair(members)
    files = {"kolk.h": pair.kolk_h().encode(), "kolk.c": pair.kolk_c().encode()}
    for name, what in HPP.items():
        if pair.is_all or (name == "kolk_gta.hpp" and "bytemap" in pair.members):
            text = read(f"{PUBLIC}/{name}").removeprefix(IDENTIFIER).replace(f"<kolk/{name}>", f'"{name}"')
            files[name] = (pair.about(what) + text).encode()
    if sys.argv[1] == "all":
        name = f"kolk-{read('VERSION').strip()}"
        files[f"{name}.tar.gz"] = archive(name)
        files[f"{name}.spdx.json"] = bill(name, files)
        sums = [f"{hashlib.sha256(data).hexdigest()}  {path}\n" for path, data in files.items()]
        files["SHA256SUMS"] = "".join(sums).encode()
    os.makedirs(folder, exist_ok=True)
    for name in HPP:
        if name not in files and os.path.exists(f"{folder}/{name}"):  # it needs other members
            os.remove(f"{folder}/{name}")
    for path, data in files.items():
        with open(os.path.join(folder, path), "wb") as file:
            file.write(data)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")
