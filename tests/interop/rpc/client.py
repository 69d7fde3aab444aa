"""opdyno's client with a server of TVM's: client.py DATA direct|tracker PORT."""

import sys
from pathlib import Path

import numpy as np

import opdyno
from opdyno import rpc

DATA, HOW, PORT = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])


def session():
    if HOW == "direct":
        return rpc.connect("127.0.0.1", PORT, key="board", session_timeout=100)
    tracker = rpc.connect_tracker("127.0.0.1", PORT)
    made = tracker.request("board", session_timeout=100)
    assert "board" in tracker.text_summary(), tracker.text_summary()
    return made


def raises(part, call):
    try:
        call()
    except opdyno.Error as error:
        assert part in str(error), error
    else:
        raise AssertionError(f"no error with {part!r}")


def tensors(device):
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    there = opdyno.tensor(x, device)
    np.testing.assert_array_equal(there.numpy(), x)
    other = opdyno.empty(x.shape, "float32", device)
    there.copyto(other)
    np.testing.assert_array_equal(other.numpy(), x)
    for dtype in ("int8", "uint64", "float16", "bool"):
        y = np.array([1, 0, 1], dtype=dtype)
        np.testing.assert_array_equal(opdyno.tensor(y, device).numpy(), y)
    large = np.random.default_rng(0).random(30_000_000, dtype="float32")  # more than a packet of this client
    np.testing.assert_array_equal(opdyno.tensor(large, device).numpy(), large)


def kernels(remote, device):
    remote.upload(DATA / "0.27" / "kernels.so")
    module = remote.load_module("kernels.so")
    x, y = np.arange(16, dtype="float32"), np.ones(16, dtype="float32")
    arguments = [opdyno.tensor(each, device) for each in (x, y, np.zeros_like(x))]
    module["vector_add"](*arguments)
    np.testing.assert_array_equal(arguments[2].numpy(), x + y)
    raises("Expected 3 arguments", lambda: module["vector_add"](*arguments[:2]))
    raises("nobody", lambda: module["nobody"])
    raises("does not list", module.function_names)
    times = module.time_evaluator("vector_add", device, number=10, repeat=3)(*arguments)
    assert len(times.results) == 3 and 0 <= times.mean < 1
    remote.upload(b"content", "file")
    assert remote.download("file") == b"content"
    remote.remove("file")
    raises("file", lambda: remote.download("file"))


def items(value):
    """The arrays of nested tuples, in their order."""
    if isinstance(value, (tuple, opdyno.Array)):
        return [one for item in value for one in items(item)]
    return [value.numpy()]


def programs(remote, device):
    remote.upload(DATA / "0.27" / "chain_100.so")
    vm = opdyno.VirtualMachine(remote.load_module("chain_100.so"), device)
    x = np.arange(4, dtype="float32")
    there = opdyno.tensor(x, device)
    np.testing.assert_array_equal(vm["main"](there).numpy(), x + 100)
    vm.set_input("main", x)
    vm.invoke_stateful("main")
    np.testing.assert_array_equal(vm.get_outputs("main").numpy(), x + 100)
    assert vm.parameter_names("main") == ["x"]
    np.testing.assert_array_equal(vm["main"](x=there).numpy(), x + 100)
    vm.save_function("main", "timed", there, include_return=False)
    for name, arguments in (("timed", ()), ("invoke_stateful", ("main",))):
        times = vm.time_evaluator(name, device, number=10, repeat=3)(*arguments)
        assert len(times.results) == 3 and 0 < times.mean < 1

    remote.upload(DATA / "0.27" / "tuples.so")
    vm = opdyno.VirtualMachine(remote.load_module("tuples.so"), device)
    here = opdyno.VirtualMachine(DATA / "0.27" / "tuples.so")
    count = len(vm.parameter_names("nested"))
    results, here = items(vm["nested"](*[there] * count)), items(here["nested"](*[x] * count))
    assert len(results) == len(here) > 1
    for one, other in zip(results, here):
        np.testing.assert_array_equal(one, other)


remote = session()
assert remote.describe()["server"] == "tvm" and remote.cpu().exist and not remote.cuda().exist, remote
tensors(remote.cpu())
kernels(remote, remote.cpu())
programs(remote, remote.cpu())
raises("no global function", lambda: remote.get_function("nobody"))
for _ in range(1000):  # objects that are dropped one after the other
    opdyno.tensor(np.zeros(4, "float32"), remote.cpu())
remote.close()
print(f"{HOW}: ok")
