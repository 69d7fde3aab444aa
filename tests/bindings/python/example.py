"""A program like those of users. test_example.py runs it, and test_typing.py checks that type checkers know every
name."""

import sys

import numpy

import opdyno


@opdyno.register_func("example.scale", override=True)
def scale(x: opdyno.Tensor, factor: float) -> opdyno.Tensor:
    return opdyno.tensor(x.numpy() * factor)


def main(path: str) -> float:
    vm = opdyno.VirtualMachine(path, opdyno.cpu(), memory_cfg="pooled")
    x = numpy.zeros(4, "float32")
    y: opdyno.Tensor = vm["main"](x)
    report: opdyno.Report = vm.profile("main", x)
    for call in report.calls[:3]:
        print(call["Name"], call["Duration (us)"])
    timed: opdyno.BenchmarkResult = vm.time_evaluator("main", opdyno.cpu(), number=10, repeat=3)(x)
    print(f"{timed.median * 1e6:.1f} us of {len(timed.results)} samples")
    found = opdyno.get_global_func("example.scale", allow_missing=True)
    if found is None:
        return 0.0
    try:
        vm["main"](numpy.zeros(5, "float32"))
    except opdyno.Error as error:
        print(error.code, error)
    result: opdyno.Tensor = found(y, 2.0)
    return float(result.numpy()[0])


if __name__ == "__main__":
    print(main(sys.argv[1]))
