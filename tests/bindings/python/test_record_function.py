"""Tests of record_function as a context manager and as a decorator, and of its errors."""

import asyncio
import contextlib
import copy
import gc
import inspect
import pickle
import subprocess
import sys
import threading
import weakref

import pytest

from opdyno.profiler import profile, record_function


def names(p):
    return [event.name for event in p.events()]


def test_a_range_says_what_it_is():
    span = record_function("a name")
    assert (span.name, span.args) == ("a name", None)
    span = record_function(args="x=1", name="a name")
    assert (span.name, span.args) == ("a name", "x=1")
    assert inspect.isclass(record_function) and isinstance(span, contextlib.AbstractContextManager)
    assert str(inspect.signature(record_function)) == "(name, args=None)"
    assert record_function.__module__ == "opdyno.profiler" and record_function.__qualname__ == "record_function"
    assert inspect.getdoc(record_function).startswith("Marks a range of the program: a context manager or a decorator.")


def test_ranges_are_recorded_with_their_names_and_arguments():
    kept = record_function("kept")
    with profile() as p:
        with record_function("new") as entered, kept:
            assert isinstance(entered, record_function)
        with record_function("with", "x=1"), kept:
            pass
        with record_function("größer ✓"), record_function(""), record_function("a" * 10_000, "b" * 10_000):
            pass
    assert names(p) == ["new", "kept", "with(x=1)", "kept", "größer ✓", "", "a" * 10_000 + "(" + "b" * 10_000 + ")"]


def test_equal_names_are_one_name_and_others_are_not():
    """Names are found by the addresses of texts. Most of these many texts are freed at once, so their addresses are
    reused."""
    expected = []
    with profile() as p:
        for i in range(5000):
            with record_function(f"name {i % 700}"):
                pass
            with record_function("constant"), record_function("args", str(i % 300)):
                pass
            expected += [f"name {i % 700}", "constant", f"args({i % 300})"]
    assert names(p) == expected


def test_one_object_may_be_entered_within_itself():
    span = record_function("again")
    with profile() as p:
        with span:
            with span, span, record_function("inner"):
                pass
            with span:
                pass
        with span:
            pass
    events = p.events()
    assert [event.name for event in events] == ["again", "again", "again", "inner", "again", "again"]
    begins, ends = ([getattr(event.time_range, side) for event in events] for side in ("start", "end"))
    assert begins == sorted(begins)
    assert ends[0] >= ends[1] >= ends[2] >= ends[3] and ends[1] <= begins[4] <= ends[4] <= ends[0] <= begins[5]


def test_a_range_may_begin_before_a_profile_and_end_after_it():
    span = record_function("across")
    p = profile()
    with span:
        p.start()
        with span:
            p.stop()
    assert names(p) == ["across"]
    with p:
        span.__enter__()
    span.__exit__(None, None, None)
    assert names(p) == ["across"]


def test_exceptions_pass():
    span = record_function("fails")
    with profile() as p:
        with pytest.raises(KeyError, match="x"), span:
            raise KeyError("x")
        assert span.__enter__() is span
        assert span.__exit__(KeyError, KeyError("x"), None) is None
        span.__enter__()
        assert span.__exit__() is None
    assert names(p) == ["fails"] * 3


def test_a_decorated_function_is_as_before():
    @record_function("work", "fast")
    def work(x: int, *, y: int = 2) -> int:
        """Does it."""
        return x + y

    assert work.__name__ == "work" and work.__doc__ == "Does it." and work.__annotations__["x"] is int
    assert str(inspect.signature(work)) == "(x: int, *, y: int = 2) -> int" and inspect.isfunction(work)
    assert work(1) == 3
    with profile() as p:
        assert work(1, y=5) == 6
        with pytest.raises(TypeError):
            work()
    assert names(p) == ["work(fast)"] * 2


def test_methods_are_decorated():
    class Model:
        @record_function("method")
        def method(self):
            return self

        @classmethod
        @record_function("class method")
        def of_class(cls):
            return cls

    model = Model()
    with profile() as p:
        assert model.method() is model and Model.of_class() is Model
    assert names(p) == ["method", "class method"]


def test_decorated_functions_recurse_and_run_on_several_threads():
    threads = 4
    barrier = threading.Barrier(threads)

    @record_function("deep")
    def deep(levels):
        if not levels:
            barrier.wait()
            return 0
        return deep(levels - 1) + 1

    with profile() as p:
        running = [threading.Thread(target=deep, args=(20,)) for _ in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    events = p.events()
    assert [event.name for event in events] == ["deep"] * (21 * threads)
    assert sum(event.cpu_parent is None for event in events) == threads, "the ranges of each thread are nested"


def test_only_the_call_of_async_functions_and_generators_is_in_the_range():
    """contextlib.ContextDecorator does the same."""

    @record_function("async")
    async def later():
        with record_function("inside"):
            return 1

    @record_function("generator")
    def items():
        with record_function("item"):
            yield 1

    with profile() as p:
        assert asyncio.run(later()) == 1 and list(items()) == [1]
    events = {event.name: event for event in p.events()}
    for outer, inner in (("async", "inside"), ("generator", "item")):
        assert events[outer].time_range.end <= events[inner].time_range.start


def test_ranges_of_tasks_that_take_turns_end_in_any_order():
    async def task(name, turns):
        with record_function(name):
            for _ in range(turns):
                await asyncio.sleep(0)

    async def both():
        await asyncio.gather(task("short", 1), task("long", 3))

    with profile() as p:
        asyncio.run(both())
    short, long = p.events()
    assert (short.name, long.name) == ("short", "long")
    assert short.time_range.start <= long.time_range.start <= short.time_range.end <= long.time_range.end


def test_misuse_is_an_error():
    for given in (None, 1, b"bytes", ["x"], object()):
        with pytest.raises(TypeError, match="the name of a range must be str, not "):
            record_function(given)
    for given in (1, b"bytes", ()):
        with pytest.raises(TypeError, match="the args of a range must be str, not "):
            record_function("x", given)
    for args, named in (((), {}), (("x", None, 1), {}), (("x",), {"name": "y"}), (("x",), {"nothing": 1})):
        with pytest.raises(TypeError):
            record_function(*args, **named)
    for wrong in ("a\0b", "\0", "\ud800", "ab\udfff"):
        with pytest.raises(ValueError):
            record_function(wrong)
        with pytest.raises(ValueError):
            record_function("x", wrong)
    span = record_function("x")
    for _ in "twice":
        with pytest.raises(RuntimeError, match="has not begun"):
            span.__exit__(None, None, None)
    with span:
        pass
    with pytest.raises(RuntimeError, match="has not begun"):
        span.__exit__(None, None, None)
    for args in ((), (1, 2)):
        with pytest.raises(TypeError):
            span(*args)
    decorated = span(None)
    with pytest.raises(TypeError):
        decorated()


def test_an_object_that_was_never_initialized_is_refused():
    span = record_function.__new__(record_function)
    with pytest.raises(AttributeError):
        span.name
    with pytest.raises(AttributeError):
        span.args = "x"
    with pytest.raises(RuntimeError, match="no name"):
        span.__enter__()
    with pytest.raises(RuntimeError, match="has not begun"):
        span.__exit__(None, None, None)
    with pytest.raises(RuntimeError, match="no name"):
        span(len)("x")
    with pytest.raises(AttributeError):
        copy.copy(span)
    span.name = "named"
    with span:
        pass


def test_a_range_may_be_renamed():
    span = record_function("old", "1")
    with profile() as p:
        with span:
            span.name, span.args = "new", None
        with span:
            span.args = "2"
        with span:
            span.__init__("newer")
        with span:
            del span.args
    assert names(p) == ["old(1)", "new", "new(2)", "newer"] and span.args is None
    for name, wrong in (("name", None), ("name", 1), ("name", "\0"), ("args", 1), ("args", "\ud800")):
        with pytest.raises((TypeError, ValueError)):
            setattr(span, name, wrong)
    with pytest.raises(AttributeError):
        del span.name
    assert (span.name, span.args) == ("newer", None)


def test_ranges_are_copied_and_pickled():
    span = record_function("copied", "x")
    with span:
        for made in (copy.copy(span), copy.deepcopy(span), pickle.loads(pickle.dumps(span))):
            assert type(made) is record_function and (made.name, made.args) == ("copied", "x")
            with pytest.raises(RuntimeError, match="has not begun"):
                made.__exit__(None, None, None)


class Counted(record_function):
    def __init__(self, number):
        super().__init__(f"counted {number}")
        self.entered = 0

    def __enter__(self):
        self.entered += 1
        return super().__enter__()


def test_a_subclass_may_add_to_it():
    class Named(str):
        pass

    span = Counted(7)
    with profile() as p:
        with span as entered, span:
            assert entered is span
        with record_function(Named("named"), Named("args")) as named:
            assert type(named.name) is type(named.args) is str
    assert span.entered == 2 and names(p) == ["counted 7", "counted 7", "named(args)"]
    with pytest.raises(TypeError, match="must be str"):
        type("Wrong", (record_function,), {"__init__": lambda self: super(type(self), self).__init__(1)})()


def test_objects_and_names_are_let_go():
    class Kept(record_function):
        pass

    for make in (record_function, Kept):
        span = make("let go" * 100, "args" * 100)
        ended = weakref.ref(span)
        with span, span, span:
            pass
        span.__enter__()
        del span
        assert ended() is None
    cycle = Kept("cycle")
    cycle.itself, ended = cycle, weakref.ref(cycle)
    del cycle
    gc.collect()
    assert ended() is None

    long, of_type = "long" * 100, sys.getrefcount(record_function)
    before = sys.getrefcount(long)
    for _ in range(10_000):
        with record_function(long), record_function("x", long), record_function(long, "x") as span:
            span.name, span.args = "y", long
        record_function(long)(len)("x")
        with contextlib.suppress(TypeError):
            record_function(long, 1)
        with contextlib.suppress(ValueError):
            record_function("\0", long)
    del span
    assert sys.getrefcount(long) == before
    assert abs(sys.getrefcount(record_function) - of_type) <= 16, "of the memory that is kept for the next objects"


def test_methods_keep_their_range():
    span = record_function("kept by its methods")
    ended, enter, exit = weakref.ref(span), span.__enter__, span.__exit__
    assert exit is span.__exit__ and exit.__self__ is span and (enter.__name__, exit.__name__) == ("__enter__", "__exit__")
    del span
    with profile() as p:
        assert enter() is ended() and exit(None, None, None) is None and enter(*(), **{}) is ended() and exit(*[None] * 3) is None
        assert record_function.__enter__(ended()) is ended() and record_function.__exit__(ended(), None, None, None) is None
        with contextlib.ExitStack() as stack:
            assert stack.enter_context(ended()) is ended()
    assert names(p) == ["kept by its methods"] * 4
    for call in (lambda: enter(1), lambda: enter(x=1), lambda: enter(**{"x": 1}), lambda: exit(x=1), lambda: type(enter)(),
                 lambda: record_function.__enter__(1), lambda: vars(record_function)["__exit__"].__get__(1, int)):
        with pytest.raises(TypeError):
            call()
    del enter
    assert ended() is not None
    del exit
    assert ended() is None


def test_a_subclass_in_a_cycle_with_its_methods_is_collected():
    class Kept(record_function):
        pass

    span = Kept("cycle")
    span.enter, span.exit, ended = span.__enter__, span.__exit__, weakref.ref(span)
    span.enter()
    span.exit()
    del span
    gc.collect()
    assert ended() is None


def test_few_names_are_held():
    made = [f"short {i}" for i in range(20_000)]
    for name in made:
        with record_function(name), record_function("x", name):
            pass
    of_list = 2  # the list and the call that counts refer to it
    assert sum(sys.getrefcount(made[i]) > of_list for i in range(len(made))) <= 512


def test_one_object_on_several_threads_does_no_harm():
    """This use is not supported. Names and times may be wrong, but the process must not crash."""
    span, stop = record_function("shared"), threading.Event()

    def work():
        while not stop.is_set():
            for _ in range(100):
                with contextlib.suppress(RuntimeError), span, span:
                    span.name = "other"

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        with profile():
            pass
    stop.set()
    for thread in threads:
        thread.join()


def test_a_range_that_is_open_at_the_exit_of_python_does_no_harm():
    program = "from opdyno.profiler import *\np = profile(); p.start()\nrecord_function('open').__enter__()\n" \
              "r = record_function('kept'); r.__enter__(); r.__enter__()"
    subprocess.run([sys.executable, "-c", program], check=True)
