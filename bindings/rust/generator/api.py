"""api.rs: a struct for each kind of handle, and a safe wrapper for each function by what the rules say of its
parameters. opd_vm_call(vm, …) becomes VirtualMachine::call(&self, …)."""

from ffi import ident, type_of
from options import all_options, doc
from tree import Parameter


class Wrapper:
    """One function on its way."""

    def __init__(self, function, optional, options):
        self.function, self.options = function, options
        self.optional = {parameter for name, parameter in optional if name == function.name}
        self.generics, self.parameters, self.before, self.arguments = [], [], [], []
        self.results, self.on_error = [], []  # results: (type, expression)
        self.fallible = self.unsafe = False

    def take(self, name, type_, *arguments, before=None, fallible=False):
        """A parameter of the wrapper, and what the C function gets for it."""
        self.parameters.append(f"{name}: {type_}")
        self.give(*arguments, before=before)
        self.fallible |= fallible

    def give(self, *arguments, before=None):
        self.arguments += arguments
        if before:
            self.before.append(before)

    def borrow(self):
        if "'a" not in self.generics:
            self.generics.insert(0, "'a")

    def out(self, name, initial, type_, expression):
        self.give(f"&mut {name}", before=f"let mut {name} = {initial};")
        self.results.append((type_, expression))

    # ---- one method for each role of language.i: the C parameters of the rule, then its details

    def role_handle(self, parameter, kind):
        name = ident(parameter.name)
        if parameter.name in self.optional:
            self.borrow()
            self.take(name, f"impl Into<Option<&'a {kind}>>", f"{name}.into().map_or(null_mut(), |handle| {kind}::as_ptr(handle))")
        else:
            self.take(name, f"&{kind}", f"{name}.as_ptr()")

    def role_handle_out(self, parameter, kind):
        name = parameter.name
        self.out(name, "null_mut()", kind, f"unsafe {{ {kind}::from_raw({name}) }}")

    def role_handles_in(self, pointer, _count, kind):
        name = pointer.name
        self.take(name, f"&[&{kind}]", f"{name}.as_ptr().cast()", f"{name}.len() as _",
                  before=f"let {name}: Vec<_> = {name}.iter().map(|each| each.as_ptr()).collect();")

    def role_options(self, parameter, struct):
        self.borrow()
        name, num_args = parameter.name, "args.len()" if any(p.name == "args" for p in self.function.parameters) else "0"
        if not any("Kept" in line for line in self.before):
            self.before.append("let mut kept = Kept::default();")
        self.take(name, f"impl Into<Option<{self.options[struct].borrowed}>>", f"{name}.as_ref().map_or(null(), from_ref)",
                  before=f"let {name} = {name}.into().map(|options| options.raw(&mut kept, {num_args})).transpose()?;", fallible=True)

    def role_stats(self, parameter, struct):
        name = parameter.name
        self.out(name, f"ffi::{struct} {{ struct_size: size_of::<ffi::{struct}>() as u32, ..unsafe {{ zeroed() }} }}",
                 f"ffi::{struct}", name)

    def role_plain_out(self, parameter):
        name, type_ = parameter.name, type_of(parameter.type.removeprefix("p."))
        self.out(name, f"unsafe {{ zeroed::<{type_}>() }}", type_, name)

    def role_value_in(self, parameter):
        name = ident(parameter.name)
        self.take(name, "Arg<'_>", f"{name}.as_ptr()", before=f"let {name} = Views::of(&[{name}])?;", fallible=True)

    def role_values_in(self, pointer, _count, length="{}.len()"):
        name = ident(pointer.name)
        self.take(name, "&[Arg<'_>]", f"{name}.as_ptr()", f"{length.format(name)} as _",
                  before=f"let {name} = Views::of({name})?;", fallible=True)

    def role_pairs_in(self, pointer, count):
        self.role_values_in(pointer, count, length="({}.len() / 2)")

    def role_value_out(self, parameter):
        name = parameter.name
        self.out(name, "value::NONE", "Value", f"unsafe {{ Value::from_raw({name}) }}")

    def role_bytes_in(self, pointer, _count):
        self.take(pointer.name, "&[u8]", f"{pointer.name}.as_ptr().cast()", f"{pointer.name}.len()")

    def role_text_out(self, parameter):
        name = parameter.name
        self.out(name, "null_mut()", "String", f"unsafe {{ text::text_of({name}) }}")

    def role_bytes_out(self, parameter):
        name = parameter.name
        self.out(name, "null_mut()", "Vec<u8>", f"unsafe {{ text::bytes_of({name}) }}")

    def role_text(self, parameter):
        name = ident(parameter.name)
        if parameter.name in self.optional:
            self.borrow()
            self.take(name, "impl Into<Option<&'a str>>", f"{name}.as_ref().map_or(null(), |text| text.as_ptr())",
                      before=f"let {name} = {name}.into().map(text::c_text).transpose()?;", fallible=True)
        else:
            self.take(name, "&str", f"{name}.as_ptr()", before=f"let {name} = text::c_text({name})?;", fallible=True)

    def role_texts_in(self, pointer, _count):
        name = pointer.name
        self.take(name, "&[&str]", f"{name}.as_ptr()", f"{name}.len() as _",
                  before=f"let {name} = Texts::of({name}.iter().copied())?;", fallible=True)

    def role_signatures_in(self, names, signatures, _count):
        self.take("functions", "&[(&str, &str)]", f"{names.name}.as_ptr()", f"{signatures.name}.as_ptr()",
                  f"{names.name}.len() as _", fallible=True,
                  before=f"let {names.name} = Texts::of(functions.iter().map(|f| f.0))?;\n"
                         f"    let {signatures.name} = Texts::of(functions.iter().map(|f| f.1))?;")

    def role_dims_in(self, pointer, _count):
        self.take(pointer.name, "&[i64]", f"{pointer.name}.as_ptr()", f"{pointer.name}.len() as _")

    def role_dltensor_in(self, parameter):
        self.take(ident(parameter.name), "&Tensor", f"ffi::opd_tensor_view({ident(parameter.name)}.as_ptr())")

    def role_packed_callback(self, *_parameters):
        self.callback("F: Fn(&[Value]) -> Result<Value, Error> + Send + Sync + 'static", "call")

    def role_log_callback(self, *_parameters):
        self.callback("F: Fn(ffi::opd_log_level, &str) + Send + Sync + 'static", "log")

    def callback(self, bound, trampoline):
        self.generics.append(bound)
        self.take("callback", "F", f"Some(callback::{trampoline}::<F>)", "callback", "Some(callback::end::<F>)",
                  before="let callback = callback::begin(callback);")
        self.on_error.append("callback::end::<F>(callback)")  # taken over on success only

    def role_collector_callback(self, parameter):
        name = parameter.name
        self.generics.append("C: MetricCollector")
        self.take("collector", "C", f"&{name}", before=f"let {name} = collector::table(collector);")
        self.on_error.append(f"callback::end::<C>({name}.user_data)")

    def role_pointer(self, parameter):
        self.unsafe = True
        self.take(ident(parameter.name), "*mut c_void", ident(parameter.name))

    def plain(self, parameter):
        type_ = type_of(parameter.type)
        self.unsafe |= "*" in type_
        self.take(ident(parameter.name), type_, ident(parameter.name))


def result_of(wrapper, role):
    """Type, and lines that give it from `result`."""
    encoded = wrapper.function.type
    if role == "throws":
        cleanup = f".inspect_err(|_| unsafe {{ {'; '.join(wrapper.on_error)} }})" if wrapper.on_error else ""
        lines = [f"Error::check(result){cleanup}?;"]
        types, expressions = [r[0] for r in wrapper.results], [r[1] for r in wrapper.results]
        one = len(types) == 1
        wrapper.fallible = True
        return types[0] if one else f"({', '.join(types)})", lines, expressions[0] if one else f"({', '.join(expressions)})"
    if wrapper.results:
        raise ValueError(f"{wrapper.function.name} has outputs, but no error")
    if role == "error_as_result":
        return "Option<Error>", [], "Error::check(result).err()"
    if encoded == "p.q(const).char":
        return "Option<String>", [], "unsafe { text::borrowed_text(result) }"
    if encoded == "void":
        return "()", [], "result"
    return type_of(encoded), [], "result"


def wrapper_of(tree, function, own_type, name, options):
    wrapper, given = Wrapper(function, tree.optional, options), list(function.parameters)
    if own_type and given and given[0].type in (f"p.{own_type}", f"p.q(const).{own_type}"):
        wrapper.take("&self", "", "self.as_ptr()")
        wrapper.parameters = ["&self"]
        given = given[1:]
    while given:
        rule = tree.rule_of(given)
        used = len(rule.pattern) if rule else 1
        if rule:
            getattr(wrapper, "role_" + rule.role)(*given[:used], *rule.details)
        elif given[0].type == "p.q(const).char":
            wrapper.role_text(given[0])
        else:
            wrapper.plain(given[0])
        given = given[used:]
    rule = tree.rule_of([Parameter(function.type, function.name)])
    type_, lines, expression = result_of(wrapper, rule and rule.role)
    result = f"Result<{type_}, Error>" if wrapper.fallible else type_
    generics = f"<{', '.join(wrapper.generics)}>" if wrapper.generics else ""
    arrow = "" if result == "()" else f" -> {result}"
    yield f"pub {'unsafe ' if wrapper.unsafe else ''}fn {ident(name)}{generics}({', '.join(wrapper.parameters)}){arrow} {{"
    yield from (f"    {line}" for line in wrapper.before)
    call = f"unsafe {{ ffi::{function.name}({', '.join(wrapper.arguments)}) }}"
    if expression == "result":
        expression = call
    else:
        yield f"    let result = {call};"
    yield from (f"    {line}" for line in lines)
    yield f"    {f'Ok({expression})' if wrapper.fallible else expression}\n}}"


def handle_lines(type_, kind):
    yield f"""/// A reference to an `{type_}`, which it ends.
#[derive(Debug)]
pub struct {kind}(NonNull<ffi::{type_}>);
unsafe impl Send for {kind} {{}}
impl Drop for {kind} {{
    fn drop(&mut self) {{
        unsafe {{ ffi::opd_object_release(self.as_ptr().cast()) }}
    }}
}}
impl {kind} {{
    /// Takes the reference over.
    pub(crate) unsafe fn from_raw(raw: *mut ffi::{type_}) -> Self {{
        Self(NonNull::new(raw).expect("a function that succeeded gives a handle"))
    }}
    pub fn as_ptr(&self) -> *mut ffi::{type_} {{
        self.0.as_ptr()
    }}"""


def api(tree, docs):
    handles = {r.pattern[0].type.removeprefix("p."): r.details[0] for r in tree.rules
               if r.role == "handle" and not r.pattern[0].type.startswith("p.q(const)")}
    options = all_options(tree, docs, handles)
    owners = sorted(handles, key=len, reverse=True)
    members, free = {owner: [] for owner in handles}, []
    for function in tree.functions:
        if not function.offered or not function.name.startswith("opd_"):
            continue
        owner = next((o for o in owners if function.name.startswith(o + "_")), None)
        name = function.name.removeprefix((owner or "opd") + "_")
        lines = doc(docs, function.name) + list(wrapper_of(tree, function, owner, name, options))
        if owner:
            members[owner] += [f"    {line}".replace("\n", "\n    ") for line in lines]
        else:
            free += lines
    for type_, kind in handles.items():
        yield from handle_lines(type_, kind)
        yield from members[type_]
        yield "}"
    yield from free
    for each in options.values():
        yield from each.lines(docs)
