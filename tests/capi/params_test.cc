// Parameter files through the C API: files made by NumPy and TVM (tests/data/params/make.py), their round trips,
// damage.
#include "support/params_test.h"

#include "support/paths.h"

namespace {

using namespace params_test;

// ---- reading what NumPy and TVM write

TEST(Params, ReadsNumpyArrays) {
  for (const char *name : {"f32.npy", "version2.npy", "version3.npy"}) {
    const Params params(data_path(name));
    ASSERT_EQ(params.names(), std::vector<std::string>{""}) << name;
    expect_counting(params[""], {kDLFloat, 32, 1}, {2, 3});
  }
}

TEST(Params, ReadsColumnMajorArraysAsRowMajorOnes) {
  expect_counting(Params(data_path("fortran.npy"))[""], {kDLInt, 16, 1}, {2, 3, 4});
  expect_counting(Params(data_path("deflated.npz"))["fortran"], {kDLFloat, 32, 1}, {2, 3});
}

TEST(Params, ReadsScalarsAndEmptyArrays) {
  const Tensor scalar = Params(data_path("scalar.npy"))[""], empty = Params(data_path("empty.npy"))[""];
  EXPECT_EQ(shape_of(scalar), std::vector<int64_t>{});
  EXPECT_EQ(scalar.data<double>()[0], 2.5);
  EXPECT_EQ(shape_of(empty), (std::vector<int64_t>{0, 3}));
}

TEST(Params, ReadsEveryDtypeOfAnNpz) {
  const Params params(data_path("stored.npz"));
  std::vector<std::string> names;
  for (const auto &[name, dtype] : kDtypes) {
    names.push_back(name);
    expect_counting(params[name], dtype, {2, 3});
  }
  EXPECT_EQ(params.names(), names);
}

TEST(Params, ReadsDeflatedAndEmptyNpz) {
  const Params params(data_path("deflated.npz"));
  EXPECT_EQ(params.names(), (std::vector<std::string>{"zeros", "ümlaut", "fortran"}));
  expect_counting(params["ümlaut"], {kDLInt, 64, 1}, {5});
  const Tensor zeros = params["zeros"];
  EXPECT_EQ(shape_of(zeros), (std::vector<int64_t>{100, 100}));
  for (size_t i = 0; i < 10000; ++i) ASSERT_EQ(zeros.data<float>()[i], 0);
  EXPECT_EQ(opd_params_count(Params(data_path("empty.npz")).get()), 0);
}

TEST(Params, ReadsAndWritesTvmsParamDictByteForByte) {
  const Params params(data_path("tvm.params"));
  EXPECT_EQ(opd_params_count(params.get()), 15);
  for (const auto &[name, dtype] : kDtypes)
    if (dtype.code != kDLComplex) expect_counting(params[name], dtype, {2, 3});
  EXPECT_EQ(params["scalar"].data<double>()[0], 2.5);
  EXPECT_EQ(shape_of(params["empty"]), (std::vector<int64_t>{0, 3}));
  expect_counting(params["größe"], {kDLInt, 64, 1}, {5});
  EXPECT_EQ(params.bytes(), data_bytes("tvm.params"));
}

// ---- round trips

TEST(Params, SavesTheTensorsThatItRead) {
  const TemporaryDirectory directory;
  const Params original(data_path("stored.npz"));
  for (const char *name : {"a.npz", "a.params", "a.bin", "a"}) {
    original.save(directory / name);
    const Params again(directory / name);
    EXPECT_EQ(again.names(), original.names());
    EXPECT_EQ(again.bytes(), original.bytes());
  }
  EXPECT_EQ(read_bytes(directory / "a").substr(0, 4), original.bytes().substr(0, 4));
  EXPECT_EQ(read_bytes(directory / "a.npz").substr(0, 2), "PK");
}

TEST(Params, WritesNpyAsNumpyDoes) {
  const TemporaryDirectory directory;
  for (const char *name : {"f32.npy", "scalar.npy", "empty.npy"}) {
    Params(data_path(name)).save(directory / name);
    EXPECT_EQ(read_bytes(directory / name), data_bytes(name)) << name;
  }
}

TEST(Params, KeepsOrderAndReplacesInPlace) {
  Params params;
  params.set("b", counting<float>({2}, {kDLFloat, 32, 1}));
  params.set("a", counting<float>({3}, {kDLFloat, 32, 1}));
  const char *first = opd_params_name(params.get(), 0);
  params.set("b", counting<float>({4}, {kDLFloat, 32, 1}));
  params.set("", counting<float>({5}, {kDLFloat, 32, 1}));
  EXPECT_EQ(params.names(), (std::vector<std::string>{"b", "a", ""}));
  EXPECT_EQ(opd_params_name(params.get(), 0), first) << "a borrowed name moved";
  EXPECT_EQ(opd_params_name(params.get(), 3), nullptr);
  EXPECT_EQ(shape_of(params["b"]), std::vector<int64_t>{4});
  EXPECT_EQ(Params(params.bytes()).names(), params.names());
}

TEST(Params, SharesTensorsWithItsUsers) {
  Tensor kept;
  {
    Params params;
    const Tensor tensor = counting<float>({2}, {kDLFloat, 32, 1});
    params.set("w", tensor);
    check(opd_params_get(params.get(), "w", kept.out()));
    EXPECT_EQ(kept.view().data, tensor.view().data);
  }
  EXPECT_EQ(kept.data<float>()[1], 1);
}

TEST(Params, WritesStridedTensorsCompactly) {
  static float matrix[] = {0, 2, 4, 1, 3, 5};  // column by column, 0 to 5 row by row
  static int64_t shape[] = {3, 2}, strides[] = {1, 3};
  static DLManagedTensor managed{{matrix, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0}, nullptr, nullptr};
  Tensor tensor;
  check(opd_tensor_from_dlpack(&managed, tensor.out()));
  Params params;
  params.set("t", tensor);
  expect_counting(Params(params.bytes())["t"], {kDLFloat, 32, 1}, {3, 2});
  const TemporaryDirectory directory;
  params.save(directory / "t.npz");
  expect_counting(Params(directory / "t.npz")["t"], {kDLFloat, 32, 1}, {3, 2});
}

TEST(Params, WritesFloatsThatNumpyLacksAsTheirBits) {
  const TemporaryDirectory directory;
  const struct {
    DLDataType from, to;
  } cases[] = {{{kDLBfloat, 16, 1}, {kDLUInt, 16, 1}}, {{kDLFloat8_e4m3fn, 8, 1}, {kDLUInt, 8, 1}}};
  for (const auto &[from, to] : cases) {
    Params params;
    params.set("x", from.bits == 16 ? counting<uint16_t>({3}, from) : counting<uint8_t>({3}, from));
    params.save(directory / "x.npz");
    expect_counting(Params(directory / "x.npz")["x"], to, {3});
    const Tensor kept = Params(params.bytes())["x"];  // TVM's format keeps the dtype
    EXPECT_EQ(kept.view().dtype.code, from.code);
  }
  for (const DLDataType dtype :
       {DLDataType{kDLInt, 4, 1}, DLDataType{kDLFloat, 32, 4}, DLDataType{kDLFloat4_e2m1fn, 4, 1}}) {
    Params params;
    params.set("x", counting<uint8_t>({2}, dtype));
    expect_error(opd_params_save(params.get(), (directory / "y.npy").c_str()), OPD_UNSUPPORTED, "param dict");
  }
  EXPECT_EQ(directory.num_files(), 1u);
}

TEST(Params, WritesArchivesOfMoreEntriesThan16BitsCount) {
  Params params;
  const Tensor tensor = counting<float>({0}, {kDLFloat, 32, 1});
  constexpr size_t kCount = 65536;
  for (size_t i = 0; i < kCount; ++i) params.set(std::to_string(i).c_str(), tensor);
  const TemporaryDirectory directory;
  params.save(directory / "many.npz");
  const Params again(directory / "many.npz");
  ASSERT_EQ(opd_params_count(again.get()), kCount);
  EXPECT_STREQ(again.name(kCount - 1), "65535");
  EXPECT_NE(read_bytes(directory / "many.npz").find("PK\6\6"), std::string::npos);
}

// ---- misuse

TEST(Params, NamesMissingTensorsAndFiles) {
  const Params params(data_path("stored.npz"));
  Tensor none;
  expect_error(opd_params_get(params.get(), "int63", none.out()), OPD_NOT_FOUND, "Did you mean int");
  EXPECT_EQ(none.get(), nullptr);
  opd_params *loaded = nullptr;
  expect_error(opd_params_open("/nonexistent/weights.npz", nullptr, &loaded), OPD_NOT_FOUND,
               "/nonexistent/weights.npz");
  expect_error(opd_params_open(opdyno_test::test_data("").c_str(), nullptr, &loaded), OPD_INVALID_ARGUMENT, "regular");
  expect_error(opd_params_open(nullptr, nullptr, &loaded), OPD_INVALID_ARGUMENT, "NULL");
  expect_error(opd_params_set(params.get(), "x", nullptr), OPD_INVALID_ARGUMENT, "NULL");
  expect_error(opd_params_save(params.get(), "/nonexistent/directory/x.npz"), OPD_NOT_FOUND, "/nonexistent/directory");
  EXPECT_EQ(loaded, nullptr);
}

TEST(Params, LeavesTheOldFileWhenItCannotWriteTheNewOne) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "x.npy";
  Params(data_path("f32.npy")).save(path);
  expect_error(opd_params_save(Params(data_path("stored.npz")).get(), path.c_str()), OPD_INVALID_ARGUMENT,
               "exactly one");
  EXPECT_EQ(read_bytes(path), data_bytes("f32.npy"));
  EXPECT_EQ(directory.num_files(), 1u);
}

// ---- what is refused

TEST(Params, RefusesDtypesThatNoTensorCanHave) {
  expect_error(load_error(data_bytes("big_endian.npy")), OPD_UNSUPPORTED, "big-endian");
  expect_error(load_error(data_bytes("object.npy")), OPD_UNSUPPORTED, "Python objects");
  expect_error(load_error(data_bytes("fields.npy")), OPD_UNSUPPORTED, "structured dtype at offset 20");
  expect_error(load_error(data_bytes("text.npy")), OPD_UNSUPPORTED, "'<U2'");
}

std::string npy(const std::string &dict, const std::string &data = "",
                const std::string &version = std::string("\1\0", 2)) {
  return "\x93NUMPY" + version + static_cast<char>(dict.size()) + '\0' + dict + data;
}

TEST(Params, GivesTheOffsetOfMalformedNpyHeaders) {
  const std::string rest = "'fortran_order': False, 'shape': (2,), }", good = "{'descr': '|i1', " + rest;
  check(load_error(npy(good, "ab")));
  check(load_error(npy("{\"shape\":(2,),\"descr\":\"<i1\",\"fortran_order\":True}\n", "ab")));
  const struct {
    std::string bytes, part;
  } cases[] = {
      // the header begins at offset 10
      {npy(""), "offset 10 lacks a '{'"},
      {npy("{}"), "offset 10 lacks one of 'descr'"},
      {npy("{'descr': '|i1', 'shape': (2,), }", "ab"), "lacks one of"},
      {npy("{'descr': '|i1', 'descr': '|i1', " + rest, "ab"), "offset 27 repeats the key 'descr'"},
      {npy("{'more': 1, " + rest, "ab"), "offset 11 has the unknown key 'more'"},
      {npy("{'descr': 'i1', " + rest, "ab"), "offset 20 has the dtype 'i1'"},
      {npy("{'descr': '|i1' " + rest, "ab"), "offset 26 lacks a '}'"},
      {npy("{'descr': '|i1, }", "ab"), "offset 20 has a string without an end"},
      {npy("{'descr': '|\\x69', " + rest, "ab"), "offset 20 has an escape"},
      {npy(good + " x", "ab"), "offset 68 goes on after the dict"},
      {npy("{'descr': '|i1', 'fortran_order': 0, 'shape': (2,), }", "ab"), "lacks True or False"},
      {npy("{'descr': '|i1', 'fortran_order': False, 'shape': 2, }", "ab"), "lacks a '('"},
      {npy("{'descr': '|i1', 'fortran_order': False, 'shape': (2), }", "ab"), "number in brackets"},
      {npy("{'descr': '|i1', 'fortran_order': False, 'shape': (-2,), }", "ab"), "lacks a size"},
      {npy("{'descr': '|i1', 'fortran_order': False, 'shape': (,), }", "ab"), "lacks a size"},
      {npy("{'descr': '|i1', 'fortran_order': False, 'shape': (1 2), }", "ab"), "lacks a ','"},
      {npy("{'descr': '|i1', 'fortran_order': False, 'shape': (9223372036854775808,), }", "ab"), "lacks a size"},
      {npy("{'descr': '<i8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", "ab"), "exceeds 64 bits"},
      {npy(good, "abc"), "takes 2 bytes, but 3 follow"},
      {npy(good, "a"), "takes 2 bytes, but 1 follow"},
  };
  for (const auto &test : cases) expect_error(load_error(test.bytes), OPD_BAD_FORMAT, test.part);
  expect_error(load_error(npy(good, "ab", std::string("\4\0", 2))), OPD_UNSUPPORTED, "version at offset 6 is 4.0");
}

TEST(Params, ReadsTheDtypesOfNumpyThatATensorCanHave) {
  const auto file = [](const std::string &dtype, size_t bytes) {
    return npy("{'descr': '" + dtype + "', 'fortran_order': False, 'shape': (1,), }", std::string(bytes, '\1'));
  };
  const struct {
    char letter;
    uint8_t code;
    std::vector<uint8_t> sizes;
  } kinds[] = {{'b', kDLBool, {1}},
               {'i', kDLInt, {1, 2, 4, 8}},
               {'u', kDLUInt, {1, 2, 4, 8}},
               {'f', kDLFloat, {2, 4, 8}},
               {'c', kDLComplex, {8, 16}}};
  for (const auto &[letter, code, sizes] : kinds)
    for (const uint8_t size : {0, 1, 2, 3, 4, 8, 16, 32}) {
      const bool is_known = std::count(sizes.begin(), sizes.end(), size) > 0;
      for (const char order : {'<', '=', '|', '>'}) {
        const std::string dtype = std::string(1, order) + letter + std::to_string(size);
        if (is_known && (order != '>' || size == 1)) {
          EXPECT_TRUE(same(Params(file(dtype, size)).dtype(0), {code, static_cast<uint8_t>(8 * size), 1})) << dtype;
        } else {
          expect_error(load_error(file(dtype, size)), OPD_UNSUPPORTED,
                       ": the elements have the dtype '" + dtype + "' (at offset 20), which is " +
                           (order == '>' && size != 1 ? "big-endian" : "none of bool, int8"));
        }
      }
    }
  for (const char *dtype : {"<f", "<f4x", "<fx", "<V4", "<M8[ns]"})
    expect_error(load_error(file(dtype, 4)), OPD_UNSUPPORTED, std::string("the dtype '") + dtype);
  for (const char *dtype : {"f4", "<", "", "^f4"})
    expect_error(load_error(file(dtype, 4)), OPD_BAD_FORMAT,
                 std::string("has the dtype '") + dtype + "'; one as '<f4'");
}

TEST(Params, ReadsUpTo64DimensionsAndKnownVersions) {
  const auto of = [](int dims) {
    std::string shape;
    for (int i = 0; i < dims; ++i) shape += "1,";
    return npy("{'descr': '|i1', 'fortran_order': False, 'shape': (" + shape + "), }", "a");
  };
  EXPECT_EQ(Params(of(64)).shape(0).size(), 64u);
  expect_error(load_error(of(65)), OPD_BAD_FORMAT, "has more than 64 dimensions");
  const std::string dict = "{'descr': '|i1', 'fortran_order': False, 'shape': (1,), }";
  for (const auto &[major, minor] : {std::pair(0, 0), {4, 0}, {1, 1}, {3, 1}})
    expect_error(load_error(npy(dict, "a", {static_cast<char>(major), static_cast<char>(minor)})), OPD_UNSUPPORTED,
                 "the .npy version at offset 6 is " + std::to_string(major) + "." + std::to_string(minor) +
                     "; 1.0, 2.0 and 3.0 are supported");
  const auto long_header = [&](uint32_t size) {
    std::string text = "\x93NUMPY" + std::string("\2\0", 2);
    text.append(reinterpret_cast<const char *>(&size), 4);
    return text + dict + std::string(size - dict.size(), ' ') + "a";
  };
  check(load_error(long_header(1 << 20)));
  expect_error(load_error(long_header((1 << 20) + 1)), OPD_BAD_FORMAT, "has 1048577 bytes; 1048576 are possible");
}

TEST(Params, RefusesEveryTruncation) {
  for (const char *name : {"f32.npy", "version2.npy", "fortran.npy", "scalar.npy", "empty.npy", "stored.npz",
                           "deflated.npz", "empty.npz", "tvm.params"}) {
    const std::string bytes = data_bytes(name);
    for (size_t size = 0; size < bytes.size(); ++size) {
      opd_error *error = load_error(bytes.substr(0, size));
      EXPECT_EQ(opd_error_code(error), OPD_BAD_FORMAT) << name << " cut to " << size;
      opd_error_release(error);
    }
  }
}

TEST(Params, SurvivesEveryFlippedBit) {
  for (const char *name : {"f32.npy", "deflated.npz", "tvm.params"}) {
    const std::string bytes = data_bytes(name);
    for (size_t i = 0; i < bytes.size() * 8; ++i) {
      std::string damaged = bytes;
      damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ 1 << i % 8);
      opd_error *error = load_error(damaged);
      const opd_code code = opd_error_code(error);
      EXPECT_TRUE(code == OPD_OK || code == OPD_BAD_FORMAT || code == OPD_UNSUPPORTED)
          << name << " bit " << i << ": " << opd_error_message(error);
      opd_error_release(error);
    }
  }
}

TEST(Params, RefusesTrailingBytesAndRepeatedNames) {
  expect_error(load_error(data_bytes("tvm.params") + "x"), OPD_BAD_FORMAT, "offset 1371");
  std::string twice = data_bytes("tvm.params");
  twice.replace(twice.find("int16"), 5, "int32");
  expect_error(load_error(twice), OPD_BAD_FORMAT, "twice");
  std::string archive = data_bytes("stored.npz");
  for (size_t at = 0; (at = archive.find("int16.npy", at)) != std::string::npos;) archive.replace(at, 9, "int32.npy");
  expect_error(load_error(archive), OPD_BAD_FORMAT, "two entries");
}

// Sets the 4 bytes `at` bytes behind the last occurrence of a zip signature.
void patch(std::string &archive, const char *signature, size_t at, uint32_t value) {
  const size_t place = archive.rfind(signature);
  ASSERT_NE(place, std::string::npos);
  std::memcpy(&archive[place + at], &value, 4);
}

TEST(Params, RefusesArchivesThatClaimMoreThanTheyHold) {
  for (const uint32_t claimed : {0x60000000u, 100u * 1032u * 100u, 152u + 1u}) {
    std::string archive = data_bytes("deflated.npz");  // both headers of the last entry, "fortran"
    patch(archive, "PK\1\2", 24, claimed);
    opd_error *error = load_error(archive);
    EXPECT_EQ(opd_error_code(error), OPD_BAD_FORMAT) << claimed << (error ? opd_error_message(error) : "");
    opd_error_release(error);
  }
  std::string archive = data_bytes("stored.npz");
  patch(archive, "PK\1\2", 20, 0x7FFFFFFF);  // packed size
  expect_error(load_error(archive), OPD_BAD_FORMAT, "stores the entry \"complex128.npy\" of 224 bytes in 2147483647");
  archive = data_bytes("deflated.npz");
  patch(archive, "PK\1\2", 20, 0x7FFFFFFF);
  expect_error(load_error(archive), OPD_BAD_FORMAT, "more bytes than the file");
  archive = data_bytes("deflated.npz");
  patch(archive, "PK\1\2", 16, 0x12345678);  // checksum
  expect_error(load_error(archive), OPD_BAD_FORMAT, "zip directory at offset");
  archive = data_bytes("stored.npz");
  patch(archive, "PK\1\2", 8, 1);  // encrypted, stored
  expect_error(load_error(archive), OPD_UNSUPPORTED, "encrypted");
  archive = data_bytes("stored.npz");
  patch(archive, "PK\1\2", 10, 12);  // bzip2
  expect_error(load_error(archive), OPD_UNSUPPORTED, "method 12");
}

TEST(Params, RefusesAnEntryThatDoesNotFitItsChecksum) {
  std::string archive = data_bytes("deflated.npz");
  for (const auto &[signature, at] : {std::pair("PK\1\2", 16), std::pair("PK\3\4", 14)})  // both headers agree
    patch(archive, signature, static_cast<size_t>(at), 0x12345678);
  expect_error(load_error(archive), OPD_BAD_FORMAT, "does not fit its checksum");
}

TEST(Params, RefusesArchivesOfWhichTwoEntriesShareBytes) {
  const auto number = [](uint32_t value, int bytes) {
    return std::string(reinterpret_cast<const char *>(&value), static_cast<size_t>(bytes));
  };
  const std::string npy = data_bytes("f32.npy");
  std::string directory;
  // A stored entry at the given place, without a checksum: the directory is checked first.
  const auto entry = [&](const std::string &name, const std::string &content, size_t place) {
    const auto size = static_cast<uint32_t>(content.size());
    const std::string fields = number(20, 2) + std::string(8, '\0') + number(0, 4) + number(size, 4) + number(size, 4) +
                               number(static_cast<uint32_t>(name.size()), 2) + number(0, 2);
    directory +=
        "PK\1\2" + number(20, 2) + fields + std::string(10, '\0') + number(static_cast<uint32_t>(place), 4) + name;
    return "PK\3\4" + fields + name + content;
  };
  const std::string inner = entry("inner.npy", npy, 30 + 9);  // lies in the content of the other one
  std::string archive = entry("outer.npy", inner, 0);
  const auto begin = static_cast<uint32_t>(archive.size()), size = static_cast<uint32_t>(directory.size());
  archive += directory + "PK\5\6" + number(0, 4) + number(2, 2) + number(2, 2) + number(size, 4) + number(begin, 4) +
             number(0, 2);
  expect_error(load_error(archive), OPD_BAD_FORMAT, "overlapping entries");
}

TEST(Params, RefusesUnknownContent) {
  expect_error(load_error(""), OPD_BAD_FORMAT, "offset 0");
  expect_error(load_error("some text that is long enough"), OPD_BAD_FORMAT,
               "neither to a TVM param dict nor to an .npy");
  const std::string archive = data_bytes("stored.npz");
  std::string other = archive;
  for (size_t at = 0; (at = other.find("int16.npy", at)) != std::string::npos;) other.replace(at, 9, "int16.txt");
  expect_error(load_error(other), OPD_BAD_FORMAT, "int16.txt");
}

}  // namespace
