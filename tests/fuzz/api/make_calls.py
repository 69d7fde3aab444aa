#!/usr/bin/env python3
"""Writes a C++ function for each function of the public headers, which calls it with random arguments.

Usage: make_calls.py HEADER… -o FILE. The classes that draw arguments are in arguments.h. A parameter is known by its type
and name, so that a new function needs no change here unless it has a parameter of a new sort; then it is listed as left out.
"""
import argparse
import re

# What a random argument may not decide, and why.
LEFT_OUT = {
    "opd_value_release": "the driver ends its values by it",
    "opd_object_release": "the driver ends its handles by it",
    "opd_object_retain": "the driver takes its references by it",
    "opd_module_load_source": "runs a compiler",
    "opd_module_load_static_library": "runs a linker",
    "opd_module_export": "runs a compiler",
    "opd_module_load_native": "calls C functions by a signature that must be right",
    "opd_module_native_function": "the same",
    "opd_function_create_native": "the same",
    "opd_machine_measure_peak": "measures for a second",
    "opd_memory_set_hooks": "takes functions that must be right",
    "opd_raw_stream_release": "takes the address of a stream that exists",
    "opd_raw_stream_set": "the same",
    "opd_raw_stream_sync": "the same",
    "opd_collector_create": "takes a table of functions that must be right",
    "opd_params_open_bytes": "keeps the caller's memory; params_test.cc has it",
    "opd_tensor_borrow": "the same; tensor_test.cc has it",
    "opd_cancel_set_default": "the driver's own token must stay",
    "opd_cancel_token_set_default": "the same",
    "opd_metrics_set": "only within a collector",
}
# What writes a tensor; left out where several threads have the same ones.
WRITES = {"opd_tensor_copy", "opd_tensor_copy_from_bytes", "opd_function_call"}
# What keeps its arguments. Functions of a VM that the VM itself keeps would live for ever.
KEEPS = {"opd_vm_save_function", "opd_vm_set_input", "opd_vm_set_instrument"}
# Numbers that would make a call take long, or never end.
SMALL = "number|repeat|warmup|warmup_iters|count|concurrency|num_threads"
FORWARD = "offset|false_offset"
NUMBERS = {"int", "int32_t", "int64_t", "uint32_t", "uint64_t", "size_t", "double"}


def strip(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r"^[ \t]*#.*?(?<!\\)$", "", text, flags=re.S | re.M)


class Headers:
    def __init__(self, paths):
        self.text = "\n".join(strip(open(path, encoding="utf-8").read()) for path in paths)
        structs = set(re.findall(r"typedef struct (opd_\w+)\s*\{", self.text))
        self.handles = set(re.findall(r"typedef struct (opd_\w+) \1;", self.text)) - structs
        self.structs = structs
        self.enums = set(re.findall(r"typedef enum (opd_\w+)", self.text))
        self.functions = []
        for match in re.finditer(r"OPD_API\s+(?:OPD_NODISCARD\s+)?([^;{]*?)\b(opd_\w+)\(([^;]*)\);", self.text):
            result, name, parameters = (re.sub(r"\s+", " ", part).strip() for part in match.groups())
            self.functions.append((result, name, parameters))

    def has(self, name):
        return re.search(rf"\b{name}\(", self.text) is not None


def parameters_of(text):
    if text in ("", "void"):
        return []
    found = []
    for one in re.split(r",\s*(?![^(]*\))", text):
        match = re.fullmatch(r"(.*?)(\w+)", one.strip())
        found.append((match.group(1).replace(" *", "*").strip(), match.group(2)))
    return found


def count_of(kind):
    return "{}.size()" if kind == "size_t" else f"static_cast<{kind}>({{}}.count())"


class Call:
    """The lines that draw the arguments of one call, and its arguments."""

    def __init__(self, headers, function):
        self.headers, self.function, self.lines, self.arguments = headers, function, [], []

    def draw(self, what, *arguments):
        name = f"a{len(self.arguments)}"
        self.lines.append(f"  {what} {name}(d);")
        self.arguments += [argument.format(name) for argument in arguments]

    def take(self, parameters):
        """Handles the first parameters; gives how many, or 0."""
        (kind, name), rest = parameters[0], parameters[1:]
        next_kind = rest[0][0] if rest else ""
        bare = re.sub(r"\bconst\b|\*|\bstruct\b|\s", "", kind)
        counted = next_kind in ("size_t", "int32_t", "int64_t")
        if kind == "const opd_value*" and counted:
            keeps = self.function in KEEPS
            self.draw("Pairs" if name == "pairs" else "KeptValues" if keeps else "Values", "{}.data()", count_of(next_kind))
            return 2
        if kind == "const opd_value*":
            self.draw("OneValue", "{}.get()")
            return 1
        if kind == "opd_value*" and name.startswith("out_"):
            self.draw("OutValue", "{}.place()")
            return 1
        if bare in self.headers.handles:
            if kind.endswith("**") and name.startswith("out_"):
                self.draw(f"Out<{bare}>", "{}.place()")
            elif kind.endswith("*const*") and counted:
                self.draw(f"Handles<{bare}>", "{}.data()", count_of(next_kind))
                return 2
            elif kind.endswith("*") and not kind.endswith("**"):
                keeps = self.function in KEEPS and bare == "opd_function"
                imports = self.function == "opd_module_add_import" and name == "module"
                self.draw("FreshFunction" if keeps else "Importer" if imports else f"In<{bare}>", "{}.get()")
            else:
                return 0
            return 1
        if kind == "const void*" and "handle" in name:
            self.draw("AnyHandle", "{}.get()")
            return 1
        if kind in ("const char*", "const void*") and counted and rest[0][1] == "size":
            self.draw("Bytes", f"static_cast<{kind}>({{}}.data())", "{}.size()")
            return 2
        if kind == "void*" and counted and rest[0][1] == "size":
            self.draw("Room", "{}.data()", "{}.size()")
            return 2
        if kind == "const char*":
            own = self.function in ("opd_function_register", "opd_function_remove_global")
            self.draw("Path" if "path" in name else "OwnName" if own else "Text", "{}.get()")
            return 1
        if kind == "const char*const*" and counted:
            self.draw("Texts", "{}.data()", count_of(next_kind))
            return 2
        if kind == "int64_t" and next_kind == "const char*const*":
            self.draw("Texts", "{}.count()", "{}.data()")
            return 2
        if kind in ("const int64_t*", "const double*") and counted:
            self.draw(f"Numbers<{bare}>", "{}.data()", count_of(next_kind))
            return 2
        if kind == "const opd_operand*" and counted:
            self.draw("Operands", "{}.data()", count_of(next_kind))
            return 2
        if bare == "opd_instruction":
            self.draw("OneInstruction", "{}.get()")
            return 1
        if bare in self.headers.structs and bare.endswith("_options"):
            init = f"{bare}_init" if self.headers.has(f"{bare}_init") else "no_init"
            self.lines.append(f"  Options<{bare}> a{len(self.arguments)}(d, [](auto *o) {{ {init}(o); }});")
            self.arguments.append(f"a{len(self.arguments)}.get()")
            return 1
        if kind.endswith("*") and name.startswith("out_") and bare in self.headers.structs and bare != "opd_operand":
            self.draw(f"OutStruct<{bare}>", "{}.place()")
            return 1
        if kind == "ArrowArrayStream*" or kind == "struct ArrowArrayStream*":
            self.draw("OutStream", "{}.place()")
            return 1
        if kind in ("DLManagedTensor*", "DLManagedTensorVersioned*"):
            self.draw(f"Lent<{bare}>", "{}.get()")
            return 1
        if kind in ("DLManagedTensor**", "DLManagedTensorVersioned**"):
            self.draw(f"OutLent<{bare}>", "{}.place()")
            return 1
        if kind == "const DLTensor*":
            self.draw("ViewOf", "{}.get()")
            return 1
        if kind.endswith("*") and name.startswith("out_"):
            self.draw(f"OutPlain<{kind[:-1]}>", "{}.place()")
            return 1
        if kind in ("opd_packed_fn", "opd_log_fn"):
            self.draw("PackedCallback" if kind == "opd_packed_fn" else "LogCallback", "{}.function()", "{}.user_data()",
                      "{}.deleter()")
            return 3
        if kind in ("DLDataType", "DLDevice", "opd_operand"):
            self.draw(f"Plain<{kind}>", "{}.get()")
            return 1
        if kind == "opd_collector_kind":
            self.draw("CollectorKind", "{}.get()")
            return 1
        if kind in self.headers.enums:
            self.draw("Number<int32_t>", f"static_cast<{kind}>({{}}.any())")
            return 1
        if kind in NUMBERS:
            draw = "small" if re.fullmatch(SMALL, name) else "forward" if re.fullmatch(FORWARD, name) else "any"
            self.draw(f"Number<{kind}>", f"{{}}.{draw}()")
            return 1
        return 0


def write_call(headers, result, name, text):
    """The lines of one function, or None and why not."""
    if name in LEFT_OUT:
        return None, LEFT_OUT[name]
    if name.endswith("_init"):
        return None, "the driver fills its options by it"
    call, parameters = Call(headers, name), parameters_of(text)
    if name.endswith("_release") and len(parameters) == 1:
        kind = re.sub(r"\W|const", "", parameters[0][0])
        return [f"  {name}(d.take_away<{kind}>());"], ""
    if name in WRITES:
        call.lines.append("  if (!d.may_write) return;")
    while parameters:
        taken = call.take(parameters)
        if not taken:
            return None, f"there is no rule for the parameter {' '.join(parameters[0])}"
        parameters = parameters[taken:]
    made = f"{name}({', '.join(call.arguments)})"
    if result.replace(" ", "") == "opd_error*":
        made = f"d.end({made})"
    elif result == "const char *":
        made = f"d.read({made})"
    elif result != "void":
        made = f"(void){made}"
    return call.lines + [f"  {made};"], ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("headers", nargs="+")
    parser.add_argument("-o", "--output", required=True)
    given = parser.parse_args()
    headers = Headers(given.headers)
    lines, table, left_out = ["// Made by make_calls.py of the public headers."], [], []
    for result, name, text in headers.functions:
        body, reason = write_call(headers, result, name, text)
        if body is None:
            left_out.append(f'    {{"{name}", "{reason}"}},')
            continue
        lines += [f"static void random_{name}([[maybe_unused]] Driver &d) {{", *body, "}"]
        table.append(f'    {{"{name}", random_{name}}},')
    lines += ["static const ApiCall kCalls[] = {", *table, "};", "static const LeftOut kLeftOut[] = {", *left_out, "};", ""]
    with open(given.output, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


if __name__ == "__main__":
    main()
