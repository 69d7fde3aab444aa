"""Java's options: a class for each struct of options, with a method for each field and the comment of the public header."""

import html
import re

from nullable import nullable

NAMES = {"opd_module_options": "ProgramOptions", "opd_profiler_dump_options": "DumpOptions"}  # others are as in C
TYPES = {"i": "int", "l": "long", "L": "long", "f": "double", "s": "String", "d": "Device",
         "S": "String", "D": "Device", "I": "Integer", "N": "Long"}
METHODS = {"wait": "waitSteps"}  # Object has a method of that name
HANDLES = {"Array": "ValueList", "Cancel": "CancelToken", "Module": "Program", "Function": "PackedFn"}


def camel(name):
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def comment(text, enums):
    text = re.sub(r"@p (\w+)", r"\1", text)
    for c_name, java in enums.items():
        text = re.sub(rf"\b{c_name}\b", java, text)
    text = re.sub(r"^borrowed( for the call)?; ", "", text).replace("an Profile", "a Profile")
    text = html.escape(text, quote=False).replace("*/", "").replace("@", "&#64;")
    text = text if text.startswith("opd_") else text[:1].upper() + text[1:]
    words, lines = f"/** {text}{'' if text.endswith('.') else '.'} */".split(), [" "]
    for word in words:
        if len(lines[-1]) + len(word) > 118:
            lines.append("   *")
        lines[-1] += " " + word
    return "\n".join(lines)


def setter(field, enums, owner):
    """The method that sets a field."""
    java, doc = METHODS.get(field.name, camel(field.name)), comment(field.says or field.name.replace("_", " "), enums)

    def method(parameter, value, called=java):
        parameter = nullable(parameter) if "NULL" in field.says and (field.kind in "sh" or field.has_nulls) else parameter
        return f"{doc}\n  public {owner} {called}({parameter} {java}) {{\n    values.put(\"{field.name}\", {value});\n    return this;\n  }}\n"

    enum, handle = enums.get(field.enum), HANDLES.get(field.handle, field.handle)
    if field.is_flag:
        doc = doc.replace("/** 1:", "/** True:").replace("; 0. */", "; false. */")
        return method("boolean", java)
    if field.kind == "i" and enum:
        return method(enum, f"{java}.swigValue()")
    if field.kind == "I" and enum:
        return method(f"{enum}...", f"java.util.Arrays.stream({java}).map({enum}::swigValue).toList()")
    if field.kind in "lL" and field.unit == "ns":
        return method("java.time.Duration", f"Values.nanos({java})", java.removesuffix("Ns"))
    if field.kind == "h":
        return method(handle, java)
    if field.kind == "H":
        return method(f"{handle}...", f"java.util.Arrays.asList({java})")
    if field.kind in "SDIN":
        return method(f"{TYPES[field.kind]}...", f"java.util.Arrays.asList({java})")
    return method(TYPES[field.kind], java)


def write_options(api, out, enums):
    for struct in api.options:
        owner = NAMES.get(struct.name, camel(struct.name).removeprefix("opd"))
        made = [setter(field, enums, owner) for field in struct.fields]
        (out / f"{owner}.java").write_text(f"""package io.opdyno;

import org.jspecify.annotations.Nullable;

/** Options: what is not set has its default, which stands last in the comment of each. */
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
