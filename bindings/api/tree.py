"""Reads SWIG's XML: types, functions, constants, and the structs that are handles, options and results."""

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass


def attributes(element):
    found = element.find("attributelist")
    return {} if found is None else {a.get("name"): a.get("value") for a in found.findall("attribute")}


@dataclass
class Parameter:
    type: str
    name: str | None


def parameters(element):
    found = element.find("attributelist/parmlist")
    parts = [] if found is None else [attributes(p) for p in found.findall("parm")]
    return [Parameter(p["type"], p.get("name")) for p in parts if p["type"] != "void"]


@dataclass
class Function:
    name: str
    type: str  # the type of its result
    parameters: list
    offered: bool  # not ignored
    inline: bool  # defined in the header, not exported by the library


@dataclass
class Rule:
    type: str
    role: str
    details: list


def split(text, separator):
    """Splits a text at the separators outside of parentheses."""
    parts, depth, part = [], 0, ""
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == separator and not depth:
            parts.append(part)
            part = ""
        else:
            part += c
    return parts + [part]


class Tree:
    def __init__(self, path):
        self.root = ElementTree.parse(path).getroot()
        self.functions, self.typedefs, self.structs, self.enums, self.constants = [], {}, {}, {}, {}
        self.rules = []
        for element in self.root.iter():
            read = getattr(self, "read_" + element.tag, None)
            if read:
                read(element, attributes(element))

    def read_cdecl(self, element, a):
        name, declared = a.get("name", ""), a.get("decl", "")
        if a.get("storage") == "typedef":
            self.typedefs.setdefault(name, declared + a["type"])
        elif declared.startswith("f(") and not a.get("ismember"):
            result = ".".join(split(declared, ".")[1:]) + a["type"]
            is_inline, is_offered = a.get("storage") == "static", "feature_ignore" not in a
            if not is_inline or is_offered:
                self.functions.append(Function(name, result, parameters(element), is_offered, is_inline))

    def read_class(self, element, a):
        members = [attributes(c) for c in element if c.tag == "cdecl"]
        if any("bitfield" in m for m in members):
            raise ValueError(f"{a['name']} has bit-fields")
        self.structs[a["name"]] = (a["kind"], [(m["name"], m.get("decl", "") + m["type"]) for m in members])

    def read_enum(self, element, a):
        items = [attributes(i) for i in element.iter("enumitem")]
        self.enums[a.get("tdname") or a["name"]] = [(i["name"], i.get("enumvalue")) for i in items]

    def read_constant(self, element, a):
        self.constants[a["name"]] = a

    def read_typemap(self, element, a):
        if a.get("method") != "opd":
            return
        role, *details = a["code"].split()
        for item in element.findall("typemapitem"):
            self.rules.append(Rule(parameters(item)[0].type, role, details))
