"""Makes Java's options: a class for each C struct of options, with a method for each field and the comments of the
public headers."""

import html
import re

from comments import split_default
from nullable import nullable

NAMES = {"opd_module_options": "ProgramOptions", "opd_profiler_dump_options": "DumpOptions"}  # others: C names
TYPES = {"i": "int", "l": "long", "L": "long", "f": "double", "s": "String", "d": "Device",
         "S": "String", "D": "Device", "I": "Integer", "N": "Long"}
CALLED = {"out_profile": "Replayed.profile()", "out_times": "Comparison.times()", "opd_compare_options": "CompareOptions", "opd_module_load": "Program.load()", "opd_profiler_step": "Profiler.step()",
          "opd_profiler_stop": "Profiler.stop()", "opd_report_diff": "Report.diff()", "opd_telemetry_address": "Telemetry.address()",
          "opd_trace_load": "Trace.load()", "opd_trace_to_report": "Trace.averages()", "opd_rpc_session_load_module": "RpcSession.loadProgram()", "opd_vm_profile_start": "Vm.startProfile()",
          "opd_vm_set_input": "Vm.setInput()", "opd_vm_set_instrument": "Vm.setInstrument()"}  # in comments
METHODS = {"wait": "waitSteps"}  # java.lang.Object has a method wait()
HANDLES = {"Array": "ValueList", "Cancel": "CancelToken", "Module": "Program", "Function": "PackedFn"}


def camel(name):
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def java_items(tree, enums):
    """A map from C names of enum items to Java names: OPD_TRACE_CHROME is TraceFormat.CHROME."""
    found = {}
    for c_name, java in enums.items():
        items = [name for name, _ in tree.enums[c_name] if not name.endswith("_MAX_ENUM")]
        prefix = item_prefix(items)
        found |= {name: f"{java}.{name.removeprefix(prefix)}" for name in items}
    return found


def item_prefix(items):
    """The prefix of an enum's items in C, which their Java names lack."""
    prefix = "_".join(items[0].split("_")[:2]) + "_"
    return prefix if all(item.startswith(prefix) for item in items) else "OPD_"


class Words:
    """Translates comments: replaces the C names in them by Java names."""

    def __init__(self, api, enums):
        self.known = java_items(api.tree, enums) | enums | CALLED
        self.fields = {field.name for struct in api.options for field in struct.fields}

    def of(self, name):
        if name not in self.known:
            raise ValueError(f"a comment of options names {name}: bindings/java/options.py does not know its name in Java")
        return self.known[name]

    def in_text(self, text, is_flag):
        """Translates a C comment: removes the parts about pointers, and replaces 1 and 0 of a flag by true and
        false."""
        text = " ".join(text.split())
        text = re.sub(r"^borrowed( for the call)?([;:,.]\s+|$)|, borrowed\b|, see \w+\.h\b", "", text, flags=re.IGNORECASE)
        text = re.sub(r"^(@p )?num_\w+( of them)?[;,:]?\s+", "", text)
        text = re.sub(r"^an (opd_\w+)", lambda found: f"{{@link {self.of(found[1])}}}", text)
        if is_flag:
            text = re.sub(r"(^|: )1: ", r"\1true: ", text).replace("; 0: ", "; false: ")
        text = re.sub(r"\b((?:opd|OPD)_\w+|out_\w+)(\(\))?", lambda found: self.of(found[1]), text)
        text = re.sub(r"@p (\w+)|`(\w+)`|(?<![\w\"])[a-z]+(_[a-z]+)+(?![\w\"(])", self.field, text)
        return re.sub(r"\bNULL\b", "null", text)

    def field(self, found):
        name = found[1] or found[2] or found[0]
        return METHODS.get(name, camel(name)) if found[1] or name in self.fields else name


def comment(field, words):
    """The Javadoc of a field: its description, then a sentence with its default."""
    about, default, means = split_default(field.says)
    about, means = words.in_text(about, field.is_flag), words.in_text(means, field.is_flag)
    default = words.known.get(default, {"0": "false", "1": "true"}.get(default, default) if field.is_flag else default)
    if default == "NULL":
        default, means = means or "none", ""
    elif field.unit == "ns" and re.fullmatch(r"\d+|10\^\d+", default):
        nanoseconds = 10 ** int(default[3:]) if "^" in default else int(default)
        default = f"{nanoseconds / 1e9:g} s" if nanoseconds else "zero"
    about = f"{about[:1].upper()}{about[1:]}{'' if about.endswith('.') else '.'} " if about else ""
    text = f"{about}Default: {default}{f' ({means})' if means else ''}."
    text = re.sub(r"(\{@link \w+\})|@", lambda found: found[1] or "&#64;", html.escape(text, quote=False).replace("*/", ""))
    lines = ["  /**"]
    for word in f"{text} */".split():
        if len(lines[-1]) + len(word) > 118:
            lines.append("   *")
        lines[-1] += " " + word
    return "\n".join(lines)


def setter(field, enums, words, owner):
    """The Java method that sets a field."""
    java, doc = METHODS.get(field.name, camel(field.name)), comment(field, words)

    def method(parameter, value, called=java):
        parameter = nullable(parameter) if "NULL" in field.says and (field.kind in "sh" or field.has_nulls) else parameter
        return f"{doc}\n  public {owner} {called}({parameter} {java}) {{\n    values.put(\"{field.name}\", {value});\n    return this;\n  }}\n"

    enum, handle = enums.get(field.enum), HANDLES.get(field.handle, field.handle)
    if field.is_flag:
        return method("boolean", java)
    if field.kind == "i" and enum:
        return method(enum, f"{java}.swigValue()")
    if field.kind == "I" and enum:
        return method(f"{enum}...", f"java.util.Arrays.stream({java}).map({enum}::swigValue).toList()")
    if field.kind in "lL" and field.unit == "ns":
        convert = "timeoutNanos" if "timeout" in field.name else "nanos"
        return method("java.time.Duration", f"Values.{convert}({java})", java.removesuffix("Ns"))
    if field.kind == "h":
        return method(handle, java)
    if field.kind == "H":
        return method(f"{handle}...", f"java.util.Arrays.asList({java})")
    if field.kind in "SDIN":
        return method(f"{TYPES[field.kind]}...", f"java.util.Arrays.asList({java})")
    return method(TYPES[field.kind], java)


def write_options(api, out, enums):
    words = Words(api, enums)
    for struct in api.options:
        owner = NAMES.get(struct.name, camel(struct.name).removeprefix("opd"))
        made = [setter(field, enums, words, owner) for field in struct.fields]
        (out / f"{owner}.java").write_text(f"""package io.opdyno;

import org.jspecify.annotations.Nullable;

/** Options: what is not set has its default. */
public final class {owner} {{
  private final java.util.Map<String, @Nullable Object> values = new java.util.LinkedHashMap<>();

  private {owner}() {{}}

  /** All defaults. */
  public static {owner} create() {{
    return new {owner}();
  }}

  static java.util.@Nullable Map<String, Object> map(@Nullable {owner} options) {{
    return options == null ? null : options.values;
  }}

{chr(10).join(made)}}}
""")
