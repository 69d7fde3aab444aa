// Tensors with strides and byte offsets, and views with offsets: programs hand them to kernels as they are, as TVM's
// do; what would need compact elements refuses them.
#include "support/c_artifact.h"
#include "support/tensors.h"

using namespace opdyno_test;

namespace {

// seen(x, out): what a kernel gets of x: the address of its data, its byte offset, its shape, its strides.
// sum(x, out): the sum of the elements, found by offset and strides as a kernel of TVM finds them.
const std::string kStridedKernels = kArtifactHead + R"(
typedef struct { void *data; int32_t device[2]; int32_t ndim; uint8_t code, bits; uint16_t lanes; int64_t *shape, *strides;
                 uint64_t byte_offset; } Tensor;
static Tensor *tensor_of(const Any *a) { return (Tensor *)((char *)a->u.p + 24); }
#define KERNEL(name) int __tvm_ffi_##name(void *self, const Any *args, int32_t n, Any *result)
KERNEL(seen) {
  Tensor *x = tensor_of(args);
  int64_t *out = tensor_of(args + 1)->data;
  *out++ = (int64_t)(intptr_t)x->data;
  *out++ = (int64_t)x->byte_offset;
  for (int i = 0; i < x->ndim; ++i) *out++ = x->shape[i];
  for (int i = 0; i < x->ndim; ++i) *out++ = x->strides[i];
  return 0;
}
static float sum_of(const Tensor *x, const float *at, int axis) {
  if (axis == x->ndim) return *at;
  float sum = 0;
  for (int64_t i = 0; i < x->shape[axis]; ++i) sum += sum_of(x, at + i * x->strides[axis], axis + 1);
  return sum;
}
KERNEL(sum) {
  Tensor *x = tensor_of(args);
  *(float *)tensor_of(args + 1)->data = sum_of(x, (const float *)((const char *)x->data + x->byte_offset), 0);
  return 0;
}
)";

Vm strided_vm(const std::string &text) {
  static const Module kernels = Module::load(build_library("strided_kernels", kStridedKernels));
  const Module program = Executable::assemble(text).to_module();
  check(opd_module_add_import(program.get(), kernels.get()));
  return Vm(program);
}

// How a tensor lies in 24 floats, whose values are their places.
struct Layout {
  const char *name;
  std::vector<int64_t> shape, strides;
  uint64_t byte_offset;
  float sum;
};
const Layout kLayouts[] = {
    {"a transpose", {4, 3}, {1, 4}, 0, 66},                                  // 0 + … + 11
    {"a byte offset", {5}, {1}, 12, 25},                                     // 3 + … + 7
    {"every second row, without its ends", {3, 2}, {8, 1}, 4, 57},           // 1 + 2, 9 + 10, 17 + 18
    {"a column", {6}, {4}, 8, 72},                                           // 2, 6, … 22
    {"backwards", {3}, {-2}, 20, 9},                                         // 5, 3, 1
    {"one row twice", {2, 3}, {0, 1}, 16, 30},                               // 4 + 5 + 6, twice
    {"a permutation of three axes", {2, 3, 4}, {1, 8, 2}, 0, 276},           // 0 + … + 23
    {"an axis of size 1 with a stride of its own", {1, 4}, {9, 1}, 16, 22},  // 4 + … + 7
    {"a scalar", {}, {}, 28, 7},
};

alignas(64) float data[24];

Tensor tensor_in_data(const Layout &layout) {
  for (int i = 0; i < 24; ++i) data[i] = static_cast<float>(i);
  auto *managed = new DLManagedTensor{{data,
                                       {kDLCPU, 0},
                                       static_cast<int32_t>(layout.shape.size()),
                                       {kDLFloat, 32, 1},
                                       const_cast<int64_t *>(layout.shape.data()),
                                       const_cast<int64_t *>(layout.strides.data()),
                                       layout.byte_offset},
                                      nullptr,
                                      [](DLManagedTensor *m) { delete m; }};
  Tensor tensor;
  check(opd_tensor_from_dlpack(managed, tensor.out()));
  return tensor;
}

// What the kernel `seen` must write of it; zeros follow.
std::vector<int64_t> as_seen(const Layout &layout) {
  std::vector<int64_t> out{static_cast<int64_t>(reinterpret_cast<intptr_t>(data)),
                           static_cast<int64_t>(layout.byte_offset)};
  out.insert(out.end(), layout.shape.begin(), layout.shape.end());
  out.insert(out.end(), layout.strides.begin(), layout.strides.end());
  out.resize(8);
  return out;
}

// Instructions that call both kernels with the register `x` and write to %seen and %sum.
std::string call_kernels(const std::string &x) {
  return "  call seen(" + x + ", %seen)\n  call sum(" + x + ", %sum)\n";
}

// The checks that TVM's compiler writes before a function of such a parameter: dtype and rank, then sizes, which go to
// a heap and are compared with it.
std::string checks(const Layout &layout) {
  const std::string rank = std::to_string(layout.shape.size());
  std::string stored, compared;
  for (size_t i = 0; i < layout.shape.size(); ++i) {
    stored += ", 1, " + std::to_string(i);
    compared += ", 3, " + std::to_string(i);
  }
  return "  %h = call vm.builtin.alloc_shape_heap(%vm, 4)\n"
         "  call vm.builtin.check_tensor_info(%x, " +
         rank +
         ", dtype(float32), \"\")\n"
         "  call vm.builtin.match_shape(%x, %h, " +
         rank + stored +
         ", \"\")\n"
         "  call vm.builtin.match_shape(%x, %h, " +
         rank + compared + ", \"\")\n";
}

struct Outputs {
  Tensor seen = int64s(std::vector<int64_t>(8, 0)), sum = floats({-1});
  void expect(const Layout &layout) const {
    EXPECT_EQ(elements_of<int64_t>(seen), as_seen(layout)) << layout.name;
    EXPECT_EQ(to_floats(arg(sum)), std::vector<float>{layout.sum}) << layout.name;
  }
};

}  // namespace

TEST(VmStrided, ProgramsCheckTensorsAndHandThemToKernelsAsTheyLie) {
  for (const Layout &layout : kLayouts) {
    const Vm vm = strided_vm(".func main(x, seen, sum) {\n" + checks(layout) + call_kernels("%x") + "  ret %x\n}");
    const Tensor x = tensor_in_data(layout);
    const Outputs out;
    const Value back = vm.call("main", x, out.seen, out.sum);
    out.expect(layout);
    EXPECT_EQ(back.view().u.object, arg(x).u.object) << "the same tensor, not a copy";
  }
}

TEST(VmStrided, TuplesClosuresInputsAndBranchesDoNotCopyThem) {
  for (const Layout &layout : kLayouts) {
    const Vm vm = strided_vm(
        ".func main(x, seen, sum, flag) {\n"
        "  %pair = call vm.builtin.make_tuple(%x, %seen)\n"
        "  %y = call vm.builtin.tuple_getitem(%pair, 0)\n"
        "  if %flag else other\n"
        "  %z = call vm.builtin.copy(%y)\n"
        "  %r = call inner(%seen, %sum, %z)\n"
        "  ret %r\n"
        "other:\n"
        "  %c = call vm.builtin.make_closure(@inner, %y)\n"  // whose arguments come last
        "  %r = call vm.builtin.invoke_closure(%vm, %c, %seen, %sum)\n"
        "  ret %r\n"
        "}\n"
        ".func inner(seen, sum, x) {\n" +
        call_kernels("%x") + "  ret %x\n}");
    const Tensor x = tensor_in_data(layout);
    for (const int flag : {1, 0}) {
      const Outputs out;
      vm.call("main", x, out.seen, out.sum, flag);
      out.expect(layout);
    }
    const Outputs out;
    const opd_value args[] = {arg(x), arg(out.seen), arg(out.sum), opd_int(1)};
    check(opd_vm_set_input(vm.get(), "main", args, 4, nullptr));
    check(opd_vm_invoke_stateful(vm.get(), "main", nullptr));
    out.expect(layout);
  }
}

TEST(VmStrided, ChecksLookAtShapesNotAtStrides) {
  const Layout transpose = kLayouts[0];
  const Vm vm =
      strided_vm(".func main(x) {\n  call vm.builtin.match_shape(%x, %void, 2, 0, 3, 0, 4, \"main\")\n  ret %x\n}");
  expect_throws([&] { vm.call("main", tensor_in_data(transpose)); }, OPD_INVALID_ARGUMENT,
                "expected dimension 0 to be 3, but it is 4");
}

TEST(VmStrided, ReshapingNeedsCompactElementsAndKeepsTheOffset) {
  const auto reshape = [](const Tensor &x, const std::vector<int64_t> &dims) {
    return Tensor::of(Function::global("vm.builtin.reshape")(x, shape_of(dims)));
  };
  for (const Layout &layout : kLayouts) {
    int64_t count = 1, compact = 1;
    bool is_compact = true;
    for (size_t i = layout.shape.size(); i-- > 0; compact *= layout.shape[i]) {
      count *= layout.shape[i];
      is_compact &= layout.shape[i] == 1 || layout.strides[i] == compact;
    }
    const Tensor x = tensor_in_data(layout);
    if (!is_compact) {
      expect_throws([&] { reshape(x, {count}); }, OPD_INVALID_ARGUMENT, "the tensor is strided");
      continue;
    }
    const Tensor y = reshape(x, {count, 1});
    EXPECT_EQ(y.view().data, x.view().data) << layout.name;
    EXPECT_EQ(y.view().byte_offset, layout.byte_offset) << layout.name;
    EXPECT_EQ(dims_of(y), (std::vector<int64_t>{count, 1})) << layout.name;
  }
  const Vm vm = strided_vm(".func main(x) {\n  %r = call vm.builtin.reshape(%x, shape(12))\n  ret %r\n}");
  expect_throws([&] { vm.call("main", tensor_in_data(kLayouts[0])); }, OPD_INVALID_ARGUMENT,
                "cannot reshape float32[4, 3] on cpu:0 to [12]: the tensor is strided");
}

TEST(VmStrided, KernelsGetViewsWithTheirOffsets) {
  const Vm vm = strided_vm(
      ".func main(x, seen, sum) {\n"
      "  %outer = call runtime.TVMTensorCreateView(%x, shape(2, 4), dtype(float32), 32)\n"
      "  %inner = call runtime.TVMTensorCreateView(%outer, shape(3), dtype(float32), 4)\n" +
      call_kernels("%inner") + "  ret %inner\n}");
  const Layout whole{"all", {6, 4}, {4, 1}, 0, 276}, shifted{"from the third", {5, 4}, {4, 1}, 8, 0};
  const Layout inner{"of all", {3}, {1}, 36, 30};            // 9 + 10 + 11
  const Layout inner_of_shifted{"of it", {3}, {1}, 44, 36};  // 11 + 12 + 13: offsets add up
  for (const auto &[given, expected] : {std::pair{whole, inner}, {shifted, inner_of_shifted}}) {
    const Outputs out;
    const Value view = vm.call("main", tensor_in_data(given), out.seen, out.sum);
    out.expect(expected);
    EXPECT_EQ(Tensor::of(view).view().byte_offset, expected.byte_offset);
  }
  for (const size_t strided : {0, 2, 3, 4, 5, 6}) {
    const Tensor x = tensor_in_data(kLayouts[strided]);
    expect_throws([&] { Function::global("runtime.TVMTensorCreateView")(x, shape_of({1}), "float32", 0); },
                  OPD_INVALID_ARGUMENT, "a view needs a contiguous tensor");
  }
}
