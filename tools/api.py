#!/usr/bin/python3
"""Writes bindings/api.json, which describes the functions, structs and enums of kolk's headers, and bindings/kolk_ffi.h,
which declares the same without preprocessor, attributes and bodies, for other languages' readers of C. With --check,
compares both files with the headers instead.

Everything that a header has before its part "Inside" is described, except names that end with `_`; of such types, only
what the structs consist of. Sizes and offsets are those of 64-bit machines, on which they are the same everywhere.

Usage: tools/api.py [--check]
"""

import difflib
import glob
import json
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INCLUDE = os.path.join(TOP, "include")
JSON = "bindings/api.json"
HEADER = "bindings/kolk_ffi.h"

ABOUT = """\
/* SPDX-License-Identifier: Zlib */
/* kolk_ffi.h: kolk's headers for other languages: each function, struct and enum, with neither preprocessor (except in
 * lines that begin with #), nor attributes, nor bodies. `make bindings` writes it. The manuals are kolk's own headers,
 * which C and C++ programs include instead. A pool's struct must not move, and kolk_size_of tells its size. */
"""

try:
    from clang import cindex
except ImportError:
    sys.exit("tools/api.py needs python3-clang-19: /usr/bin/python3 has no module clang.")
KIND = cindex.CursorKind
TYPE = cindex.TypeKind


def fail(sentence):
    sys.exit(f"tools/api.py: {sentence}")


# ---- types, as C writes them ----


def is_private_number(kind):
    """A name of the headers' own for a number, whose size differs between machines."""
    return kind.spelling.endswith("_") and kind.get_canonical().kind in (TYPE.UINT, TYPE.ULONG, TYPE.VECTOR)


def declare(kind, name):
    """Declares `name` with this type: "bool (*on_full)(kolk_pool *, size_t)"."""
    if is_private_number(kind):
        kind = kind.get_declaration().underlying_typedef_type
    text = re.sub(r"\b_Bool\b", "bool", kind.spelling)
    if "(*)" in text:
        return text.replace("(*)", f"(*{name})", 1)
    text, bracket, bounds = text.partition("[")
    return f"{text.rstrip()}{'' if not name or text.endswith('*') else ' '}{name}{bracket}{bounds}"


def described(cursor):
    """A parameter or a field. A pointer to a function has `callback`."""
    about = {"name": cursor.spelling, "type": declare(cursor.type, "")}
    if "(*)" in about["type"]:
        parameters = [described(each) for each in cursor.get_children() if each.kind == KIND.PARM_DECL]
        about["callback"] = {"returns": about["type"].split(" (*)")[0], "parameters": parameters}
    return about


def text_of(comment):
    """The text of a comment, without the marks around it."""
    if not comment or comment.startswith("/* ----"):
        return ""
    lines = comment.removeprefix("/*").removesuffix("*/").split("\n")
    return "\n".join([lines[0].strip()] + [re.sub(r"^\s*\* ?", "", line).rstrip() for line in lines[1:]]).strip()


# ---- what the headers declare ----


class Headers:
    """The declarations of include/kolk, in the order in which the compiler sees them."""

    def __init__(self):
        options = ["-std=c11", "-target", "x86_64-linux-gnu", "-DKOLK_EXTERN", "-fparse-all-comments", f"-I{INCLUDE}"]
        unit = cindex.Index.create().parse(os.path.join(INCLUDE, "kolk.h"), args=options)
        errors = [str(each) for each in unit.diagnostics if each.severity >= cindex.Diagnostic.Error]
        if errors:
            fail("the headers do not compile: " + "; ".join(errors))
        self.inside = {}
        self.functions, self.structs, self.enums, self.constants, self.others = {}, {}, {}, [], []
        for path in sorted(glob.glob(os.path.join(INCLUDE, "kolk", "*.h"))):
            with open(path, encoding="utf-8") as file:
                lines = file.read().split("\n")
            self.inside[path] = next((n for n, line in enumerate(lines, 1) if line.startswith("/* ---- Inside")), len(lines))
            self.take_numbers("\n".join(lines[:self.inside[path]]), os.path.relpath(path, INCLUDE))
        for cursor in unit.cursor.get_children():
            path = cursor.location.file.name if cursor.location.file else ""
            if not path.startswith(INCLUDE):
                continue
            private = cursor.spelling.endswith("_") or cursor.location.line > self.inside[path]
            if not private or cursor.kind in (KIND.STRUCT_DECL, KIND.TYPEDEF_DECL):
                self.take(cursor, os.path.relpath(path, INCLUDE))

    def take_numbers(self, text, header):
        """Macros that are numbers, except for settings of the build."""
        for name, number in re.findall(r"^#define (KOLK_\w+[A-Z]) +(?:UINT32_C\()?(\d\w*|UINT32_MAX)\b", text, re.M):
            if name not in ("KOLK_ABI", "KOLK_DIAGNOSTICS", "KOLK_HOSTED"):
                if any(name == each["name"] for each in self.constants):
                    continue  # the second one is for devices
                value = int(number.replace("UINT32_MAX", "0xffffffff").removesuffix("u"), 0)
                self.constants.append({"name": name, "type": "uint32_t", "header": header, "value": str(value)})

    def take(self, cursor, header):
        comment = text_of(cursor.raw_comment)
        if cursor.kind == KIND.FUNCTION_DECL and cursor.spelling not in self.functions:
            self.functions[cursor.spelling] = {"cursor": cursor, "header": header, "doc": comment}
        elif cursor.kind == KIND.STRUCT_DECL and cursor.is_definition():
            self.structs[cursor.spelling] = {"cursor": cursor, "header": header, "doc": comment}
        elif cursor.kind == KIND.TYPEDEF_DECL:
            kind = cursor.underlying_typedef_type
            if kind.spelling.split(" ")[-1] != cursor.spelling and not is_private_number(cursor.type):
                self.others.append(declare(kind, cursor.spelling))
        elif cursor.kind == KIND.ENUM_DECL and cursor.is_definition():
            name = "" if cursor.is_anonymous() or "unnamed" in cursor.spelling else cursor.spelling
            values = [{"name": each.spelling, "value": each.enum_value} for each in cursor.get_children()]
            comment = comment if comment[:1].isupper() else ""  # else it is from the middle of a macro's list
            self.enums[values[0]["name"]] = {"name": name, "header": header, "values": values, "doc": comment}
        elif cursor.kind == KIND.VAR_DECL:
            number = [token.spelling for token in cursor.get_tokens()][-2]
            self.constants.append({"name": cursor.spelling, "type": declare(cursor.type, "").removeprefix("const "), "header": header, "value": number})

    def lists(self):
        for name, function in self.functions.items():
            cursor = function["cursor"]
            parameters = [described(each) for each in cursor.get_arguments()]
            yield name, function["header"], declare(cursor.result_type, ""), parameters, function["doc"]


def fields_of(struct):
    return [field for field in struct["cursor"].get_children() if field.kind == KIND.FIELD_DECL]


def api(headers):
    version, number = (re.search(pattern, read("include/kolk/base.h")) for pattern in ('KOLK_VERSION "(.*)"', r"KOLK_ABI +(\d+)"))
    structs = []
    for name, struct in headers.structs.items():
        kind = struct["cursor"].type
        fields = [{**described(field), "offset": kind.get_offset(field.spelling) // 8, "size": field.type.get_size()} for field in fields_of(struct)]
        about = {"name": name, "header": struct["header"], "size": kind.get_size(), "align": kind.get_align()}
        structs.append({**about, "fields": fields, "doc": struct["doc"]})
    functions = [dict(zip(("name", "header", "returns", "parameters", "doc"), each)) for each in headers.lists()]
    return {
        "name": "kolk", "version": version[1], "abi": int(number[1]), "layout": "64-bit machines",
        "constants": headers.constants, "enums": list(headers.enums.values()), "structs": structs, "functions": functions,
    }


def ffi(headers):
    parts = [ABOUT, "#ifndef KOLK_FFI_H\n#define KOLK_FFI_H\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n"]
    for enum in headers.enums.values():
        values = ",\n".join(f"    {each['name']} = {each['value']}" for each in enum["values"])
        parts.append(f"typedef enum {enum['name']} {{\n{values}\n}} {enum['name']};\n" if enum["name"] else f"enum {{\n{values}\n}};\n")
    parts.append("".join(f"typedef struct {name} {name};\n" for name in headers.structs))
    parts.append("".join(f"typedef {other};\n" for other in headers.others))
    for name, struct in headers.structs.items():
        fields = "".join(f"    {declare(field.type, field.spelling)};\n" for field in fields_of(struct))
        parts.append(f"struct {name} {{\n{fields}}};\n")
    last = None
    for name, header, _, _, _ in headers.lists():
        if header != last:
            parts.append(f"/* {header} */\n")
            last = header
        cursor = headers.functions[name]["cursor"]
        arguments = ", ".join(declare(each.type, each.spelling) for each in cursor.get_arguments()) or "void"
        parts[-1] += f"{declare(cursor.result_type, f'{name}({arguments})')};\n"
    parts.append("#endif\n")
    return "\n".join(parts)


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print("usage: tools/api.py [--check]", file=sys.stderr)
        return 2
    headers = Headers()
    files = {JSON: json.dumps(api(headers), indent=1) + "\n", HEADER: ffi(headers)}
    failed = 0
    for path, text in files.items():
        if sys.argv[1:]:
            change = list(difflib.unified_diff(read(path).split("\n"), text.split("\n"), path, "the headers", lineterm=""))
            if change:
                print("\n".join(change[:40]), f"\n{path} is not what the headers say: run make bindings.")
                failed = 1
        else:
            with open(os.path.join(TOP, path), "w", encoding="utf-8") as file:
                file.write(text)
    return failed


if __name__ == "__main__":
    sys.exit(main())
