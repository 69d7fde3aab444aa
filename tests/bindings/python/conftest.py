"""Fixtures and settings that the tests of the Python package share."""

import os
import signal
from pathlib import Path

import pytest

# A shell lets its background jobs ignore SIGINT. Python would keep this setting, here and in each child.
signal.signal(signal.SIGINT, signal.default_int_handler)

DATA = Path(__file__).parents[2] / "interop" / "data"

KERNELS = """
#include <stdint.h>
typedef struct { int32_t type; uint32_t length; union { int64_t i; double f; void *p; } u; } Any;
typedef struct { void *data; int32_t device[2]; int32_t ndim; uint8_t code, bits; uint16_t lanes; int64_t *shape, *strides;
                 uint64_t byte_offset; } Tensor;
extern void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
static Tensor *tensor_of(const Any *a) { return (Tensor *)(a->type == 70 ? (char *)a->u.p + 24 : a->u.p); }
static double *doubles(const Any *a) { Tensor *t = tensor_of(a); return (double *)((char *)t->data + t->byte_offset); }
static int64_t count(const Any *a) {
  Tensor *t = tensor_of(a);
  int64_t n = 1;
  for (int i = 0; i < t->ndim; ++i) n *= t->shape[i];
  return n;
}
int __tvm_ffi_main(void *self, const Any *args, int32_t n, Any *result) {
  result->type = 1, result->u.i = n;
  return 0;
}
int __tvm_ffi_sum(void *self, const Any *args, int32_t n, Any *result) {
  double sum = 0;
  for (int64_t i = 0; i < count(args); ++i) sum += doubles(args)[i];
  result->type = 3, result->u.f = sum;
  return 0;
}
int __tvm_ffi_double(void *self, const Any *args, int32_t n, Any *result) {
  for (int64_t i = 0; i < count(args); ++i) doubles(args)[i] *= 2;
  return 0;
}
int __tvm_ffi_fail(void *self, const Any *args, int32_t n, Any *result) {
  TVMFFIErrorSetRaisedFromCStr("IndexError", "out of paper");
  return -1;
}
double area(double width, double height) { return width * height; }
"""


@pytest.fixture(scope="session")
def kernels(tmp_path_factory):
    import opdyno

    return opdyno.load_source(KERNELS, cache_dir=str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def chain():
    """A VM whose program has 100 kernels, each of which adds 1 to four floats."""
    import opdyno

    return opdyno.VirtualMachine(DATA / "0.27" / "chain_100.so")


@pytest.fixture
def host_vm():
    """A VM whose program calls functions of the test; see host_program()."""
    return host_program()


def host_program():
    import opdyno

    opdyno.register_func("test.py.add", lambda x, y: x + y, override=True)
    opdyno.register_func("test.py.call", lambda f, *args: f(*args), override=True)
    return opdyno.VirtualMachine(
        opdyno.Executable.assemble(
            """
.func add(x, y) {
  %r = call test.py.add(%x, %y)
  ret %r
}
.func call(f, x) {
  %r = call test.py.call(%f, %x)
  ret %r
}
.func pair(x) {
  %inner = call vm.builtin.make_tuple(%x, 7)
  %outer = call vm.builtin.make_tuple(%inner, %x)
  ret %outer
}
.func closure(y) {
  %c = call vm.builtin.make_closure(@add, %y)
  ret %c
}
.func spin(n) {
again:
  %n = call test.py.add(%n, 0)
  if %n else done
  goto again
done:
  ret %n
}
"""
        )
    )


@pytest.fixture(scope="session")
def tvm():
    if "OPDYNO_TEST_TVM" in os.environ:  # run_tvm.py needs TVM, so a missing one is an error
        import tvm

        return tvm
    return pytest.importorskip("tvm", reason="TVM is not installed; run_tvm.py brings it")
