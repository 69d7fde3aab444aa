"""Reads the doc comments of the public headers, because SWIG's XML lacks them."""

import re

COMMENT = r"/\*\*((?:(?!\*/).)*)\*/"
BESIDE = COMMENT.replace(r"/\*\*", r"/\*\*<")
BEFORE = COMMENT.replace(r"/\*\*", r"/\*\*(?!<)")


def text_of(comment):
    return "\n".join(re.sub(r"^ *\* ?", "", line).strip() for line in comment.strip().splitlines())


def comments_of(directories):
    """A map from names to comments. The comment of a function, struct or enum is before its declaration. The comment of
    "struct.field" or of an enum item is beside or before it."""
    found = {}
    for header in (header for directory in directories for header in sorted((directory / "opdyno").glob("*.h"))):
        content = header.read_text()
        for comment, name in re.findall(BEFORE + r"\s*(?:OPD_API|static inline)[^;(]*?(\w+)\(", content, re.DOTALL):
            found[name] = text_of(comment)
        for comment, kind, name, members in re.findall(BEFORE + r"\s*typedef (struct|enum) (\w+)[^{;]*\{(.*?)\n\}", content, re.DOTALL):
            found[name] = text_of(comment)
            before = name + "." if kind == "struct" else ""
            for member, comment in re.findall(r"(\w+)(?: = [^,\n]*)?[;,]?\s*" + BESIDE, members, re.DOTALL):
                found[before + member] = text_of(comment)
            for member, comment in re.findall(r"\(\*(\w+)\)\([^()]*\);\s*" + BESIDE, members, re.DOTALL):
                found[before + member] = text_of(comment)
            for comment, member in re.findall(BEFORE + r"\s*[\w *]*?(\w+)(?: = [^,\n]*)?[;,]", members, re.DOTALL):
                found[before + member] = text_of(comment)
        for comment, name in re.findall(BEFORE + r"\s*typedef struct (\w+) \w+;", content, re.DOTALL):
            found[name] = text_of(comment)
    return found


def result_text(comment):
    """The comment of a result without the parts that only concern C, such as pointers and versions."""
    text = re.sub(r" ?Pointers are borrowed[^.]*\.|[;,]? ?since 0\.\d+[^;.]*", "", " ".join(comment.split()))
    return re.sub(r"^UTF-8$", "", text).strip()


def split_default(comment):
    """Splits the comment of an option into its description, its default, and the meaning of the default: "A limit.
    Default: 0: none" gives ("A limit.", "0", "none"). "Since: …" before the default is left out."""
    about, _, end = comment.strip().rpartition("Default:")
    default, _, means = " ".join(end.split()).rstrip(".").partition(": ")
    return re.sub(r"\s*Since: \d+\.\d+\.$", "", about.rstrip()), default, means
