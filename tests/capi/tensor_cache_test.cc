// Tensor caches: one made by TVM (tests/data/params/make.py), and JSON made by hand.
#include "support/params_test.h"

namespace params_test {
namespace {

const fs::path kTvms = data_path("tensor-cache");

// A cache in a directory, whose one shard "s.bin" holds 16 bytes from 'a' on.
struct Cache : TemporaryDirectory {
  Cache() { write_bytes(*this / "s.bin", "abcdefghijklmnop"); }
  fs::path json(const std::string &text) const {
    write_bytes(*this / "tensor-cache.json", text);
    return *this / "";
  }
  fs::path shard(const std::string &records,
                 const std::string &head = "\"dataPath\":\"s.bin\",\"format\":\"raw-shard\",\"nbytes\":16") const {
    return json("{\"metadata\":{},\"records\":[{" + head + ",\"records\":[" + records + "]}]}");
  }
};
std::string record(const std::string &name, const std::string &dtype, const std::string &shape, uint64_t nbytes,
                   uint64_t offset, const std::string &format = "raw") {
  return "{\"name\":\"" + name + "\",\"shape\":" + shape + ",\"dtype\":\"" + dtype + "\",\"format\":\"" + format +
         "\",\"nbytes\":" + std::to_string(nbytes) + ",\"byteOffset\":" + std::to_string(offset) + "}";
}

TEST(TensorCache, ReadsFilesOfTvm) {
  for (const fs::path &path : {kTvms, kTvms / "", kTvms / "tensor-cache.json"})
    for (const int copy : {0, 1}) {
      const Params params(path, options(copy, 0, 1));
      ASSERT_EQ(params.size(), 15u);
      for (const auto &[name, dtype] : kDtypes)
        if (dtype.code != kDLComplex) expect_counting(params[name], dtype, {2, 3});
      EXPECT_EQ(params["scalar"].data<double>()[0], 2.5);
      EXPECT_EQ(shape_of(params["empty"]), (std::vector<int64_t>{0, 3}));
      expect_counting(params["größe"], {kDLInt, 64, 1}, {5});
      EXPECT_EQ(params.names().back(), "größe");
    }
}

TEST(TensorCache, ReadsTheNameOfOlderReleases) {
  const TemporaryDirectory directory;
  fs::copy(kTvms / "params_shard_0.bin", directory / "params_shard_0.bin");
  fs::copy(kTvms / "tensor-cache.json", directory / "ndarray-cache.json");
  EXPECT_EQ(Params(directory / "").size(), 15u);
  EXPECT_EQ(Params(directory / "ndarray-cache.json").size(), 15u);
}

TEST(TensorCache, WidensFloatsThatWereStoredAsTheirUpperHalves) {
  const Cache cache;
  const uint16_t halves[] = {0x3F80, 0xC040, 0x7F80, 0};  // 1, -3, infinity, 0 by bfloat16's definition
  write_bytes(cache / "s.bin", std::string(reinterpret_cast<const char *>(halves), 8) + "12345678");
  const Params params(cache.shard(record("w", "float32", "[4]", 8, 0, "f32-to-bf16")));
  const Tensor w = params["w"];
  EXPECT_EQ(w.data<float>()[0], 1);
  EXPECT_EQ(w.data<float>()[1], -3);
  EXPECT_TRUE(std::isinf(w.data<float>()[2]));
  EXPECT_FALSE(params.is_view(0));
  EXPECT_EQ(params.stats().copied_bytes, 16u);
  EXPECT_EQ(Params(cache.shard(record("w", "int8", "[8]", 8, 0, "f32-to-bf16"))).is_view(0), true)
      << "only float32 is halved";
}

TEST(TensorCache, WritesTheTensorsThatItRead) {
  const TemporaryDirectory directory;
  const Params original(kTvms);
  original.save(directory / "tensor-cache.json");
  const Params again(directory / "", options(0, 1, 1));
  EXPECT_EQ(again.names(), original.names());
  EXPECT_EQ(again.bytes(), original.bytes());
  for (size_t i = 0; i < again.size(); ++i) EXPECT_EQ(again.is_view(i), again.info(i).bytes > 0);
  EXPECT_EQ(directory.num_files(), 2u);
}

TEST(TensorCache, FillsShardsUpTo32MiB) {
  const TemporaryDirectory directory;
  Params params;
  const Tensor large = counting<uint32_t>({5 << 20}, {kDLUInt, 32, 1}), small = counting<uint8_t>({5}, {kDLUInt, 8, 1});
  for (const char *name : {"a", "b", "c"})
    params.set(name, large), params.set((std::string(name) + "_").c_str(), small);
  params.save(directory / "tensor-cache.json");
  EXPECT_EQ(directory.num_files(), 4u);  // two large ones do not fit into a shard
  const Params again(directory / "tensor-cache.json");
  EXPECT_EQ(again.names(), params.names());
  EXPECT_EQ(elements(again["c"]), elements(large));
  EXPECT_EQ(elements(again["a_"]), elements(small));
}

// As TVM writes it. The sum is Python's of 0, 1, 2, 61 zeros, and 0 to 63.
TEST(TensorCache, WritesWhereEachTensorLies) {
  const TemporaryDirectory directory;
  Params params;
  params.set("a", counting<uint8_t>({3}, {kDLUInt, 8, 1}));
  params.set("b", counting<uint8_t>({4, 4}, {kDLFloat, 32, 1}));
  params.save(directory / "tensor-cache.json");
  EXPECT_EQ(read_bytes(directory / "tensor-cache.json"),
            R"({"metadata":{},"records":[{"dataPath":"params_shard_0.bin","format":"raw-shard","records":[)"
            R"({"name":"a","shape":[3],"dtype":"uint8","format":"raw","nbytes":3,"byteOffset":0},)"
            R"({"name":"b","shape":[4,4],"dtype":"float32","format":"raw","nbytes":64,"byteOffset":64}],)"
            R"("nbytes":128,"md5sum":"ba90d5d12f4d51254e839042bfe7b7b9"}]})");
  EXPECT_EQ(read_bytes(directory / "params_shard_0.bin"),
            elements(params["a"]) + std::string(61, '\0') + elements(params["b"]));
}

TEST(TensorCache, FillsAShardToTheLastByte) {
  for (const int64_t more : {0, 1}) {
    const TemporaryDirectory directory;
    Params params;
    params.set("a", counting<uint64_t>({(4 << 20) - 8}, {kDLUInt, 64, 1}));  // 32 MiB without 64 bytes
    params.set("b", counting<uint8_t>({64 + more}, {kDLUInt, 8, 1}));
    params.save(directory / "tensor-cache.json");
    EXPECT_EQ(directory.num_files(), more ? 3u : 2u);
    EXPECT_EQ(elements(Params(directory / "")["b"]), elements(params["b"]));
  }
}

TEST(TensorCache, NoticesDamageByItsChecksum) {
  const TemporaryDirectory directory;
  fs::copy(kTvms / "tensor-cache.json", directory / "tensor-cache.json");
  std::string shard = read_bytes(kTvms / "params_shard_0.bin");
  shard[100] ^= 1;
  write_bytes(directory / "params_shard_0.bin", shard);
  check(open_error(directory / "", options(0)));
  expect_error(open_error(directory / "", options(0, 0, 1)), OPD_BAD_FORMAT, "md5sum");
}

TEST(TensorCache, ReadsOnlyShardsBelowItsDirectory) {
  const Cache cache;
  for (const char *name : {"/etc/passwd", "../s.bin", "a/../../s.bin", "..", "", "a\\u0000b", "a/.."}) {
    const std::string head = std::string("\"dataPath\":\"") + name + "\",\"format\":\"raw-shard\",\"nbytes\":16";
    expect_error(open_error(cache.shard("", head), options(0)), OPD_BAD_FORMAT, "not below its directory");
  }
  fs::create_directory(cache / "sub");
  write_bytes(cache / "sub/..s", "x");
  check(open_error(cache.shard("", "\"dataPath\":\"sub/..s\",\"format\":\"raw-shard\",\"nbytes\":1"), options(0)));
  expect_error(open_error(cache.shard("", "\"dataPath\":\"none\",\"format\":\"raw-shard\",\"nbytes\":1"), options(0)),
               OPD_NOT_FOUND, "none");
  expect_error(open_error(cache.shard("", "\"dataPath\":\"sub\",\"format\":\"raw-shard\",\"nbytes\":1"), options(0)),
               OPD_INVALID_ARGUMENT, "regular");
}

TEST(TensorCache, NamesTheProblemOfABadFile) {
  const Cache cache;
  const std::string w = record("w", "uint8", "[4]", 4, 0);
  const struct {
    std::string records, part;
  } bad[] = {
      {w + "," + record("v", "uint8", "[4]", 4, 3), "begins at 3, within a tensor that ends at 4"},
      {w + "," + record("w", "uint8", "[4]", 4, 4), "repeats the tensor \"w\""},
      {record("w", "uint8", "[4]", 5, 0), "declares 5 bytes for a tensor of 4"},
      {record("w", "uint8", "[4]", 4, 13), "lies outside of the 16 bytes"},
      {record("w", "uint8", "[4]", 4, 9223372036854775807), "lies outside of the 16 bytes"},
      {record("w", "uint8", "[17]", 17, 0), "lies outside of the 16 bytes"},
      {record("w", "uint8", "[-1]", 4, 0), "integer from 0 on"},
      {record("w", "uint8", "4", 4, 0), "is not a list"},
      {record("w", "float64", "[4611686018427387904,4]", 4, 0), "exceeds 64 bits"},
      {record("w", "number", "[4]", 4, 0), "number"},
      {record("w", "handle", "[4]", 4, 0), ""},
      {"{\"name\":\"w\"}", "lacks \"dtype\""},
      {"7", "is not an object with \"name\""},
      {"{\"name\":7}", "is not text"},
  };
  for (const auto &test : bad)
    expect_error(open_error(cache.shard(test.records), options(0)), OPD_BAD_FORMAT, test.part);
  expect_error(open_error(cache.shard(record("w", "uint8", "[4]", 4, 0, "zip")), options(0)), OPD_UNSUPPORTED,
               "\"zip\"");
  expect_error(open_error(cache.shard("", "\"dataPath\":\"s.bin\",\"format\":\"gguf\",\"nbytes\":16"), options(0)),
               OPD_UNSUPPORTED, "gguf");
  expect_error(open_error(cache.shard("", "\"dataPath\":\"s.bin\",\"format\":\"raw-shard\",\"nbytes\":15"), options(0)),
               OPD_BAD_FORMAT, "has 16 bytes, but");
  for (const char *text : {"{}", "{\"records\":7}", "{\"records\":[],\"records\":[]}", "{\"records\":[3]}", "{"})
    expect_error(open_error(cache.json(text), options(0)), OPD_BAD_FORMAT, "JSON at offset");
  EXPECT_EQ(Params(cache.json("{\"records\":[]}")).size(), 0u);
}

TEST(TensorCache, CannotBeReadFromMemory) {
  expect_error(load_error("{\"records\":[]}"), OPD_UNSUPPORTED, "open its directory");
}

TEST(TensorCache, RefusesEveryTruncation) {
  const TemporaryDirectory directory;
  fs::copy(kTvms / "params_shard_0.bin", directory / "params_shard_0.bin");
  const std::string json = read_bytes(kTvms / "tensor-cache.json");
  for (size_t size = 1; size < json.size() - 1; size += 7) {
    write_bytes(directory / "tensor-cache.json", json.substr(0, size));
    expect_error(open_error(directory / "", options(0)), OPD_BAD_FORMAT);
  }
}

}  // namespace

}  // namespace params_test
