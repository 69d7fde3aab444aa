"""Adds JSpecify's annotations to generated sources, for values that may be null by the description of the C API."""

import re

IMPORT = "import org.jspecify.annotations.Nullable;\n"
PRIMITIVE = {"boolean", "int", "long", "double"}
OPTIONS = "java.util.Map<String, ?>"  # may be null, because all options have defaults


def nullable(declared):
    """Annotates a type that may be null. "..." or a name may follow the type. The annotation stands before the last
    part of a qualified name, and before the brackets of an array."""
    if array := re.match(r"[\w.]+(?=\[)", declared):
        return f"{array[0]} @Nullable {declared[array.end():]}"
    package = re.match(r"(?:[a-z]\w*\.(?!\.))*", declared)[0]
    return f"{package}@Nullable {declared[len(package):]}"


def annotate(native, parameters, results):
    """Annotates the class of functions that SWIG made. `parameters` has pairs of function and parameter that may be
    null, `results` the functions whose result may be null."""
    text = native.read_text()
    optional = {}
    for function, parameter in parameters:
        optional.setdefault(function, set()).add(parameter)

    def signature(found):
        result, function, given = found.groups()
        made = []
        for declared in re.split(r", (?![^<]*>)", given) if given else []:
            kind, name = declared.rsplit(" ", 1)
            values = "@Nullable " if kind == "Object[]" else ""  # each element may be null
            if kind == OPTIONS or name in optional.get(function, ()) and kind not in PRIMITIVE:
                kind = nullable(kind)
            made.append(f"{values}{kind} {name}")
        return f"  public static {nullable(result) if function in results else result} {function}({', '.join(made)}) {{"

    text, count = re.subn(r"^  public static (\S+) (opd_\w+)\((.*)\) \{", signature, text, flags=re.M)
    if count < 100 or count != text.count("  public static "):
        raise ValueError(f"{native} has other functions than the {count} that were annotated")
    native.write_text(text.replace("package io.opdyno;\n", f"package io.opdyno;\n\n{IMPORT}", 1))
