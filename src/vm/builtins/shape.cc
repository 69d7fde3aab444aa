// Builtins for symbolic shapes. Sizes are stored in a heap of int64. Shapes are matched against the heap or made from
// it.
#include "device/device.h"
#include "vm/builtins/builtins.h"
#include "vm/builtins/tensor_args.h"
#include "vm/vm.h"

namespace opd {
namespace {

enum MatchCode : int64_t { kAssertEqualToImmediate = 0, kStoreToHeap = 1, kNoCheck = 2, kAssertEqualToHeap = 3 };
enum MakeCode : int64_t { kUseImmediate = 0, kLoadFromHeap = 1 };

// The heap with bounds checks.
struct Heap {
  int64_t *data = nullptr;
  int64_t size = 0;

  explicit Heap(const View &v) {
    if (v.type == OPD_NONE) return;  // a program without symbolic sizes has no heap
    const DLTensor &t = writable_dltensor(v, "the shape heap");
    require(t.ndim == 1 && t.dtype.code == kDLInt && t.dtype.bits == 64 && t.dtype.lanes == 1 &&
                t.device.device_type == kDLCPU && is_contiguous(t),
            "the shape heap must be a vector of int64 on the CPU, but is ", describe(t));
    data = reinterpret_cast<int64_t *>(data_of(t));
    size = t.shape[0];
  }
  int64_t &operator[](int64_t i) const {
    if (i < 0 || i >= size) fail(OPD_OUT_OF_RANGE, "slot ", i, " of a shape heap of ", size);
    return data[i];
  }
};

Value alloc_shape_heap(Args args) {
  const VmDevice &host = run_of(args[0]).vm->devices().back();
  const int64_t size = as_int(args[1], "size");
  if (size < 0 || size > int64_t{1} << 24) fail(OPD_OUT_OF_RANGE, "a shape heap of ", size, " slots");
  const int64_t dims[] = {size};
  auto heap = make_tensor(dims, {kDLInt, 64, 1}, host.device);
  std::fill_n(static_cast<int64_t *>(heap->dl.data), size, 0);
  return heap;
}

// `index`: position of the size in the shape; negative: `value` is not part of a shape.
Ref<Error> match(const Heap &heap, int64_t code, int64_t operand, int64_t value, const View &error, int64_t index) {
  int64_t expected;
  switch (code) {
    case kAssertEqualToImmediate:
      expected = operand;
      break;
    case kStoreToHeap:
      heap[operand] = value;
      return nullptr;
    case kNoCheck:
      return nullptr;
    case kAssertEqualToHeap:
      expected = heap[operand];
      break;
    default:
      fail(OPD_INVALID_ARGUMENT, "match code ", code, " is not known");
  }
  if (value == expected) [[likely]]
    return nullptr;
  const std::string what = index < 0 ? "the value" : concat("dimension ", index);
  return mismatch("RuntimeError", error, "expected ", what, " to be ", expected, ", but it is ", value);
}

Ref<Error> match_shape(Args args) {
  const View &error = args.back();
  std::span<const int64_t> dims;
  if (const auto *shape = try_as<Shape>(args[0])) dims = shape->dims();
  else if (const DLTensor *tensor = try_dltensor(args[0])) dims = dims_of(*tensor);
  else fail_type(concat(error_context(error), "the value to match"), "a tensor or shape", args[0]);
  const Heap heap(args[1]);
  const int64_t n = as_int(args[2], "n");
  require(n >= 0 && static_cast<size_t>(n) <= args.size() && args.size() == 4 + 2 * static_cast<size_t>(n),
          "match_shape of ", n, " sizes takes 4 arguments and 2 for each size, but ", args.size(), " were given");
  if (static_cast<int64_t>(dims.size()) != n)
    return mismatch("RuntimeError", error, "expected a shape of rank ", n, ", but got ", dims_text(dims));
  for (int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<size_t>(3 + 2 * i);
    const int64_t code = as_int(args[at], "code"), operand = as_int(args[at + 1], "operand");
    const int64_t value = dims[static_cast<size_t>(i)];
    if (code == kAssertEqualToImmediate && operand == value) [[likely]]
      continue;
    if (auto wrong = match(heap, code, operand, value, error, i)) return wrong;
  }
  return nullptr;
}

Ref<Error> match_prim_value(Args args) {
  return match(Heap(args[1]), as_int(args[2], "code"), as_int(args[3], "operand"),
               as_int(args[0], "the value to match"), args[4], -1);
}

int64_t load(const Heap &heap, int64_t code, int64_t operand) {
  if (code == kUseImmediate) return operand;
  if (code == kLoadFromHeap) return heap[operand];
  fail(OPD_INVALID_ARGUMENT, "make code ", code, " is not known");
}

Value make_shape(Args args) {
  const Heap heap(args[0]);
  const int64_t n = as_int(args[1], "n");
  require(n >= 0 && static_cast<size_t>(n) <= args.size() && args.size() == 2 + 2 * static_cast<size_t>(n),
          "make_shape of ", n, " sizes takes 2 arguments and 2 for each size, but ", args.size(), " were given");
  int64_t *dims;
  auto shape = Shape::make_uninitialised(static_cast<size_t>(n), dims);
  for (int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<size_t>(2 + 2 * i);
    dims[i] = load(heap, as_int(args[at], "code"), as_int(args[at + 1], "operand"));
  }
  return shape;
}

Value make_prim_value(Args args) { return load(Heap(args[0]), as_int(args[1], "code"), as_int(args[2], "operand")); }

Value shape_of(Args args) { return Shape::make(dims_of(as_dltensor(args[0], "tensor"))); }

template <class T>
void widen(const DLTensor &t, int64_t *out) {
  const auto *from = reinterpret_cast<const T *>(data_of(t));
  for (int64_t i = 0; i < t.shape[0]; ++i) out[i] = static_cast<int64_t>(from[i]);
}

Value tensor_to_shape(Args args) {
  const DLTensor &given = as_dltensor(args[0], "tensor");
  require(given.ndim == 1 && (given.dtype.code == kDLInt || given.dtype.code == kDLUInt) && given.dtype.lanes == 1 &&
              is_contiguous(given),
          "a vector of integers without gaps is needed, not ", describe(given));
  Ref<Tensor> copy;
  const DLTensor &t = on_host(given, copy);
  int64_t *dims;
  auto shape = Shape::make_uninitialised(static_cast<size_t>(t.shape[0]), dims);
  const bool is_signed = t.dtype.code == kDLInt;
  if (t.dtype.bits == 8) is_signed ? widen<int8_t>(t, dims) : widen<uint8_t>(t, dims);
  else if (t.dtype.bits == 16) is_signed ? widen<int16_t>(t, dims) : widen<uint16_t>(t, dims);
  else if (t.dtype.bits == 32) is_signed ? widen<int32_t>(t, dims) : widen<uint32_t>(t, dims);
  else if (t.dtype.bits == 64) widen<int64_t>(t, dims);
  else fail(OPD_INVALID_ARGUMENT, "a vector of integers is needed, not ", describe(t));
  return shape;
}

constexpr Builtin kShapeBuiltins[] = {
    builtin<"vm.builtin.alloc_shape_heap", alloc_shape_heap, "(vm, size)", 2>(),
    builtin<"vm.builtin.match_shape", match_shape, "(x, heap, n, (code, operand) × n, error)", 4, SIZE_MAX>(),
    builtin<"vm.builtin.match_prim_value", match_prim_value, "(x, heap, code, operand, error)", 5>(),
    builtin<"vm.builtin.make_shape", make_shape, "(heap, n, (code, operand) × n)", 2, SIZE_MAX>(),
    builtin<"vm.builtin.make_prim_value", make_prim_value, "(heap, code, operand)", 3>(),
    builtin<"vm.builtin.shape_of", shape_of, "(tensor)", 1>(),
    builtin<"vm.builtin.tensor_to_shape", tensor_to_shape, "(tensor)", 1>(),
};

}  // namespace

std::span<const Builtin> shape_builtins() { return kShapeBuiltins; }

}  // namespace opd
