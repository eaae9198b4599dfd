#!/usr/bin/env python3
"""Writes bindings/rust/kolk-sys/src/lib.rs, which declares kolk's functions, structs and enums in Rust, from the same
description of the headers as api.json. With --check, compares the file with what would be written instead. The file is
in git because cargo reads crates from there.

Usage: tools/rust.py [--check]
"""

import difflib
import os
import re
import sys

sys.dont_write_bytecode = True
from api import Interface, api, read  # noqa: E402
from headers import TOP  # noqa: E402

OUTPUT = "bindings/rust/kolk-sys/src/lib.rs"
NUMBERS = {"bool": "bool", "int": "c_int", "char": "c_char", "unsigned char": "u8", "double": "f64", "void": "c_void"}
NUMBERS |= {"size_t": "usize", "uintptr_t": "usize"}
NUMBERS |= {f"{sign}int{bits}_t": f"{sign or 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
KEYWORDS = {"box", "final", "in", "move", "priv", "ref", "type", "use", "where"}

ABOUT = """\
//! Declarations of [kolk](https://docs.rs/kolk), the object-pool library for C: each function, struct and enum of its
//! headers. The crate `kolk` is the safe layer above them. `make bindings` writes this file from the headers.
//!
//! The texts are those of the C headers: `NULL` is a null pointer, and "a bug of the caller" is reported to the failure
//! handler, which by default prints a sentence and aborts. A struct must not move after its init. Fill descriptors with
//! zeros first (`std::mem::zeroed`): zero is the default of each member.
//!
//! An enum of C is a struct around an integer here, because C may give any value to it, which would be undefined
//! behaviour for an `enum` of Rust.
#![allow(non_camel_case_types)]
#![allow(clippy::too_many_arguments)]

pub use std::os::raw::{c_char, c_int, c_void};
"""


def fail(sentence):
    sys.exit(f"tools/rust.py: {sentence}")


def named(name):
    return "self_" if name == "self" else f"r#{name}" if name in KEYWORDS else name


class Writer:
    """The lines of the Rust file."""

    def __init__(self, api):
        self.api = api
        self.names = {enum["name"] for enum in api["enums"]} | {struct["name"] for struct in api["structs"]}
        self.opaque, self.lines = set(), []

    def type_of(self, about):
        if "callback" in about:
            parameters = ", ".join(f"{named(each['name'] or '_')}: {self.type_of(each)}" for each in about["callback"]["parameters"])
            return f"Option<unsafe extern \"C\" fn({parameters}){self.returned(about['callback']['returns'])}>"
        text, *bounds = re.split(r"[\[\]]+", about["type"])
        kind = self.pointer(text.strip())
        for bound in reversed([bound for bound in bounds if bound]):
            kind = f"[{kind}; {bound}]"
        return kind

    def pointer(self, text):
        """The Rust type of a type of C that is neither an array nor a pointer to a function."""
        if text.endswith("*"):
            to = text[:-1].strip()
            constant = to.endswith("*const") or (not to.endswith("*") and to.startswith("const "))
            return f"*{'const' if constant else 'mut'} {self.pointer(to.removesuffix('const').strip())}"
        name = text.removeprefix("const ").removeprefix("struct ")
        if name in NUMBERS:
            return NUMBERS[name]
        if name not in self.names and not text.removeprefix("const ").startswith("struct "):
            fail(f"there is no type {name}.")
        if name not in self.names:
            self.opaque.add(name)
        return name

    def returned(self, text):
        return "" if text == "void" else f" -> {self.pointer(text)}"

    def document(self, text, indent=""):
        """The text of a comment, in which four spaces begin a piece of C."""
        code = False
        for line in text.split("\n") if text else []:
            if line.startswith("    ") != code and line:
                code = not code
                self.lines.append(f"{indent}/// ```{'c' if code else ''}")
            if not code:
                line = re.sub(r"([\[\]<>*])", r"\\\1", line)
            self.lines.append(f"{indent}/// {line[4:] if code else line}".rstrip())
        if code:
            self.lines.append(f"{indent}/// ```")

    def constant(self, name, kind, value):
        self.lines.append(f"pub const {name}: {kind} = {value};")

    def enums(self):
        for enum in self.api["enums"]:
            self.lines.append("")
            if enum["name"]:
                self.document(enum["doc"])
                self.lines += ["#[repr(transparent)]", "#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]"]
                self.lines.append(f"pub struct {enum['name']}(pub c_int);")
            for value in enum["values"]:
                number = value["value"]
                self.constant(value["name"], enum["name"] or "c_int", f"{enum['name']}({number})" if enum["name"] else number)

    def structs(self):
        for struct in self.api["structs"]:
            self.lines.append("")
            self.document(struct["doc"])
            self.lines += ["#[repr(C)]", "#[derive(Clone, Copy)]", f"pub struct {struct['name']} {{"]
            self.lines += [f"    pub {named(field['name'])}: {self.type_of(field)}," for field in struct["fields"]]
            self.lines.append("}")
        for constant in self.api["constants"]:
            kind, value = constant["type"], constant["value"].replace("INT64_MAX", "i64::MAX")
            is_deadline = kind == "kolk_deadline"
            self.constant(constant["name"], NUMBERS.get(kind, kind), f"{kind} {{ ns: {value} }}" if is_deadline else value)

    def functions(self):
        self.lines += ["", 'extern "C" {']
        header = None
        for function in self.api["functions"]:
            if function["header"] != header:
                header = function["header"]
                self.lines += ["", f"    // {header}"]
            self.document(function["doc"], "    ")
            parameters = ", ".join(f"{named(each['name'])}: {self.type_of(each)}" for each in function["parameters"])
            self.lines.append(f"    pub fn {function['name']}({parameters}){self.returned(function['returns'])};")
        self.lines.append("}")

    def opaques(self):
        for name in sorted(self.opaque):
            self.lines += ["", "/// Known only to kolk itself.", "#[repr(C)]", f"pub struct {name} {{", "    inside: [u8; 0],", "}"]

    def layout(self):
        """Sizes are constants in Rust 1.63, offsets are not."""
        self.lines += ["", '#[cfg(target_pointer_width = "64")]', "const _: () = {", "    use std::mem::{align_of, size_of};"]
        for struct in self.api["structs"]:
            name = struct["name"]
            self.lines.append(f"    assert!(size_of::<{name}>() == {struct['size']} && align_of::<{name}>() == {struct['align']});")
        self.lines += ["};", "", '#[cfg(all(test, target_pointer_width = "64"))]', "#[test]", "fn offsets() {"]
        self.lines += ["    macro_rules! offset {", "        ($type:ty, $field:ident) => {{"]
        self.lines += ["            let at = std::mem::MaybeUninit::<$type>::uninit();"]
        self.lines += ["            unsafe { std::ptr::addr_of!((*at.as_ptr()).$field) as usize - at.as_ptr() as usize }"]
        self.lines += ["        }};", "    }", "    let offsets = ["]
        for struct in self.api["structs"]:
            for field in struct["fields"]:
                at = f"offset!({struct['name']}, {named(field['name'])})"
                self.lines.append(f'        ("{struct["name"]}.{field["name"]}", {at}, {field["offset"]}),')
        self.lines += ["    ];", "    for (field, at, expected) in offsets {", '        assert_eq!(at, expected, "{}", field);', "    }", "}"]

    def text(self):
        for part in (self.enums, self.structs, self.functions, self.opaques, self.layout):
            part()
        version, abi = self.api["version"], self.api["abi"]
        numbers = f'\npub const KOLK_VERSION: &str = "{version}";\npub const KOLK_ABI: u32 = {abi};\n'
        return ABOUT + numbers + "\n".join(self.lines) + "\n"


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print("usage: tools/rust.py [--check]", file=sys.stderr)
        return 2
    text = Writer(api(Interface())).text()
    if sys.argv[1:]:
        change = list(difflib.unified_diff(read(OUTPUT).split("\n"), text.split("\n"), OUTPUT, "the headers", lineterm=""))
        if change:
            print("\n".join(change[:40]), f"\n{OUTPUT} is not what the headers say: run make bindings.")
        return 1 if change else 0
    with open(os.path.join(TOP, OUTPUT), "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
