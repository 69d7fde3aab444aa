"""Tests of collectors written in Python and of built-in ones."""

import threading
import time

import numpy as np
import pytest

import opdyno
from opdyno import _native
from conftest import DATA
from opdyno.profiling import (
    Count,
    DeviceWrapper,
    Duration,
    EnergyMetricCollector,
    DeviceMetricCollector,
    MemoryMetricCollector,
    MetricCollector,
    NVMLMetricCollector,
    PAPIMetricCollector,
    Percent,
    PerfMetricCollector,
    Ratio,
    TimeMetricCollector,
    profile_function,
)

X = np.zeros(4, "float32")


class Recorder(MetricCollector):
    """A collector that logs its calls."""

    def __init__(self, fails_in=None):
        self.log, self.threads, self.fails_in, self.open = [], set(), fails_in, 0

    def note(self, what):
        self.log.append(what)
        self.threads.add(threading.get_ident())
        if what == self.fails_in:
            raise ValueError(f"no {what}")

    def Init(self, devs):
        assert all(isinstance(dev, DeviceWrapper) for dev in devs)
        self.devices = [dev.device for dev in devs]
        self.note("init")

    def Start(self, dev):
        self.note("start")
        self.open += 1
        return {"device": dev, "number": len(self.log)}

    def Stop(self, state):
        self.open -= 1
        self.note("stop")
        return {
            "calls": Count(state["number"]),
            "half": Ratio(0.5),
            "share": Percent(25.0),
            "took": Duration(1.5),
            "where": str(state["device"]),
        }


def test_a_collector_written_in_python_adds_columns(chain):
    collector = Recorder()
    report = chain.profile("main", X, collectors=[collector])
    assert collector.devices == [opdyno.cpu()]
    assert collector.threads == {threading.get_ident()}
    assert collector.log[:3] == ["init", "start", "start"] and collector.log[-1] == "stop" and collector.open == 0
    assert len(collector.log) == 1 + 2 * (len(report) - 2 + 1)  # (dispatch) and (profiler) are computed
    first = report.calls[0]
    assert (first["calls"], first["half"], first["share"], first["took"], first["where"]) == (
        Count(3), Ratio(0.5), Percent(25.0), Duration(1.5), "cpu:0")
    assert report.device_metrics["cpu0"]["calls"] == Count(2)
    assert report.configuration["Collector cost: Recorder (us)"].microseconds > 0


@pytest.mark.parametrize("place", ["init", "start", "stop"])
def test_one_that_raises_does_not_end_the_run(chain, place):
    bad, good = Recorder(place), Recorder()
    report = chain.profile("main", X, collectors=[bad, good])
    assert len(report) > 100 and report.calls[0]["where"] == "cpu:0"
    assert report.configuration["Collector error: Recorder"] == f"no {place}"
    assert bad.open == 0 and good.open == 0


def test_metrics_of_other_types_are_an_error_of_the_collector(chain):
    class Wrong(MetricCollector):
        def Start(self, dev):
            return 1

        def Stop(self, state):
            return {"x": object()}

    report = chain.profile("main", X, collectors=[Wrong()])
    assert "a metric is a Count" in report.configuration["Collector error: Wrong"]


def test_a_device_that_is_not_supported_gets_no_metrics(chain):
    class Nowhere(MetricCollector):
        def Start(self, dev):
            return None

        def Stop(self, state):
            raise AssertionError("was not started")

    report = chain.profile("main", X, collectors=[Nowhere()])
    assert not any(key.startswith("Collector error") for key in report.configuration)


def test_the_base_class_must_be_completed(chain):
    report = chain.profile("main", X, collectors=[MetricCollector()])
    assert "Collector error: MetricCollector" in report.configuration
    with pytest.raises(TypeError, match="Collector"):
        _native.opd_vm_profile(chain, "main", (X,), None, {"collectors": [3]})


def test_built_in_ones(chain):
    report = chain.profile("main", X, collectors=[TimeMetricCollector(per_thread=True), MemoryMetricCollector()])
    call = report.calls[-3]  # the last call; (dispatch) and (profiler) follow it
    assert call["Wall time (us)"].microseconds >= call["Duration (us)"].microseconds
    assert {"CPU time (us)", "CPU time (us) (most of threads)", "Peak (bytes)"} <= call.keys()


def test_collectors_survive_many_profiles(chain):
    collectors = [TimeMetricCollector(), Recorder()]
    for _ in range(20):
        chain.profile("main", X, collectors=collectors)
    assert collectors[1].open == 0 and collectors[1].log.count("init") == 20


def counting(make):
    """Makes a collector. If this machine cannot count its events, skips the test with the reason."""
    try:
        return make()
    except opdyno.Error as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(
    "collector, event", [(PerfMetricCollector, "page-faults"), (PAPIMetricCollector, "perf::PAGE-FAULTS")])
def test_counters_count_what_a_function_does(collector, event):
    import mmap

    def touch():
        with mmap.mmap(-1, 500 * mmap.PAGESIZE) as memory:
            memory.madvise(mmap.MADV_NOHUGEPAGE)
            for page in range(500):
                memory[page * mmap.PAGESIZE] = 1

    made = counting(lambda: collector({opdyno.cpu(): [event]}))
    metrics = profile_function(opdyno.Function(touch), opdyno.cpu(), [made])()
    assert 500 <= metrics[event].value < 600  # the interpreter causes a few


def test_events_that_do_not_exist_are_named():
    with pytest.raises(opdyno.Error, match="page-faults"):
        PerfMetricCollector({opdyno.cpu(): ["no-event"]})
    with pytest.raises(ValueError, match="no event"):
        PAPIMetricCollector({})
    counting(PAPIMetricCollector.events)
    with pytest.raises(opdyno.Error, match="no::EVENT"):
        PAPIMetricCollector({opdyno.cpu(): ["no::EVENT"]})


def test_best_effort_tells_what_is_left_out(chain):
    report = chain.profile("main", X, collectors=[counting(lambda: PAPIMetricCollector(best_effort=True))])
    counted = "perf::CYCLES" in report.calls[0]
    assert counted or "event perf::CYCLES is left out: " in report.configuration["Collector note: papi"]


def test_energy_is_measured_or_it_is_said_why_not(chain):
    made = counting(EnergyMetricCollector)
    assert any(key.startswith("Energy of ") for key in chain.profile("main", X, collectors=[made]).calls[0])


def test_gpus_are_observed_or_it_is_said_why_not(chain):
    made = counting(NVMLMetricCollector)
    assert any(key.startswith("Power draw of GPU ") for key in chain.profile("main", X, collectors=[made]).calls[0])


def test_devices_count_their_kernels_or_it_is_said_why_not(chain):
    made = counting(DeviceMetricCollector)
    report = chain.profile("main", X, collectors=[made])
    assert report.configuration["Collector note: device"] == "cpu:0: the collectors perf and papi count on the CPU"


def test_profile_function():
    module = opdyno.load_module(DATA / "0.27" / "chain_100.so")
    calls, collector = [], Recorder()
    metrics = profile_function(opdyno.Function(lambda x: calls.append(x)), opdyno.cpu(), [collector], warmup_iters=3)(7)
    assert calls == [7] * 4 and collector.log == ["init", "start", "stop"]
    assert metrics["calls"] == Count(2) and metrics["where"] == "cpu:0" and metrics["Duration (us)"].microseconds > 0
    vm = opdyno.VirtualMachine(module)
    assert set(profile_function(vm, opdyno.cpu(), [], "main")(X)) == {"Duration (us)"}
    a, b = opdyno.tensor(X), opdyno.tensor(X)
    assert set(profile_function(module, opdyno.cpu(), func_name="add")(a, b)) == {"Duration (us)"}
    slept = profile_function(opdyno.Function(lambda: time.sleep(0.002)), opdyno.cpu())()
    assert slept["Duration (us)"].microseconds > 1000  # another kernel may be too short
    with pytest.raises(ValueError, match="no stop"):
        profile_function(vm, opdyno.cpu(), [Recorder("stop")])(X)


def test_calls_without_tensors_are_measured_too_where_they_are_shown():
    host = opdyno.VirtualMachine(opdyno.Executable.assemble(
        ".func main(x) {\n  %t = call vm.builtin.make_tuple(%x, 7)\n  ret %t\n}"))
    report = host.profile("main", 1, builtins="all", collectors=[TimeMetricCollector()])
    assert [call["Name"] for call in report.calls] == ["vm.builtin.make_tuple", "(dispatch)", "(profiler)"]
    assert report.calls[0]["Wall time (us)"].microseconds > 0 and "Wall time (us)" not in report.calls[1]


class PerThread(MetricCollector):
    """A collector that tracks the open measurements of each thread."""

    def __init__(self):
        self.inits, self.open, self.starts, self.stops, self.misplaced = 0, {}, [], [], []

    def Init(self, devs):
        self.inits += 1

    def Start(self, dev):
        mine = self.open.setdefault(threading.get_ident(), [])
        state = (threading.get_ident(), len(mine))
        mine.append(state)
        self.starts.append(state)
        return state

    def Stop(self, state):
        if state[0] != threading.get_ident() or self.open[state[0]].pop() != state:
            self.misplaced.append(state)
        self.stops.append(state)
        return {"calls": Count(1), "depth": Count(state[1])}


def test_an_application_is_profiled_with_collectors_on_its_own_threads(chain):
    collector, together = PerThread(), threading.Barrier(3)  # so that no thread ID is reused

    def work():
        together.wait()
        for _ in range(5):
            chain["main"](X)
        together.wait()

    with chain.profiling(details=True, collectors=[collector, TimeMetricCollector(), MemoryMetricCollector()]) as run:
        assert collector.inits == 1
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    calls = [call for call in run.report.calls if "calls" in call]
    assert len(calls) == len(run.report) - 2  # (dispatch) and (profiler) are computed
    assert all(call["calls"] == Count(1) and call["depth"] == Count(1) for call in calls)
    assert run.report.device_metrics["cpu0"]["calls"] == Count(15)
    assert len(collector.starts) == len(collector.stops) == len(calls) + 15 and not collector.misplaced
    assert len(collector.open) == 3 and collector.inits == 1
    assert all(call["Wall time (us)"].microseconds >= call["Duration (us)"].microseconds for call in calls)
    assert "of the whole device" in run.report.configuration["Collector note: memory"]
    assert run.report.configuration["Collector cost: PerThread (us)"].microseconds > 0


def test_collectors_of_an_application_are_not_asked_about_calls_that_are_not_sampled(chain):
    collector = PerThread()
    with chain.profiling(sample_interval=4, collectors=[collector]) as run:
        for _ in range(8):
            chain["main"](X)
    assert run.report.device_metrics["cpu0"]["calls"] == Count(2)
    assert len(collector.starts) == len(run.report) - 2 + 2


@pytest.mark.parametrize("place", ["init", "start", "stop"])
def test_one_that_raises_does_not_end_an_application(chain, place):
    bad, good = Recorder(place), PerThread()
    with chain.profiling(collectors=[bad, good]) as run:
        assert chain["main"](X) is not None
    assert run.report.configuration["Collector error: Recorder"] == f"no {place}"
    assert run.report.device_metrics["cpu0"]["calls"] == Count(1) and bad.open == 0


def test_stopping_waits_for_collectors_that_wait_for_python(chain):
    """Stop blocks a thread while other threads need the interpreter in their collectors. There must be no deadlock."""
    over = threading.Event()

    def call():
        while not over.is_set():
            chain["main"](X)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            collector = PerThread()
            run = chain.profiling(collectors=[collector])
            run.start()
            while not collector.starts:
                pass
            run.stop()
            starts = len(collector.starts)
            assert len(collector.stops) == starts and not collector.misplaced
            assert run.report.device_metrics["cpu0"]["calls"] == run.report.device_metrics["cpu0"]["Count"]
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_a_collector_cannot_end_what_waits_for_it(chain):
    class Ending(MetricCollector):
        def Start(self, dev):
            run.stop()

    with chain.profiling(collectors=[Ending()]) as run:
        chain["main"](X)
    assert "from inside of a call" in run.report.configuration["Collector error: Ending"]
