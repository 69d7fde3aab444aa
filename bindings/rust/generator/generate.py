#!/usr/bin/env python3
"""Writes ffi.rs, api.rs and inline.c from SWIG's XML of bindings/swig/opdyno.i, as read with bindings/rust/swig/language.i."""

import argparse
import re
from pathlib import Path

from api import api
from ffi import ffi, inline_c
from tree import Tree


COMMENT = r"/\*\*<?((?:(?!\*/).)*)\*/"


def doc_lines(comment):
    lines = [re.sub(r"^ *\* ?", "", line).strip() for line in comment.strip().splitlines()]
    return [re.sub(r"@(?:p|param) (\w+)", r"`\1`", line).replace("@return", "Returns") for line in lines]


def doc_comments(directory):
    """What the XML lacks: by function or struct the comment before its declaration, by "struct.field" the one behind."""
    docs = {}
    for header in sorted(directory.glob("*.h")):
        text = header.read_text()
        for comment, name in re.findall(COMMENT + r"\s*(?:OPD_API|static inline)[^;(]*?(\w+)\(", text, re.DOTALL):
            docs[name] = doc_lines(comment)
        for comment, name, fields in re.findall(COMMENT + r"\s*typedef struct (\w+) \{(.*?)\n\}", text, re.DOTALL):
            docs[name] = doc_lines(comment)
            for field, comment in re.findall(r"(\w+); *" + COMMENT, fields, re.DOTALL):
                docs[f"{name}.{field}"] = doc_lines(comment)
    return docs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("xml", type=Path)
    parser.add_argument("--headers", type=Path, required=True, help="directory of the public headers, for their comments")
    parser.add_argument("--out", type=Path, required=True, help="directory for the three files")
    arguments = parser.parse_args()
    tree, docs = Tree(arguments.xml), doc_comments(arguments.headers)
    for name, lines in (("ffi", ffi(tree, docs)), ("api", api(tree, docs))):
        text = "\n".join(lines)
        (arguments.out / f"{name}.rs").write_text(f"// Made by bindings/rust/generator from bindings/swig.\n{text}\n")
    (arguments.out / "inline.c").write_text("\n".join(inline_c(tree)) + "\n")


if __name__ == "__main__":
    main()
