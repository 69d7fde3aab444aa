#!/usr/bin/env python3
"""Writes opdyno-sys/src/ffi.rs and opdyno/src/generated.rs from SWIG's XML of bindings/swig/opdyno.i, as read with
bindings/rust/swig/language.i, and from the comments of the headers."""

import argparse
import re
import subprocess
from pathlib import Path

from defaults import defaults_of
from ffi import ffi
from layer import layer
from tree import Tree

COMMENT = r"/\*\*<?((?:(?!\*/).)*)\*/"


def doc_lines(comment):
    """A comment as Markdown: blocks of C's tags as paragraphs, names of C as code."""
    lines = [re.sub(r"^ *\* ?", "", line).strip() for line in comment.strip().splitlines()]
    text = "\n".join(lines)
    text = re.sub(r"@(?:param) (\w+)", r"\n`\1`:", text)
    text = re.sub(r"@p (\w+)", r"`\1`", text).replace("@return", "\nReturns")
    text = re.sub(r"(?<![`\w])(opd_\w+(?:\(\))?|OPD_\w+|k?DL[A-Z]\w+)(?![`\w])", r"`\1`", text)
    text = re.sub(r"([<>\[\]])", r"\\\1", text)
    made, in_list = [], False
    for line in re.sub(r"\n{3,}", "\n\n", text).strip().splitlines():
        if line.startswith("- "):
            in_list = True
        elif in_list and (not line or line.startswith("Threads:")):
            in_list = False
            made.append("")
        elif in_list:  # belongs to the item
            line = "  " + line
        made.append(line)
    return made


def doc_comments(directory):
    """What the XML lacks: by function or struct or enum the comment before its declaration, by "struct.field" and by item
    of an enum the one beside it."""
    docs = {}
    for header in sorted(directory.glob("*.h")):
        text = header.read_text()
        for comment, name in re.findall(COMMENT + r"\s*(?:OPD_API|static inline)[^;(]*?(\w+)\(", text, re.DOTALL):
            docs[name] = doc_lines(comment)
        for comment, kind, name, fields in re.findall(COMMENT + r"\s*typedef (struct|enum) (\w+)[^{;]*\{(.*?)\n\}", text, re.DOTALL):
            docs[name] = doc_lines(comment)
            before = name + "." if kind == "struct" else ""
            for field, comment in re.findall(r"(\w+)(?: = [^,\n]*)?[;,]? *" + COMMENT.replace(r"<?", "<"), fields, re.DOTALL):
                docs[before + field] = doc_lines(comment)
            for comment, field in re.findall(COMMENT.replace(r"<?", r"(?!<)") + r"\s*[\w *]*?(\w+)(?: = [^,\n]*)?[;,]", fields, re.DOTALL):
                docs[before + field] = doc_lines(comment)
        for comment, name in re.findall(COMMENT + r"\s*typedef struct (\w+) \w+;", text, re.DOTALL):
            docs[name] = doc_lines(comment)
    return docs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("xml", type=Path)
    parser.add_argument("--include", type=Path, action="append", required=True, help="directory of the headers opdyno/*.h")
    parser.add_argument("--out", type=Path, required=True, help="the directory bindings/rust, or another one like it")
    arguments = parser.parse_args()
    tree, docs = Tree(arguments.xml), {}
    for directory in arguments.include:
        docs |= doc_comments(directory / "opdyno")
    made = {"opdyno-sys/src/ffi.rs": ffi(tree, docs, defaults_of(tree, arguments.include)), "opdyno/src/generated.rs": layer(tree, docs)}
    for name, lines in made.items():
        path = arguments.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("// Made by bindings/rust/generator from bindings/swig and the headers; in one file, since nobody edits it.\n" + "\n".join(lines) + "\n")
        subprocess.run(["rustfmt", "--edition", "2024", "--config-path", Path(__file__).parents[1], path], check=True)


if __name__ == "__main__":
    main()
