"""The description of the C API from which the bindings are made. It joins the content of SWIG's XML with facts that
only the headers' comments have. bindings/api/README.md lists the words that have a meaning in comments."""

import re
from dataclasses import dataclass

from tree import Tree

TEXT = "p.q(const).char"
SIZES = "p.q(const).int64_t"
NUMBERS = {"int32_t": "i", "uint32_t": "i", "int64_t": "l", "uint64_t": "L", "double": "f", "DLDevice": "d"}
ITEMS = {TEXT: "S", "DLDevice": "D", "int32_t": "I", "int64_t": "N"}


@dataclass
class Field:
    """A field of options. Kinds: i, l, L, f are numbers (32 bits, int64, uint64, double); s is a text, d a device, h a
    handle; S, D, H, I, N are arrays of texts, devices, handles, int32s, int64s."""

    name: str
    type: str  # as SWIG encodes it, outermost first
    says: str  # the comment
    kind: str
    handle: str | None  # kinds h and H: the class
    enum: str | None  # numbers and arrays of numbers: the C enum
    is_flag: bool  # 0 or 1
    count: str | None  # arrays: the field with the number of items
    like: str | None  # arrays without such a field: the array with the same number of items, or "args" of the call
    has_nulls: bool  # arrays of texts: items may be NULL

    @property
    def unit(self):
        return self.name[-2:] if self.name.endswith(("_ns", "_ms")) else None


@dataclass
class Struct:
    name: str
    fields: list


@dataclass
class Result:
    """A field of a result. A function fills it in."""

    name: str
    type: str  # as SWIG encodes it, outermost first
    says: str  # the comment
    is_truth: bool  # 0 or 1
    is_sizes: bool  # an array with an item for each of `ndim` dimensions


class Api:
    def __init__(self, xml, comments):
        self.tree, self.comments = Tree(xml), comments
        self.handles = {rule.type.removeprefix("p."): rule.details[0] for rule in self.tree.rules if rule.role == "handle"}
        self.options = [self.struct(name) for name in self.named("options")]
        self.results = self.named("results")  # the names of the structs

    def named(self, role):
        return [rule.details[0] for rule in self.tree.rules if rule.role == role]

    def struct(self, name):
        members = dict(self.tree.structs[name][1])
        counts = {f"num_{member}" for member in members}
        fields = [self.field(name, member, encoded, f"num_{member}" if f"num_{member}" in members else None)
                  for member, encoded in members.items()
                  if member not in counts and not re.fullmatch(r"struct_size|reserved\d*", member)]
        return Struct(name, fields)

    def result_fields(self, struct):
        """The fields of a result, except its size, reserved fields, and the numbers of items of arrays."""
        members = dict(self.tree.structs[struct][1])
        hidden = r"struct_size|reserved\d*" + ("|ndim" if SIZES in members.values() else "")
        return [Result(name, encoded, self.comments.get(f"{struct}.{name}", ""),
                       name.startswith("is_") and encoded == "int32_t", encoded == SIZES)
                for name, encoded in members.items() if not re.fullmatch(hidden, name)]

    def field(self, struct, name, encoded, count):
        says = self.comments.get(f"{struct}.{name}", "")
        text = " ".join(says.split())
        simple = encoded.replace("q(const).", "")
        handle = next((class_ for type_, class_ in self.handles.items() if simple in (f"p.{type_}", f"p.p.{type_}")), None)
        is_array = simple.startswith("p.") and not (encoded == TEXT or handle and simple.count("p.") == 1)
        item = re.sub(r"^p\.(q\(const\)\.)?", "", encoded)
        kind = ("H" if handle else ITEMS.get(item)) if is_array else "h" if handle else "s" if encoded == TEXT else NUMBERS.get(encoded)
        enum = item if is_array else encoded
        if enum not in self.tree.enums:
            enum = None
        elif not kind:
            kind = "I" if is_array else "i"
        if kind is None:
            raise ValueError(f"{struct}.{name}: no rule of bindings/api knows its type {encoded}")
        like = re.search(r"for each of @p (\w+)", text)
        if is_array and not count and not like:
            raise ValueError(f"{struct}.{name}: an array whose number of items neither num_{name} nor \"for each of @p …\" tells")
        is_flag = re.search(r"(^|: )1: ", text) is not None and not re.search(r"(^|[;.] )2: ", text)
        return Field(name, encoded, says, kind, handle, enum, is_flag, count,
                     like[1] if like and not count else None, "with NULL for" in text)


def optional_parameters(comments):
    """Yields (function, parameter) for each parameter that may be NULL according to its comment."""
    for function, comment in comments.items():
        for name, about in re.findall(r"@param (\w+)\s+((?:(?!@param|@return|^Threads:).)*)", comment, re.DOTALL | re.MULTILINE):
            if "NULL" in about:
                yield function, name


def optional_results(comments):
    """The functions whose result may be NULL according to their comment. Functions that return an error are left out,
    because their NULL means success."""
    return [function for function, comment in comments.items() if re.search(r"@return Borrowed[^.]*NULL if there is none", comment)]


def blocking_functions(comments):
    return [function for function, comment in comments.items() if re.search(r"\bBlocks\.", comment)]
