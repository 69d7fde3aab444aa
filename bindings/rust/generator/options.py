"""api.rs, the options: for each C struct one that borrows what is set; raw() makes the C struct of it for a call."""

import re

from ffi import ident, type_of

TEXT = "p.q(const).char"
# Arrays that have no num_… of their own: how many elements C reads.
LENGTHS = {("opd_call_options", "names"): "num_args",
           ("opd_counter_options", "devices"): "self.events.map_or(0, <[_]>::len)",
           ("opd_vm_options", "allocators"): "self.devices.map_or(1, |devices| devices.len().max(1))"}
WITH_NULLS = {("opd_call_options", "names")}


class Options:
    def __init__(self, struct, members, handles, enums):
        self.struct, self.handles, self.members, self.enums = struct, handles, dict(members), enums
        self.name = "".join(part.capitalize() for part in struct.removeprefix("opd_").split("_"))
        counts = {f"num_{name}" for name in self.members}
        self.fields = [(name, *self.field_of(name, encoded)) for name, encoded in members
                       if name != "struct_size" and not name.startswith("reserved") and name not in counts]
        self.lifetime = "<'a>" if any("&'a" in type_ for _, type_, _ in self.fields) else ""
        self.borrowed = f"&'a {self.name}{self.lifetime}"

    def field_of(self, name, encoded):
        """The type in Rust, and the lines that set it in `raw`."""
        simple = re.sub(r"^(p\.)q\(const\)\.(?=p\.)", r"\1", encoded)  # const to the elements of an array
        handle = self.handles.get(simple.removeprefix("p.").removeprefix("p."))
        if encoded == TEXT:
            return "&'a str", [f"raw.{name} = kept.text({name})?;"]
        if simple == "p." + TEXT:
            item = "Option<&'a str>" if (self.struct, name) in WITH_NULLS else "&'a str"
            return f"&'a [{item}]", [f"raw.{name} = kept.texts({name}.iter().copied())?;", self.length(name)]
        if handle and simple.startswith("p.p."):
            pointers = f"{name}.iter().map(|each| each.as_ptr())"
            return f"&'a [&'a {handle}]", [f"raw.{name} = kept.handles({pointers});", self.length(name)]
        if handle:
            return f"&'a {handle}", [f"raw.{name} = {name}.as_ptr();"]
        if encoded.startswith("p.q(const)."):
            item = self.enums.get(f"{self.struct}.{name}") or type_of(encoded.removeprefix("p.q(const)."))
            return f"&'a [{item}]", [f"raw.{name} = {name}.as_ptr().cast();", self.length(name)]
        if encoded.startswith("p."):
            raise ValueError(f"an option of a type that no rule knows: {self.struct}.{name}: {encoded}")
        enum = self.enums.get(f"{self.struct}.{name}")
        return enum or type_of(encoded), [f"raw.{name} = {name}{' as _' if enum else ''};"]

    def length(self, name):
        if f"num_{name}" in self.members:
            return f"raw.num_{name} = {name}.len() as _;"
        return f"check_count(\"{name}\", {name}.len(), {LENGTHS[self.struct, name]})?;"

    def lines(self, docs):
        anonymous = self.lifetime and "<'_>"
        yield from doc(docs, self.struct)
        yield f"#[derive(Clone, Copy, Debug, Default)]\npub struct {self.name}{self.lifetime} {{"
        yield from (f"    {ident(name)}: Option<{type_}>," for name, type_, _ in self.fields)
        yield f"}}\nimpl{self.lifetime} {self.name}{self.lifetime} {{"
        yield "    /// All defaults.\n    pub fn new() -> Self {\n        Self::default()\n    }"
        for name, type_, _ in self.fields:
            yield from (f"    {line}" for line in doc(docs, f"{self.struct}.{name}"))
            yield f"    pub fn {ident(name)}(self, {ident(name)}: {type_}) -> Self {{"
            yield f"        Self {{ {ident(name)}: Some({ident(name)}), ..self }}\n    }}"
        yield f"""}}
#[allow(unused_variables)] // not all options need both
impl {self.name}{anonymous} {{
    fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::{self.struct}, Error> {{
        let mut raw = unsafe {{ zeroed() }};
        unsafe {{ ffi::{self.struct}_init(&mut raw) }};"""
        for name, _, assignments in self.fields:
            yield f"        if let Some({ident(name)}) = self.{ident(name)} {{"
            yield from (f"            {line}" for line in assignments)
            yield "        }"
        yield "        Ok(raw)\n    }\n}"


def doc(docs, name):
    return [f"/// {line}".rstrip() for line in docs.get(name, [])]


def all_options(tree, docs, handles):
    """By the name of the C struct. That a number is one of an enum, its comment says."""
    said = {field: re.match(r"an (opd_\w+)", " ".join(lines)) for field, lines in docs.items()}
    enums = {field: f"ffi::{enum[1]}" for field, enum in said.items() if enum and enum[1] in tree.enums}
    structs = [rule.details[0] for rule in tree.rules if rule.role == "options"]
    return {struct: Options(struct, tree.structs[struct][1], handles, enums) for struct in structs}
