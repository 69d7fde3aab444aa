"""Converts the comments of the C headers to comments for Rust."""

import re

from comments import split_default


def sentence(text):
    text = text[:1].upper() + text[1:]
    return text if text.endswith(".") or not text else text + "."


def in_rust(text, is_flag):
    """Removes what the text says about pointers, and replaces 1 and 0 of a flag by true and false."""
    text = re.sub(r"^borrowed( for the call)?([;:,.]\s+|$)", "", text, flags=re.IGNORECASE)
    text = re.sub(r"^`num_\w+`( of them)?[;,:]?\s+", "", text)
    text = re.sub(r" ?Pointers\s+are\s+borrowed[^.]*\.|^since 0\.\d+[^;.]*|^UTF-8$|; never NULL$", "", text).strip()
    if is_flag:
        text = re.sub(r"(^|: )1: ", r"\1true: ", text).replace("; 0: ", "; false: ")
    text = re.sub(r"\bNULL\b", "`None`", text)
    return re.sub(r"(?<![\w`:\"])([a-z]+(_[a-z]+)+)(?![\w`(\"])", r"`\1`", text)


def option(text, field, rust_enum, variants):
    """The comment of an option, with its default at the end. Enums and their items get their Rust names."""
    about, default, means = split_default(text)
    if rust_enum:
        about = re.sub(r"^an `opd_\w+`", f"A [`{rust_enum}`]", about)
        default = f"[`{rust_enum}::{variants[default.strip('`')]}`]" if default.strip("`") in variants else default
    if field.is_flag:
        default = {"0": "false", "1": "true"}.get(default, default)
    elif field.unit:
        default = "zero" if default == "0" else default
    if default == "NULL":
        default, means = means or "none", ""
    return [*sentence(in_rust(about, field.is_flag)).splitlines(), f"Default: {default}{f' ({means})' if means else ''}."]


def documented(docs, name, otherwise, indent=""):
    lines = docs.get(name) or [otherwise]
    return [f"{indent}/// {line}".rstrip() for line in lines]
