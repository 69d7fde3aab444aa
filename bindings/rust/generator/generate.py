#!/usr/bin/env python3
"""Writes ffi.rs and api.rs from SWIG's XML of bindings/swig/opdyno.i, as read with bindings/rust/swig/language.i."""

import argparse
import re
from pathlib import Path

from api import api
from ffi import ffi
from tree import Tree


def doc_comments(folder):
    """By function: the comment before its declaration, which the XML lacks."""
    docs = {}
    for header in sorted(folder.glob("*.h")):
        for comment, name in re.findall(r"/\*\*((?:(?!\*/).)*)\*/\s*OPD_API[^;(]*?(\w+)\(", header.read_text(), re.DOTALL):
            lines = [re.sub(r"^ \* ?", "", line).strip() for line in comment.strip().splitlines()]
            docs[name] = [re.sub(r"@(?:p|param) (\w+)", r"`\1`", line).replace("@return", "Returns") for line in lines]
    return docs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("xml", type=Path)
    parser.add_argument("--headers", type=Path, required=True, help="folder of the public headers, for their comments")
    parser.add_argument("--out", type=Path, required=True, help="folder for the two files")
    arguments = parser.parse_args()
    tree, docs = Tree(arguments.xml), doc_comments(arguments.headers)
    for name, lines in (("ffi", ffi(tree, docs)), ("api", api(tree, docs))):
        text = "\n".join(lines)
        (arguments.out / f"{name}.rs").write_text(f"// Made by bindings/rust/generator from bindings/swig.\n{text}\n")


if __name__ == "__main__":
    main()
