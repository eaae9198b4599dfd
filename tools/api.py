#!/usr/bin/env python3
"""Writes api.json, which describes the functions, structs and enums of kolk's headers, and kolk_ffi.h, which declares
the same without preprocessor, attributes and bodies, for other languages' readers of C.

Everything that a header has before its part "Inside" is described, except names that end with `_`; of such types, only
what the structs consist of. Sizes and offsets are those of 64-bit machines, on which they are the same everywhere.

Usage: tools/api.py FOLDER
"""

import json
import os
import re
import sys

sys.dont_write_bytecode = True
from headers import STATUS, TOP, Header, comment_lines, members, one_line  # noqa: E402

ABOUT = """\
/* SPDX-License-Identifier: Zlib */
/* kolk_ffi.h: kolk's headers for other languages: each function, struct and enum, with neither preprocessor (except in
 * lines that begin with #), nor attributes, nor bodies. `tools/api.py` writes it. The manuals are kolk's own headers,
 * which C and C++ programs include instead. A pool's struct must not move, and kolk_size_of tells its size. */
"""

# Bytes of the types that are not kolk's, on 64-bit machines.
SIZES = {"bool": 1, "char": 1, "unsigned char": 1, "size_t": 8, "uintptr_t": 8}
SIZES |= {f"{sign}int{bits}_t": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)}
SETTINGS = {"KOLK_ABI", "KOLK_DIAGNOSTICS", "KOLK_HOSTED"}  # of the build


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def divided(text):
    """The parts between the commas that are in no parentheses."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", text)]


def number_of(text, known):
    """The value of an expression of C with numbers and such names."""
    text = re.sub(r"UINT32_C\((\d+)\)", r"\1", text).replace("UINT32_MAX", "0xffffffff")
    text = re.sub(r"\b(0x[0-9a-f]+|\d+)u\b", r"\1", text)
    return eval(re.sub(r"\bKOLK_\w+", lambda name: str(known[name[0]]), text), {})  # pylint: disable=eval-used


class Interface:
    """What the headers declare, in the order in which kolk.h includes them."""

    def __init__(self):
        self.numbers = {}  # by name: private names of numbers' types, whose sizes differ between machines
        self.values = {}  # of constants and enumerators
        self.constants, self.enums, self.structs, self.functions, self.others = [], [], [], [], []
        self.layouts = {}  # of types: size and alignment
        for name in re.findall(r'#include "(\w+)\.h"', read("include/kolk/kolk.h")):
            header = Header(os.path.join(TOP, f"include/kolk/{name}.h"))
            for declaration in header.declared:
                self.take(declaration, f"kolk/{name}.h")

    def take(self, declaration, header):
        text, name = one_line(declaration.text), declaration.name
        doc = "\n".join(comment_lines(declaration.comment)).strip() if declaration.comment else ""
        if declaration.kind == "statuses":
            self.statuses = [{"name": status, "value": int(value)} for status, value, _ in STATUS.findall(declaration.text)]
        elif declaration.kind == "aggregate" and re.match(r"(typedef )?enum", text):
            self.take_enum(name, header, declaration.text, doc)
        elif declaration.kind == "aggregate":
            self.take_struct(name, header, declaration.text, doc)
        elif declaration.private:
            if number := re.fullmatch(rf"typedef (\w+) {name};", text):
                self.numbers.setdefault(name, number[1])  # the second one is for devices
        elif declaration.kind == "constant":
            if (value := re.fullmatch(r"#define \w+ ((?:UINT32_C\()?\d\w*\)?|UINT32_MAX)", text.strip())) and name not in {*SETTINGS, *self.values}:
                self.values[name] = number_of(value[1], {})
                self.constants.append({"name": name, "type": "uint32_t", "header": header, "value": str(self.values[name])})
        elif declaration.kind == "function":
            returns, parameters = re.fullmatch(rf"(.*?) ?\b{name}\((.*)\);", text).groups()
            parameters = [] if parameters == "void" else [self.described(each) for each in divided(parameters)]
            self.functions.append({"name": name, "header": header, "returns": returns, "parameters": parameters, "doc": doc})
        elif constant := re.fullmatch(rf"static const (\w+) {name} = {{(\w+)}};", text):
            self.constants.append({"name": name, "type": constant[1], "header": header, "value": constant[2]})
        elif alias := re.fullmatch(rf"typedef (\w+) {name};", text):
            self.others.append(text)
            self.layouts[name] = self.layouts[alias[1]]

    def take_enum(self, name, header, text, doc):
        values, last = [], -1
        for member, _, _ in members(text):
            enumerator, _, value = member.partition(" = ")
            last = number_of(value, self.values) if value else last + 1
            values.append({"name": enumerator, "value": last})
        if name == "kolk_status":
            values = self.statuses
        self.values |= {each["name"]: each["value"] for each in values}
        self.enums.append({"name": name, "header": header, "values": values, "doc": doc})
        self.layouts[name] = 4, 4

    def take_struct(self, name, header, text, doc):
        fields, at, most = [], 0, 1
        for member, _, _ in members(text):
            first, *more = divided(member.rstrip("; "))
            kind = re.match(r"(?:(?:const|struct|unsigned) )*\w+", first)[0]
            for field in map(self.described, [first, *(f"{kind} {each}" for each in more)]):
                size, align = self.layout(field["type"])
                at = (at + align - 1) // align * align
                fields.append({**field, "offset": at, "size": size})
                at, most = at + size, max(most, align)
        size = (at + most - 1) // most * most
        self.layouts[name] = size, most
        self.structs.append({"name": name, "header": header, "size": size, "align": most, "fields": fields, "doc": doc})

    def layout(self, kind):
        """The size and the alignment of a type."""
        if array := re.fullmatch(r"(.*?)((?:\[\d+\])+)", kind):
            size, align = self.layout(array[1].strip())
            for bound in re.findall(r"\d+", array[2]):
                size *= int(bound)
            return size, align
        if kind.endswith("*") or "(*)" in kind:
            return 8, 8
        return self.layouts.get(kind) or (SIZES[kind], SIZES[kind])

    def described(self, text):
        """A parameter or a member. A pointer to a function has `callback`."""
        if callback := re.fullmatch(r"(.+?)\(\*(\w+)\)\((.*)\)", text):
            returns = callback[1].strip()
            parameters = [self.described(each) for each in divided(callback[3])]
            kinds = ", ".join(each["type"] for each in parameters)
            return {"name": callback[2], "type": f"{returns} (*)({kinds})", "callback": {"returns": returns, "parameters": parameters}}
        kind, name, bounds = re.fullmatch(r"(.*[ *])(\w+)((?:\[[^]]*\])*)", text).groups()
        kind = self.numbers.get(kind.strip(), kind.strip())
        return {"name": name, "type": kind + re.sub(r"\[(.*?)\]", lambda bound: f"[{number_of(bound[1], self.values)}]", bounds)}


def api(interface):
    version, number = (re.search(pattern, read("include/kolk/base.h")) for pattern in ('KOLK_VERSION "(.*)"', r"KOLK_ABI +(\d+)"))
    return {
        "name": "kolk", "version": version[1], "abi": int(number[1]), "layout": "64-bit machines",
        "constants": interface.constants, "enums": interface.enums, "structs": interface.structs, "functions": interface.functions,
    }


def declare(about):
    """Declares a parameter or a member: "bool (*on_full)(kolk_pool *, size_t)"."""
    kind, name = about["type"], about["name"]
    if "(*)" in kind:
        return kind.replace("(*)", f"(*{name})", 1)
    kind, bracket, bounds = kind.partition("[")
    return f"{kind}{'' if kind.endswith('*') else ' '}{name}{bracket}{bounds}"


def ffi(interface):
    parts = [ABOUT, "#ifndef KOLK_FFI_H\n#define KOLK_FFI_H\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n"]
    for enum in interface.enums:
        values = ",\n".join(f"    {each['name']} = {each['value']}" for each in enum["values"])
        parts.append(f"typedef enum {enum['name']} {{\n{values}\n}} {enum['name']};\n" if enum["name"] else f"enum {{\n{values}\n}};\n")
    parts.append("".join(f"typedef struct {struct['name']} {struct['name']};\n" for struct in interface.structs))
    parts.append("".join(f"{other}\n" for other in interface.others))
    for struct in interface.structs:
        fields = "".join(f"    {declare(field)};\n" for field in struct["fields"])
        parts.append(f"struct {struct['name']} {{\n{fields}}};\n")
    last = None
    for function in interface.functions:
        if function["header"] != last:
            last = function["header"]
            parts.append(f"/* {last} */\n")
        parameters = ", ".join(map(declare, function["parameters"])) or "void"
        parts[-1] += f"{declare({'type': function['returns'], 'name': function['name']})}({parameters});\n"
    parts.append("#endif\n")
    return "\n".join(parts)


def files():
    """What is written, by name."""
    interface = Interface()
    return {"api.json": json.dumps(api(interface), indent=1) + "\n", "kolk_ffi.h": ffi(interface)}


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print("usage: tools/api.py FOLDER", file=sys.stderr)
        return 2
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, text in files().items():
        with open(os.path.join(sys.argv[1], name), "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
