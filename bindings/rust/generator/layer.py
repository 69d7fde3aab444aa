"""generated.rs: Rust enums for those of C, and for each C struct of options a builder. raw() makes the C struct of it."""

import re

from ffi import documented, ident, rust_type

TEXT = "p.q(const).char"
LEFT_OUT = {"opd_type", "opd_opcode", "opd_module_property", "opd_module_lookup"}  # of builders of programs; sets of bits
PATHS = {"file", "path", "cache_dir", "workspace_dir"}
UNITS = {"_ns": "nanos", "_ms": "millis"}
# Arrays that have no num_… of their own: how many elements C reads.
LENGTHS = {("opd_call_options", "names"): "num_args",
           ("opd_counter_options", "devices"): "self.events.map_or(0, <[_]>::len)",
           ("opd_vm_options", "allocators"): "self.devices.map_or(1, |devices| devices.len().max(1))"}
WITH_NULLS = {("opd_call_options", "names")}
BY_HAND = {("opd_call_options", "outputs")}  # which are written: vm.rs borrows them mutably
RENAMED = {"Cancel": "CancelToken"}


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def enum_lines(name, items, docs):
    items = [(item, value) for item, value in items if not item.endswith("_MAX_ENUM")]
    words = [item.split("_") for item, _ in items]
    common = 0
    while all(len(w) > common + 1 and w[common] == words[0][common] for w in words):
        common += 1
    kind = camel(name.removeprefix("opd_"))
    yield from documented(docs, name, f"As C's `{name}`.")
    yield f"#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\n#[non_exhaustive]\n#[repr(u32)]\npub enum {kind} {{"
    for (item, _), parts in zip(items, words):
        yield from documented(docs, item, f"`{item}`.", "    ")
        yield f"    {camel('_'.join(parts[common:]).lower())} = ffi::{item},"
    yield f"}}\nimpl {kind} {{\n    /// None for a number that this version does not know.\n    #[allow(dead_code)] // not all come back from C"
    yield f"    pub(crate) fn of(raw: ffi::{name}) -> Option<Self> {{\n        Some(match raw {{"
    for (item, _), parts in zip(items, words):
        yield f"            ffi::{item} => Self::{camel('_'.join(parts[common:]).lower())},"
    yield "            _ => return None,\n        })\n    }\n}"


class Options:
    def __init__(self, struct, members, handles, enums, docs):
        self.struct, self.handles, self.members, self.enums, self.docs = struct, handles, dict(members), enums, docs
        self.name = camel(struct.removeprefix("opd_"))
        counts = {f"num_{name}" for name in self.members}
        self.fields = [(name, *self.field_of(name, encoded)) for name, encoded in members
                       if name != "struct_size" and not name.startswith("reserved") and name not in counts
                       and (struct, name) not in BY_HAND]
        self.lifetime = "<'a>" if any("'a" in type_ for _, _, type_, _ in self.fields) else ""

    def says(self, name):
        return " ".join(self.docs.get(f"{self.struct}.{name}", []))

    def field_of(self, name, encoded):
        """The name and the type in Rust, and the lines that set it in `raw`."""
        simple = re.sub(r"^(p\.)q\(const\)\.(?=p\.)", r"\1", encoded)  # const to the elements of an array
        handle = self.handles.get(simple.removeprefix("p.").removeprefix("p."))
        if encoded == TEXT and name in PATHS:
            return name, "&'a Path", [f"raw.{name} = kept.path({name})?;"]
        if encoded == TEXT:
            return name, "&'a str", [f"raw.{name} = kept.text({name})?;"]
        if simple == "p." + TEXT:
            item = "Option<&'a str>" if (self.struct, name) in WITH_NULLS else "&'a str"
            return name, f"&'a [{item}]", [f"raw.{name} = kept.texts({name}.iter().copied())?;", self.length(name)]
        if handle and simple.startswith("p.p."):
            pointers = f"{name}.iter().map(|each| each.as_ptr())"
            return name, f"&'a [&'a {handle}]", [f"raw.{name} = kept.handles({pointers});", self.length(name)]
        if handle:
            return name, f"&'a {handle}", [f"raw.{name} = {name}.as_ptr();"]
        if encoded.startswith("p.q(const)."):
            item = self.enums.get(f"{self.struct}.{name}") or plain(encoded.removeprefix("p.q(const)."))
            return name, f"&'a [{item}]", [f"raw.{name} = {name}.as_ptr().cast();", self.length(name)]
        if encoded.startswith("p."):
            raise ValueError(f"an option of a type that no rule knows: {self.struct}.{name}: {encoded}")
        if enum := self.enums.get(f"{self.struct}.{name}") or (encoded.startswith("opd_") and camel(encoded.removeprefix("opd_"))):
            return name, enum, [f"raw.{name} = {name} as _;"]
        if re.search(r"(^|: )1: ", self.says(name)):
            return name, "bool", [f"raw.{name} = {name}.into();"]
        if unit := UNITS.get(name[-3:]):
            return name[:-3], "Duration", [f"raw.{name} = {name[:-3]}.as_{unit}().try_into().unwrap_or({rust_type(encoded)}::MAX);"]
        return name, plain(encoded), [f"raw.{name} = {name}{'.into()' if encoded == 'DLDevice' else ''};"]

    def length(self, name):
        if f"num_{name}" in self.members:
            return f"raw.num_{name} = count_of({name})?;"
        return f"check_count(\"{name}\", {name}.len(), {LENGTHS[self.struct, name]})?;"

    def lines(self):
        anonymous = self.lifetime and "<'_>"
        yield from documented(self.docs, self.struct, "Options.")
        yield f"#[derive(Clone, Copy, Debug, Default)]\npub struct {self.name}{self.lifetime} {{"
        yield from (f"    {ident(rust)}: Option<{type_}>," for _, rust, type_, _ in self.fields)
        yield f"}}\nimpl{self.lifetime} {self.name}{self.lifetime} {{"
        yield "    /// All defaults.\n    pub fn new() -> Self {\n        Self::default()\n    }"
        for name, rust, type_, _ in self.fields:
            given, set_ = type_, ident(rust)
            if type_ == "&'a Path":
                given, set_ = "&'a (impl AsRef<Path> + ?Sized)", f"{rust}.as_ref()"
            yield from documented(self.docs, f"{self.struct}.{name}", f"As C's `{name}`.", "    ")
            yield f"    pub fn {ident(rust)}(self, {ident(rust)}: {given}) -> Self {{"
            yield f"        Self {{ {ident(rust)}: Some({set_}), ..self }}\n    }}"
        yield f"""}}
#[allow(unused_variables)] // not all options need both
impl {self.name}{anonymous} {{
    pub(crate) fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::{self.struct}> {{
        let mut raw = ffi::{self.struct}::default();"""
        for _, rust, _, assignments in self.fields:
            yield f"        if let Some({ident(rust)}) = self.{ident(rust)} {{"
            yield from (f"            {line}" for line in assignments)
            yield "        }"
        yield "        Ok(raw)\n    }\n}"


def plain(encoded):
    return {"DLDevice": "Device", "DLDataType": "DType"}.get(encoded) or rust_type(encoded)


def layer(tree, docs):
    handles = {rule.type.removeprefix("p."): RENAMED.get(rule.details[0], rule.details[0]) for rule in tree.rules if rule.role == "handle"}
    yield "use crate::options::{Kept, check_count, count_of};\nuse crate::{CancelToken, Collector, Device, Function, Module, Result, Trace, ffi};"
    yield "use core::time::Duration;\nuse std::path::Path;\n"
    for name, items in tree.enums.items():
        if name.startswith("opd_") and name not in LEFT_OUT:
            yield from enum_lines(name, items, docs)
    # That a number is one of an enum, its comment says.
    said = {field: re.match(r"an `(opd_\w+)`", " ".join(lines)) for field, lines in docs.items() if "." in field}
    enums = {field: camel(enum[1].removeprefix("opd_")) for field, enum in said.items() if enum and enum[1] in tree.enums}
    for struct in (rule.details[0] for rule in tree.rules if rule.role == "options"):
        yield from Options(struct, tree.structs[struct][1], handles, enums, docs).lines()
