"""Checks that the code in refused.rs does not compile, with the errors that the file states."""

import json
import re
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("refused.rs")


def expected():
    """A map from lines to the codes and messages after `//~`. Those after `//~^` belong to the line of code above."""
    found, line_of_code = set(), 0
    for number, line in enumerate(SOURCE.read_text().splitlines(), 1):
        if not line.lstrip().startswith("//"):
            line_of_code = number
        if marked := re.search(r"//~\^? (E\d+) (.*)", line):
            found.add((line_of_code, *marked.groups()))
    return found


def refused(toolchain, crate):
    """The errors of the compiler."""
    command = ["rustc", f"+{toolchain}", "--edition", "2024", "--crate-type", "lib", "--emit", "metadata", "-o", "/dev/null",
               "--error-format", "json", "-L", f"dependency={crate.parent}", "--extern", f"opdyno={crate}", SOURCE]
    told = subprocess.run(command, stderr=subprocess.PIPE, text=True).stderr
    errors = [error for error in map(json.loads, told.splitlines()) if error["level"] == "error" and error["spans"]]
    return {(next(span["line_start"] for span in error["spans"] if span["is_primary"]),
             (error["code"] or {"code": "E0000"})["code"], error["message"]) for error in errors}


def untested():
    """The functions of refused.rs in which no line has an expected error."""
    for name, body in re.findall(r"^fn (\w+)(.*?)^}", SOURCE.read_text(), re.MULTILINE | re.DOTALL):
        if "//~" not in body:
            yield f"{name}: no line has its message"


def check_refused(toolchain, crate):
    """Returns what is wrong. `toolchain` is the release for which refused.rs was written, because messages differ by
    release."""
    wanted, got = expected(), refused(toolchain, crate)
    lacking = [f"line {line} compiles, or not for the reason {code} {message}" for line, code, message in sorted(wanted - got)]
    return [*untested(), *lacking, *(f"line {line}: {code} {message}" for line, code, message in sorted(got - wanted))]
