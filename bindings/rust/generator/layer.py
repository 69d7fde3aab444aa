"""Writes generated.rs: an enum for each C enum, a builder for each C struct of options, a struct for each C struct of
results. A builder's raw() makes the C struct."""

from ffi import ident, rust_type
from results import result_lines
from wording import documented, option

LEFT_OUT = {"opd_activity_kind", "opd_type", "opd_opcode", "opd_module_property", "opd_module_lookup"}  # for plug-ins; for builders of programs; bit sets
PATHS = {"file", "path", "cache_dir", "workspace_dir"}
UNITS = {"ns": "nanos", "ms": "millis"}
AT_LEAST = {("opd_vm_options", "devices"): ".max(1)"}  # 0 devices: C uses the CPU
BY_HAND = {("opd_call_options", "outputs")}  # the call writes them, so vm.rs borrows them mutably
RENAMED = {"Cancel": "CancelToken"}


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def variants(items):
    """A map from the C names of an enum's items to their Rust names."""
    items = [item for item, _ in items if not item.endswith("_MAX_ENUM")]
    words = [item.split("_") for item in items]
    common = 0
    while all(len(w) > common + 1 and w[common] == words[0][common] for w in words):
        common += 1
    return {item: camel("_".join(parts[common:]).lower()) for item, parts in zip(items, words)}


def enum_lines(name, items, docs):
    kind, names = camel(name.removeprefix("opd_")), variants(items)
    yield from documented(docs, name, f"As C's `{name}`.")
    yield f"#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\n#[non_exhaustive]\n#[repr(u32)]\npub enum {kind} {{"
    for item, rust in names.items():
        yield from documented(docs, item, f"`{item}`.", "    ")
        yield f"    {rust} = ffi::{item},"
    yield f"}}\nimpl {kind} {{\n    /// None for a number that this version does not know.\n    #[allow(dead_code)] // not all come back from C"
    yield f"    pub(crate) fn of(raw: ffi::{name}) -> Option<Self> {{\n        Some(match raw {{"
    yield from (f"            ffi::{item} => Self::{rust}," for item, rust in names.items())
    yield "            _ => return None,\n        })\n    }\n}"


class Options:
    def __init__(self, struct, docs, enums):
        self.struct, self.docs, self.enums = struct.name, docs, enums
        self.name = camel(struct.name.removeprefix("opd_"))
        self.says = {field.name: self.says_of(field) for field in struct.fields}
        self.fields = [(field.name, *self.field_of(field)) for field in struct.fields if (struct.name, field.name) not in BY_HAND]
        self.lifetime = "<'a>" if any("'a" in type_ for _, _, type_, _ in self.fields) else ""

    def says_of(self, field):
        enum = field.enum and camel(field.enum.removeprefix("opd_"))
        text = "\n".join(self.docs.get(f"{self.struct}.{field.name}", []))
        return option(text, field, enum, variants(self.enums[field.enum]) if enum else {})

    def field_of(self, field):
        """A field's Rust name, its Rust type, and the lines that set it in `raw`."""
        name, kind = field.name, field.kind
        enum = field.enum and camel(field.enum.removeprefix("opd_"))
        handle = RENAMED.get(field.handle, field.handle)
        if kind == "s" and name in PATHS:
            return name, "&'a Path", [f"raw.{name} = kept.path({name})?;"]
        if kind == "s":
            return name, "&'a str", [f"raw.{name} = kept.text({name})?;"]
        if kind == "S":
            item = "Option<&'a str>" if field.has_nulls else "&'a str"
            return name, f"&'a [{item}]", [f"raw.{name} = kept.texts({name}.iter().copied())?;", self.length(field)]
        if kind == "H":
            pointers = f"{name}.iter().map(|each| each.as_ptr())"
            return name, f"&'a [&'a {handle}]", [f"raw.{name} = kept.handles({pointers});", self.length(field)]
        if kind == "h":
            return name, f"&'a {handle}", [f"raw.{name} = {name}.as_ptr();"]
        if kind in "DIN":
            item = enum or plain(field.type.removeprefix("p.q(const)."))
            return name, f"&'a [{item}]", [f"raw.{name} = {name}.as_ptr().cast();", self.length(field)]
        if enum:
            return name, enum, [f"raw.{name} = {name} as _;"]
        if field.is_flag:
            return name, "bool", [f"raw.{name} = {name}.into();"]
        if unit := UNITS.get(field.unit):
            # In C, a timeout of 0 is none. A duration of 0 is over at once.
            amount = f"{name[:-3]}.as_{unit}(){'.max(1)' if 'timeout' in name else ''}"
            return name[:-3], "Duration", [f"raw.{name} = {amount}.try_into().unwrap_or({rust_type(field.type)}::MAX);"]
        return name, plain(field.type), [f"raw.{name} = {name}{'.into()' if kind == 'd' else ''};"]

    def length(self, field):
        name, like = field.name, field.like
        if field.count:
            return f"raw.{field.count} = count_of({name})?;"
        count = "num_args" if like == "args" else f"self.{like}.map_or(0, <[_]>::len){AT_LEAST.get((self.struct, like), '')}"
        return f"check_count(\"{name}\", {name}.len(), {count})?;"

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
            yield from documented(self.says, name, "", "    ")
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


def layer(api, docs):
    yield "use crate::options::{Kept, check_count, count_of};\nuse crate::text::{borrowed, slice_of};"
    yield "use crate::{Array, CancelToken, Collector, DType, Device, Error, Function, Module, Result, Trace, ffi};"
    yield "use core::time::Duration;\nuse std::path::Path;\n"
    for name, items in api.tree.enums.items():
        if name.startswith("opd_") and name not in LEFT_OUT:
            yield from enum_lines(name, items, docs)
    for struct in api.options:
        yield from Options(struct, docs, api.tree.enums).lines()
    for struct in api.results:
        yield from result_lines(api, struct, docs)
