#!/usr/bin/env python3
"""Describes the C API in files that SWIG and the native parts of the bindings read. OUT/api_rules.i lists the parameters
that may be NULL and the functions that block. OUT/option_fields.h lists the fields of the options, OUT/result_fields.h
the fields of the results."""

import argparse
import subprocess
from pathlib import Path

from api import Api, blocking_functions, optional_parameters
from comments import comments_of

HERE = Path(__file__).resolve().parent
RULES = HERE.parent / "swig"


def rules(comments):
    yield "/* Made by bindings/api: what may be none (null), and which functions run programs or wait. */"
    yield from (f"%opd_optional({function}, {parameter})" for function, parameter in optional_parameters(comments))
    yield from (f"%opd_blocking({function})" for function in blocking_functions(comments))


def fields(struct):
    yield f"inline const Fields &fields_of(const {struct.name} *) {{\n  using Type = {struct.name};\n  static const Fields fields = {{"
    for field in struct.fields:
        count = f"static_cast<int>(offsetof(Type, {field.count}))" if field.count else "-1"
        handle, like = (f'"{text}"' if text else "nullptr" for text in (field.handle, field.like))
        yield f"      {{\"{field.name}\", '{field.kind}', offsetof(Type, {field.name}), {handle}, {count}, {like}}},"
    yield "  };\n  return fields;\n}"


def option_fields(api):
    yield "// Made by bindings/api. A part of options.h."
    for struct in api.options:
        yield from fields(struct)


def result_fields(api):
    yield "// Made by bindings/api. The fields of results: calls add(name, value), of an array add(name, items, count).\n#pragma once"
    yield "#include <opdyno/opdyno.h>\n\nnamespace opdrules {\n"
    for struct in api.results:
        yield f"template <class Add> void for_each_field(const {struct} &from, Add add) {{"
        for field in api.result_fields(struct):
            more = " != 0" if field.is_truth else ", from.ndim" if field.is_sizes else ""
            yield f"  add(\"{field.name}\", from.{field.name}{more});"
        yield "}"
    yield "\n}  // namespace opdrules"


def describe(swig, directories, out):
    """Returns the description, and writes the files that are made from it to `out`."""
    out.mkdir(parents=True, exist_ok=True)
    comments = comments_of(directories)
    (out / "api_rules.i").write_text("\n".join(rules(comments)) + "\n")
    include = [f"-I{directory}" for directory in (HERE, RULES, out, *directories)]
    subprocess.run([swig, "-Werror", "-DSWIGWORDSIZE64", "-xml", "-xmllite", *include, "-o", out / "api.xml", RULES / "opdyno.i"], check=True)
    api = Api(out / "api.xml", comments)
    (out / "option_fields.h").write_text("\n".join(option_fields(api)) + "\n")
    (out / "result_fields.h").write_text("\n".join(result_fields(api)) + "\n")
    return api


def described(description):
    """Describes the headers that the command line names. Returns the API and the output directory."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--include", type=Path, action="append", required=True, help="directory of the headers opdyno/*.h")
    parser.add_argument("--swig", type=Path, required=True, help="SWIG's program")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    return describe(arguments.swig, arguments.include, arguments.out), arguments.out


if __name__ == "__main__":
    described(__doc__)
