"""Writes traces in all forms into a directory, and expected.json: what the program noted itself while it was recorded.

Run with a Python that has opdyno: make_traces.py DIRECTORY. expected.json has for each trace its spans and marks, in the
order of their begins on each thread. `begin` and `end` of a span are places in that order (`end` is null: open at the stop),
`outside` are Unix times right before its begin and after its end, `inside` those right after its begin and before its end;
null where the program has no code.
"""

import contextlib
import ctypes
import json
import sys
import threading
import time
from pathlib import Path

import numpy

import opdyno
from opdyno import _native
from opdyno.profiler import profile, record_function, schedule, tensorboard_trace_handler

# What breaks texts, JSON, lines of stacks and tables. Each is one range.
NASTY_NAMES = [
    "",
    " ",
    'quotes " and \'',
    "back\\slash and \\\" and \\u0041",
    "new\nline",
    "return\r\n",
    "tab\tand vertical\x0b",
    "control \x01\x02\x1b[31m\x1f\x7f",
    "brackets ]}[{ ],",
    "semicolon;in;it",
    "ends in a number 42",
    "42",
    "# no comment",
    "ünïcode 漢字 🎉 \u0301",
    "line separators \u0085\u2028\u2029",
    "\ufeffbyte order mark",
    "right to left \u202e",
    "</script><b>&amp;",
    "%s %n %d",
    "N/A",
    "NaN",
    "run 0",
    "Record Window End",
    "long " + "x" * 100_000,
]

PROGRAM = """
.func helper(x) {
  call test.readers.mul(%x)
  ret %x
}
.func main(x, y) {
  call test.readers.add(%x, %y)
  call test.readers.no_tensor(3)
  call helper(%x)
  call "test.readers.odd;\\"name\\" ]"(%x)
  ret %x
}
.func outer(x) {
  call test.readers.call_main(%x)
  ret %x
}
.func same(x) {
  call test.readers.call_same(%x)
  ret %x
}
.func wait(x) {
  call test.readers.wait(%x)
  ret %x
}
"""


class Notes:
    """What the program does, by its own account."""

    def __init__(self):
        self._local = threading.local()
        self._guard = threading.Lock()
        self.clear()

    def clear(self):
        self.spans, self.marks, self.step = [], [], None
        self._clocks = {}

    def _tick(self):
        thread = threading.get_native_id()
        with self._guard:
            self._clocks[thread] = self._clocks.get(thread, 0) + 1
            return thread, self._clocks[thread]

    def begin(self, name, kind, outside=None, **more):
        thread, at = self._tick()
        span = {"thread": thread, "name": name, "kind": kind, "begin": at, "end": None, "step": self.step, **more}
        span["outside"], span["inside"] = [outside, None], [time.time_ns(), None]
        with self._guard:
            self.spans.append(span)
        return span

    def end(self, span):
        span["inside"][1] = time.time_ns()
        span["end"] = self._tick()[1]

    @contextlib.contextmanager
    def span(self, name, kind, **more):
        span = self.begin(name, kind, **more)
        yield
        self.end(span)

    @contextlib.contextmanager
    def range(self, name):
        before = time.time_ns()
        with record_function(name):
            span = self.begin(name, "range", before)
            yield
            self.end(span)
        span["outside"][1] = time.time_ns()

    def mark(self, name):
        thread, at = self._tick()
        before = time.time_ns()
        _native.opd_range_mark(_native.opd_range_name(name))
        self.marks.append(
            {"thread": thread, "name": name, "begin": at, "step": self.step, "outside": [before, time.time_ns()]}
        )

    def take(self):
        taken = {"spans": list(self.spans), "marks": list(self.marks)}
        self.clear()
        return taken


notes = Notes()
is_in_call, is_in_range, go_on = threading.Event(), threading.Event(), threading.Event()


def dims_of(*tensors):
    return [list(tensor.shape) for tensor in tensors]


def add(x, y):
    with notes.span("test.readers.add", "call", dims=dims_of(x, y)), notes.range("in a kernel"):
        pass


def mul(x):  # called by `helper` only
    with notes.span("helper", "call", dims=dims_of(x)), notes.span("test.readers.mul", "call", dims=dims_of(x)):
        pass


def odd(x):
    with notes.span('test.readers.odd;"name" ]', "call", dims=dims_of(x)):
        pass


def call_main(x):
    with notes.span("test.readers.call_main", "call", dims=dims_of(x)):
        run(vm_within, "main", x, x)


def call_same(x):
    with notes.span("test.readers.call_same", "call", dims=dims_of(x)):
        run(vm, "main", x, x)


def wait(x):
    """Does not note itself: a call that is open at the stop is not in the trace, only its run is."""
    is_in_call.set()
    go_on.wait()


def make_vm():
    functions = {"add": add, "mul": mul, "call_main": call_main, "call_same": call_same, "wait": wait, "no_tensor": lambda n: n}
    functions['odd;"name" ]'] = odd
    for name, function in functions.items():
        opdyno.register_func(f"test.readers.{name}", function, override=True)
    return opdyno.VirtualMachine(opdyno.Executable.assemble(PROGRAM), opdyno.cpu())


def run(vm, function, *arguments):
    """The run's begin is noted before it and its end after it: the order is the same, and no time is inside of it."""
    thread, at = notes._tick()
    span = {"thread": thread, "name": function, "kind": "run", "begin": at, "end": None, "step": notes.step}
    span["outside"], span["inside"] = [time.time_ns(), None], [None, None]
    notes.spans.append(span)
    vm[function](*arguments)
    span["end"] = notes._tick()[1]
    span["outside"][1] = time.time_ns()


def overlapping(*names):
    """Ranges that begin in one order and end in the same."""
    begun = []
    for name in names:
        before = time.time_ns()
        handle = _native.opd_range_begin(_native.opd_range_name(name))
        begun.append((handle, notes.begin(name, "range", before)))
    for handle, span in begun:
        notes.end(span)
        _native.opd_range_end(handle)
        span["outside"][1] = time.time_ns()


def name_thread(name):
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)  # PR_SET_NAME: 15 bytes are kept


def on_threads(*works):
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    return threads


def join(threads):
    for thread in threads:
        thread.join()


def nested(levels, name="deep"):
    if levels:
        with notes.range(name):
            nested(levels - 1, name)


TENSORS = [
    (numpy.ones((4, 2), "float32"), numpy.ones((2,), "float64")),
    (numpy.ones((), "int8"), numpy.ones((0, 3), "int64")),
    (numpy.ones((1, 2, 3, 4, 5, 6), "float16"), numpy.ones((7,), "bool")),
]


def save(p, directory, name):
    p.export_chrome_trace(directory / f"{name}.json")
    p.export_chrome_trace(directory / f"{name}.json.gz")
    p.export_perfetto(directory / f"{name}.pftrace")
    p.export_perfetto(directory / f"{name}.pftrace.gz")
    p.export_speedscope(directory / f"{name}.speedscope.json")
    p.export_pprof(directory / f"{name}.pb.gz")
    p.export_html(directory / f"{name}.html")
    p.export_flame_graph(directory / f"{name}.svg")
    p.export_stacks(directory / f"{name}.stacks")
    p.export_stacks(directory / f"{name}.each.stacks", per_event=True)


def nasty(directory):
    """All at once, and ranges and calls on three threads that are open at the stop."""

    def busy():
        name_thread('a"\\]; é')
        for x, y in TENSORS * 5:
            with notes.range("busy"):
                run(vm, "main", x, y)
                overlapping("a", "b", "c")
                run(vm, "outer", x)

    def crossing():
        """Ranges that cross calls, and others that are within two of them."""
        for _ in range(10):
            before = time.time_ns()
            first = _native.opd_range_begin(_native.opd_range_name("first"))
            first_span = notes.begin("first", "range", before)
            with notes.range("around"):
                notes.end(first_span)
                _native.opd_range_end(first)
                first_span["outside"][1] = time.time_ns()
                run(vm, "main", *TENSORS[0])
            overlapping(*[f"many {i}" for i in range(6)])

    def open_in_call():
        run(vm, "wait", TENSORS[0][0])

    def open_range():
        with notes.range("open outside"), notes.range("open inside"):
            run(vm, "main", *TENSORS[0])
            is_in_range.set()
            go_on.wait()

    p = profile()
    with record_function("began before the start"):  # so no trace has it
        p.start()
    p.add_metadata('key " ] \n', 'value " ] \n \\')
    for name in NASTY_NAMES:
        with notes.range(name):
            pass
        notes.mark(name)
    for _ in range(300):
        with notes.range("short"), notes.range("shorter"):
            pass
    nested(200)
    waiting = on_threads(open_in_call, open_range)
    join(on_threads(busy, busy, crossing))
    is_in_call.wait()
    is_in_range.wait()
    with contextlib.ExitStack() as open_ranges:
        for i in range(30):
            open_ranges.enter_context(notes.range(f"open \"at\" the stop {i}"))
        p.stop()
        taken = json.loads(json.dumps(notes.take()))  # as it is now
    go_on.set()
    join(waiting)
    save(p, directory, "nasty")
    return {"nasty": taken | {"stopped": time.time_ns()}}


def steps(directory):
    """Two cycles of a schedule. In the second each step makes one more call."""
    cycles = []

    def ready(p):
        cycles.append(p.step_num)
        for use_gzip in False, True:
            logs = directory / ("tensorboard_gz" if use_gzip else "tensorboard")
            tensorboard_trace_handler(logs, worker_name="worker_1", use_gzip=use_gzip)(p)
        save(p, directory, f"cycle_{len(cycles)}")

    def beside():
        with notes.range("beside"):
            run(vm, "main", *TENSORS[0])

    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=ready, with_flops=True) as p:
        p.add_metadata_json("distributedInfo", json.dumps({"rank": 3}))
        for step in range(9):
            notes.step = step
            thread = on_threads(beside)
            with notes.span(f"ProfilerStep#{step}", "step"):
                with notes.range('forward ] ; "'):
                    run(vm, "main", *TENSORS[step % 2])
                    if step >= 4:
                        run(vm, "outer", TENSORS[0][0])
                overlapping("load", "compute")
                with notes.range("backward"):
                    run(vm, "outer", TENSORS[0][0])
                notes.mark("loss")
                join(thread)
            p.step()
    taken = notes.take()

    def of(*numbers):
        return {what: [item for item in taken[what] if item["step"] in numbers] for what in ("spans", "marks")}

    return {"cycle_1": of(2, 3), "cycle_2": of(6, 7)}


def empty(directory):
    with profile() as p:
        pass
    save(p, directory, "empty")
    return {"empty": notes.take()}


def full(directory):
    """Of a thread, there is room for 40 events."""
    with profile(max_events=40) as p:
        for i in range(100):
            if i < 40:
                with notes.range("fits"):
                    pass
            else:
                with record_function("does not fit"):
                    pass
    save(p, directory, "full")
    return {"full": notes.take() | {"dropped": 60}}


def not_utf8(directory):
    """C can give such names, Python cannot."""
    raw = ctypes.CDLL(str(next(Path(opdyno.__file__).parent.glob("libopdyno.so*"))))
    raw.opd_range_name.restype = ctypes.c_uint32
    raw.opd_range_begin.restype = ctypes.c_uint64
    raw.opd_range_begin.argtypes, raw.opd_range_end.argtypes = [ctypes.c_uint32], [ctypes.c_uint64]
    with profile() as p, notes.range("outer"):
        span = notes.begin("a \ufffd\ufffd.", "range")
        handle = raw.opd_range_begin(raw.opd_range_name(b"a \xff\xc3."))
        raw.opd_range_end(handle)
        notes.end(span)
        span["inside"] = [None, None]  # noted around it
    save(p, directory, "not_utf8")
    return {"not_utf8": notes.take()}


def ranges(directory, trace, *names):
    with profile() as p:
        for name in names:
            with notes.range(name):
                pass
    save(p, directory, trace)
    return {trace: notes.take()}


def wide_space(directory):
    """Names that begin with spaces of other scripts, or have nothing else."""
    return ranges(directory, "wide_space", "\u3000", "\u3000wide space first", "\u2028line separator", "\xa0no break ")


def not_xml(directory):
    """UTF-8, but no characters of XML."""
    return ranges(directory, "not_xml", "not a character \ufffe", "nor this \uffff")


def reentrant(directory):
    """A kernel calls the program that called it."""
    with profile() as p:
        run(vm, "same", TENSORS[0][0])
    save(p, directory, "reentrant")
    return {"reentrant": notes.take()}


def stacks(directory):
    """Ranges and calls know the functions that they began in."""

    def around():
        with notes.range("in around"):
            within()

    def within():
        with notes.range("in within"):
            run(vm, "main", *TENSORS[0])

    with profile(with_stack=True) as p:
        around()
    save(p, directory, "stacks")
    return {"stacks": notes.take()}


def main():
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    expected = {}
    for make in nasty, steps, empty, full, not_utf8, wide_space, not_xml, reentrant, stacks:
        expected |= make(directory)
    (directory / "expected.json").write_text(json.dumps(expected))


vm, vm_within = make_vm(), make_vm()
main()
