// One suite for every kind of devices, of what programs keep there: caches, states, parameters, memory of streams.
#include "conformance/tested_device.h"
#include "support/kv_cache_work.h"
#include "support/params_test.h"

using namespace opdyno_test;

namespace {

// What the kernels of a cache or a state were told: their names, and the tables of integers that lie on the device.
class KernelLog {
 public:
  using Tables = std::vector<std::vector<int32_t>>;
  std::vector<std::pair<std::string, Tables>> calls;

  Function kernel(const std::string &name) {
    return make_function([this, name](const opd_value *args, int32_t count, opd_value *) {
      Tables tables;
      for (int32_t i = 0; i < count; ++i)
        if (args[i].type == OPD_DLTENSOR && args[i].u.dltensor->dtype.code == kDLInt)
          tables.push_back(on_host(*args[i].u.dltensor));
      calls.emplace_back(name, tables);
    });
  }

 private:
  static std::vector<int32_t> on_host(const DLTensor &table) {
    const Tensor copy({table.shape, table.shape + table.ndim}, "int32");
    check(opd_tensor_copy(&table, copy.get()));
    return {copy.data<int32_t>(), copy.data<int32_t>() + copy.size()};
  }
};

Value numbers(const std::vector<int64_t> &values) { return shape_of(values); }

}  // namespace

TEST_F(ADevice, HasTheTablesOfPagedCaches) {
  KernelLog log;
  const auto retained = [](const auto &value) { return Value::retain(arg(value)); };
  const Value cache = attention::make_cache({}, [&](std::vector<Value> &a) {
    a[12] = retained(Tensor(std::vector<int64_t>{}, "float32", device()));
    const char *const tagged[] = {"ragged",        "prefill",      "decode",     "prefill_window",
                                  "decode_window", "prefill_tree", "ragged_tree"};
    for (size_t i = 0; i < std::size(tagged); ++i) a[15 + i] = tuple_of("tir", log.kernel(tagged[i]));
    a[23] = tuple_of(log.kernel("merge"));
    a[13] = retained(log.kernel("append")), a[24] = retained(log.kernel("split_rotary"));
  });
  using Calls = decltype(log.calls);
  EXPECT_EQ(log.calls, (Calls{{"append", {{-1}}}})) << "whether the kernels fit";
  builtin("kv_state_add_sequence")(cache, 0);
  const auto pass = [&](int64_t rows, const std::vector<int64_t> &parents) {
    log.calls.clear();
    if (parents.empty()) builtin("kv_state_begin_forward")(cache, numbers({0}), numbers({rows}));
    else builtin("kv_state_begin_forward")(cache, numbers({0}), numbers({rows}), numbers(parents));
    const Tensor qkv({rows, 4, 2}, "float32", device()), out({rows, 2, 2}, "float32", device());
    builtin("attention_kv_cache_attention_with_fused_qkv")(cache, int64_t{0}, 0.5, qkv, out);
    const Tensor positions = Tensor::of(builtin("attention_kv_cache_get_query_positions")(cache));
    std::vector<int32_t> found(static_cast<size_t>(rows));
    positions.copy_to_bytes(found.data(), found.size() * sizeof(int32_t));
    EXPECT_EQ(found, log.calls.at(0).second.at(0));
    builtin("kv_state_end_forward")(cache);
    return log.calls;
  };
  EXPECT_EQ(pass(18, {}).at(2).second,
            (KernelLog::Tables{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}}));
  EXPECT_EQ(pass(1, {}),
            (Calls{{"split_rotary", {{18}}},
                   {"append", {{18}}},
                   {"decode", {{0, 2}, {0, 1}, {3}, {0}, {18}}}}));  // pages 0 and 1, with 3 rows in the last
  EXPECT_EQ(pass(2, {-1, -1}).at(1),
            (Calls::value_type{"ragged_tree", {{0, 2}, {0, 2}, {19, 19}, {0, 2}, {0, 1, 1, 2}}}));
  // The third node is the first one's child, so it comes before the second one.
  EXPECT_EQ(pass(1, {0}).at(2),
            (Calls::value_type{"prefill_tree", {{0, 1}, {0, 2}, {0, 1}, {6}, {0}, {20}, {0, 3}, {0, 2, 2, 3, 1, 2}}}));
}

TEST_F(ADevice, AttentionOverNoKeysIsZero) {
  const Value cache = attention::make_cache({}, [&](std::vector<Value> &a) {
    a[12] = Value::retain(arg(Tensor(std::vector<int64_t>{}, "float32", device())));
    a[13] = Value();
  });
  builtin("kv_state_add_sequence")(cache, 0);
  builtin("kv_state_begin_forward")(cache, numbers({0}), numbers({2}));  // rows that are stored after attention
  const Tensor q({2, 2, 2}, "float32", device()), out = on(device(), std::vector<float>(8, 7)).reshape({2, 2, 2}),
                                                  lse = on(device(), std::vector<float>(4, 7)).reshape({2, 2});
  builtin("attention_kv_cache_cross_attention")(cache, int64_t{0}, 0.5, q, out, lse);
  EXPECT_EQ(read(out), std::vector<float>(8, 0));
  EXPECT_EQ(read(lse), std::vector<float>(4, -5e4F));
}

// The kernels are those of the host: they get copies of the pages, the tables and the rows of a pass.
TEST_F(ADevice, KeepsPagedCachesRightUnderRandomOperations) {
  using attention::With;
  for (const With with : {With::kNothing, With::kWindows, With::kTrees})
    for (const uint32_t seed : {1U, 2U, 3U}) attention::work_at_random(with, seed, 80, device());
}

// A sequence whose pages are not in order goes to a cache of the host and comes back, its pages on either side.
TEST_F(ADevice, HasCheckpointsThatCachesOfTheHostRead) {
  using attention::cache_function;
  attention::Sizes sizes, of_host;
  sizes.device = device();
  attention::Checked there(sizes), here(of_host, 2), back(sizes, 3);
  there.add(3), there.add(4);
  there.run({3, 4}, {37, 5});
  there.fork(3, 5, 33), there.remove(3), there.run({5}, {4});
  attention::Checked *from = &there;
  for (attention::Checked *const to : {&here, &back})
    for (const DLDevice pages_on : {device(), DLDevice{kDLCPU, 0}}) {
      const std::string metadata = attention::text_of(cache_function("get_checkpoint_metadata")(from->cache, 5));
      const Tensor pages = attention::moved(floats(std::vector<float>(192, 9), {1, 3, 2, 1, 16, 2}), pages_on);
      cache_function("export_page_group")(from->cache, 5, 0, pages);
      EXPECT_EQ(read(pages)[2 * 64 + 5 * 2], 0) << "row 37 is not of the sequence";
      cache_function("prepare_import")(to->cache, 5, metadata);
      cache_function("import_page_group")(to->cache, 5, 0, pages);
      cache_function("finish_import")(to->cache, 5);
      to->sequences[5].rows = there.sequences.at(5).rows;
      to->expect_rows();
      from = to;
    }
  back.add(6), back.run({5, 6}, {2, 1});
  back.expect_rows();
}

// A comparison gives the second program a copy of the cache.
TEST_F(ADevice, HasCopiesOfCaches) {
  attention::Sizes sizes;
  sizes.device = device();
  attention::Checked cache(sizes);
  cache.add(1), cache.run({1}, {21}), cache.fork(1, 2, 19), cache.run({1, 2}, {1, 3});
  const std::string program =
      ".func main(qkv, cache) {\n  %s = call vm.builtin.alloc_storage(%vm, shape(48), 0, dtype(uint8), \"global\")\n"
      "  %out = call vm.builtin.alloc_tensor(%s, 0, shape(3, 2, 2), dtype(float32))\n"
      "  call vm.builtin.attention_kv_cache_attention_with_fused_qkv(%cache, 0, f64(0.5), %qkv, %out)\n"
      "  ret %out\n}";
  const auto vm = [&] {
    auto options = opdyno::defaults(opd_vm_options_init);
    const DLDevice devices[] = {device()};
    options.num_devices = 1, options.devices = devices;
    return Vm(Executable::assemble(program).to_module(), &options);
  };
  const Vm a = vm(), b = vm();
  const Tensor qkv = on(device(), counted(24)).reshape({3, 4, 2});
  builtin("kv_state_begin_forward")(cache.cache, numbers({2, 1}), numbers({1, 2}));
  const auto found = opdyno::compare(a, b, "main", {arg(qkv), cache.cache.view()}, nullptr, false);
  EXPECT_EQ(found.report.value(OPD_REPORT_CONFIGURATION, 0, "Verdict").string().find("no difference: "), 0U)
      << found.report.json();
  EXPECT_EQ(found.report.json().find("cannot be copied"), std::string::npos);
}

TEST_F(ADevice, HasTheStatesOfRecurrentNetworks) {
  KernelLog log;
  const Value states = builtin("rnn_state_create")(int64_t{1}, int64_t{3}, int64_t{2}, tuple_of(log.kernel("get")),
                                                   tuple_of(log.kernel("set")), tuple_of(on(device(), {1, 2, 3})));
  for (const int64_t id : {4, 5, 6}) builtin("kv_state_add_sequence")(states, id);
  const Tensor data({2, 3}, "float32", device());
  using Calls = decltype(log.calls);
  for (int32_t step = 0; step < 3; ++step) {
    log.calls.clear();
    builtin("kv_state_begin_forward")(states, numbers(step ? std::vector<int64_t>{6, 4} : std::vector<int64_t>{5, 6}),
                                      numbers({1, 1}));
    for (const char *name : {"rnn_state_get", "rnn_state_set"}) builtin(name)(states, int64_t{0}, int64_t{0}, data);
    builtin("kv_state_end_forward")(states);
    // The places of the sequences, and which of their two states is the current one.
    const KernelLog::Tables expected =
        step == 0 ? KernelLog::Tables{{1, 2}, {0, 0}} : KernelLog::Tables{{2, 0}, {step % 2, (step + 1) % 2}};
    EXPECT_EQ(log.calls, (Calls{{"get", expected}, {"set", expected}}));
  }
  const Tensor initial = Tensor::of(builtin("rnn_state_debug_get")(states, int64_t{0}, int64_t{0}, int64_t{5}));
  EXPECT_EQ(initial.view().device.device_type, device().device_type);
  builtin("kv_state_popn")(states, 5, 1);
  EXPECT_EQ(read(Tensor::of(builtin("rnn_state_debug_get")(states, int64_t{0}, int64_t{0}, int64_t{5}))),
            (std::vector<float>{1, 2, 3}));
}

TEST_F(ADevice, HasTheParametersThatProgramsLoad) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("opdyno-conformance-" + std::to_string(::getpid()) + ".npz");
  Params params;
  check(opd_params_create(params.out()));
  check(opd_params_set(params.get(), "w", floats({1, 2, 3}).get()));
  check(opd_params_save(params.get(), path.c_str()));
  builtin("tensor_cache.load")(path, int64_t{device().device_type}, int64_t{device().device_id});
  std::filesystem::remove(path);
  const Tensor loaded = Tensor::of(builtin("tensor_cache.get")("w"));
  builtin("tensor_cache.remove")("w");
  EXPECT_EQ(loaded.view().device.device_type, device().device_type);
  EXPECT_EQ(read(loaded), (std::vector<float>{1, 2, 3}));
}

// Memory remembers the stream that used it. The stream may be gone when the memory is used again.
TEST_F(ADevice, ReusesMemoryOfStreamsThatHaveEnded) {
  const Module kernels = kernels_or_none("ended");
  if (!kernels) return end_without_kernels();
  const Vm vm = vm_on(device(), kernels);
  for (int i = 0; i < 20; ++i)
    std::thread([&] {
      const opdyno::Stream stream(device());
      opdyno::set_stream(device(), stream.get());
      EXPECT_EQ(read(Tensor::of(vm.call("main", on(device(), {1, 2, 3, 4})))), (std::vector<float>{17, 26, 35, 44}));
      opdyno::set_stream(device(), nullptr);
    }).join();
}
