"""Tests of the results of functions. They are generated from the public headers: typed, immutable records with a
description of each field."""

import copy
import inspect
import pickle
import pydoc
import re
import typing

import numpy as np
import pytest

import opdyno
from opdyno import _results
from test_kv_state import make_state

CLASSES = [getattr(_results, name) for name in _results.__all__]


def given():
    """One result of each class, returned by the library."""
    params = opdyno.Params({"w": np.zeros((2, 3), "float32")})
    benchmark = opdyno.vm.evaluator(opdyno.Function(lambda: None), opdyno.cpu(), "", repeat=6)()
    with opdyno.telemetry.start() as running:
        return [opdyno.memory_stats(), make_state().stats(), params.stats, params.info()["w"], opdyno.profiling.measure_peak(),
                benchmark.stats, running.stats()]


RESULTS = given()


def test_each_class_has_a_result_and_a_public_name():
    assert {type(result) for result in RESULTS} == set(CLASSES)
    assert {f"{kind.__module__}.{kind.__name__}" for kind in CLASSES} == {
        "opdyno.MemoryStats", "opdyno.KVStats", "opdyno.ParamsStats", "opdyno.TensorInfo", "opdyno.BenchmarkStats",
        "opdyno.profiling.MachinePeak", "opdyno.telemetry.TelemetryStats"}


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_values_have_the_types_that_are_stated(result):
    stated = typing.get_type_hints(type(result))
    assert {name: type(value) for name, value in result._asdict().items()} == {name: stated[name] for name in result._asdict()}


@pytest.mark.parametrize("kind", CLASSES)
def test_each_field_is_described_and_nothing_of_c_is_named(kind):
    texts = [kind.__doc__, *(inspect.getdoc(getattr(kind, name)) for name in kind.__annotations__)]
    for text in texts:
        assert re.match(r"[A-Z0-9].*\.$", text, re.S), text
        assert not re.search(r"opd_|OPD_|NULL|[Bb]orrowed|since 0|@p|struct_size", text), text
    shown = pydoc.plain(pydoc.render_doc(kind))
    assert all(text.split()[0] in shown for text in texts)


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_a_record_is_an_immutable_value(result):
    fields = result._asdict()
    first = next(iter(fields))
    for change in (lambda: setattr(result, first, 0), lambda: delattr(result, first), lambda: setattr(result, "new", 0)):
        with pytest.raises(AttributeError, match="cannot be changed"):
            change()
    assert result._asdict() == fields
    same = type(result)(**fields)
    assert same == result and hash(same) == hash(result) and result != fields and result != tuple(fields.values())
    assert pickle.loads(pickle.dumps(result)) == copy.copy(result) == copy.deepcopy(result) == result
    assert repr(result) == f"{type(result).__name__}({', '.join(f'{name}={value!r}' for name, value in fields.items())})"


def test_records_are_made_by_keywords():
    peak = opdyno.profiling.MachinePeak(gflops=50.0, bandwidth_gbps=10.0)  # from a data sheet, for with_roofline()
    assert (peak.gflops, peak.num_threads, peak.spread) == (50.0, 0, 0.0)
    assert peak != opdyno.profiling.MachinePeak(gflops=50.0, bandwidth_gbps=10.5)
    assert peak != opdyno.MemoryStats()
    with pytest.raises(TypeError, match="positional"):
        opdyno.profiling.MachinePeak(50.0, 10.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'flops'"):
        opdyno.profiling.MachinePeak(flops=1.0)
    with pytest.raises(TypeError, match="'name', 'shape', and 'dtype'|missing"):
        opdyno.TensorInfo(bytes=3)
    match RESULTS[3]:
        case opdyno.TensorInfo(name="w", shape=shape):
            assert shape == (2, 3)
        case _:
            raise AssertionError
