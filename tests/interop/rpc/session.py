"""What users of TVM's RPC do: session.py DATA direct|tracker PORT."""

import gc
import sys
from pathlib import Path

import numpy as np
import tvm
from tvm import relax, rpc

DATA, HOW, PORT = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])


def session():
    if HOW == "direct":
        return rpc.connect("127.0.0.1", PORT, key="board")
    return rpc.connect_tracker("127.0.0.1", PORT).request("board", session_timeout=60)


def raises(part, call):
    try:
        call()
    except Exception as error:
        assert part in str(error), error
    else:
        raise AssertionError(f"no error with {part!r}")


def tensors(remote, device):
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    there = tvm.runtime.tensor(x, device)
    np.testing.assert_array_equal(there.numpy(), x)
    other = tvm.runtime.empty(x.shape, "float32", device)
    there.copyto(other)
    np.testing.assert_array_equal(other.numpy(), x)
    for dtype in ("int8", "uint64", "float16", "bool"):
        y = np.array([1, 0, 1], dtype=dtype)
        np.testing.assert_array_equal(tvm.runtime.tensor(y, device).numpy(), y)
    large = np.random.default_rng(0).random(3_000_000, dtype="float32")
    np.testing.assert_array_equal(tvm.runtime.tensor(large, device).numpy(), large)
    assert device.exist and not remote.cl(57).exist


def kernels(remote, device):
    remote.upload(str(DATA / "0.27" / "kernels.so"))
    module = remote.load_module("kernels.so")
    x, y = np.arange(16, dtype="float32"), np.ones(16, dtype="float32")
    arguments = [tvm.runtime.tensor(each, device) for each in (x, y, np.zeros_like(x))]
    module["vector_add"](*arguments)
    np.testing.assert_array_equal(arguments[2].numpy(), x + y)
    raises("TypeError: Expected 3 arguments", lambda: module["vector_add"](*arguments[:2]))
    raises("nobody", lambda: module["nobody"])
    times = module.time_evaluator("vector_add", device, number=10, repeat=3)(*arguments)
    assert len(times.results) == 3 and 0 <= times.mean < 1
    remote.upload(bytearray(b"content"), "file")
    assert remote.download("file") == b"content"
    remote.remove("file")
    raises("file", lambda: remote.download("file"))


def mlp(remote, device, program, recorded):
    """What the model gave to NumPy, in the two ways in which TVM's compiler makes programs."""
    remote.upload(str(program))
    vm = relax.VirtualMachine(remote.load_module(program.name), device)
    assert vm._get_function_arity("with_constants") == 1
    assert vm._get_function_param_name("with_constants", 0) == "x"
    for function in ("with_constants", "with_arguments"):
        names = sorted(name for name in recorded.files if name.startswith(function + "/in"))
        given = [tvm.runtime.tensor(recorded[name], device) for name in names]
        expected = recorded[function + "/out"]
        np.testing.assert_allclose(vm[function](*given).numpy(), expected, rtol=1e-5, atol=1e-5)
        vm.set_input(function, *given)
        vm.invoke_stateful(function)
        np.testing.assert_allclose(vm.get_outputs(function).numpy(), expected, rtol=1e-5, atol=1e-5)
        vm.save_function(function, "saved_" + function, *given, include_return=False)
        times = vm.time_evaluator("saved_" + function, device, number=3, repeat=2)()
        assert len(times.results) == 2 and min(times.results) > 0
    raises("with_arguments", lambda: vm["with_arguments"](given[0]))


def programs(remote, device):
    remote.upload(str(DATA / "0.27" / "chain_100.so"))
    vm = relax.VirtualMachine(remote.load_module("chain_100.so"), device)
    x = tvm.runtime.tensor(np.arange(4, dtype="float32"), device)
    expected = np.arange(100, 104, dtype="float32")
    np.testing.assert_array_equal(vm["main"](x).numpy(), expected)
    vm.set_input("main", x)
    vm.invoke_stateful("main")
    np.testing.assert_array_equal(vm.get_outputs("main").numpy(), expected)
    vm.save_function("main", "saved", x, include_return=False)
    assert vm["saved"]() is None
    assert 0 <= vm.time_evaluator("saved", device, number=5)().mean < 1
    assert 0 <= vm.time_evaluator("invoke_stateful", device, number=5)("main").mean < 1
    raises("main", lambda: vm["main"]())
    np.testing.assert_array_equal(vm["main"](x).numpy(), expected)

    for mode in ("bytecode", "compiled"):
        folder = DATA / "0.27" if mode == "bytecode" else DATA / "compiled" / "0.27"
        mlp(remote, device, folder / "mlp.so", np.load(folder / "mlp.npz"))

    remote.upload(str(DATA / "0.27" / "tuples.so"))
    vm = relax.VirtualMachine(remote.load_module("tuples.so"), device)
    vm.set_input("nested", *[x] * vm._get_function_arity("nested"))
    vm.invoke_stateful("nested")
    assert isinstance(vm.get_outputs("nested"), tuple)


def use():
    remote = session()
    device = remote.cpu()
    tensors(remote, device)
    kernels(remote, device)
    programs(remote, device)


for _ in range(3 if HOW == "tracker" else 1):
    use()
    gc.collect()  # errors that were raised refer to the session: it ends with them, and the next client gets the server
print(f"TVM {tvm.__version__} agrees ({HOW})")
