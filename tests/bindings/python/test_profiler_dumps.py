"""Tests of flight recorders, which write dumps while they record."""

import gzip
import json
import os
import signal
import time

import numpy as np
import pytest

import opdyno
from opdyno.profiler import Dumps, profile, record_function


def wait_for(p, dumps):
    deadline = time.monotonic() + 60
    while p.num_dumps < dumps:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def dump_of(path):
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    file = json.loads(text)
    return file["dump_reason"], [event["name"] for event in file["traceEvents"] if event["ph"] == "X"]


def test_paths_are_any_and_other_objects_are_refused(tmp_path):
    with profile(dumps=Dumps(os.fsencode(tmp_path / "d.json")), last_seconds=1e-12) as p:
        p.dump()
    assert (tmp_path / "d.json").exists()
    with pytest.raises(TypeError, match="dumps must be Dumps, not str"):
        profile(dumps="d.json")
    with pytest.raises(TypeError, match="must return a ProfilerAction, but returned 1 for step 0"):
        profile(schedule=lambda step: 1)


def test_a_ring_is_written_when_the_program_asks(tmp_path):
    with profile(ring=True, max_bytes=2 << 16, dumps=Dumps(tmp_path / "%p-%n.json.gz")) as p:
        with record_function("first"):
            pass
        p.dump("a reason")
        wait_for(p, 1)
        with record_function("second"):
            pass
        p.dump()
    assert dump_of(tmp_path / f"{os.getpid()}-1.json.gz") == ("a reason", ["first"])
    assert dump_of(tmp_path / f"{os.getpid()}-2.json.gz") == ("", ["first", "second"])
    assert p.num_dumps == 2 and [event.name for event in p.events()] == ["first", "second"]


def test_a_signal_and_a_slow_range_and_an_error_ask(tmp_path):
    module = opdyno.Executable.assemble('.func main(x) {\n  %y = call test.dumps.fails(%x)\n  ret %y\n}').to_module()

    @opdyno.register_global_func("test.dumps.fails", override=True)
    def fails(x):
        raise ValueError("no")

    dumps = Dumps(tmp_path / "%n.json", signal=signal.SIGUSR2, slow_ms=20, on_error=True, min_interval=0)
    with profile(dumps=dumps, all_calls=True) as p:
        os.kill(os.getpid(), signal.SIGUSR2)
        wait_for(p, 1)
        with record_function("slow"):
            time.sleep(0.025)
        wait_for(p, 2)
        with pytest.raises(ValueError):
            opdyno.VirtualMachine(module)["main"](np.ones(1, "float32"))
    assert dump_of(tmp_path / "1.json")[0] == f"signal {int(signal.SIGUSR2)}"
    assert dump_of(tmp_path / "2.json")[0].startswith("slow of thread ")
    reason, names = dump_of(tmp_path / "3.json")
    assert "main of thread" in reason and "failed after" in reason and "main" in names
    assert signal.getsignal(signal.SIGUSR2) == signal.SIG_DFL


def test_a_handler_of_the_program_stays(tmp_path):
    seen = []
    before = signal.signal(signal.SIGUSR2, lambda *_: seen.append(1))
    try:
        p = profile(dumps=Dumps(tmp_path / "dump.json", signal=signal.SIGUSR2))
        with pytest.raises(opdyno.Error, match="is handled by the program already"):
            p.start()
        os.kill(os.getpid(), signal.SIGUSR2)
        assert seen == [1]
    finally:
        signal.signal(signal.SIGUSR2, before)


def test_traces_have_the_last_seconds():
    with profile(last_seconds=0.05) as p:
        with record_function("old"):
            pass
        time.sleep(0.06)
        with record_function("new"):
            pass
    assert [event.name for event in p.events()] == ["new"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "dump.what"}, "the suffix of 'dump.what' names no form"),
        ({"path": ""}, "the suffix of ''"),
        ({"path": "d.json", "slow_ms": -1}, "slow_ms must be"),
        ({"path": "d.json", "min_interval": float("nan")}, "min_interval must be"),
        ({"path": "d.json", "signal": signal.SIGKILL}, "cannot ask for a dump"),
    ],
)
def test_options_are_checked_with_a_reason(options, message):
    with pytest.raises(ValueError, match=message):
        profile(dumps=Dumps(**options))


def test_without_dumps_there_is_nothing_to_ask_for():
    with profile() as p, pytest.raises(opdyno.Error, match="has no dumps"):
        p.dump()
    assert p.num_dumps == 0
