"""Writes the results in generated.rs. For each C struct that a function fills in: a Rust struct with the same fields.
Its of() calls the function."""

from ffi import rust_type
from wording import documented, in_rust, sentence

# Tensors have a method of this name in Rust, so the field needs another one.
RENAMED = {("opd_tensor_info", "bytes"): "size_in_bytes"}
TYPES = {"p.q(const).char": ("String", "unsafe {{ borrowed(raw.{0}) }}.to_owned()"),
         "DLDataType": ("DType", "raw.{0}.into()"), "DLDevice": ("Device", "raw.{0}.into()")}
TRUTH = ("bool", "raw.{0} != 0")
SIZES = ("Vec<i64>", "unsafe {{ slice_of(raw.{0}, raw.ndim.max(0) as usize) }}.to_vec()")
METHODS = {"`opd_memory_reset_peak()`": "[`Device::reset_peak`]", "`opd_vm_trim()`": "[`VirtualMachine::trim`](crate::VirtualMachine::trim)"}


def type_of(struct, field):
    """A field's Rust type, and the expression that converts the raw field to it."""
    if field.is_truth or field.is_sizes:
        return TRUTH if field.is_truth else SIZES
    if field.type.startswith("p.") and field.type not in TYPES:
        raise ValueError(f"{struct}.{field.name}: bindings/rust/generator/results.py has no type of Rust for {field.type}")
    return TYPES.get(field.type) or (rust_type(field.type), "raw.{0}")


def says(docs, name, otherwise, is_truth=False):
    text = "\n".join(docs.get(name, []))
    for c_name, rust in METHODS.items():
        text = text.replace(c_name, rust)
    return documented({name: sentence(in_rust(text, is_truth)).splitlines()}, name, otherwise)


def result_lines(api, struct, docs):
    fields = [(field, RENAMED.get((struct, field.name), field.name), *type_of(struct, field)) for field in api.result_fields(struct)]
    types = {type_ for _, _, type_, _ in fields}
    name = "".join(part.capitalize() for part in struct.split("_")[1:])
    copy = "" if types & {"String", "Vec<i64>"} else "Copy, "
    yield from says(docs, struct, "A result.")
    yield f"#[derive(Clone, {copy}Debug, PartialEq{'' if 'f64' in types else ', Eq'})]\n#[non_exhaustive]\npub struct {name} {{"
    for field, rust, type_, _ in fields:
        about = f"The {field.name.replace('_', ' ')}."
        yield from ["    /// The number of elements along each axis."] if field.is_sizes else says(docs, f"{struct}.{field.name}", about, field.is_truth)
        yield f"    pub {rust}: {type_},"
    yield f"}}\nimpl {name} {{\n    /// As `fill` writes it: the fields that fit the size."
    yield f"    pub(crate) fn of(fill: impl FnOnce(*mut ffi::{struct}) -> *mut ffi::opd_error) -> Result<Self> {{"
    yield f"        let mut raw: ffi::{struct} = unsafe {{ core::mem::zeroed() }};\n        raw.struct_size = size_of::<ffi::{struct}>() as u32;"
    yield "        Error::check(fill(&mut raw))?;\n        Ok(Self {"
    yield from (f"            {rust}: {value.format(field.name)}," for field, rust, _, value in fields)
    yield "        })\n    }\n}"
