"""Tests of numbers that do not fit their C type, in parameters of all native functions, in options and in values."""

import re

import numpy as np
import pytest
from test_api import REPOSITORY, RULES
from test_kv_state import make_state

import opdyno
from opdyno import _native

HEADERS = [re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S) for path in (REPOSITORY / "include" / "opdyno").glob("*.h")]
INT32, INT64, UINT64 = (-(2**31), 2**31 - 1), (-(2**63), 2**63 - 1), (0, 2**64 - 1)
RANGES = {"int": INT32, "int32_t": INT32, "uint32_t": (0, 2**32 - 1), "int64_t": INT64, "uint64_t": UINT64, "size_t": UINT64}
RANGES |= {name: INT32 for header in HEADERS for name in re.findall(r"typedef enum (opd_\w+)", header)}


def functions():
    """Yields (function, its C parameters) for each function that the binding offers."""
    for header in HEADERS:
        for name, given in re.findall(r"(?:OPD_API|static inline) [^;({]*?\b(opd_\w+)\(([^;{]*?)\)\s*[;{]", header):
            if hasattr(_native, name):
                yield name, [" ".join(parameter.split()) for parameter in given.split(",") if parameter != "void"]


def arguments(declared):
    """The parameters that are arguments in Python. Outputs are left out, and numbers and data that follow from other
    arguments."""
    rules = "".join((RULES / file).read_text() for file in ("values.i", "handles.i", "callbacks.i"))
    named = [re.findall(r"[^,]*\w[ *]+\w+(?=,|$)", inside) for inside in re.findall(r"^%opd_\w+\((.*)\)$", rules, re.M)]
    later = {one.strip() for parameters in named for one in parameters[1:]}
    return [one for one in declared if not re.search(r"\bout_\w+$", one) and one not in later]


def split(parameter):
    return re.fullmatch(r"(.*?) ?(\w+)", parameter).groups()  # type, name


def numbers(types):
    """Yields (function, parameters before it, type, name, number of parameters after it) for each parameter that is a
    number."""
    found = []
    for function, declared in functions():
        given = arguments(declared)
        for place, parameter in enumerate(given):
            if split(parameter)[0] in types:
                found.append(pytest.param(function, given[:place], *split(parameter), len(given) - place - 1,
                                          id=f"{function}-{split(parameter)[1]}"))
    return found


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """A function that returns an argument for a parameter."""
    identity = opdyno.Executable.assemble(".func f(x) {\n  ret %x\n}")
    vm = opdyno.VirtualMachine(identity)
    report, trace = vm.profile_with_trace("f", 1)
    path = tmp_path_factory.mktemp("numbers") / "x.params"
    opdyno.save_param_dict_to_file({"x": np.zeros(2, "float32")}, path)
    by_type = {
        "opd_vm": vm,
        "opd_function": opdyno.Function(len),
        "opd_module": identity.to_module(),
        "opd_executable": identity,
        "opd_array": opdyno.convert([1]),
        "opd_map": opdyno.convert({"a": 1}),
        "opd_params": opdyno.load_params(path),
        "opd_report": report,
        "opd_report_builder": _native.opd_report_builder_create(),
        "opd_trace": trace,
        "opd_benchmark": _native.benchmark_of([1.0, 2.0]),
        "opd_profiler": _native.opd_profiler_create(None),
        "opd_telemetry": _native.opd_telemetry_start(None),
        "opd_telemetry_value": None,
        "opd_kv_state": make_state(),
        "char": "text",
        "DLDevice": opdyno.cpu(),
        "opd_collector *const": [],
        "opd_value": [],
        "opd_call_options": None,
        "double": 1.0,
    } | dict.fromkeys(RANGES, 1)
    return lambda parameter: by_type[split(parameter)[0].removeprefix("const ").removesuffix("*").strip()]


def refusal(kind, function, before, number, after):
    with pytest.raises(kind) as caught:
        getattr(_native, function)(*before, number, *[None] * after)
    assert type(caught.value) is kind
    return str(caught.value)


@pytest.mark.parametrize(("function", "before", "type", "name", "after"), numbers(RANGES))
def test_an_int_that_does_not_fit_is_an_overflow_that_names_parameter_and_range(sample, function, before, type, name, after):
    before, (low, high) = [sample(one) for one in before], RANGES[type]
    for number in (low - 1, high + 1, -(2**200), 2**200, np.uint64(2**63) if high < 2**63 else high + 1):
        told = refusal(OverflowError, function, before, number, after)
        assert told == f"{name} must be between {low} and {high}, but is {number}"
    for number, said in ((10**6000, "far above that"), (-(10**6000), "far below that")):  # Python refuses to print them
        told = refusal(OverflowError, function, before, number, after)
        assert told == f"{name} must be between {low} and {high}, but is {said}"


@pytest.mark.parametrize(("function", "before", "type", "name", "after"), numbers(RANGES))
def test_what_is_no_int_is_a_type_error_that_names_the_parameter(sample, function, before, type, name, after):
    before = [sample(one) for one in before]
    for value, kind in ((1.0, "float"), ("1", "str"), (None, "NoneType"), ([1], "list"), (np.float32(1), "float32"), (b"1", "bytes")):
        assert refusal(TypeError, function, before, value, after) == f"{name} must be an int, not {kind}"


@pytest.mark.parametrize(("function", "before", "type", "name", "after"), numbers({"double", "float"}))
def test_what_is_no_number_is_a_type_error_that_names_the_parameter(sample, function, before, type, name, after):
    before = [sample(one) for one in before]
    for value, kind in (("1", "str"), (None, "NoneType"), ([1], "list"), (1j, "complex")):
        assert refusal(TypeError, function, before, value, after) == f"{name} must be a number, not {kind}"
    told = refusal(OverflowError, function, before, 10**400, after)
    assert told == f"{name} is an int that is too large for a float"


def test_all_functions_with_numbers_are_looked_at():
    found = [one.id for one in numbers(RANGES)]
    assert len(found) > 30 and {"opd_array_get-index", "opd_range_begin-name", "opd_range_end-range", "opd_params_name-index",
                                "opd_report_get-section", "opd_report_get-row", "opd_vm_save_function-include_return"} <= set(found)
    assert len(numbers({"double", "float"})) == 3


def test_numbers_that_fit_are_taken_whatever_their_class():
    class Index:
        def __index__(self):
            return 1

    array = opdyno.convert([10, 20])
    for one in (1, True, np.int8(1), np.uint64(1), np.array(1), Index()):
        assert _native.opd_array_get(array, one) == 20
    with pytest.raises(IndexError):  # the error of the called function
        _native.opd_array_get(array, 2**31 - 1)
    assert _native.opd_range_end(2**64 - 1) is None and _native.opd_range_end(0) is None
    assert _native.opd_benchmark_percentile(_native.benchmark_of([1.0, 3.0]), np.float32(50)) == 2
    assert _native.opd_benchmark_percentile(_native.benchmark_of([1.0, 3.0]), 100) == 3


def test_errors_of_a_number_s_own_class_come_out():
    class Broken:
        def __index__(self):
            raise LookupError("no number today")

    class BrokenFloat:
        def __float__(self):
            raise LookupError("no number today")

    with pytest.raises(LookupError, match="no number today"):
        _native.opd_range_begin(Broken())
    with pytest.raises(LookupError, match="no number today"):
        _native.opd_benchmark_percentile(_native.benchmark_of([1.0]), BrokenFloat())


@pytest.mark.parametrize(
    ("option", "number", "told"),
    [
        ("repeat", 2**31, f"repeat must be between {-(2**31)} and {2**31 - 1}, but is {2**31}"),
        ("max_records", -1, f"max_records must be between 0 and {2**64 - 1}, but is -1"),
        pytest.param("warmup", 10**6000, f"warmup must be between {-(2**31)} and {2**31 - 1}, but is far above that",
                     id="warmup"),
    ],
)
def test_options_have_ranges(sample, option, number, told):
    with pytest.raises(OverflowError, match=f"^{re.escape(told)}$"):
        _native.opd_vm_profile(sample("opd_vm *vm"), "f", [1], None, {option: number})
    with pytest.raises(TypeError, match=f"^{option} must be an int, not float$"):
        _native.opd_vm_profile(sample("opd_vm *vm"), "f", [1], None, {option: 1.0})


def test_items_of_lists_of_numbers_are_named(sample):
    trace = sample("opd_trace *trace")
    with pytest.raises(OverflowError, match=rf"^offsets_ns\[1\] must be between {-(2**63)} and {2**63 - 1}, but is {2**63}$"):
        _native.opd_trace_merge([trace, trace], {"offsets_ns": [0, 2**63]})
    with pytest.raises(TypeError, match=r"^clock_errors_ns\[0\] must be an int, not str$"):
        _native.opd_trace_merge([trace, trace], {"clock_errors_ns": ["1", 2]})
    with pytest.raises(TypeError, match="^min_effect must be a number, not str$"):
        _native.opd_report_diff([], [], {"min_effect": "1"})


def test_dims_are_named():
    with pytest.raises(OverflowError, match=rf"^dims\[1\] must be between {-(2**63)} and {2**63 - 1}, but is {2**63}$"):
        _native.opd_tensor_create([1, 2**63], "int8", opdyno.cpu())
    with pytest.raises(TypeError, match=r"^dims\[0\] must be an int, not float$"):
        _native.opd_tensor_create([1.0], "int8", opdyno.cpu())
    with pytest.raises(TypeError, match="^dims must be an int or a sequence of int, not float$"):
        _native.opd_tensor_create(1.0, "int8", opdyno.cpu())
    assert _native.opd_tensor_create(3, "int8", opdyno.cpu()).shape == (3,)
    assert _native.opd_tensor_create((np.int64(1), 2), "int8", opdyno.cpu()).shape == (1, 2)


def test_values_that_do_not_fit_are_named_by_their_place():
    echo = opdyno.Function(lambda *x: x[-1])
    for number in (2**63, -(2**63) - 1, np.uint64(2**63)):
        told = rf"must be between {-(2**63)} and {2**63 - 1}, but is {number}$"
        with pytest.raises(OverflowError, match=f"^argument 1 {told}"):
            echo(0, number)
        with pytest.raises(OverflowError, match=f"^a number {told}"):
            echo([number])
    assert echo(-(2**63)) == -(2**63) and echo(np.uint64(2**63 - 1)) == 2**63 - 1
