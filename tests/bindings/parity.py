#!/usr/bin/env python3
"""Checks that the bindings offer the same features. Python, Java and Rust must use each function of the C API. Each
public name of the Python package must have a row in bindings/names.md with its counterparts in Java and Rust.
Exceptions must have a reason. Also checks that messages of the library have no C names, because all languages show the
messages."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "bindings" / "names.md"
JAVA = ROOT / "bindings" / "java" / "src" / "main" / "java" / "io" / "opdyno"
RUST = ROOT / "bindings" / "rust" / "opdyno" / "src"
USES = {"python": ["opdyno/*.py", "native/*"], "java": ["src/**/*.java", "native/*"], "rust": ["opdyno/src/*.rs"]}


def check_functions(language):
    """Checks that the binding uses each function that the library exports, or that its left_out.txt has the reason."""
    binding = ROOT / "bindings" / language
    sources = [path for pattern in USES[language] for path in binding.glob(pattern)]
    exported = {name for name in (ROOT / "tests" / "abi" / "symbols.txt").read_text().split() if name.startswith("opd_")}
    used = {name for path in sources for name in re.findall(r"\bopd_\w+", path.read_text())}
    left_out = dict(line.split("  ", 1) for line in (binding / "left_out.txt").read_text().splitlines())
    if missing := exported - used - left_out.keys():
        sys.exit(f"{binding} does not use {', '.join(sorted(missing))}: use it, or say in left_out.txt why not")
    if wrong := left_out.keys() - (exported - used):
        sys.exit(f"{binding}/left_out.txt has {', '.join(sorted(wrong))}: there is no such function, or it is used")


# Files with messages for authors of C code, or with messages that name the functions of other languages, too.
WITH_NAMES_OF_C = {"base/error.cc", "device/plugin/plugin_device.cc", "module/module.cc"}


def check_messages():
    source = ROOT / "src"
    for path in sorted([*source.rglob("*.cc"), *source.rglob("*.h")]):
        place = str(path.relative_to(source))
        if place in WITH_NAMES_OF_C or place.startswith("cli/"):
            continue
        for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code_of(path)):
            if name := re.search(r"\b(?:opd|OPD)_\w+", text):
                sys.exit(f"src/{place} has the text {text!r}: {name[0]} is a name of C, and other languages show this text, too")


def python_names(listing):
    return [re.match(r"[\w.]+", line)[0] for line in listing.splitlines()]


def rows(text):
    """A map from Python names to the cells for Java and Rust in the tables."""
    found = {}
    for line in text.splitlines():
        if cells := re.fullmatch(r"\| `(opdyno\.[\w.]+)` \| (.+?) \| (?:(.+?) )?\|", line):
            if cells[1] in found:
                sys.exit(f"{TABLE} has two rows for {cells[1]}")
            found[cells[1]] = cells.groups()[1:]
    return found


def row_of(name, table):
    """The row that applies to a name: its own row, the row of the name that it is an alias of, or the row of its class
    if Java and Rust lack the class."""
    for _ in range(9):
        if name in table:
            same = re.fullmatch(r"as `([\w.]+)`", table[name][0])
            if not same:
                return table[name]
            name = same[1]
            continue
        holder, _, member = name.rpartition(".")
        if holder not in table:
            return None
        if same := re.fullmatch(r"as `([\w.]+)`", table[holder][0]):
            name = f"{same[1]}.{member}"
        else:
            return table[holder] if all(cell.startswith("– ") for cell in table[holder]) else None
    sys.exit(f"{TABLE}: the rows of {name} refer to each other")


def code_of(path):
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(), flags=re.S)


def java_names(files):
    """Classes and their public members as Class.member, including inherited members."""
    found, parents = set(), {}
    for path in files:
        text, name = code_of(path), path.stem
        before_name = "  (?:default )?" if f"public interface {name}" in text else " *public "
        members = re.findall(rf"^{before_name}[^\n=;(]*?\b(\w+)\(", text, re.M)
        members += re.findall(r"^  public [^\n=;(]*?\b(\w+)(?: =|;)", text, re.M)
        if f"public enum {name}" in text:
            members += re.findall(r"^  ([A-Z]\w*)[(,;]", text, re.M)
        members += re.findall(r"(\w+)(?:,|$)", "".join(re.findall(rf"record {name}\((.*?)\)[^()]*\{{", text, re.S)))
        found |= {name, *(f"{name}.{member}" for member in members)}
        if parent := re.search(rf"class {name} extends (\w+)", text):
            parents[name] = parent[1]
    return found | {f"{name}.{member.partition('.')[2]}" for name, parent in parents.items()
                    for member in found if member.startswith(f"{parent}.")}


def rust_names(files):
    """Types, free functions, and members as Type::member."""
    found, of_handles = set(), re.findall(r"pub fn (\w+)|pub unsafe fn (\w+)", code_of(RUST / "object.rs"))
    for path in files:
        text = code_of(path)
        for handle in re.findall(r"handle! \{[^}]*?\b(\w+), opd_\w+\s*\}", text):
            found |= {handle, *(f"{handle}::{''.join(name)}" for name in of_handles)}
        found |= set(re.findall(r"^pub (?:unsafe )?(?:fn|struct) (\w+)", text, re.M))
        for kind, name, body in re.findall(r"^pub (struct|enum|trait) (\w+)[^;{]*\{(.*?)^\}", text, re.M | re.S):
            member = {"struct": r"^    pub (\w+):", "enum": r"^    (\w+)\b", "trait": r"^    fn (\w+)"}[kind]
            found |= {name, *(f"{name}::{each}" for each in re.findall(member, body, re.M))}
        for trait, name, body in re.findall(r"^impl(?:<[^\n]*?>)? (?:([\w:]+)(?:<[^\n]*?>)? for )?(\w+)(?:<[^\n]*?>)? \{\n(.*?)^\}", text, re.M | re.S):
            member = r"^    fn (\w+)" if trait else r"^    pub (?:const |unsafe )*(?:fn )?(\w+)"
            found |= {f"{name}::{each}" for each in re.findall(member, body, re.M)}
    return found


def check_counterparts(table, place, known, separator, is_known_class=lambda name: True):
    for python, cells in table.items():
        cell = cells[place] if place < len(cells) and cells[place] else ""
        if cell.startswith(("– ", "as `")) or not cell and cells[0].startswith("as `"):
            continue
        if not re.fullmatch(r"`[\w.:]+`(?:, `[\w.:]+`)*", cell):
            sys.exit(f"{TABLE}: the row of {python} has neither a name nor \"– \" and the reason why there is none")
        for name in re.findall(r"`(.*?)`", cell):
            if name not in known and not name.startswith("java.") and is_known_class(name.split(separator)[0]):
                sys.exit(f"{TABLE} says that {python} is {name}, which is not there")


def check_java(files, is_complete):
    """Checks the names in Java, with all sources or only with those that are not generated."""
    known = java_names(files)
    check_counterparts(rows(TABLE.read_text()), 0, known, ".", lambda name: is_complete or name in known)


def main():
    for language in USES:
        check_functions(language)
    check_messages()
    table = rows(TABLE.read_text())
    names = python_names((ROOT / "bindings" / "python" / "api.txt").read_text())
    if missing := [name for name in names if not row_of(name, table)]:
        sys.exit(f"{TABLE} has no row for {', '.join(missing)}: say what Java and Rust have, or \"– \" and why there is nothing")
    if gone := table.keys() - set(names):
        sys.exit(f"{TABLE} has rows for {', '.join(sorted(gone))}, which bindings/python/api.txt does not have")
    check_java(sorted(JAVA.glob("*.java")), is_complete=False)
    check_counterparts(table, 1, rust_names(sorted(RUST.glob("*.rs"))), "::")


if __name__ == "__main__":
    main()
