"""Checks ffi.rs against the C headers. The C and Rust compilers both print the layouts of structs and the constants,
which must be equal. The C compiler must accept declarations with the types of the functions together with the
headers."""

import os
import re
import subprocess
import sys

from common import include_flags

NAMELESS = {"opd_value_u": "__typeof__(((opd_value *)0)->u)"}  # unnamed in C; SWIG makes a name from its place


def structs(ffi):
    """A map from structs to their fields. Opaque structs are left out, because they have no fields to compare."""
    for name, body in re.findall(r"^pub (?:struct|union) (\w+) \{\n(.*?)^\}", ffi, re.MULTILINE | re.DOTALL):
        if fields := re.findall(r"^    pub (?:r#)?(\w+):", body, re.MULTILINE):
            yield name, fields


def constants(ffi):
    return re.findall(r"^pub const (\w+):", ffi, re.MULTILINE)


def printed_by_c(ffi, out, flags):
    lines = []
    for name, fields in structs(ffi):
        c = NAMELESS.get(name, name)
        lines.append(f'  printf("{name} %zu %zu\\n", sizeof({c}), _Alignof({c}));')
        lines += [f'  printf("{name}.{field} %zu %zu\\n", offsetof({c}, {field}), sizeof((({c} *)0)->{field}));' for field in fields]
    lines += [f'  printf("{name} %lld\\n", (long long)({name}));' for name in constants(ffi)]
    source = out / "layouts.c"
    source.write_text("#include <opdyno/opdyno.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "\n}\n")
    return compiled(out / "layouts-c", os.environ.get("CC", "cc"), "-std=gnu11", "-o", out / "layouts-c", *flags, source)


def printed_by_rust(ffi, out, path):
    names = re.compile(r"^    pub (r#\w+)", re.MULTILINE).findall(ffi)
    raw = {name.removeprefix("r#"): name for name in names}
    lines = []
    for name, fields in structs(ffi):
        lines.append(f'    println!("{name} {{}} {{}}", size_of::<ffi::{name}>(), align_of::<ffi::{name}>());')
        for field in fields:
            f = raw.get(field, field)
            lines.append(f'    println!("{name}.{field} {{}} {{}}", core::mem::offset_of!(ffi::{name}, {f}), '
                         f"size(|p: *const ffi::{name}| unsafe {{ &raw const (*p).{f} }}));")
    lines += [f'    println!("{name} {{}}", i128::from(ffi::{name}));' for name in constants(ffi)]
    source = out / "layouts.rs"
    source.write_text(f'#[allow(warnings)]\n#[path = "{path}"]\nmod ffi;\n'
                      "fn size<T, F>(_: fn(*const T) -> *const F) -> usize {\n    size_of::<F>()\n}\n"
                      "fn main() {\n" + "\n".join(lines) + "\n}\n")
    return compiled(out / "layouts-rust", "rustc", "--edition", "2024", "-o", out / "layouts-rust", source)


PLAIN = {"c_char": "char", "c_int": "int", "c_void": "void", "f64": "double", "i32": "int32_t", "u32": "uint32_t", "i64": "int64_t",
         "u64": "uint64_t", "usize": "size_t"}

# Parameters that are plain addresses in Rust, because Rust lacks the struct.
ADDRESSES = {("opd_report_to_arrow", "out_stream"): "struct ArrowArrayStream *"}


def type_in_c(rust):
    if pointer := re.fullmatch(r"\*(const|mut) (.*)", rust):
        return type_in_c(pointer[2]) + (" const *" if pointer[1] == "const" else " *")
    if not re.fullmatch(r"\w+", rust):
        raise ValueError(f"layouts.py does not know the type {rust} of a function in ffi.rs")
    return PLAIN.get(rust, rust)


def signature_in_c(name, parameters, result):
    given = [(each.split(":")[0].strip(), " ".join(each.split(":")[-1].split())) for each in parameters.split(",") if each.strip()]
    types = [ADDRESSES.get((name, parameter)) or type_in_c(type_) for parameter, type_ in given]
    return f"{type_in_c(result or 'c_void')} {name}({', '.join(types) or 'void'});"


def check_signatures(ffi, out, flags):
    """Checks the types of functions: the C compiler refuses a second declaration whose types differ from the first."""
    functions = re.findall(r"^    pub fn (\w+)\(([^()]*)\)(?:\s+-> ([^;]+))?;", ffi, re.MULTILINE)
    callbacks = re.findall(r'^pub type (\w+) =\s+Option<unsafe extern "C" fn\(([^()]*)\)(?: -> (.+))?>;', ffi, re.MULTILINE)
    lines = [signature_in_c(*function) for function in functions]
    lines += ["typedef " + signature_in_c(f"(*{name})", *types) for name, *types in callbacks]
    source = out / "signatures.c"
    source.write_text("#include <opdyno/opdyno.h>\n" + "\n".join(lines) + "\n")
    command = [os.environ.get("CC", "cc"), "-std=gnu11", "-fsyntax-only", *flags, source]
    if subprocess.run(command).returncode:
        sys.exit(f"the functions of ffi.rs differ from the headers' (compiled: {source})")
    if len(functions) != ffi.count("pub fn opd_") or len(callbacks) < 2:
        sys.exit(f"ffi.rs was not understood: {len(functions)} functions and {len(callbacks)} types of callbacks were compared")


def compiled(program, *command):
    subprocess.run(command, check=True)
    return subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def check_layouts(arguments, path):
    ffi, out = path.read_text(), arguments.out
    out.mkdir(parents=True, exist_ok=True)
    c, rust = printed_by_c(ffi, out, include_flags(arguments)), printed_by_rust(ffi, out, path)
    if differ := [f"C has {a}, but Rust {b}" for a, b in zip(c, rust, strict=True) if a != b]:
        sys.exit("\n".join(["ffi.rs differs from the headers:", *differ]))
    check_signatures(ffi, out, include_flags(arguments))
    if len(list(structs(ffi))) < 40 or len(constants(ffi)) < 150:  # makes sure that enough was compared
        sys.exit("ffi.rs was not understood: too few structs or constants were compared")
