"""Tests of threads and processes: the GIL, C threads, forks. No test depends on timing."""

import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

import numpy as np
import pytest

import opdyno
from conftest import DATA, KERNELS

SOURCE = (
    "#define _GNU_SOURCE\n"
    + KERNELS
    + r"""
#include <pthread.h>
#include <time.h>
#include <unistd.h>
extern int TVMFFIFunctionCall(void *function, const Any *args, int32_t n, Any *result);
extern void TVMFFIErrorMoveFromRaised(void **out);
extern void TVMFFIErrorSetRaised(void *error);
extern int TVMFFIObjectDecRef(void *object);
extern int TVMBackendParallelLaunch(int (*task)(int, void *, void *), void *data, int n);

/* Counts itself in, and waits until two were here; after 20 seconds nobody comes any more. */
int __tvm_ffi_meet(void *self, const Any *args, int32_t n, Any *result) {
  int32_t *here = (int32_t *)doubles(args);
  __atomic_add_fetch(here, 1, __ATOMIC_SEQ_CST);
  for (int i = 0; i < 20000; ++i, usleep(1000))
    if (__atomic_load_n(here, __ATOMIC_SEQ_CST) >= 2) return 0;
  TVMFFIErrorSetRaisedFromCStr("TimeoutError", "no other thread came");
  return -1;
}

typedef struct { void *function; Any arg, result; int failed; void *error; } Call;
static void *make_call(void *data) {
  Call *call = data;
  call->failed = TVMFFIFunctionCall(call->function, &call->arg, 1, &call->result);
  if (call->failed) TVMFFIErrorMoveFromRaised(&call->error);
  return 0;
}
/* on_thread(f, x): f(x) on a thread of its own, which Python has never seen. */
int __tvm_ffi_on_thread(void *self, const Any *args, int32_t n, Any *result) {
  static __thread Call call; /* outlives this function when it gives up */
  struct timespec until;
  pthread_t thread;
  call = (Call){.function = args[0].u.p, .arg = args[1]};
  if (pthread_create(&thread, 0, make_call, &call)) return -1;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 20;
  if (pthread_timedjoin_np(thread, 0, &until)) {
    TVMFFIErrorSetRaisedFromCStr("TimeoutError", "the thread does not end");
    return -1;
  }
  if (call.failed) {
    TVMFFIErrorSetRaised(call.error);
    TVMFFIObjectDecRef(call.error);
    return -1;
  }
  *result = call.result;
  return 0;
}

static int add_one(int task, void *environment, void *data) { return ((double *)data)[task] += 1, 0; }
int __tvm_ffi_parallel(void *self, const Any *args, int32_t n, Any *result) {
  return TVMBackendParallelLaunch(add_one, doubles(args), (int)count(args));
}
"""
)
PROGRAM = """
.func wait(x) {
  %r = call meet(%x)
  ret %r
}
.func host(x) {
  %r = call test.py.meet(%x)
  ret %r
}
.func closure(x) {
  %c = call vm.builtin.make_closure(@wait, %x)
  ret %c
}
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return opdyno.load_source(SOURCE, cache_dir=str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def vm(kernels):
    opdyno.register_func("test.py.meet", lambda x: kernels["meet"](x), override=True)
    module = opdyno.Executable.assemble(PROGRAM).to_module()
    module.import_module(kernels)
    return opdyno.VirtualMachine(module)


def stateful(vm, x):
    vm.set_input("wait", x)
    vm.invoke_stateful("wait")


WAYS = {
    "function of a module": lambda vm, kernels, x: kernels["meet"](x),
    "function of a vm": lambda vm, kernels, x: vm["wait"](x),
    "bound function of a vm": lambda vm, kernels, x: vm.function("wait")(x),
    "call with a deadline": lambda vm, kernels, x: vm.call("wait", x, timeout=300),
    "closure": lambda vm, kernels, x: vm["closure"](x)(),
    "invoke_closure": lambda vm, kernels, x: vm.invoke_closure(vm["closure"](x)),
    "stateful call": lambda vm, kernels, x: stateful(vm, x),
    "profile": lambda vm, kernels, x: vm.profile("wait", x),
    "time evaluator": lambda vm, kernels, x: vm.time_evaluator("wait", opdyno.cpu(), number=1)(x),
    "function of Python that calls a kernel": lambda vm, kernels, x: vm["host"](x),
}


@pytest.mark.parametrize("way", WAYS)
def test_other_threads_run_while_a_kernel_does(vm, kernels, way):
    shared, failed = opdyno.tensor(np.zeros(1, "int32")), []
    here = shared.view()

    def second():
        try:
            while not here[0]:  # wait until the other thread is in the kernel
                time.sleep(0.001)
            kernels["meet"](here)
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=second, daemon=True)
    thread.start()
    WAYS[way](vm, kernels, shared)  # ends only if the other thread can run meanwhile
    thread.join()
    assert not failed and here[0] >= 2


def test_other_threads_run_while_a_compiler_does(tmp_path):
    compiler = tmp_path / "cc"
    compiler.write_text(
        f"#!/bin/sh\ntouch {tmp_path}/begun\n"
        f"for i in $(seq 400); do [ -e {tmp_path}/go ] && exec cc \"$@\"; sleep 0.05; done\nexit 1\n"
    )
    compiler.chmod(0o755)

    def let_go():
        while not (tmp_path / "begun").exists():
            time.sleep(0.001)
        (tmp_path / "go").touch()

    thread = threading.Thread(target=let_go, daemon=True)
    thread.start()
    module = opdyno.load_source(KERNELS, compiler=str(compiler), cache_dir=str(tmp_path / "cache"))
    assert module["sum"](np.ones(3)) == 3
    thread.join()


def test_threads_of_c_call_python(kernels):
    threads = set()

    def double(x):
        threads.add(threading.get_ident())
        return 2 * x

    assert [kernels["on_thread"](double, i) for i in range(50)] == [2 * i for i in range(50)]
    assert threading.get_ident() not in threads and threads


def test_several_threads_of_c_call_python_at_once(kernels):
    together, results = threading.Barrier(4), {}

    def callback(x):
        together.wait(60)  # all four callbacks are in Python, on four C threads
        return x + 1

    def work(i):
        results[i] = kernels["on_thread"](callback, i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {i: i + 1 for i in range(4)}


def test_what_a_callback_raises_on_a_thread_of_c_comes_out_as_itself(kernels):
    class Unusual(Exception):
        pass

    def fail(x):
        raise Unusual(x)

    for i in range(3):
        with pytest.raises(Unusual) as caught:
            kernels["on_thread"](fail, i)
        assert caught.value.args == (i,) and "raise Unusual(x)" in "".join(traceback.format_exception(caught.value))


def test_a_thread_of_c_may_let_the_last_reference_go(kernels):
    tensors = [opdyno.tensor(np.full(3, 1.0))]
    made = opdyno.Function(lambda x: tensors.pop().numpy().sum())  # the tensor is released on the C thread
    assert kernels["on_thread"](made, 0) == 3 and not tensors


def in_a_child(work):
    """Whether work() succeeds in a forked process."""
    child = os.fork()
    if child == 0:
        good = False
        try:
            signal.alarm(60)
            good = work()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0 if good else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def chain_adds():
    chain = opdyno.VirtualMachine(DATA / "0.27" / "chain_100.so")
    return chain["main"](np.zeros(4, "float32")).numpy().tolist() == [100] * 4


def test_children_work_while_another_thread_was_in_a_kernel(vm, kernels):
    shared = opdyno.tensor(np.zeros(1, "int32"))
    here = shared.view()
    thread = threading.Thread(target=vm["wait"], args=(shared,), daemon=True)
    thread.start()
    while not here[0]:
        time.sleep(0.001)
    assert in_a_child(lambda: chain_adds() and opdyno.Function(lambda x: x + 1)(1) == 2)
    kernels["meet"](here)
    thread.join()


def test_parallel_kernels_run_in_children(kernels):
    def parallel():
        x = np.zeros(16)
        kernels["parallel"](x)
        return (x == 1).all()

    assert parallel() and in_a_child(parallel) and in_a_child(lambda: in_a_child(parallel)) and parallel()


FRESH = """
import os, sys
sys.path.insert(0, sys.argv[1])
import opdyno
from test_threads import chain_adds, in_a_child
print(in_a_child(chain_adds), chain_adds(), opdyno.__name__)
"""


def test_a_child_works_that_was_forked_right_after_the_import():
    run = subprocess.run([sys.executable, "-c", FRESH, str(Path(__file__).parent)], capture_output=True, text=True, timeout=120)
    assert run.stdout == "True True opdyno\n", run.stderr


INTERRUPTED = """
import os, signal, threading
import opdyno
begun = threading.Event()
opdyno.register_func("test.py.step", lambda n: (begun.set(), n)[1])
program = ".func spin(n) {\\nagain:\\n  %n = call test.py.step(%n)\\n  if %n else done\\n  goto again\\ndone:\\n  ret %n\\n}"
vm = opdyno.VirtualMachine(opdyno.Executable.assemble(program))
vm["spin"](0)
begun.clear()
child = os.fork()
if child == 0:
    threading.Thread(target=lambda: (begun.wait(), os.kill(os.getpid(), signal.SIGINT))).start()
    try:
        signal.alarm(60)
        vm["spin"](1)
    except KeyboardInterrupt:
        os._exit(7)
    os._exit(1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_ctrl_c_ends_a_call_in_a_child():
    run = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120)
    assert run.stdout == "7\n", run.stderr


def _in_a_process(scale):
    double = opdyno.Function(lambda x: scale * x)
    return chain_adds() and double(2) == 2 * scale


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_multiprocessing(method, kernels):
    import multiprocessing

    kernels["parallel"](np.zeros(4))  # this process has worker threads by now
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(_in_a_process, [1, 2, 3, 4]).get(120) == [True] * 4


def _square(x):
    return opdyno.tensor(x.numpy() ** 2)


def test_tensors_and_reports_go_to_other_processes_and_back(chain):
    import multiprocessing

    report = chain.profile("main", np.zeros(4, "float32"))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        y = pool.map_async(_square, [opdyno.tensor(np.arange(4.0))]).get(120)[0]
        assert y.numpy().tolist() == [0, 1, 4, 9]
        # JSON has 17 digits after the point, so the last bit of a short time, and with it the order of a table, may
        # change.
        assert pool.map_async(opdyno.Report.json, [report]).get(120) == [report.json()]


AT_EXIT = """
import sys, threading, time
sys.path.insert(0, sys.argv[1])
import numpy as np, opdyno
from test_threads import PROGRAM, SOURCE, DATA
begun = threading.Event()

class Late:  # ends after the interpreter began to end, and lets other threads try to go on then
    def __del__(self, sleep=time.sleep):
        sleep(0.2)

late = Late()
chain, x = opdyno.VirtualMachine(DATA / "0.27" / "chain_100.so"), np.zeros(4, "float32")
kernels = opdyno.load_source(SOURCE, cache_dir=sys.argv[2])
calls = {"vm": lambda: chain["main"](x), "callback": lambda: opdyno.Function(time.sleep)(0.001),
         "thread of C": lambda: kernels["on_thread"](lambda n: time.sleep(0.001), 1), "load": lambda: opdyno.load_module(DATA / "0.27" / "chain_100.so")}

def work():
    while True:
        calls[sys.argv[3]]()
        begun.set()

threading.Thread(target=work, daemon=True).start()
begun.wait()
"""


@pytest.mark.parametrize("call", ["vm", "callback", "thread of C", "load"])
def test_a_daemon_thread_in_a_call_does_not_disturb_the_end_of_the_interpreter(call, tmp_path):
    command = [sys.executable, "-c", AT_EXIT, str(Path(__file__).parent), str(tmp_path), call]
    for _ in range(3):
        run = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert (run.returncode, run.stderr) == (0, "")


INTERRUPTED_EVALUATOR = """
import os, signal, sys, threading
import opdyno
begun = threading.Event()
opdyno.register_func("test.py.step", lambda: begun.set())
opdyno.VirtualMachine(opdyno.Executable.assemble(".func main(x) {\\n  ret %x\\n}"))
threading.Thread(target=lambda: (begun.wait(), os.kill(os.getpid(), signal.SIGINT))).start()
module = opdyno.load_source("int __tvm_ffi_step(void *s, const void *a, int n, void *r) { return 0; }", cache_dir=sys.argv[1])
signal.alarm(60)
before = opdyno.get_global_func("test.py.step")
options = {"pause": {"cooldown_interval_ms": 10**7}, "calls": {"number": 2**31 - 1}, "threads": {"number": 2**31 - 1, "concurrency": 2}}
try:
    module.time_evaluator("step", opdyno.cpu(), f_preproc=before, **options[sys.argv[2]])()
except KeyboardInterrupt:
    print("ended")
"""


@pytest.mark.parametrize("way", ["pause", "calls", "threads"])
def test_ctrl_c_ends_the_time_evaluator_of_a_module(way, tmp_path):
    command = [sys.executable, "-c", INTERRUPTED_EVALUATOR, str(tmp_path), way]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.stdout == "ended\n", run.stderr
