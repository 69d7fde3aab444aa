"""Tests of opdyno.compare: verdicts on programs whose kernels are Python functions."""

import numpy
import pytest
from conftest import DATA

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


CONVERTED = """.executable "0.14"
.func main(x) {
  call vm.builtin.check_tensor_info(%%x, 1, dtype(%s), "x")
  call test.compare_capture(%%x)
  ret %%x
}
"""


def bfloat16_bits(x):
    """Rounds numbers to bfloat16, to nearest with ties to even. NaN is not supported."""
    bits = x.view(numpy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("uint16")


@pytest.mark.parametrize("dtype, bits", [("float16", lambda x: x.astype("float16").view("uint16")), ("bfloat16", bfloat16_bits)])
def test_a_program_of_another_dtype_gets_the_nearest_numbers(dtype, bits):
    captured = []
    opdyno.register_func("test.compare_capture", lambda x: captured.append((x.dtype, x.tobytes())), override=True)
    one, other = (opdyno.VirtualMachine(opdyno.Executable.assemble(CONVERTED % name), opdyno.cpu()) for name in ("float32", dtype))
    patterns = numpy.random.default_rng(5).integers(0, 2**32, 20_000, "uint32").view("float32")
    x = numpy.concatenate([patterns[~numpy.isnan(patterns)], numpy.random.default_rng(6).normal(size=5000).astype("float32"),
                           numpy.array([0, -0.0, numpy.inf, -numpy.inf, 65504, 65519.996, 65520, 2**-24, 2**-25, 1.00390625], "float32")])
    with numpy.errstate(over="ignore"):
        expected = bits(x).tobytes()
    opdyno.compare(one, other, [x])
    assert captured == [("float32", x.tobytes()), (dtype, expected)]


def test_bfloat16_agrees_within_its_own_tolerance():
    opdyno.register_func("test.compare_capture", lambda x: None, override=True)
    one, other = (opdyno.VirtualMachine(opdyno.Executable.assemble(CONVERTED % name), opdyno.cpu()) for name in ("float32", "bfloat16"))
    x = numpy.random.default_rng(7).normal(size=1000).astype("float32")
    assert opdyno.compare(one, other, [x]), "of two dtypes, the tolerance of the coarser one"
    found = opdyno.compare(one, other, [x], rtol={"float32": 1e-6, "bfloat16": 1e-4}, atol=0)
    exact, rounded = x.astype("float64"), (bfloat16_bits(x).astype("uint32") << 16).view("float32")
    last = found.report.calls[-1]
    assert last["Max Abs"].ratio == pytest.approx(numpy.abs(exact - rounded).max())
    assert last["Mismatches"].value == (numpy.abs(exact - rounded) > 1e-4 * numpy.abs(exact)).sum()


def test_a_device_is_compared_too():
    device = opdyno.device("opencl:0")
    if not device.exist:
        pytest.skip("there is no device opencl:0")
    values = numpy.load(DATA / "opencl" / "mlp.npz")
    inputs = [values[name] for name in sorted(values.files) if name.startswith("in")]
    host, there, again = (opdyno.VirtualMachine(opdyno.load_module(DATA / "opencl" / f"mlp_{mode}.so"), device) for mode in ("bytecode", "bytecode", "compiled"))
    for other in (there, again):
        found = opdyno.compare(host, other, [opdyno.tensor(value, device) for value in inputs])
        assert found, found


def test_time_limits_of_any_size():
    for over in (1e-10, 0, 0.0):
        with pytest.raises(TimeoutError, match="^A: |^while values were compared|deadline"):
            compare("test.compare_one", "test.compare_more", timeout=over)
    assert not compare("test.compare_one", "test.compare_more", timeout=None)
    assert not compare("test.compare_one", "test.compare_more", timeout=float("inf"))
    for wrong in (float("nan"), -1):
        with pytest.raises(ValueError, match=f"timeout must be at least 0, but is {wrong}"):
            compare("test.compare_one", "test.compare_more", timeout=wrong)
    with pytest.raises(TypeError, match="timeout must be a number, not str"):
        compare("test.compare_one", "test.compare_more", timeout="1")


def test_tolerances_may_be_none():
    assert compare("test.compare_one", "test.compare_one", rtol={}, atol={})


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="takes 1 argument, but was given 0"):
        opdyno.compare(vm("test.compare_one"), vm("test.compare_one"), [])
    with pytest.raises(ValueError, match="rtol takes numbers of at least 0"):
        compare("test.compare_one", "test.compare_one", rtol=-1)


def test_the_second_program_may_have_arguments_of_its_own():
    found = opdyno.compare(vm("test.compare_one"), vm("test.compare_one"), [numpy.zeros(4, "float32")], b_inputs=[numpy.ones(4, "float32")])
    assert found.verdict.startswith("first difference at ")
    with pytest.raises(ValueError, match=r"B: main\(x\) takes 1 argument, but option b_args has 0"):
        opdyno.compare(vm("test.compare_one"), vm("test.compare_one"), [1], b_inputs=[])
