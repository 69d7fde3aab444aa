"""Writes opdyno-sys/src/ffi.rs and opdyno/src/generated.rs from the description of the C API that bindings/api gives."""

import re
import subprocess
from pathlib import Path

from defaults import defaults_of
from ffi import ffi
from layer import layer


def doc_lines(comment):
    """Converts a comment to Markdown: blocks of tags become paragraphs, C names become code."""
    text = re.sub(r"@(?:param) (\w+)", r"\n`\1`:", comment)
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
        elif in_list:  # a line that continues the list item
            line = "  " + line
        made.append(line)
    return made


def generate(api, directories, out):
    docs = {name: doc_lines(comment) for name, comment in api.comments.items()}
    made = {"opdyno-sys/src/ffi.rs": ffi(api.tree, defaults_of(api, directories)), "opdyno/src/generated.rs": layer(api, docs)}
    for name, lines in made.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("// Made by bindings/rust/generator from bindings/swig and the headers; in one file, since nobody edits it.\n" + "\n".join(lines) + "\n")
        subprocess.run(["rustfmt", "--edition", "2024", "--config-path", Path(__file__).parents[1], path], check=True)
