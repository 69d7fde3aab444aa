"""TVM's VM and opdyno's under the same names, and the weights of the model."""

import tempfile

import numpy as np


def open_program(runtime, program, device="cpu:0"):
    """The VM of a program, and what finds global functions, makes tensors and makes shapes. TVM's wheel has the CPU only."""
    if runtime == "tvm":
        import tvm
        from tvm import relax

        vm = relax.VirtualMachine(tvm.runtime.load_module(program), tvm.cpu())
        return vm, tvm.get_global_func, tvm.runtime.tensor, getattr(tvm.runtime, "ShapeTuple", None) or tvm.runtime.Shape
    import opdyno

    vm = opdyno.VirtualMachine(program, opdyno.device(device))
    return vm, opdyno.get_global_func, lambda array: opdyno.tensor(array, device), opdyno.Shape


def call_and_replay(vm, function, *arguments):
    """The result of a call of opdyno's VM that is recorded, and made again by its recording."""
    import opdyno

    with tempfile.TemporaryDirectory() as scratch:
        path = f"{scratch}/call.opdrec"
        try:
            with vm.recording_call(path):
                result = vm[function](*arguments)
        except opdyno.Error as error:
            if "forgot rows in the pass that runs" not in str(error):  # of a sliding window
                raise
            return result
        replayed = opdyno.replay(path)
        assert replayed, replayed.verdict
        return result


def on_host(tensor):
    return (tensor.to("cpu:0") if hasattr(tensor, "to") else tensor).numpy()


def read_arrays(path):
    stored = np.load(path)
    return [stored[name] for name in sorted(stored.files)]
