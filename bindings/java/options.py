"""Java's options: a class for each struct of bindings/swig/options.h, with a method for each field and the comment of the
public header."""

import html
import re

NAMES = {"module": "ProgramOptions", "export": "ExportOptions", "params": "ParamsOptions", "vm": "VmOptions", "call": "CallOptions",
         "profile": "ProfileOptions", "profiler": "ProfilerOptions", "profiler_dump": "DumpOptions",
         "trace_write": "TraceWriteOptions", "trace_merge": "TraceMergeOptions", "report_write": "ReportWriteOptions",
         "evaluator": "EvaluatorOptions", "diff": "DiffOptions", "counter": "CounterOptions"}
TYPES = {"i": "int", "l": "long", "L": "long", "f": "double", "s": "String", "d": "Device",
         "S": "String", "D": "Device", "I": "Integer", "N": "Long"}
METHODS = {"wait": "waitSteps"}  # Object has a method of that name
HANDLES = {"Cancel": "CancelToken", "Module": "Program", "Function": "PackedFn"}


def camel(name):
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def fields_of(table):
    """By struct, the fields as (kind, name, handle) of options.h."""
    made = {}
    for struct, body in re.findall(r"OPDRULES_FIELDS\(opd_(\w+)_options,(.*?)\)\)\n", table, re.S):
        made[struct] = re.findall(r"OPDRULES_\w+\('(\w)', (\w+)(?:, \"?(\w+)\"?)?", body)
    return made


def comments_of(headers, struct):
    """By field, the comment of the public header."""
    body = re.search(rf"typedef struct opd_{struct}_options \{{(.*?)\}} opd_{struct}_options;", headers, re.S).group(1)
    found = {}
    for name, text in re.findall(r"\*?\b(\w+);\s*/\*\*<(.*?)\*/", body, re.S):
        found[name] = " ".join(text.split())
    return found


def comment(text, enums):
    text = re.sub(r"@p (\w+)", r"\1", text)
    for c_name, java in enums.items():
        text = re.sub(rf"\b{c_name}\b", java, text)
    text = re.sub(r"^borrowed( for the call)?; ", "", text).replace("an Profile", "a Profile")
    text = html.escape(text, quote=False).replace("*/", "").replace("@", "&#64;")
    text = text if text.startswith("opd_") else text[:1].upper() + text[1:]
    words, lines = f"/** {text}{'' if text.endswith('.') else '.'} */".split(" "), [" "]
    for word in words:
        if len(lines[-1]) + len(word) > 118:
            lines.append("   *")
        lines[-1] += " " + word
    return "\n".join(lines)


def methods(kind, name, handle, text, enums, owner):
    """The methods that set a field: at least one."""
    java, doc = METHODS.get(name, camel(name)), comment(text or name.replace("_", " "), enums)

    def method(parameter, value, called=java):
        return f"{doc}\n  public {owner} {called}({parameter} {java}) {{\n    values.put(\"{name}\", {value});\n    return this;\n  }}\n"

    enum = next((java_name for c_name, java_name in enums.items() if re.search(rf"\b{c_name}\b", text or "")), None)
    if kind == "i" and re.match(r"1:|whether", text or ""):
        doc = doc.replace("/** 1:", "/** True:").replace("; 0. */", "; false. */")
        return [method("boolean", java)]
    if kind == "i" and enum:
        return [method(enum, f"{java}.swigValue()")]
    if kind == "I" and enum:
        return [method(f"{enum}...", f"java.util.Arrays.stream({java}).map({enum}::swigValue).toList()")]
    if kind in "lL" and name.endswith("_ns"):
        return [method("java.time.Duration", f"{java}.toNanos()", java.removesuffix("Ns"))]
    if kind == "h":
        return [method(HANDLES.get(handle, handle), java)]
    if kind == "H":
        return [method(f"{HANDLES.get(handle, handle)}...", f"java.util.Arrays.asList({java})")]
    if kind in "SDIN":
        return [method(f"{TYPES[kind]}...", f"java.util.Arrays.asList({java})")]
    return [method(TYPES[kind], java)]


def write_options(root, out, enums):
    headers = "".join(path.read_text() for path in sorted((root / "include" / "opdyno").glob("*.h")))
    for struct, fields in fields_of((root / "bindings" / "swig" / "options.h").read_text()).items():
        owner, comments = NAMES[struct], comments_of(headers, struct)
        made = [method for kind, name, handle in fields for method in methods(kind, name, handle, comments.get(name), enums, owner)]
        (out / f"{owner}.java").write_text(f"""package io.opdyno;

/** Options: what is not set has its default, which stands last in the comment of each. */
public final class {owner} {{
  private final java.util.Map<String, Object> values = new java.util.LinkedHashMap<>();

  private {owner}() {{}}

  /** All defaults. */
  public static {owner} create() {{
    return new {owner}();
  }}

  static java.util.Map<String, Object> map({owner} options) {{
    return options == null ? null : options.values;
  }}

{chr(10).join(made)}}}
""")
