"""Makes Java's records of results, and the C++ code that passes the fields to them. Each C struct that a function fills
has a record, with a component for each field and the comments of the public header."""

import html
import re

from api import SIZES
from comments import result_text
from options import camel

# By C type: the Java type, and the expression that converts the object that Values makes from the field.
TYPES = {"int32_t": ("int", "Math.toIntExact((Long) {0})"), "uint32_t": ("long", "(Long) {0}"), "int64_t": ("long", "(Long) {0}"),
         "uint64_t": ("long", "(Long) {0}"), "size_t": ("long", "(Long) {0}"), "double": ("double", "(Double) {0}"),
         "p.q(const).char": ("String", "(String) {0}"), "DLDataType": ("DType", "(DType) {0}"), "DLDevice": ("Device", "(Device) {0}"),
         SIZES: ("java.util.List<Long>", "java.util.Arrays.stream((long[]) {0}).boxed().toList()")}
TRUTH = ("boolean", "(Boolean) {0}")
METHODS = {"opd_memory_reset_peak()": "Device.resetPeak()", "opd_vm_trim()": "Vm.trim()"}


class Field:
    def __init__(self, struct, result):
        self.name, self.comment, self.is_list, self.is_truth = result.name, result.says, result.is_sizes, result.is_truth
        if not self.is_truth and result.type not in TYPES:
            raise ValueError(f"{struct}.{self.name}: bindings/java/records.py has no type of Java for {result.type}")
        self.java, self.of_object = TRUTH if self.is_truth else TYPES[result.type]

    def text(self):
        if self.is_list:
            return "the sizes of the dimensions"
        return text_of(self.comment) or "the " + self.name.replace("_", " ")

    def native(self):
        """The C++ expression that passes the field."""
        if self.is_truth:
            return f"from.{self.name} != 0"
        return f"from.{self.name}, from.ndim" if self.is_list else f"from.{self.name}"


def text_of(comment):
    """Converts a C comment to Javadoc: replaces names of fields and functions by Java names, removes parts about
    pointers."""
    text = result_text(comment)
    for c_name, java in METHODS.items():
        text = text.replace(c_name, java)
    text = re.sub(r"\b(?!opd_)[a-z]+(_[a-z0-9]+)+\b", lambda name: camel(name.group()), text)
    text = re.sub(r"^1: ", "true: ", re.sub(r"@p (\w+)", r"\1", text)).replace("; 0: ", "; false: ")
    return html.escape(text.strip(), quote=False).replace("@", "&#64;")


def wrapped(text, begin, next_begin):
    lines = [begin]
    for word in text.split():
        if len(lines[-1]) + len(word) > 118:
            lines.append(next_begin)
        lines[-1] += " " + word
    return "\n".join(lines)


def record_of(name, comment, fields):
    params = [wrapped(f"{camel(field.name)} {field.text()}", " * @param", " *    ") for field in fields]
    components = ",\n".join(f"    {field.java} {camel(field.name)}" for field in fields)
    arguments = ",\n".join("        " + field.of_object.format(f"fields[{i}]") for i, field in enumerate(fields))
    return f"""package io.opdyno;

/**
{wrapped(text_of(comment), " *", " *")}
 *
{chr(10).join(params)}
 */
public record {name}(
{components}) {{
  static final int WORDS = {2 * len(fields)};

  /** Makes a record of owned values, two words for each field; null if there are none. */
  static {name} take(long[] words) {{
    Object[] fields = Values.takeAll(words);
    if (fields == null) return null;
    return new {name}(
{arguments});
  }}
}}
"""


def native_of(struct, fields):
    adds = "\n".join(f"  record.add({field.native()});" for field in fields)
    return f"inline void add_fields(Record &record, const {struct} &from) {{\n{adds}\n}}\n"


def write_records(api, java, out):
    """Writes the records to the directory `java`, and the files that SWIG and C++ include to `out`."""
    names, native = [], []
    for struct in api.results:
        name, fields = "".join(word.capitalize() for word in struct.split("_")[1:]), [Field(struct, result) for result in api.result_fields(struct)]
        (java / f"{name}.java").write_text(record_of(name, api.comments[struct], fields))
        names.append(f"#define OPDJAVA_{struct} {name}\n")
        native.append(native_of(struct, fields))
    (out / "record_names.i").write_text("".join(names))
    (out / "record_fields.h").write_text("// The fields of results, in the order of Java's records. Made by records.py.\n"
                                         f"#pragma once\n#include \"records.h\"\n\nnamespace opdjava {{\n\n{chr(10).join(native)}\n}}  // namespace opdjava\n")
