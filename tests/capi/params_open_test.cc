// Opening parameter files: what is known at once, what is a view and what a copy, options, threads, damage that comes
// later.
#include <fcntl.h>

#include <atomic>
#include <thread>

#include "support/params_test.h"

namespace {

using namespace params_test;

const char *const kEveryFormat[] = {"tvm.params", "stored.npz", "deflated.npz", "library.safetensors", "tensor-cache"};

// Two tensors that each format can hold; "second" has 64 bytes, "first" 12.
Params sample() {
  Params params;
  params.set("first", counting<float>({3}, {kDLFloat, 32, 1}));
  params.set("second", counting<int16_t>({4, 8}, {kDLInt, 16, 1}));
  return params;
}
std::string contents(const Params &params) {
  std::string out;
  for (size_t i = 0; i < params.size(); ++i) out += elements(params[params.name(i)]) + "|";
  return out;
}
opd_params_stats stats_of(const Params &params) { return params.stats(); }

TEST(ParamsOpen, HasNamesDtypesAndShapesWithoutLoading) {
  for (const char *name : kEveryFormat) {
    const Params params(data_path(name), options(0));
    uint64_t total = 0;
    for (size_t i = 0; i < params.size(); ++i) total += params.info(i).bytes;
    EXPECT_EQ(stats_of(params).total_bytes, total);
    EXPECT_EQ(stats_of(params).viewed_bytes + stats_of(params).copied_bytes, 0u) << name;
    for (size_t i = 0; i < params.size(); ++i) {
      const DLDataType dtype = params.dtype(i);
      const std::vector<int64_t> shape = params.shape(i);
      const Tensor tensor = params[params.name(i)];
      EXPECT_TRUE(same(tensor.view().dtype, dtype)) << name << " " << params.name(i);
      EXPECT_EQ(shape_of(tensor), shape);
      EXPECT_EQ(opd_tensor_bytes(tensor.get()), params.info(i).bytes);
      EXPECT_EQ(address(tensor) % 64, 0u);
    }
    EXPECT_EQ(stats_of(params).viewed_bytes + stats_of(params).copied_bytes, total) << name;
  }
}

TEST(ParamsOpen, RefusesIndicesPastTheEnd) {
  const Params params(data_path("tvm.params"));
  opd_tensor_info info{};
  info.struct_size = sizeof info;
  expect_error(opd_params_get_info(params.get(), 15, &info), OPD_OUT_OF_RANGE, "index 15 of a set of 15 tensors");
  EXPECT_EQ(info.name, nullptr) << "outputs are untouched on failure";
  EXPECT_EQ(opd_params_name(params.get(), 15), nullptr);
  info = params.info(12);
  EXPECT_NE(info.shape, nullptr) << "a scalar has a shape";
  EXPECT_EQ(info.ndim, 0);
}

TEST(ParamsOpen, NamesTheFileThatIsDamaged) {
  const TemporaryDirectory directory;
  const std::string npy = data_bytes("f32.npy"), archive = data_bytes("stored.npz");
  const std::pair<const char *, std::string> files[] = {{"text", "some text that is long enough"},
                                                        {"a.npy", npy + "x"},
                                                        {"a.npz", archive.substr(0, archive.size() - 1)}};
  for (const auto &[name, bytes] : files) {
    write_bytes(directory / name, bytes);
    for (const int copy : {0, 1})
      expect_error(open_error(directory / name, options(copy)), OPD_BAD_FORMAT, (directory / name).string());
  }
  fs::create_directory(directory / "empty");
  expect_error(open_error(directory / "empty", options(0)), OPD_INVALID_ARGUMENT,
               "cannot read " + (directory / "empty").string() +
                   ": neither a regular file nor a directory with tensor-cache.json or ndarray-cache.json");
}

TEST(ParamsOpen, MapsTensorsThatItsOwnWritersAligned) {
  const TemporaryDirectory directory;
  for (const char *name : {"a.npz", "tensor-cache.json"}) {
    sample().save(directory / name);
    const Params params(directory / name);
    EXPECT_TRUE(params.is_view(0) && params.is_view(1)) << name;
    EXPECT_EQ(contents(params), contents(sample()));
    EXPECT_EQ(stats_of(params).viewed_bytes, 76u);
    EXPECT_EQ(stats_of(params).copied_bytes, 0u);
  }
}

TEST(ParamsOpen, KeepsEveryDtypeOfDlpack) {
  Params params;
  const auto add = [&](DLDataType dtype) {
    for (const std::vector<int64_t> &shape : {std::vector<int64_t>{}, {0, 3}, {3}, {2, 5}}) {
      const std::string name = std::to_string(params.size()) + " größe";
      params.set(name.c_str(), counting<uint8_t>(shape, dtype));
    }
  };
  for (uint8_t code = kDLFloat8_e3m4; code <= kDLFloat8_e8m0fnu; ++code) add({code, 8, 1});
  for (const uint8_t bits : {1, 2, 4, 8, 16, 32, 64}) add({kDLInt, bits, 1}), add({kDLUInt, bits, 1});
  for (const uint8_t bits : {16, 32, 64}) add({kDLFloat, bits, 1});
  for (const uint16_t lanes : {1, 3, 16})
    add({kDLBfloat, 16, lanes}), add({kDLBool, 8, lanes}), add({kDLUInt, 4, lanes});
  add({kDLComplex, 64, 1}), add({kDLComplex, 128, 1});
  add({kDLFloat6_e2m3fn, 6, 1}), add({kDLFloat6_e3m2fn, 6, 1}), add({kDLFloat4_e2m1fn, 4, 1});
  const TemporaryDirectory directory;
  for (const char *name : {"a.params", "tensor-cache.json"})
    for (const int copy : {0, 1}) {
      params.save(directory / name);
      const Params again(directory / name, options(copy));
      ASSERT_EQ(again.names(), params.names()) << name;
      for (size_t i = 0; i < params.size(); ++i) {
        EXPECT_TRUE(same(again.dtype(i), params.dtype(i))) << name << " " << i;
        EXPECT_EQ(again.shape(i), params.shape(i));
        EXPECT_EQ(elements(again[again.name(i)]), elements(params[params.name(i)]));
      }
    }
}

TEST(ParamsOpen, CopiesUnalignedTensorsOnce) {
  const TemporaryDirectory directory;
  sample().save(directory / "a.params");  // a format without room for padding
  const Params params(directory / "a.params");
  EXPECT_FALSE(params.is_view(0) || params.is_view(1));
  EXPECT_EQ(address(params["first"]), address(params["first"]));
  EXPECT_EQ(stats_of(params).copied_bytes, 12u);
  EXPECT_EQ(contents(params), contents(sample()));
  EXPECT_EQ(stats_of(params).copied_bytes, 76u);
}

TEST(ParamsOpen, KeepsWritesToViewsPrivate) {
  const TemporaryDirectory directory;
  sample().save(directory / "a.npz");
  const std::string before = read_bytes(directory / "a.npz");
  Tensor kept;
  {
    const Params params(directory / "a.npz");
    kept = params["first"];
    kept.data<float>()[0] = 7;
    EXPECT_EQ(params["first"].data<float>()[0], 7);
  }
  EXPECT_EQ(kept.data<float>()[1], 1) << "a tensor keeps the file mapped";
  EXPECT_EQ(read_bytes(directory / "a.npz"), before);
  EXPECT_EQ(Params(directory / "a.npz")["first"].data<float>()[0], 0);
}

TEST(ParamsOpen, OutlivesTheFileThatWasReplacedOrRemoved) {
  const TemporaryDirectory directory;
  for (const char *name : {"a.npz", "a.params", "a.safetensors"}) {
    sample().save(directory / name);
    const Params params(directory / name);
    Params other;
    other.set("first", counting<float>({1000}, {kDLFloat, 32, 1}));
    other.save(directory / name);
    fs::remove(directory / name);
    EXPECT_EQ(contents(params), contents(sample())) << name;
    params.save(directory / name);
    Params(directory / name).save(directory / name);  // onto the file that it is mapped from
    EXPECT_EQ(contents(Params(directory / name)), contents(sample())) << name;
  }
}

TEST(ParamsOpen, CopiesEverythingOnRequest) {
  const TemporaryDirectory directory;
  sample().save(directory / "tensor-cache.json");
  for (const char *name : {"a.npz", "a.params", "a.safetensors", "a.npy", "tensor-cache.json"}) {
    Params one;
    if (std::string(name) == "a.npy") one.set("", sample()["second"]);
    const Params given = one.size() ? one : sample();
    given.save(directory / name);
    const Params params(directory / name, options(1));
    for (const auto &entry : fs::directory_iterator((directory / name).parent_path()))
      if (entry.path().extension() != ".json") fs::resize_file(entry.path(), 0);  // nothing is mapped any more
    EXPECT_EQ(contents(params), contents(given)) << name;
    EXPECT_FALSE(params.is_view(0));
    EXPECT_EQ(stats_of(params).copied_bytes, stats_of(params).total_bytes);
  }
}

TEST(ParamsOpen, ReadsLargeTensorsWithSeveralThreads) {
  const TemporaryDirectory directory;
  Params params;
  const Tensor large = counting<int32_t>({5 << 20}, {kDLInt, 32, 1});  // 20 MiB
  params.set("large", large);
  params.save(directory / "a.params");
  for (const int copy : {0, 1}) {
    const Tensor tensor = Params(directory / "a.params", options(copy, 1))["large"];
    EXPECT_EQ(std::memcmp(tensor.view().data, large.view().data, opd_tensor_bytes(large.get())), 0);
  }
}

TEST(ParamsOpen, GivesThreadsThatAskAtOnceTheSameTensor) {
  const TemporaryDirectory directory;
  Params written;
  for (const char *name : {"a", "b", "c"}) written.set(name, counting<float>({3, 1000}, {kDLFloat, 32, 1}));
  written.save(directory / "a.params");
  for (int round = 0; round < 20; ++round) {
    const Params params(directory / "a.params");
    std::atomic<int> ready{0};
    std::vector<uintptr_t> seen(4 * 3);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (++ready; ready < 4;) std::this_thread::yield();
        for (size_t i = 0; i < 3; ++i) seen[3 * t + i] = address(params[params.name(i)]);
      });
    for (std::thread &thread : threads) thread.join();
    for (size_t i = 3; i < seen.size(); ++i) EXPECT_EQ(seen[i], seen[i % 3]);
    EXPECT_EQ(stats_of(params).copied_bytes, 36000u) << "a tensor was copied twice";
  }
}

TEST(ParamsOpen, ReplacesATensorOfAFile) {
  Params params(data_path("tvm.params"));
  params.set("int8", counting<float>({2}, {kDLFloat, 32, 1}));
  EXPECT_EQ(params.shape(1), std::vector<int64_t>{2});
  EXPECT_EQ(params["int8"].data<float>()[1], 1);
  EXPECT_EQ(params.names()[1], "int8");
}

// ---- memory

struct Block {
  alignas(64) char bytes[8192];
  int ended = 0;
  size_t fill(const std::string &content) { return std::memcpy(bytes, content.data(), content.size()), content.size(); }
  static void end(void *self) { ++static_cast<Block *>(self)->ended; }
};

TEST(ParamsOpen, ViewsMemoryUntilTheLastTensorEnds) {
  const TemporaryDirectory directory;
  sample().save(directory / "a.npz");
  Block block;
  const size_t size = block.fill(read_bytes(directory / "a.npz"));
  Tensor kept;
  {
    opdyno::Params params;
    check(opd_params_open_bytes(block.bytes, size, nullptr, &block, Block::end, params.out()));
    kept = params.get_tensor("second");
    EXPECT_TRUE(params.is_view(1));
  }
  EXPECT_EQ(block.ended, 0);
  EXPECT_TRUE(address(kept) > reinterpret_cast<uintptr_t>(&block) &&
              address(kept) < reinterpret_cast<uintptr_t>(&block + 1));
  kept = Tensor();
  EXPECT_EQ(block.ended, 1);
  const opd_params_options copying = options(1);
  opdyno::Params params;
  check(opd_params_open_bytes(block.bytes, size, &copying, &block, Block::end, params.out()));
  EXPECT_EQ(block.ended, 2) << "copied: the memory is not needed any more";
}

TEST(ParamsOpen, LeavesMemoryToItsOwnerAfterAnError) {
  Block block;
  const size_t size = block.fill("neither this nor that");
  opd_params *params = nullptr;
  expect_error(opd_params_open_bytes(block.bytes, size, nullptr, &block, Block::end, &params), OPD_BAD_FORMAT);
  EXPECT_EQ(block.ended, 0);
}

// ---- options and errors

TEST(ParamsOpen, ComparesChecksumsOnRequest) {
  const TemporaryDirectory directory;
  for (const char *name : {"stored.npz", "deflated.npz"}) {
    check(open_error(data_path(name), options(0, 0, 1)));
    std::string bytes = data_bytes(name);
    const size_t at = name[0] == 's' ? bytes.find("complex128.npy") + 200 : bytes.find("PK\1\2") - 6;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);  // among the elements, or the deflated ones
    write_bytes(directory / name, bytes);
    expect_error(open_error(directory / name, options(0, 0, 1)), OPD_BAD_FORMAT, "entry");
    expect_error(load_error(bytes), OPD_BAD_FORMAT, "entry");
  }
  const Params unchecked(directory / "stored.npz");  // stored elements are then taken as they are
  EXPECT_EQ(unchecked["complex128"].view().ndim, 2);
  const Params late(directory / "deflated.npz");  // compressed ones are always checked
  Tensor tensor;
  expect_error(opd_params_get(late.get(), "fortran", tensor.out()), OPD_BAD_FORMAT, "\"fortran.npy\"");
  EXPECT_EQ(shape_of(late["zeros"]), (std::vector<int64_t>{100, 100})) << "the others can still be had";
}

TEST(ParamsOpen, RefusesUnknownOptions) {
  expect_error(open_error(data_path("tvm.params"), options(2)), OPD_INVALID_ARGUMENT, "copy is 2");
  expect_error(open_error(data_path("tvm.params"), options(0, -1)), OPD_INVALID_ARGUMENT, "prefetch is -1");
  struct {
    opd_params_options known;
    int32_t later;
  } newer{options(0), 1};
  newer.known.struct_size = sizeof newer;
  opd_params *params = nullptr;
  expect_error(opd_params_open(data_path("tvm.params").c_str(), &newer.known, &params), OPD_UNSUPPORTED, "byte 16");
}

TEST(ParamsOpen, SaysThatAFileWasCutShort) {
  const TemporaryDirectory directory;
  Params params;
  params.set("w", counting<float>({1 << 20}, {kDLFloat, 32, 1}));
  params.save(directory / "a.params");
  const Params opened(directory / "a.params");
  fs::resize_file(directory / "a.params", 1 << 20);
  Tensor tensor;
  expect_error(opd_params_get(opened.get(), "w", tensor.out()), OPD_IO, "was cut to");
}

TEST(ParamsOpen, RefusesMissingEmptyAndSpecialFiles) {
  const TemporaryDirectory directory;
  expect_error(open_error(directory / "none", options(0)), OPD_NOT_FOUND, "none");
  expect_error(open_error(directory / ".", options(0)), OPD_INVALID_ARGUMENT, "tensor-cache.json");
  expect_error(open_error("/dev/zero", options(0)), OPD_INVALID_ARGUMENT, "not a regular file");
  write_bytes(directory / "empty", "");
  expect_error(open_error(directory / "empty", options(0)), OPD_BAD_FORMAT, "offset 0");
}

}  // namespace
