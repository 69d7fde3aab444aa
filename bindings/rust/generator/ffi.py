"""Writes ffi.rs: the C API as Rust declarations."""

import re

from tree import split

PLAIN = {"void": "c_void", "char": "c_char", "int": "c_int", "unsigned int": "c_uint", "float": "f32", "double": "f64",
         "size_t": "usize", "ArrowArrayStream": "c_void"} | {f"{u}int{n}_t": f"{'u' if u else 'i'}{n}" for u in ("", "u") for n in (8, 16, 32, 64)}
KEYWORDS = {"as", "box", "const", "dyn", "fn", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref",
            "self", "static", "struct", "super", "trait", "type", "use", "where"}


def ident(name):
    return "r#" + name if name in KEYWORDS else name


def is_wanted(name):  # DLPack's exchange API is for Python
    return name.lower().startswith("opd_") or re.match(r"k?DL(?!Pack(?!Version))[A-Z]", name) is not None


def rust_type(encoded):
    """Converts a type in SWIG's encoding, outermost first: "p.q(const).char" is a const char *."""
    head, *rest = split(encoded, ".")
    tail = ".".join(rest)
    if not rest:
        base = re.sub(r"^(struct|union|enum) ", "", head)
        if base not in PLAIN and not is_wanted(base):
            raise ValueError(f"a C type that no rule knows: {base}")
        return PLAIN.get(base, base)
    if head == "p" and tail.startswith("f("):
        return f"Option<{function_type(tail)}>"
    if head == "p":
        return ("*const " if tail.startswith("q(const)") else "*mut ") + rust_type(tail)
    if head.startswith("a("):
        return f"[{rust_type(tail)}; {head[2:-1]}]"
    if head.startswith("q("):
        return rust_type(tail)
    raise ValueError(f"a C type that no rule knows: {encoded}")


def function_type(encoded):
    head, *rest = split(encoded, ".")
    given = [rust_type(p) for p in split(head[2:-1], ",") if p not in ("", "void")]
    return f"unsafe extern \"C\" fn({', '.join(given)}){arrow('.'.join(rest))}"


def arrow(encoded):
    return "" if encoded == "void" else " -> " + rust_type(encoded)


def enum_lines(name, items):
    yield f"pub type {name} = c_uint;"
    previous = None
    for item, value in items:
        value = value.rstrip("UuLl") if value else "0" if previous is None else f"{previous} + 1"
        if value.startswith("-"):
            raise ValueError(f"{name} has negative values")
        yield f"pub const {item}: {name} = {value};"
        previous = item


def type_lines(tree, defaults):
    for name, items in tree.enums.items():
        if is_wanted(name):
            yield from enum_lines(name, items)
    for name, (kind, members) in tree.structs.items():
        if is_wanted(name):
            comparable = all(member in tree.enums or re.fullmatch(r"u?int\d+_t", member) for _, member in members)
            yield f"#[repr(C)]\n#[derive(Clone, Copy{', Debug, PartialEq, Eq' if comparable else ''})]\npub {kind} {name} {{"
            for member, encoded in members:
                yield f"    pub {ident(member)}: {rust_type(encoded)},"
            yield "}"
            if name in defaults:
                yield from default_lines(name, members, defaults[name])
    for name, encoded in tree.typedefs.items():
        if not is_wanted(name) or name in tree.structs or name in tree.enums:
            continue
        if encoded == f"struct {name}":  # opaque
            yield f"#[repr(C)]\npub struct {name} {{\n    _opaque: [u8; 0],\n    _pinned: PhantomData<(*mut u8, PhantomPinned)>,\n}}"
        else:
            yield f"pub type {name} = {rust_type(encoded)};"


def default_lines(name, members, values):
    """Lines of Rust with the defaults that the headers' inline function `{name}_init` writes."""
    yield f"impl Default for {name} {{\n    fn default() -> Self {{\n        Self {{"
    for member, encoded in members:
        value = "size_of::<Self>() as u32" if member == "struct_size" else values[member]
        if encoded.startswith("p."):
            if value != "0":
                raise ValueError(f"{name}.{member} has a default that is no null pointer")
            value = "core::ptr::null()" if rust_type(encoded).startswith("*const") else "core::ptr::null_mut()"
        yield f"            {ident(member)}: {value},"
    yield "        }\n    }\n}"


def ffi(tree, defaults):
    yield "use core::ffi::*;\nuse core::marker::{PhantomData, PhantomPinned};\n"
    yield from type_lines(tree, defaults)
    for name, a in tree.constants.items():
        if name.startswith("OPD_"):
            yield f"pub const {name}: {rust_type(a['type'])} = {a['value']};"
    yield "\nunsafe extern \"C\" {"
    for function in tree.functions:
        if is_wanted(function.name) and not function.inline:
            given = ", ".join(f"{ident(p.name)}: {rust_type(p.type)}" for p in function.parameters)
            yield f"    pub fn {function.name}({given}){arrow(function.type)};"
    yield "}"
