// .safetensors: a file made by the safetensors library (tests/data/params/make.py), and headers made by hand. What is
// accepted and refused follows safetensors 0.8.
#include "support/params_test.h"

namespace {

using namespace params_test;

constexpr DLDataType kF32{kDLFloat, 32, 1}, kU8{kDLUInt, 8, 1};

std::string file(const std::string &header, const std::string &data = "") {
  const uint64_t size = header.size();
  return std::string(reinterpret_cast<const char *>(&size), 8) + header + data;
}
std::string one(const std::string &dtype, const std::string &shape, size_t bytes) {
  return file("{\"a\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":[0," +
                  std::to_string(bytes) + "]}}",
              std::string(bytes, '\1'));
}

TEST(Safetensors, ReadsFilesOfTheSafetensorsLibrary) {
  const Params params(data_path("library.safetensors"));
  ASSERT_EQ(params.size(), 19u);
  for (const auto &[name, dtype] : kDtypes)
    if (std::string(name) != "complex128") expect_counting(params[name], dtype, {2, 3});
  expect_counting(params["größe"], {kDLInt, 64, 1}, {5});
  EXPECT_EQ(params["scalar"].data<double>()[0], 2.5);
  EXPECT_EQ(shape_of(params["empty"]), (std::vector<int64_t>{0, 3}));
  // The numbers 0 to 5 by the definitions of the types: sign, exponent, mantissa.
  const uint16_t bfloats[] = {0, 0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0};
  EXPECT_EQ(elements(params["bfloat16"]), std::string(reinterpret_cast<const char *>(bfloats), 12));
  EXPECT_EQ(elements(params["float8_e4m3fn"]), std::string("\0\x38\x40\x44\x48\x4A", 6));
  EXPECT_EQ(elements(params["float8_e5m2"]), std::string("\0\x3C\x40\x42\x44\x45", 6));
  EXPECT_TRUE(same(params["bfloat16"].view().dtype, {kDLBfloat, 16, 1}));
  EXPECT_TRUE(same(params["float8_e4m3fn"].view().dtype, {kDLFloat8_e4m3fn, 8, 1}));
  EXPECT_TRUE(same(params["float8_e5m2"].view().dtype, {kDLFloat8_e5m2, 8, 1}));
}

TEST(Safetensors, ReadsTypesOfLessThanAByte) {
  const struct {
    const char *name;
    uint8_t code, bits;
  } cases[] = {{"F4", kDLFloat4_e2m1fn, 4},
               {"F6_E2M3", kDLFloat6_e2m3fn, 6},
               {"F6_E3M2", kDLFloat6_e3m2fn, 6},
               {"F8_E8M0", kDLFloat8_e8m0fnu, 8},
               {"F8_E4M3FNUZ", kDLFloat8_e4m3fnuz, 8},
               {"F8_E5M2FNUZ", kDLFloat8_e5m2fnuz, 8}};
  for (const auto &[name, code, bits] : cases) {
    const Params params(one(name, "[2,4]", bits));
    EXPECT_TRUE(same(params.dtype(0), {code, bits, 1})) << name;
    EXPECT_EQ(params.info(0).bytes, bits);
    const TemporaryDirectory directory;
    params.save(directory / "a.safetensors");
    const Params again(directory / "a.safetensors");
    EXPECT_TRUE(same(again.dtype(0), params.dtype(0)));
    EXPECT_EQ(elements(again["a"]), std::string(bits, '\1'));
  }
  expect_error(load_error(one("F4", "[3]", 2)), OPD_BAD_FORMAT, "do not fill whole bytes");
}

TEST(Safetensors, KeepsTheOrderOfTheSet) {
  Params params;
  for (const auto &[name, count] : {std::pair("z", 3), {"a", 64}, {"größe", 5}, {"m", 128}, {"e", 0}})
    params.set(name, counting<uint8_t>({count}, kU8));
  const TemporaryDirectory directory;
  params.save(directory / "a.safetensors");
  const Params again(directory / "a.safetensors");
  EXPECT_EQ(again.names(), params.names());
  for (const std::string &name : params.names())
    EXPECT_EQ(elements(again[name.c_str()]), elements(params[name.c_str()]));
  EXPECT_TRUE(again.is_view(1) && again.is_view(3)) << "sizes that are multiples of 64 come first";
}

TEST(Safetensors, WritesTheTensorsThatItRead) {
  const TemporaryDirectory directory;
  const Params original(data_path("library.safetensors"));
  original.save(directory / "a.safetensors");
  const Params again(directory / "a.safetensors");
  EXPECT_EQ(again.bytes(), original.bytes());
  uint64_t header = 0;
  std::memcpy(&header, read_bytes(directory / "a.safetensors").data(), 8);
  EXPECT_EQ((8 + header) % 64, 0u);
}

TEST(Safetensors, WritesTheHeaderInOrderAndTheElementsByTheirSize) {
  Params params;
  params.set("a", counting<uint8_t>({3}, kU8));
  params.set("b", counting<uint8_t>({2, 8}, kF32));
  params.set("c", counting<uint8_t>({}, kU8));
  const TemporaryDirectory directory;
  params.save(directory / "a.safetensors");
  std::string header =
      R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[64,67]},)"
      R"("b":{"dtype":"F32","shape":[2,8],"data_offsets":[0,64]},"c":{"dtype":"U8","shape":[],"data_offsets":[67,68]}})";
  while ((8 + header.size()) % 64) header += ' ';
  EXPECT_EQ(read_bytes(directory / "a.safetensors"),
            file(header, elements(params["b"]) + elements(params["a"]) + elements(params["c"])));
}

TEST(Safetensors, RefusesToWriteUnsupportedDtypesAndNames) {
  const TemporaryDirectory directory;
  const auto error = [&](const char *name, const Tensor &tensor) {
    Params params;
    params.set(name, tensor);
    return opd_params_save(params.get(), (directory / "a.safetensors").c_str());
  };
  for (const DLDataType dtype :
       {DLDataType{kDLInt, 4, 1}, {kDLFloat, 32, 4}, {kDLComplex, 128, 1}, {kDLFloat8_e3m4, 8, 1}})
    expect_error(error("a", counting<uint8_t>({2}, dtype)), OPD_UNSUPPORTED, "param dict");
  expect_error(error("a", counting<uint8_t>({3}, {kDLFloat4_e2m1fn, 4, 1})), OPD_UNSUPPORTED, "cannot hold 3 elements");
  expect_error(error("__metadata__", counting<float>({1}, kF32)), OPD_INVALID_ARGUMENT, "__metadata__");
  expect_error(error("\xff", counting<float>({1}, kF32)), OPD_INVALID_ARGUMENT, "cannot name");
  EXPECT_EQ(directory.num_files(), 0u);
}

TEST(Safetensors, AcceptsTheSameFilesAsTheSafetensorsLibrary) {
  EXPECT_EQ(Params(file("{}")).size(), 0u);
  EXPECT_EQ(Params(file("{}   ")).size(), 0u);
  EXPECT_EQ(Params(file("{\"__metadata__\":{\"k\":\"v\"}}")).size(), 0u);
  EXPECT_EQ(Params(one("U64", "[]", 8)).shape(0), std::vector<int64_t>{});
  const Params gap_free(
      file("{\"z\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]},"
           "\"e\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
           "\"b\":{\"shape\":[1],\"more\":null,\"data_offsets\":[0,1],\"dtype\":\"U8\"}}",
           "BZ"));
  EXPECT_EQ(gap_free.names(), (std::vector<std::string>{"z", "e", "b"}));
  EXPECT_EQ(elements(gap_free["z"]), "Z");
}

TEST(Safetensors, NamesTheProblemOfABadFile) {
  const std::string a = "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":";
  const struct {
    std::string bytes, part;
  } cases[] = {
      {file("{"), "malformed"},
      {file("{\"a\":1}"), "is not an object with dtype"},
      {file("{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", "x"), "lacks dtype"},
      {file("{\"a\":{\"dtype\":3,\"shape\":[1],\"data_offsets\":[0,1]}}", "x"), "is not the name of a dtype"},
      {file("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "x"),
       "repeats \"dtype\""},
      {file(a + "[1,2]}}", "xy"), "begins at 1, but the tensor before it ends at 0"},
      {file(a + "[0,1]}}", "xy"), "the tensors end at offset"},
      {file(a + "[0,2]}}", "xy"), "declares 2 bytes for a tensor of 1"},
      {file(a + "[0,3]}}", "xy"), "within the 2 bytes"},
      {file(a + "[2,1]}}", "xy"), "within the 2 bytes"},
      {file(a + "[0]}}", "x"), "a begin and an end"},
      {file(a + "[0,1.0]}}", "x"), "64-bit integer"},
      {file(a + "[0,-1]}}", "x"), "integer from 0 on"},
      {file(a + "[0,9223372036854775808]}}", "x"), "64-bit integer"},
      {file(a + "[0,1]},\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[1,1]}}", "x"),
       "repeats the tensor \"a\""},
      {file(a + "[0,1]},\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "x"), "begins at 0, but"},
      {one("F64", "[4611686018427387904,4]", 8), "exceeds 64 bits"},
      {one("U8", "{}", 8), "is not a list"},
  };
  for (const auto &test : cases) expect_error(load_error(test.bytes), OPD_BAD_FORMAT, test.part);
  expect_error(load_error(one("U4", "[2]", 1)), OPD_UNSUPPORTED, "\"U4\"");
  std::string long_header = file("{}");
  long_header[2] = 1;
  expect_error(load_error(long_header), OPD_BAD_FORMAT, "header at offset 8 needs");
  const auto of_size = [](uint64_t size) {
    std::string bytes = file("{}");
    std::memcpy(bytes.data(), &size, sizeof size);
    return load_error(bytes);
  };
  expect_error(of_size(100'000'000), OPD_BAD_FORMAT, "header at offset 8 needs 100000000 bytes");
  expect_error(of_size(100'000'001), OPD_BAD_FORMAT, "belongs neither to a TVM param dict");
}

TEST(Safetensors, RefusesEveryTruncationAndSurvivesEveryFlippedBit) {
  const std::string bytes = data_bytes("library.safetensors");
  for (size_t size = 0; size < bytes.size(); ++size) expect_error(load_error(bytes.substr(0, size)), OPD_BAD_FORMAT);
  for (size_t i = 0; i < 8 * 1400; ++i) {
    std::string damaged = bytes;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ 1 << i % 8);
    opd_error_release(load_error(damaged));
  }
}

}  // namespace
