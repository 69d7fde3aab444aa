#!/usr/bin/env python3
"""Writes the generated parts of the Python package: the files of bindings/api/describe.py, and the module of results,
OUT/_results.py. The module has a class for each struct that a function fills in, with the struct's fields and the
comments of the header."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "api"), str(HERE / "opdyno-source" / "bindings" / "api")]  # the second one in an sdist
from api import SIZES
from comments import result_text
from describe import described

NAMES = {"opd_kv_stats": "KVStats"}  # like TVM's name KVState; other classes have their C names
# By C type in SWIG's encoding: the Python type and the default. A field without a default must be given.
TYPES = {**dict.fromkeys(("int32_t", "uint32_t", "int64_t", "uint64_t", "size_t"), ("int", "0")), "double": ("float", "0.0"),
         "p.q(const).char": ("str", ""), "DLDataType": ("DataType", ""), SIZES: ("Shape", "")}
TRUTH = ("bool", "False")
METHODS = {"opd_memory_reset_peak()": "`reset_peak_memory_stats()`", "opd_vm_trim()": "`VirtualMachine.trim()`"}
HEAD = '''"""Results: the structs that functions of the C API fill in. Made by bindings/python/records.py of the public headers."""

from __future__ import annotations

from . import _native
from ._frozen import Record
from ._types import DataType, Shape
'''


def class_name(struct):
    return NAMES.get(struct, "".join(word.capitalize() for word in struct.split("_")[1:]))


def type_of(struct, field):
    if not field.is_truth and field.type not in TYPES:
        raise ValueError(f"{struct}.{field.name}: bindings/python/records.py has no type of Python for {field.type}")
    return TRUTH if field.is_truth else TYPES[field.type]


def sentence(text):
    text = text[:1].upper() + text[1:]
    return text if not text or text.endswith(".") else text + "."


def in_python(comment, is_truth=False):
    """Converts a C comment to a Python docstring."""
    text = result_text(comment)
    for c_name, python in METHODS.items():
        text = text.replace(c_name, python)
    text = re.sub(r"@p (\w+)", r"`\1`", text)
    if is_truth:
        text = re.sub(r"^1: ", "True: ", text).replace("; 0: ", "; False: ")
    return sentence(re.sub(r"\bNULL\b", "None", text))


def says(field):
    if field.is_sizes:
        return "The sizes of the dimensions."
    return in_python(field.says, field.is_truth) or sentence(f"the {field.name.replace('_', ' ')}")


def wrapped(text, indent):
    """A docstring in lines of at most 120 columns."""
    lines = [f'{indent}"""']
    for word in text.split():
        if len(lines[-1]) + len(word) > 116:
            lines.append(indent)
        lines[-1] += ("" if lines[-1].strip() in ("", '"""') else " ") + word
    return "\n".join(lines) + '"""'


def class_lines(api, struct):
    name, fields = class_name(struct), [(field, *type_of(struct, field)) for field in api.result_fields(struct)]
    yield f"\n\nclass {name}(Record):\n{wrapped(in_python(api.comments[struct]), '    ')}\n\n    __slots__ = {{"
    yield from (f"        {field.name!r}: {says(field)!r}," for field, *_ in fields)  # help() shows these texts
    yield "    }"
    for field, type_, _ in fields:  # editors show these fields
        yield f"    {field.name}: {type_}\n{wrapped(says(field), '    ')}"
    yield "\n    def __init__(\n        self,\n        *,"
    yield from (f"        {field.name}: {type_}{f' = {default}' if default else ''}," for field, type_, default in fields)
    yield f"    ) -> None:\n        super().__init__({', '.join(field.name for field, *_ in fields)})"
    yield f'\n\n_native.register_class("{struct}", {name})'


def results(api):
    lines = [line for struct in api.results for line in class_lines(api, struct)]
    return HEAD + "\n".join(lines) + f"\n\n__all__ = {[class_name(struct) for struct in api.results]!r}\n"


def main():
    api, out = described(__doc__)
    (out / "_results.py").write_text(results(api))


if __name__ == "__main__":
    main()
