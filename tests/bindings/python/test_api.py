"""Tests that the binding offers the functions of the headers, and that api.txt lists what it offers."""

import enum
import inspect
import re
import sys
from pathlib import Path

import numpy
import pytest
from test_kv_state import make_state

import opdyno
import opdyno.tvm
from opdyno import _native

REPOSITORY = Path(__file__).parents[3]
RULES = REPOSITORY / "bindings" / "swig"
sys.path.append(str(REPOSITORY / "tests" / "bindings"))
from common import option_fields, result_fields  # noqa: E402


def header_functions():
    names = set()
    for header in (REPOSITORY / "include" / "opdyno").glob("*.h"):
        names |= set(re.findall(r"OPD_API[^;{]*?\b(opd_\w+)\s*\(", header.read_text()))
    return names


def left_out():
    """The functions that the shared rules leave out in all languages, with the reason beside each."""
    text = "".join(path.read_text() for path in RULES.glob("*.i"))
    names = set(re.findall(r"%ignore (opd_\w+);", text)) | set(re.findall(r"%opd_error_as_result\((\w+)\)", text))
    names |= {name for _, _, name in re.findall(r"%opd_handle\((\w+), (\w+), (\w+)\)", text)}
    return names | {f"{name}_init" for name in re.findall(r"%opd_options\((\w+)\)", text)}


def test_every_function_of_the_headers_is_offered_or_left_out_by_a_rule():
    offered = {name for name in dir(_native) if name.startswith("opd_")}
    assert len(header_functions()) > 150
    assert header_functions() - offered - left_out() == set()


def test_other_threads_run_while_a_function_works_on_a_file():
    takes_path = {name: comment for name, parameters, comment in documented() if parameters.get("path") == "const char *path"}
    silent = {name for name, comment in takes_path.items() if "Blocks." not in comment}
    assert "opd_module_load" in takes_path and silent == set()


def test_every_option_has_its_place():
    sources = "".join(path.read_text() for path in (REPOSITORY / "bindings" / "python" / "opdyno").glob("*.py"))
    missing = {(struct, name) for struct, names in option_fields().items() for name in names if not re.search(rf"\b{name}\b", sources)}
    assert missing == set()


def test_every_field_of_a_result_has_its_place():
    params = opdyno.Params({"x": numpy.zeros(2, "float32")})
    given = {
        "opd_memory_stats": _native.opd_memory_get_stats(opdyno.cpu()),
        "opd_params_stats": _native.opd_params_get_stats(params),
        "opd_tensor_info": _native.opd_params_get_info(params, 0),
        "opd_machine_peak": _native.opd_machine_measure_peak(),
        "opd_benchmark_stats": _native.opd_benchmark_get_stats(_native.benchmark_of([1.0, 2.0])),
        "opd_kv_stats": make_state().stats(),
        "opd_telemetry_stats": opdyno.telemetry.start().stats(),
    }
    assert {struct: list(result._asdict()) for struct, result in given.items()} == result_fields()


def documented():
    """Yields (function, its parameters with types, comment) from the headers."""
    for header in (REPOSITORY / "include" / "opdyno").glob("*.h"):
        text = header.read_text()
        for comment, name, given in re.findall(r"/\*\*((?:(?!\*/).)*)\*/\s*OPD_API[^;(]*?(\w+)\(([^;]*)\);", text, re.S):
            parameters = {p.split()[-1].lstrip("*"): p for p in (" ".join(p.split()) for p in given.split(","))}
            yield name, parameters, re.sub(r"\s*\n \* ?", " ", comment)


def is_borrowed(declared):
    """Whether a parameter is a borrowed text or handle."""
    handles = re.findall(r"%opd_handle\((\w+),", (RULES / "handles.i").read_text())
    return re.fullmatch(rf"(const )?(char|{'|'.join(handles)}) \*\w+", declared) is not None


def optional():
    """The (function, parameter) pairs that may be NULL by the headers."""
    return {
        (function, name)
        for function, parameters, comment in documented() if function not in left_out()
        for name, about in re.findall(r"@param (\w+)\s+((?:(?!@param|@return).)*)", comment)
        if "NULL" in about and is_borrowed(parameters[name])
    }


def test_none_is_taken_where_the_headers_say_so():
    assert len(optional()) > 10 and ("opd_range_name", "name") in optional()
    assert _native.opd_range_name(None) == _native.opd_range_name("")
    assert _native.opd_cancel_token_set_default(None) is None


def test_none_for_any_other_argument_is_refused():
    def of_none(function, count):
        with pytest.raises(TypeError) as caught:
            function(*[None] * count)
        return str(caught.value)

    refused = 0
    for name, parameters, _ in documented():
        function, first = getattr(_native, name, None), next(iter(parameters))
        is_bytes = list(parameters)[1:2] == ["size"]
        if function is None or is_bytes or not is_borrowed(parameters[first]) or (name, first) in optional():
            continue
        message = of_none(function, 1)
        if count := re.search(r"expected (\d+) arguments", message):
            message = of_none(function, int(count[1]))
        assert re.fullmatch(rf"{first} must be \w+, not None", message), name
        refused += 1
    assert refused > 80


def own_members(value):
    """The members of a class, including those of the package's private base classes."""
    bases = [base for base in value.__mro__[1:] if base.__module__.startswith("opdyno._") and not hasattr(opdyno, base.__name__)]
    return {member for kind in (value, *bases) for member in vars(kind)}


def listing():
    lines = []
    for module in (opdyno, opdyno.vm, opdyno.profiler, opdyno.profiling, opdyno.rpc, opdyno.telemetry, opdyno.tvm):
        for name in sorted(module.__all__):
            value = getattr(module, name)
            if inspect.ismodule(value):
                continue
            lines.append(f"{module.__name__}.{name}{signature(value)}")
            if inspect.isclass(value):
                lines += [f"{module.__name__}.{name}.{member}{signature(inspect.getattr_static(value, member))}"
                          for member in sorted(own_members(value)) if not member.startswith("_") or member in ("__call__", "__getitem__")]
    return "\n".join(lines) + "\n"


def signature(value):
    if isinstance(value, (classmethod, staticmethod)):
        value = value.__func__
    if isinstance(value, enum.EnumMeta):
        return "(value)"  # the signature differs between releases of Python
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


def test_build_info_tells_how_the_library_was_built():
    assert opdyno.build_info()["version"] == opdyno.__version__


def test_everything_public_says_what_it_is():
    silent = [
        name for name in opdyno.__all__
        if callable(getattr(opdyno, name)) and not inspect.getdoc(getattr(opdyno, name))
    ]
    assert silent == []


if __name__ == "__main__":
    (REPOSITORY / "bindings" / "python" / "api.txt").write_text(listing())
