"""opdyno.compare: verdicts of programs whose kernels are Python functions."""

import numpy
import pytest

import opdyno

PROGRAM = """.executable "0.14"
.func main(x) {
  %%s = call vm.builtin.alloc_storage(%%vm, shape(16), 0, dtype(uint8), "global")
  %%t = call vm.builtin.alloc_tensor(%%s, 0, shape(4), dtype(float32))
  call %s(%%x, %%t)
  ret %%t
}
"""


def kernel(name, summand):
    def run(x, y):
        y.copyfrom(x.numpy() + numpy.float32(summand))

    opdyno.register_func(name, run, override=True)


def vm(callee):
    return opdyno.VirtualMachine(opdyno.Executable.assemble(PROGRAM % callee), opdyno.cpu())


@pytest.fixture(autouse=True)
def kernels():
    kernel("test.compare_one", 1)
    kernel("test.compare_more", 1.25)


def compare(a, b, **options):
    return opdyno.compare(vm(a), vm(b), [numpy.array([1, 2, 3, 4], "float32")], **options)


def test_equal_programs():
    found = compare("test.compare_one", "test.compare_one")
    assert found and found.cause is None and found.times is None
    assert str(found) == found.verdict == "no difference: 1 operator agrees bit for bit"


def test_the_wrong_operator_is_the_cause(tmp_path):
    found = compare("test.compare_one", "test.compare_more", save=str(tmp_path / "around"))
    assert not found and found.cause == "test.compare_more"
    assert found.verdict.startswith("first difference at test.compare_more (in A: test.compare_one): max abs 0.25 ")
    assert list(opdyno.load_params(str(tmp_path / "around" / "b.npz"))) == ["test.compare_more/input_0", "test.compare_more/output_1"]


def test_tolerances_are_numbers_or_numbers_by_dtype():
    assert compare("test.compare_one", "test.compare_more", atol=0.3)
    assert compare("test.compare_one", "test.compare_more", atol={"float32": 0.3, "float16": 0})
    assert not compare("test.compare_one", "test.compare_more", atol={"float16": 0.3})


def test_times_are_measured_if_runs_are_asked_for():
    times = compare("test.compare_one", "test.compare_more", repeat=4).times
    assert times is not None and times.configuration["Runs before"].value == 4


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="takes 1 argument, but was given 0"):
        opdyno.compare(vm("test.compare_one"), vm("test.compare_one"), [])
    with pytest.raises(ValueError, match="rtol takes numbers of at least 0"):
        compare("test.compare_one", "test.compare_one", rtol=-1)
