"""The binding offers what the headers do, and its listing says what it offers."""

import inspect
import re
from pathlib import Path

import opdyno
import opdyno.tvm
from opdyno import _native

REPOSITORY = Path(__file__).parents[3]
RULES = REPOSITORY / "bindings" / "swig"


def header_functions():
    names = set()
    for header in (REPOSITORY / "include" / "opdyno").glob("*.h"):
        names |= set(re.findall(r"OPD_API[^;{]*?\b(opd_\w+)\s*\(", header.read_text()))
    return names


def left_out():
    """Functions that the shared rules keep from all languages, each for the reason beside it."""
    text = "".join(path.read_text() for path in RULES.glob("*.i"))
    names = set(re.findall(r"%ignore (opd_\w+);", text)) | set(re.findall(r"%opd_error_as_result\((\w+)\)", text))
    names |= {name for _, _, name in re.findall(r"%opd_handle\((\w+), (\w+), (\w+)\)", text)}
    return names | {f"{name}_init" for name in re.findall(r"%opd_options\((\w+)\)", text)}


def test_every_function_of_the_headers_is_offered_or_left_out_by_a_rule():
    offered = {name for name in dir(_native) if name.startswith("opd_")}
    assert len(header_functions()) > 150
    assert header_functions() - offered - left_out() == set()


def listing():
    lines = []
    for module in (opdyno, opdyno.vm, opdyno.profiling, opdyno.tvm):
        for name in sorted(module.__all__):
            value = getattr(module, name)
            if inspect.ismodule(value):
                continue
            lines.append(f"{module.__name__}.{name}{signature(value)}")
            if inspect.isclass(value):
                lines += [f"{module.__name__}.{name}.{member}{signature(inspect.getattr_static(value, member))}"
                          for member in sorted(vars(value)) if not member.startswith("_") or member in ("__call__", "__getitem__")]
    return "\n".join(lines) + "\n"


def signature(value):
    if isinstance(value, (classmethod, staticmethod)):
        value = value.__func__
    if not callable(value):
        return ""
    try:
        return str(inspect.signature(value))
    except (TypeError, ValueError):
        return "(…)"


def test_the_listing_is_of_today():
    assert (REPOSITORY / "bindings" / "python" / "api.txt").read_text() == listing(), (
        "write it anew: python tests/bindings/python/test_api.py"
    )


def test_everything_public_says_what_it_is():
    silent = [
        name for name in opdyno.__all__
        if callable(getattr(opdyno, name)) and not inspect.getdoc(getattr(opdyno, name))
    ]
    assert silent == []


if __name__ == "__main__":
    (REPOSITORY / "bindings" / "python" / "api.txt").write_text(listing())
