"""The scenario of golden.c in Python."""

import sys
from pathlib import Path

import numpy as np
import opdyno


def show(what, values):
    print(what, *(f"{value:g}" if isinstance(value, np.floating) else value for value in values))


def answers(result):
    """The elements of a tensor. For a matrix, the index of the largest element in each row."""
    elements = result.numpy()
    return elements.argmax(axis=1) if elements.ndim == 2 else elements


def run(vm, args):
    show("functions", vm.function_names())
    show("parameters", vm.parameter_names("main"))
    show("result", answers(vm["main"](*args)))
    vm.set_input("main", *args)
    vm.invoke_stateful("main")
    show("stateful", answers(vm.get_outputs("main")))
    try:
        vm.call("mian", *args)
    except opdyno.Error as error:
        print(f"error {error.kind}: {error}")


def call_back():
    opdyno.register_func("golden.scale", lambda n: 6 * n, override=True)
    program = opdyno.Executable.assemble(".func main(n) {\n  %m = call golden.scale(%n)\n  ret %m\n}")
    print("callback", opdyno.VirtualMachine(program, opdyno.cpu())["main"](7))
    opdyno.remove_global_func("golden.scale")


def instrument(vm, args):
    counts = [0, 0]

    def count(function, name, before, result, *args):
        counts[0 if before else 1] += 1

    vm.set_instrument(count)
    vm.call("main", *args)
    vm.set_instrument(None)
    print(f"instrument {counts[0]} before, {counts[1]} after")


def profile(vm, args, name):
    report, trace = vm.profile_with_trace("main", *args)
    calls = [call for call in report.calls if call["Name"] == name]
    print(f"profile {len(report.calls)} rows, {len(calls)} of {name}")
    print(f"trace {len(trace)} calls, {trace.dropped} dropped")
    print(f"JSON {len(opdyno.profiling.Report.from_json(report.json()).calls)} rows")


def show_model(module, args, name):
    print("module", module.kind)
    vm = opdyno.VirtualMachine(module, opdyno.cpu())
    run(vm, args)
    instrument(vm, args)
    profile(opdyno.VirtualMachine(module, opdyno.cpu()), args, name)  # a new VM, whose inputs are not set


def show_digits(directory):
    module = opdyno.Executable.assemble((directory / "digits.opdasm").read_text()).to_module()
    module.import_module(opdyno.load_module(directory / "kernels.c"))
    pixels = opdyno.load_params(directory / "data" / "digits_test.npz")["images"].numpy()[:20]
    images = (pixels / np.float32(16)).reshape(20, 8, 8, 1)
    show_model(module, [images, *opdyno.load_params(directory / "data" / "digits.params").values()], "conv2d")


def main(library, digits):
    show_model(opdyno.load_module(library), [opdyno.tensor(np.arange(4, dtype="float32"))], "add")
    call_back()
    show_digits(Path(digits))


if __name__ == "__main__":
    main(*sys.argv[1:])
