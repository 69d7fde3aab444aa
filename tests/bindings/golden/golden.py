"""The scenario of golden.c, in Python."""

import sys

import numpy as np
import opdyno


def show(what, values):
    print(what, *(f"{value:g}" if isinstance(value, np.floating) else value for value in values))


def run(vm, x):
    show("functions", vm.function_names())
    show("parameters", vm.parameter_names("main"))
    show("result", vm["main"](x).numpy())
    vm.set_input("main", x)
    vm.invoke_stateful("main")
    show("stateful", vm.get_outputs("main").numpy())
    try:
        vm.call("mian", x)
    except opdyno.Error as error:
        print(f"error {error.kind}: {error}")


def call_back():
    opdyno.register_func("golden.scale", lambda n: 6 * n, override=True)
    program = opdyno.Executable.assemble(".func main(n) {\n  %m = call golden.scale(%n)\n  ret %m\n}")
    print("callback", opdyno.VirtualMachine(program, opdyno.cpu())["main"](7))
    opdyno.remove_global_func("golden.scale")


def instrument(vm, x):
    counts = [0, 0]

    def count(function, name, before, result, *args):
        counts[0 if before else 1] += 1

    vm.set_instrument(count)
    vm.call("main", x)
    vm.set_instrument(None)
    print(f"instrument {counts[0]} before, {counts[1]} after")


def profile(vm, x):
    report, trace = vm.profile_with_trace("main", x)
    adds = [call for call in report.calls if call["Name"] == "add"]
    print(f"profile {len(report.calls)} rows, {len(adds)} of add")
    print(f"trace {len(trace)} calls, {trace.dropped} dropped")
    print(f"JSON {len(opdyno.profiling.Report.from_json(report.json()).calls)} rows")


def main(path):
    module = opdyno.load_module(path)
    print("module", module.kind)
    x = opdyno.tensor(np.arange(4, dtype="float32"))
    vm = opdyno.VirtualMachine(module, opdyno.cpu())
    run(vm, x)
    call_back()
    instrument(vm, x)
    profile(opdyno.VirtualMachine(module, opdyno.cpu()), x)  # without inputs that were set


if __name__ == "__main__":
    main(sys.argv[1])
