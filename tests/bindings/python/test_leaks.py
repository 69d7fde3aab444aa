"""Nothing is kept longer than it is used: counts of references, memory, objects ended in any order."""

import gc
import random
import sys
import threading
import weakref

import numpy as np

import opdyno
from conftest import DATA, host_program

ROUNDS = 10_000


def resident_kib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4


def test_counts_of_arguments_and_results_return():
    array, text, items = np.zeros(4), "a text that is not small", [1, 2]
    echo = opdyno.Function(lambda *args: args[0] if args else None)
    tensor = opdyno.tensor(array)
    before = [sys.getrefcount(x) for x in (array, text, items, tensor)]
    for _ in range(ROUNDS):
        echo(array), echo(text), echo(items), echo(tensor), echo({"k": array})
    gc.collect()
    assert [sys.getrefcount(x) for x in (array, text, items, tensor)] == before


def test_callbacks_end_with_their_last_function():
    class Callable:
        def __call__(self, x):
            return x

    callable = Callable()
    ended = weakref.ref(callable)
    for _ in range(ROUNDS):
        opdyno.Function(callable)(1)
    assert sys.getrefcount(callable) == 2
    opdyno.register_func("test.py.leak", callable, override=True)
    del callable
    assert ended() is not None and opdyno.get_global_func("test.py.leak")(3) == 3
    opdyno.remove_global_func("test.py.leak")
    assert ended() is None


def test_exceptions_end_with_their_handler():
    class Marked(Exception):
        pass

    last = None

    def fail():
        nonlocal last
        error = Marked()
        last = weakref.ref(error)
        raise error

    function = opdyno.Function(fail)
    for _ in range(1000):
        try:
            function()
        except Marked:
            pass
    gc.collect()
    assert last() is None


def test_arrays_are_let_go_when_tensors_end():
    array = np.zeros(1000)
    before = sys.getrefcount(array)
    shared = opdyno.from_dlpack(array)
    view = shared.view()
    del shared
    assert view.sum() == 0
    del view
    gc.collect()
    assert sys.getrefcount(array) == before


def test_memory_stays_flat():
    vm, x = opdyno.VirtualMachine(DATA / "0.27" / "chain_100.so"), np.zeros(4, "float32")
    host = host_program()

    def work(rounds):
        for i in range(rounds):
            vm["main"](x).numpy()
            host["pair"](i)
            opdyno.tensor(x).copyto(opdyno.cpu())
            try:
                vm["main"](1)
            except opdyno.Error:
                pass

    work(2000)
    before = resident_kib()
    work(20_000)
    assert resident_kib() - before < 2048


def test_objects_end_in_any_order_on_any_thread():
    for seed in range(30):
        vm = opdyno.VirtualMachine(DATA / "0.27" / "chain_100.so")
        x = opdyno.tensor(np.zeros(4, "float32"))
        report, trace = vm.profile_with_trace("main", x)
        things = [vm, vm["main"], vm.function("main"), vm["main"](x), report, trace, x, x.view(), memoryview(x)]
        del vm, x, report, trace
        random.Random(seed).shuffle(things)

        def end(part):
            while part:
                part.pop()

        threads = [threading.Thread(target=end, args=(things[i::3],)) for i in range(3)]
        things = None
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
