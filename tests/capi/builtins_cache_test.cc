// The tensor cache, parameter lists made of it, and the attention cache of one sequence.
#include <atomic>
#include <thread>

#include "support/paths.h"
#include "support/tensors.h"

using namespace opdyno_test;
using Floats = std::vector<float>;

namespace {

// Makes a tensor inside the run, keeps it in the cache, and runs on over another of the same size.
const char *const kKeeping = R"(
.func keep(name, x) {
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %t = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  %s = call vm.builtin.null_value()
  call test.copy_floats(%x, %t)
  call vm.builtin.tensor_cache.update(%name, %t, 1)
  %t = call vm.builtin.null_value()
  ret %void
}
.func look(name) {
  %t = call vm.builtin.tensor_cache.get(%name)
  ret %t
})";

void define_copy() {
  define("test.copy_floats",
         [](const opd_value *args, int32_t, opd_value *) { std::copy_n(elements(args[0]), 4, elements(args[1])); });
}

class Cache : public testing::Test {
 protected:
  void SetUp() override { builtin("tensor_cache.clear")(); }
  void TearDown() override { builtin("tensor_cache.clear")(); }
};

}  // namespace

TEST_F(Cache, ReturnsUpdatedTensorsAndNoneForUnknownNames) {
  const auto update = builtin("tensor_cache.update"), get = builtin("tensor_cache.get");
  const Tensor x = floats({1, 2});
  update("x", x);
  EXPECT_EQ(get("x").view().u.object, arg(x).u.object) << "the same tensor, not a copy";
  EXPECT_EQ(get("y").type(), OPD_NONE);
  expect_throws([&] { update("x", floats({3})); }, OPD_ALREADY_EXISTS,
                "vm.builtin.tensor_cache.update: the tensor cache has a tensor \"x\" already");
  update("x", floats({3}), true);
  EXPECT_EQ(to_floats(get("x")), (Floats{3}));
  builtin("tensor_cache.remove")("x");
  builtin("tensor_cache.remove")("x");
  EXPECT_EQ(get("x").type(), OPD_NONE);
  expect_throws([&] { update("x", 3); }, OPD_INVALID_ARGUMENT, "tensor must be");
  expect_throws([&] { update(1, x); }, OPD_INVALID_ARGUMENT, "name must be");
  builtin("ndarray_cache.update")("old", x);
  EXPECT_EQ(to_floats(get("old")), (Floats{1, 2}));
}

TEST_F(Cache, CopiesAViewOfForeignMemory) {
  {
    float numbers[] = {5, 6};
    int64_t dims[] = {2};
    DLTensor view{numbers, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, dims, nullptr, 0};
    builtin("tensor_cache.update")("v", opd_dltensor(&view));
    numbers[0] = 0;
  }
  EXPECT_EQ(to_floats(builtin("tensor_cache.get")("v")), (Floats{5, 6}));
}

TEST_F(Cache, ATensorOfARunOutlivesTheRunAndTheVm) {
  define_copy();
  {
    const Vm vm = vm_of(kKeeping);
    vm.call("keep", "first", floats({1, 2, 3, 4}));
    vm.call("keep", "second", floats({5, 6, 7, 8}));  // must not write over what was kept
    EXPECT_EQ(to_floats(vm.call("look", "first")), (Floats{1, 2, 3, 4}));
    vm.call("keep", "first", floats({0, 0, 0, 9}));  // the old one goes back to the pool
    vm.call("keep", "third", floats({1, 1, 1, 1}));
    EXPECT_EQ(to_floats(vm.call("look", "second")), (Floats{5, 6, 7, 8}));
  }
  const Vm other = vm_of(kKeeping);
  EXPECT_EQ(to_floats(other.call("look", "first")), (Floats{0, 0, 0, 9}));
  EXPECT_EQ(to_floats(other.call("look", "second")), (Floats{5, 6, 7, 8}));
  EXPECT_EQ(to_floats(other.call("look", "third")), (Floats{1, 1, 1, 1}));
}

TEST_F(Cache, ThreadsKeepAndLookAtOnce) {
  define_copy();
  const Vm vm = vm_of(kKeeping);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const float x = static_cast<float>(i + 1);
        vm.call("keep", std::to_string(t % 2), floats({x, x, x, x}));
        const Value seen = vm.call("look", std::to_string((t + i) % 2));
        if (seen.type() == OPD_NONE) continue;
        const Floats numbers = to_floats(seen);
        wrong += numbers != Floats(4, numbers[0]) || numbers[0] < 1;
      }
    });
  for (auto &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Cache, MakesParameterListsByNumberAndByName) {
  for (int i = 0; i < 3; ++i) builtin("tensor_cache.update")("p_" + std::to_string(i), floats({static_cast<float>(i)}));
  EXPECT_EQ(to_floats(item_of(builtin("param_array_from_cache")("p", -1), 2)), (Floats{2}));
  EXPECT_EQ(builtin("param_array_from_cache")("p", 2).to_string(),
            "[Tensor(float32[1], cpu:0), Tensor(float32[1], cpu:0)]");
  EXPECT_EQ(builtin("param_array_from_cache")("q", -1).to_string(), "[]");
  EXPECT_EQ(to_floats(item_of(builtin("param_array_from_cache_by_name")(tuple_of("p_1", "p_0")), 0)), (Floats{1}));
  EXPECT_EQ(to_floats(item_of(builtin("param_array_from_cache_by_name_unpacked")("p_1", "p_2"), 1)), (Floats{2}));
  expect_throws([&] { builtin("param_array_from_cache")("p", 4); }, OPD_NOT_FOUND,
                "there is no tensor \"p_3\" among the 3 of the tensor cache. Did you mean p_0");
  expect_throws([&] { builtin("param_array_from_cache")("p", -2); }, OPD_OUT_OF_RANGE, "count must be -1");
  expect_throws([&] { builtin("param_array_from_cache_by_name_unpacked")("p_1", 2); }, OPD_INVALID_ARGUMENT,
                "a name must be");
  for (const Value &value : {builtin("param_module_from_cache")("p", -1),
                             builtin("param_module_from_cache_by_name")(tuple_of("p_0", "p_1", "p_2"))}) {
    ASSERT_EQ(value.type(), OPD_MODULE);
    const Module module(static_cast<opd_module *>(opd_object_retain(value.view().u.object)));
    EXPECT_STREQ(opd_module_kind(module.get()), "param_module");
    builtin("tensor_cache.clear")();
    EXPECT_EQ(to_floats(item_of(module.function("get_params")(), 2)), (Floats{2})) << "the module keeps its tensors";
    for (int i = 0; i < 3; ++i)
      builtin("tensor_cache.update")("p_" + std::to_string(i), floats({static_cast<float>(i)}));
  }
}

TEST_F(Cache, LoadsAParameterFile) {
  const std::string path = test_scratch("/builtins_cache.npz");
  Params params;
  check(opd_params_create(params.out()));
  check(opd_params_set(params.get(), "w", floats({1, 2}).get()));
  check(opd_params_save(params.get(), path.c_str()));
  builtin("tensor_cache.load")(path, 1, 0);
  EXPECT_EQ(to_floats(builtin("tensor_cache.get")("w")), (Floats{1, 2}));
  expect_throws([&] { builtin("tensor_cache.load")(path + ".gone", 1, 0); }, OPD_NOT_FOUND, "builtins_cache.npz.gone");
  expect_throws([&] { builtin("tensor_cache.load")(path, 77, 0); }, OPD_UNSUPPORTED);
  expect_throws([&] { builtin("tensor_cache.load")(path, 1, -1); }, OPD_INVALID_ARGUMENT, "name no device");
}

// ---- the attention cache: rows [x, -x]. Expected columns are what TVM 0.27 gave for the same calls.

namespace {

Tensor rows(const Floats &column) {
  Floats all;
  for (const float x : column) all.insert(all.end(), {x, -x});
  return floats(all, {static_cast<int64_t>(column.size()), 2});
}

Floats column(const Value &view) {
  const Floats all = to_floats(view);
  Floats first;
  for (size_t i = 0; i < all.size(); i += 2) {
    first.push_back(all[i]);
    EXPECT_EQ(all[i + 1], -all[i]);
  }
  return first;
}

Value kv_cache(const Floats &initial, std::vector<int64_t> reserved, int64_t fill_count) {
  return builtin("attention_kv_cache_create")(rows(initial), shape_of(reserved), fill_count);
}

}  // namespace

TEST(KvCache, AppendsGrowsPopsUpdatesAndClears) {
  const Value cache = kv_cache({1, 2}, {2, 2}, -1);
  const auto append = builtin("attention_kv_cache_append"), view = builtin("attention_kv_cache_view");
  const Value before = view(cache);
  EXPECT_EQ(append(cache, rows({3})).view().u.object, cache.view().u.object) << "the cache itself is the result";
  EXPECT_EQ(column(view(cache)), (Floats{1, 2, 3}));
  append(cache, rows({4, 5, 6}));
  EXPECT_EQ(column(view(cache, shape_of({6, 2}))), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(column(before), (Floats{1, 2})) << "a view keeps what it shows";
  builtin("attention_kv_cache_array_popn")(tuple_of(cache), 4);
  EXPECT_EQ(column(view(cache)), (Floats{1, 2}));
  builtin("attention_kv_cache_update")(cache, rows({8, 9}));
  EXPECT_EQ(column(view(cache)), (Floats{8, 9}));
  append(cache, view(cache));  // lies in the cache itself
  EXPECT_EQ(column(view(cache)), (Floats{8, 9, 8, 9}));
  builtin("attention_kv_cache_array_clear")(tuple_of(cache));
  EXPECT_EQ(column(view(cache)), Floats{});
  EXPECT_EQ(column(view(kv_cache({0}, {3, 2}, 0))), Floats{});
  append(kv_cache({}, {0, 2}, -1), rows({1}));  // from nothing
}

TEST(KvCache, WritesOverAWindow) {
  const Value cache = kv_cache({0, 0, 0, 0}, {4, 2}, 0);
  const auto write = builtin("attention_kv_cache_window_override"), view = builtin("attention_kv_cache_view");
  EXPECT_EQ(column(view(write(cache, rows({1, 2, 3}), 4))), (Floats{1, 2, 3}));
  EXPECT_EQ(column(view(write(cache, rows({4, 5}), 4))), (Floats{5, 2, 3, 4}));
  EXPECT_EQ(column(view(write(cache, rows({6}), 4))), (Floats{5, 6, 3, 4}));
  EXPECT_EQ(column(view(write(cache, rows({7, 8, 9}), 4))), (Floats{9, 6, 7, 8}));
}

TEST(KvCache, TheSinksOfAWindowStay) {
  const Value cache = kv_cache({0, 0, 0, 0, 0}, {5, 2}, 0);
  const auto write = builtin("attention_kv_cache_window_override_with_sinks"),
             view = builtin("attention_kv_cache_view");
  EXPECT_EQ(column(view(write(cache, rows({1, 2, 3}), 5, 2))), (Floats{1, 2, 3}));
  EXPECT_EQ(column(view(write(cache, rows({4, 5}), 5, 2))), (Floats{1, 2, 3, 4, 5}));
  EXPECT_EQ(column(view(write(cache, rows({6}), 5, 2))), (Floats{1, 2, 6, 4, 5}));
  EXPECT_EQ(column(view(write(cache, rows({7, 8, 9}), 5, 2))), (Floats{1, 2, 9, 7, 8}));
  EXPECT_EQ(column(view(write(cache, rows({10}), 5, 2))), (Floats{1, 2, 9, 10, 8}));
}

TEST(KvCache, AWindowLargerThanTheReservedRowsGrows) {  // TVM writes behind the end here
  const Value cache = kv_cache({1, 2, 3, 4}, {4, 2}, 4);
  const auto write = builtin("attention_kv_cache_window_override"), view = builtin("attention_kv_cache_view");
  EXPECT_EQ(column(view(write(cache, rows({5, 6, 7}), 6))), (Floats{7, 2, 3, 4, 5, 6}));
}

TEST(KvCache, RefusesTensorsAndShapesThatDoNotMatch) {
  const Value cache = kv_cache({1, 2}, {2, 2}, -1);
  const auto append = builtin("attention_kv_cache_append"), view = builtin("attention_kv_cache_view"),
             create = builtin("attention_kv_cache_create");
  const auto window = builtin("attention_kv_cache_window_override"),
             sinks = builtin("attention_kv_cache_window_override_with_sinks");
  expect_throws(
      [&] {
        append(cache, floats({1, 2, 3}, {1, 3}));
      },
      OPD_INVALID_ARGUMENT, "vm.builtin.attention_kv_cache_append: value must be of the cache's dtype and shape");
  expect_throws([&] { append(cache, Tensor({1, 2}, "float16")); }, OPD_INVALID_ARGUMENT, "but is float16[1, 2]");
  expect_throws([&] { append(cache, floats({1, 2})); }, OPD_INVALID_ARGUMENT, "but is float32[2]");
  expect_throws([&] { append(cache, Tensor({}, "float32")); }, OPD_INVALID_ARGUMENT, "value must have rows");
  expect_throws([&] { append(3, rows({1})); }, OPD_INVALID_ARGUMENT, "cache must be opdyno.vm.AttentionKVCache");
  expect_throws(
      [&] {
        view(cache, shape_of({3, 2}));
      },
      OPD_INVALID_ARGUMENT, "shape must be that of the 2 rows in use of float32[2, 2] on cpu:0, but is [3, 2]");
  expect_throws([&] { view(cache, shape_of({})); }, OPD_INVALID_ARGUMENT, "but is []");
  expect_throws([&] { builtin("attention_kv_cache_update")(cache, rows({1})); }, OPD_INVALID_ARGUMENT,
                "value must have 2 rows");
  expect_throws([&] { builtin("attention_kv_cache_array_popn")(tuple_of(cache), 3); }, OPD_OUT_OF_RANGE,
                "n must be from 0 to 2 (the rows in use), but is 3");
  expect_throws([&] { builtin("attention_kv_cache_array_popn")(tuple_of(cache), -1); }, OPD_OUT_OF_RANGE, "but is -1");
  expect_throws([&] { builtin("attention_kv_cache_array_clear")(tuple_of(1)); }, OPD_INVALID_ARGUMENT,
                "an item of caches must be");
  expect_throws(
      [&] {
        create(rows({1}), shape_of({2, 3}), 0);
      },
      OPD_INVALID_ARGUMENT, "value must be of the cache's dtype and shape");
  expect_throws([&] { create(rows({1}), shape_of({2}), 0); }, OPD_INVALID_ARGUMENT,
                "reserved shape must be of the initial value's rank");
  expect_throws(
      [&] {
        create(rows({1}), shape_of({2, 2}), 3);
      },
      OPD_OUT_OF_RANGE, "fill count is 3, but the cache has 2 rows");
  expect_throws(
      [&] {
        window(cache, rows({1, 2, 3}), 2);
      },
      OPD_INVALID_ARGUMENT, "value must have at most max_cache_size - sinks = 2 rows");
  expect_throws([&] { sinks(cache, rows({1}), 2, 3); }, OPD_INVALID_ARGUMENT,
                "sinks must be from 0 to max_cache_size, 2, but are 3");
  window(cache, rows({5, 6}), 4);
  expect_throws([&] { window(cache, rows({1}), 1); }, OPD_INVALID_ARGUMENT, "the window stands at row 2 already");
  builtin("attention_kv_cache_array_popn")(tuple_of(cache), 4);  // no rows, but the window goes on at row 2
  expect_throws(
      [&] {
        window(cache, rows({1, 2, 3, 4}), 5);
      },
      OPD_INVALID_ARGUMENT, "the window is to be written over, but holds 0 of 5 rows");
}

TEST(KvCache, TakesNoMoreThanTheVmMay) {
  const Executable executable = Executable::assemble(R"(
.func start(x, reserved) {
  %c = call vm.builtin.attention_kv_cache_create(%x, %reserved, -1)
  ret %c
}
.func step(cache, x) {
  %c = call vm.builtin.attention_kv_cache_append(%cache, %x)
  ret %c
})");
  opd_vm_options options;
  opd_vm_options_init(&options);
  options.memory_limit_bytes = 1 << 20;
  Vm vm;
  check(opd_vm_create(executable.to_module().get(), &options, vm.out()));
  const int64_t width = 2 * sizeof(float), most = options.memory_limit_bytes / width;
  expect_throws([&] { vm.call("start", rows({1}), shape_of({most + 1, 2})); }, OPD_OUT_OF_MEMORY, "memory limit");
  {
    const Value cache = vm.call("start", rows({1}), shape_of({most / 2, 2}));
    expect_throws([&] { vm.call("start", rows({1}), shape_of({most / 2 + 1, 2})); }, OPD_OUT_OF_MEMORY);
    expect_throws([&] { vm.call("step", cache, rows(Floats(static_cast<size_t>(most / 2), 1))); }, OPD_OUT_OF_MEMORY);
    EXPECT_EQ(column(builtin("attention_kv_cache_view")(cache)), (Floats{1})) << "as it was";
  }
  EXPECT_NO_THROW(vm.call("start", rows({1}), shape_of({most, 2}))) << "a cache that ended has given its memory back";
}

TEST(KvCache, LivesInsideAProgram) {
  const Vm vm = vm_of(R"(
.func start(x) {
  %c = call vm.builtin.attention_kv_cache_create(%x, shape(2, 2), -1)
  ret %c
}
.func step(cache, x) {
  %c = call vm.builtin.attention_kv_cache_append(%cache, %x)
  %v = call vm.builtin.attention_kv_cache_view(%c)
  ret %v
})");
  const Value cache = vm.call("start", rows({1}));
  EXPECT_EQ(column(vm.call("step", cache, rows({2, 3}))), (Floats{1, 2, 3}));
  EXPECT_EQ(column(vm.call("step", cache, rows({4}))), (Floats{1, 2, 3, 4}));
}

TEST(KvCache, AppendsInPlaceWhileThereIsRoomAndDoublesThen) {
  const Value cache = kv_cache({1, 2}, {4, 2}, -1);
  const auto append = builtin("attention_kv_cache_append"), view = builtin("attention_kv_cache_view");
  const auto data = [&] { return Tensor::of(view(cache)).view().data; };
  const auto expect_room = [&](const std::string &rows) {
    expect_throws([&] { view(cache, shape_of({99, 2})); }, OPD_INVALID_ARGUMENT, "of float32[" + rows + ", 2]");
  };
  const Value first = view(cache);  // keeps the memory, so that its address means it
  append(cache, rows({3, 4}));
  EXPECT_EQ(data(), Tensor::of(first).view().data);
  expect_room("4");
  append(cache, rows({5}));
  expect_room("8");
  append(cache, rows({6, 7, 8}));
  expect_room("8");
  append(cache, rows({9, 10, 11, 12, 13, 14, 15, 16, 17}));
  expect_room("32");
  EXPECT_EQ(column(view(cache)), (Floats{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}));
}

TEST(KvCache, ReservedRowsThatCountAsFilledAreZero) {
  { const Tensor before = floats(Floats(6, 9), {3, 2}); }  // leaves its memory
  EXPECT_EQ(column(builtin("attention_kv_cache_view")(kv_cache({1}, {3, 2}, 3))), (Floats{1, 0, 0}));
}

TEST(KvCache, RefusesMoreRowsThanInt64Counts) {
  const auto append = builtin("attention_kv_cache_append");
  const Value cache =
      builtin("attention_kv_cache_create")(Tensor({1, 0}, "float32"), shape_of({1, 0}), -1);  // rows of no bytes
  expect_throws(
      [&] {
        append(cache, Tensor({INT64_MAX - 1, 0}, "float32"));
      },
      OPD_OUT_OF_MEMORY, "a cache of 9223372036854775807 rows cannot be reserved");
  append(cache, Tensor({(int64_t{1} << 62) - 1, 0}, "float32"));
  expect_throws(
      [&] {
        append(cache, Tensor({int64_t{1} << 62, 0}, "float32"));
      },
      OPD_OUT_OF_MEMORY, "a cache cannot hold that many rows");
}

// A window's rows, of which each is written over while later ones are yet to be read.
TEST(KvCache, TakesAViewOfItsOwnRows) {
  const auto create_view = Function::global("runtime.TVMTensorCreateView");
  const auto write = builtin("attention_kv_cache_window_override"), view = builtin("attention_kv_cache_view");
  for (const int64_t first : {0, 2}) {
    const Value cache = kv_cache({1, 2, 3, 4}, {4, 2}, 3);  // the window stands at row 3
    builtin("attention_kv_cache_append")(cache, rows({4}));
    const Value own = create_view(view(cache), shape_of({first ? 2 : 4, 2}), "float32", first * 8);
    const Value written = write(cache, own, 4);
    EXPECT_EQ(column(view(written)), first ? (Floats{4, 2, 3, 3}) : (Floats{2, 3, 4, 1})) << first;
  }
}

TEST(KvCache, RefusesSubByteRowsAndForeignDevices) {
  const auto create = builtin("attention_kv_cache_create");
  expect_throws(
      [&] {
        create(Tensor({2, 2}, "int4"), shape_of({2, 2}), -1);
      },
      OPD_INVALID_ARGUMENT, "value must have rows of whole bytes, but is int4[2, 2]");
  expect_throws([&] { create(Tensor(std::vector<int64_t>{}, "float32"), shape_of({}), -1); }, OPD_INVALID_ARGUMENT,
                "value must have rows of whole bytes, but is float32[]");
  float numbers[2] = {};
  int64_t dims[] = {1, 2};
  DLTensor elsewhere{numbers, {kDLMetal, 0}, 2, {kDLFloat, 32, 1}, dims, nullptr, 0};
  expect_throws(
      [&] {
        create(opd_dltensor(&elsewhere), shape_of({1, 2}), -1);
      },
      OPD_INVALID_ARGUMENT, "the initial value must lie on the CPU, but is float32[1, 2] on metal:0");
}

TEST(KvCache, ArrayFunctionsPopAndClearSeveralCaches) {
  const Value a = kv_cache({1, 2}, {2, 2}, -1), b = kv_cache({3, 4, 5}, {3, 2}, -1);
  const auto view = builtin("attention_kv_cache_view");
  builtin("attention_kv_cache_array_popn")(tuple_of(a, b), 2);
  EXPECT_EQ(column(view(a)), Floats{});
  EXPECT_EQ(column(view(b)), (Floats{3}));
  builtin("attention_kv_cache_array_popn")(tuple_of(a, b), 0);
  EXPECT_EQ(column(view(b)), (Floats{3}));
  builtin("attention_kv_cache_array_clear")(tuple_of(a, b));
  EXPECT_EQ(column(view(b)), Floats{});
}

TEST_F(Cache, AnAbsentDeviceIsRefusedBeforeTheFileIsRead) {
  const auto load = builtin("tensor_cache.load");
  expect_throws([&] { load("no such file", 77, 0); }, OPD_UNSUPPORTED);
  for (const auto &[type, id] :
       {std::pair<int64_t, int64_t>{0, 0}, {-1, 0}, {int64_t{1} << 32 | 1, 0}, {1, -1}, {1, int64_t{1} << 32}})
    expect_throws([&, type = type, id = id] { load("no such file", type, id); }, OPD_INVALID_ARGUMENT,
                  "device type " + std::to_string(type) + " and id " + std::to_string(id) + " name no device");
}

TEST_F(Cache, AListMayHaveNoTensorsAndAModuleHasOneFunction) {
  builtin("tensor_cache.update")("p_0", floats({1}));
  EXPECT_EQ(builtin("param_array_from_cache")("p", 0).to_string(), "[]");
  const Value value = builtin("param_module_from_cache")("p", 1);
  const Module module(static_cast<opd_module *>(opd_object_retain(value.view().u.object)));
  expect_throws([&] { module.function("get_param"); }, OPD_NOT_FOUND, "get_param");
  EXPECT_EQ(to_floats(item_of(module.function("get_params")(), 0)), (Floats{1}));
}
