"""Profiles of the whole process, and ranges, from Python."""

import gzip
import json
import threading

import numpy
import pytest

import opdyno
from opdyno.profiler import profile, record_function


@pytest.fixture
def vm():
    program = ".func main(x) {\n  call test.profiler.kernel(%x)\n  ret %x\n}"
    opdyno.register_func("test.profiler.kernel", lambda x: None, override=True)
    return opdyno.VirtualMachine(opdyno.Executable.assemble(program), opdyno.cpu())


def events(p, path):
    p.export_chrome_trace(path)
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        return [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]


def named(found, name):
    return [event for event in found if event["name"] == name]


def test_a_profile_has_calls_and_ranges_of_all_threads(vm, tmp_path):
    x = numpy.ones(4, "float32")
    with profile() as p:
        with record_function("outer"), record_function("inner"):
            vm["main"](x)

        def elsewhere():
            with record_function("elsewhere"):
                vm["main"](x)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    for path in (tmp_path / "trace.json", tmp_path / "trace.json.gz"):
        found = events(p, path)
        (outer,), (inner,), (other,) = (named(found, name) for name in ("outer", "inner", "elsewhere"))
        kernels = named(found, "test.profiler.kernel")
        assert len(kernels) == 2 and len(p.trace) == 2
        assert outer["ts"] <= inner["ts"] <= kernels[0]["ts"]
        assert kernels[0]["ts"] + kernels[0]["dur"] <= inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]
        assert other["tid"] == kernels[1]["tid"] != outer["tid"]


def test_ranges_are_decorators_that_may_recurse(tmp_path):
    @record_function("deep")
    def deep(levels):
        return deep(levels - 1) + 1 if levels else 0

    with profile() as p:
        assert deep(3) == 3
    assert len(named(events(p, tmp_path / "t.json"), "deep")) == 4
    assert deep(2) == 2, "also when nothing records"


def test_a_range_ends_with_an_error_and_lets_it_pass(tmp_path):
    with profile() as p:
        with pytest.raises(KeyError), record_function("fails"):
            raise KeyError("x")
    assert len(named(events(p, tmp_path / "t.json"), "fails")) == 1


def test_a_profile_may_be_started_again_and_counts_what_found_no_room(tmp_path):
    p = profile(max_events=5)
    with pytest.raises(RuntimeError, match="has not been stopped"):
        p.trace
    for _ in range(2):
        p.start()
        for _ in range(8):
            with record_function("many"):
                pass
        p.stop()
        assert p.trace.dropped == 3
        assert len(named(events(p, tmp_path / "t.json"), "many")) == 5


def test_what_is_out_of_turn_is_an_error():
    p = profile()
    with pytest.raises(opdyno.Error, match="start it first"):
        p.stop()
    with p, pytest.raises(opdyno.Error, match="records already"):
        p.start()
