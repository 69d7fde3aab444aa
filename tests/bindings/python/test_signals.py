"""Tests that signal handlers run during native calls, as PEP 475 requires for system calls. If a handler raises, the
call ends with that exception. If it returns, the call continues."""

import subprocess
import sys
from pathlib import Path

import pytest

# The call runs no Python code. It ends when a handler cancels it or raises an exception.
SCRIPT = """
import os, signal, struct, sys, threading, time
sys.path.insert(0, sys.argv[1])
import numpy as np, opdyno
from conftest import KERNELS, host_program
kernels = opdyno.load_source(KERNELS + r'''
#include <unistd.h>
static volatile int begun;
int __tvm_ffi_more(void *self, const Any *args, int32_t n, Any *result) {{
  begun = 1;
  usleep(1000);
  result->type = 1, result->u.i = doubles(args)[0] == 0;
  return 0;
}}
int is_running(void) {{ return begun; }}
extern int TVMBackendParallelLaunch(int (*task)(int, void *, void *), void *data, int n);
static int task(int id, void *group, void *data) {{ return begun = 1, usleep(1000), 0; }}
int __tvm_ffi_regions(void *self, const Any *args, int32_t n, Any *result) {{
  while (doubles(args)[0] == 0)
    if (TVMBackendParallelLaunch(task, 0, 0)) return -1;
  result->type = 1, result->u.i = 0;
  return 0;
}}
/* What exec_mode="compiled" makes of spin(x). */
extern int TVMBackendAnyListMoveFromPackedReturn(void *list, int32_t index, Any *args, int32_t place);
int __tvm_ffi___vmtir__main(void *self, const Any *args, int32_t n, Any *result) {{
  Any *registers = args[1].u.p;
  do {{
    Any more = {{0}};
    if (__tvm_ffi_more(0, registers, 1, &more)) return -1;
    if (TVMBackendAnyListMoveFromPackedReturn(registers, 1, &more, 0)) return -1;
  }} while (registers[1].u.i);
  return 0;
}}
''', cache_dir=sys.argv[2])
program = opdyno.Executable.assemble('''
.func spin(x) {{
again:
  %n = call more(%x)
  if %n else done
  goto again
done:
  ret %n
}}
.func parallel(x) {{
  %n = call regions(%x)
  ret %n
}}''')

def text(name):
    return struct.pack("<Q", len(name)) + name

# One function of kind 2 (compiled) with one parameter; no constants, no instructions: docs/executable.md.
machine_code = struct.pack("<Q", 0xD225DE2F4214151E) + text(b"0.14") + struct.pack("<Qi", 1, 2) + text(b"main")
machine_code += struct.pack("<4qQ", 0, 0, 1, 2, 1) + text(b"x") + bytes(32)

def vm_of(program):
    module = program.to_module()
    module.import_module(kernels)
    return opdyno.VirtualMachine(module)

vm, compiled = vm_of(program), vm_of(opdyno.Executable.load_bytes(machine_code))
x, seen = opdyno.tensor(np.zeros(1)), []
is_running = kernels.native_function("is_running", "i32()")

def send():
    while not is_running():
        time.sleep(0.001)
    os.kill(os.getpid(), signal.{signal})

def go_on(number, frame):
    seen.append(number == signal.{signal})
    if len(seen) < 3:
        os.kill(os.getpid(), number)
    else:
        x.view()[0] = 1

def leave(number, frame):
    raise LookupError("enough")

def handle(x):
    try:
        return vm["spin"](x)
    except LookupError as error:
        return f"handled: {{error}}"

signal.signal(signal.{signal}, {handler})
signal.alarm(60)
threading.Thread(target=send).start()
try:
    print({call}, seen)
except LookupError as error:
    print("ended by", error, seen)
kernels["double"](x)
x.view()[0] = 1
print(vm["spin"](x))
"""

CALLS = {
    "function of a vm": ('vm["spin"](x)', "0"),
    "bound function": ('vm.function("spin")(x)', "0"),
    "call from within a call": ('opdyno.Function(lambda: vm["spin"](x))()', "0"),
    "parallel regions of a kernel": ('vm["parallel"](x)', "0"),
    "machine code": ('compiled["main"](x)', "0"),
    "profile": ('vm.profile("spin", x).device_metrics["cpu0"]["Count"].value', "1"),
    "stateful call": ('(vm.set_input("spin", x), vm.invoke_stateful("spin"), vm.get_outputs("spin"))[-1]', "0"),
    "time evaluator": ('len(vm.time_evaluator("spin", opdyno.cpu(), number=1)(x).results)', "1"),
    "evaluator of two threads": ('len(vm.time_evaluator("spin", opdyno.cpu(), number=1, concurrency=2)(x).results)', "2"),
    "evaluator of a module": ('len(kernels.time_evaluator("more", opdyno.cpu(), number=1000)(x).results)', "1"),
}
CASES = [*((call, "SIGINT") for call in CALLS), ("function of a vm", "SIGUSR1")]


def run(tmp_path, call, **parts):
    script = SCRIPT.format(call=call, **parts)
    command = [sys.executable, "-c", script, str(Path(__file__).parent), str(tmp_path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("call, signal", CASES)
def test_a_call_goes_on_after_a_handler_that_returns(call, signal, tmp_path):
    expression, result = CALLS[call]
    done = run(tmp_path, expression, signal=signal, handler="go_on")
    assert done.stdout == f"{result} [True, True, True]\n0\n", done.stderr


@pytest.mark.parametrize("call, signal", CASES)
def test_what_a_handler_raises_ends_the_call(call, signal, tmp_path):
    done = run(tmp_path, CALLS[call][0], signal=signal, handler="leave")
    assert done.stdout == "ended by enough []\n0\n", done.stderr


def test_what_a_handler_raises_ends_a_comparison(tmp_path):
    done = run(tmp_path, 'opdyno.compare(vm, vm_of(program), [x], "spin")', signal="SIGINT", handler="leave")
    assert done.stdout == "ended by enough []\n0\n", done.stderr


def test_an_outer_call_goes_on_if_python_code_handles_what_a_handler_raised(tmp_path):
    done = run(tmp_path, 'host_program()["call"](handle, x)', signal="SIGINT", handler="leave")
    assert done.stdout == "handled: enough []\n0\n", done.stderr
