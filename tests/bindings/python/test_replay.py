"""Tests of vm.recording_call and opdyno.replay."""

import numpy
import pytest

import opdyno

PROGRAM = """.executable "0.14"
.func main(x) {
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %t = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  call test.replay_add(%x, %t)
  %n = call test.replay_ask(%t)
  %r = call vm.builtin.make_tuple(%t, %n)
  ret %r
}
"""
X = numpy.array([1, 2, 3, 4], "float32")


@pytest.fixture
def asked():
    calls = []
    opdyno.register_func("test.replay_add", lambda x, y: y.copyfrom(x.numpy() + 1), override=True)
    opdyno.register_func("test.replay_ask", lambda t: calls.append(t.numpy().tolist()) or len(calls), override=True)
    return calls


@pytest.fixture
def vm(asked):
    return opdyno.VirtualMachine(opdyno.Executable.assemble(PROGRAM), opdyno.cpu())


def test_a_call_is_made_again_with_the_results_of_python(vm, asked, tmp_path):
    path = str(tmp_path / "call.opdrec")
    with vm.recording_call(path):
        result = vm["main"](X)
    assert result[0].numpy().tolist() == [2, 3, 4, 5] and asked == [[2, 3, 4, 5]]
    replayed = opdyno.replay(path)
    assert replayed and replayed.verdict == "the call returned what was recorded: 2 values are equal bit for bit"
    assert len(asked) == 1  # the function was not called again
    assert str(replayed) == replayed.verdict and replayed.verdict in repr(replayed)
    assert replayed.module.kind == "relax.VMExecutable" and replayed.profile is None and replayed.minimised is None
    assert [row["Kind"] for row in replayed.report.calls] == ["argument", "host function", "host function", "result", "result"]
    assert opdyno.replay(path, repeat=2).profile is not None


def test_options_of_both(vm, tmp_path):
    path = tmp_path / "call.opdrec"
    with vm.recording_call(path, with_program=False, with_outputs=True, with_operators=True, with_paths=True):
        vm["main"](X)
    with pytest.raises(opdyno.Error, match="has only hashes of its program"):
        opdyno.replay(path)
    module = opdyno.Executable.assemble(PROGRAM).to_module()
    names = []
    replayed = opdyno.replay(path, module=module, rtol={"float32": 1e-5}, atol=1e-5, timeout=60,
                             instrument=lambda function, name, before, result, *args: names.append(name))
    assert replayed and "test.replay_add" in names
    with pytest.raises(TimeoutError, match="the deadline passed"):
        opdyno.replay(path, module=module, timeout=0)
    moved = opdyno.replay(path, module=module, device=opdyno.cpu(1))
    assert moved and moved.report.calls[-2]["Value"] == "float32[4] on cpu:1"
    with pytest.raises(opdyno.Error, match="nothing can be minimised"):
        opdyno.replay(path, module=module, minimise=tmp_path / "small.opdrec")


def test_no_call_and_errors_of_calls(vm, tmp_path):
    path = str(tmp_path / "call.opdrec")
    with pytest.raises(opdyno.Error, match="this VM was not called"), vm.recording_call(path):
        pass
    with pytest.raises(TypeError, match="takes 1 argument"), vm.recording_call(path):
        vm["main"](X, X)
    assert "failed as it did when it was recorded" in opdyno.replay(path).verdict
    with pytest.raises(opdyno.Error), vm.recording_call(str(tmp_path / "none" / "call.opdrec")):
        raise AssertionError("not reached")
    with pytest.raises(RuntimeError, match="mine"), vm.recording_call(path):
        raise RuntimeError("mine")
    vm["main"](X)
