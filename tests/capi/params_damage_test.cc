// Param dicts and archives that are damaged in one field: the error names the field, its place, and both numbers.
#include "support/params_test.h"

namespace {

using namespace params_test;

template <class T>
std::string number(T value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

// A param dict of one tensor "w". Its fields begin at: names 16, name 24, tensors 33, tensor 41, device 57, rank 65,
// dtype 69, shape 73, and with one dimension: size 81, data 89.
struct Dict {
  uint64_t magic = 0xF7E58D4F05049CB7, names = 1, tensors = 1, tensor_magic = 0xDD5E40F096B4A13F, size = 8;
  int32_t device = kDLCPU;
  int32_t rank = 1;
  DLDataType dtype{kDLFloat, 32, 1};
  std::vector<int64_t> shape{2};
  std::string data = std::string(8, '\1'), rest;

  std::string bytes() const {
    std::string out = number(magic) + number(uint64_t{0}) + number(names);
    for (uint64_t i = 0; i < names && i < 2; ++i) out += number(uint64_t{1}) + "w";
    out += number(tensors);
    for (uint64_t i = 0; i < tensors && i < 2; ++i) {
      out += number(tensor_magic) + number(uint64_t{0}) + number(device) + number(int32_t{0}) + number(rank) +
             number(dtype);
      for (const int64_t dim : shape) out += number(dim);
      out += number(size) + data;
    }
    return out + rest;
  }
};

Dict with(const std::function<void(Dict &)> &change) {
  Dict dict;
  change(dict);
  return dict;
}

TEST(ParamsDamage, AParamDictSaysWhichFieldIsWrong) {
  const Params good(Dict().bytes());
  EXPECT_EQ(good.names(), std::vector<std::string>{"w"});
  EXPECT_EQ(elements(good["w"]), std::string(8, '\1'));
  const struct {
    Dict dict;
    std::string message;
  } cases[] = {
      {with([](Dict &d) { d.tensors = 0; }), "the number of tensors at offset 33 is 0, but there are 1 names"},
      {with([](Dict &d) { d.tensors = 2; }), "the number of tensors at offset 33 is 2, but there are 1 names"},
      {with([](Dict &d) { d.names = d.tensors = 2; }), "\"w\" occurs twice"},
      {with([](Dict &d) { d.rest = "abc"; }), "is followed by 3 more bytes"},
      {with([](Dict &d) { ++d.tensor_magic; }), "does not follow its magic number"},
      {with([](Dict &d) { d.device = kDLCUDA; }), "has type 2; files hold tensors of the CPU, 1"},
      {with([](Dict &d) { d.rank = -1; }), "is -1"},
      {with([](Dict &d) { d.rank = 4; }), "is 4"},  // 24 bytes follow the dtype, which are 3 dimensions
      {with([](Dict &d) { d.rank = 3; }), "has a negative or too large size"},
      {with([](Dict &d) { d.dtype.bits = 0; }), ", which no tensor can have"},
      {with([](Dict &d) { d.dtype.lanes = 0; }), ", which no tensor can have"},
      {with([](Dict &d) { d.dtype.lanes = 0xFFFF; }), ", which no tensor can have"},
      {with([](Dict &d) { d.shape = {-2}; }), "has a negative or too large size"},
      {with([](Dict &d) { d.shape = {int64_t{1} << 62}; }), "has a negative or too large size"},
      {with([](Dict &d) { d.size = 7; }), "is 7 bytes, but 2 elements of float32 take 8"},
      {with([](Dict &d) { d.size = 9; }), "is 9 bytes, but 2 elements of float32 take 8"},
      {with([](Dict &d) { d.data = "1234567"; }), "needs 8 bytes, 7 remain"},
  };
  for (const auto &test : cases) expect_error(load_error(test.dict.bytes()), OPD_BAD_FORMAT, test.message);
  expect_error(load_error(with([](Dict &d) { ++d.magic; }).bytes()), OPD_BAD_FORMAT, "neither to a TVM param dict");
}

// TVM states at least a byte for each element; the elements of less take the first bytes.
TEST(ParamsDamage, ElementsOfLessThanAByteMayHaveMoreRoom) {
  for (const uint64_t size : {2, 4}) {
    Dict dict;
    dict.dtype = {kDLInt, 4, 1}, dict.shape = {4}, dict.size = size, dict.data = std::string("abcd").substr(0, size);
    EXPECT_EQ(elements(Params(dict.bytes())["w"]), "ab") << size;
    dict.size = 3, dict.data = "abc";
    expect_error(load_error(dict.bytes()), OPD_BAD_FORMAT, "is 3 bytes, but 4 elements of int4 take 2");
  }
}

TEST(ParamsDamage, OptionsAreFlags) {
  const auto refusal = [](void (*change)(opd_params_options &)) {
    opd_params_options options;
    opd_params_options_init(&options);
    change(options);
    return open_error(data_path("f32.npy"), options);
  };
  expect_error(refusal([](opd_params_options &o) { o.copy = 2; }), OPD_INVALID_ARGUMENT,
               "the option copy is 2; 0 and 1 are possible");
  expect_error(refusal([](opd_params_options &o) { o.prefetch = -1; }), OPD_INVALID_ARGUMENT,
               "the option prefetch is -1; 0 and 1 are possible");
  expect_error(refusal([](opd_params_options &o) { o.verify_checksums = 3; }), OPD_INVALID_ARGUMENT,
               "the option verify_checksums is 3; 0 and 1 are possible");
}

TEST(ParamsDamage, NamesAreSuggestedAndCounted) {
  const Params params(data_path("stored.npz"));
  Tensor none;
  expect_error(opd_params_get(params.get(), "int63", none.out()), OPD_NOT_FOUND,
               "there is no parameter \"int63\" among 14. Did you mean int");
  expect_error(opd_params_get(Params().get(), "w", none.out()), OPD_NOT_FOUND, "there is no parameter \"w\" among 0.");
  expect_error(opd_params_save(params.get(), "x.npy"), OPD_INVALID_ARGUMENT,
               "an .npy file holds exactly one tensor, not 14; save them as .npz instead of x.npy");
}

// CRC-32 bit by bit, as its definition has it.
uint32_t checksum_of(const std::string &bytes) {
  uint32_t sum = ~0u;
  for (const char byte : bytes) {
    sum ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = sum & 1 ? sum >> 1 ^ 0xEDB88320 : sum >> 1;
  }
  return ~sum;
}

// An archive of one stored entry "a.npy".
struct Zip {
  std::string content, name = "a.npy", local_name = "a.npy", comment, after, extra, local_extra;
  uint16_t flags = 0, method = 0, local_method = 0, count = 1, stated_comment = 0;
  uint32_t checksum_change = 0, local_change = 0, packed, unpacked, begin = 0, directory_more = 0,
           signature = 0x02014B50;

  Zip() : content(data_bytes("f32.npy")), packed(static_cast<uint32_t>(content.size())), unpacked(packed) {}
  size_t directory() const { return 30 + local_name.size() + local_extra.size() + content.size(); }

  std::string bytes() const {
    std::string out = "PK\3\4" + number(uint16_t{20}) + number(flags) + number(local_method) + number(uint32_t{0}) +
                      number(checksum_of(content) ^ local_change) + number(packed) + number(unpacked) +
                      number(static_cast<uint16_t>(local_name.size())) +
                      number(static_cast<uint16_t>(local_extra.size())) + local_name + local_extra + content;
    const auto place = static_cast<uint32_t>(out.size());
    out += number(signature) + number(uint16_t{20}) + number(uint16_t{20}) + number(flags) + number(method) +
           number(uint32_t{0}) + number(checksum_of(content) ^ checksum_change) + number(packed) + number(unpacked) +
           number(static_cast<uint16_t>(name.size())) + number(static_cast<uint16_t>(extra.size())) +
           number(uint16_t{0}) + std::string(8, '\0') + number(begin) + name + extra;
    const auto size = static_cast<uint32_t>(out.size()) - place;
    return out + "PK\5\6" + number(uint32_t{0}) + number(count) + number(count) + number(size + directory_more) +
           number(place) + number(stated_comment) + comment + after;
  }
};

TEST(ParamsDamage, AnArchiveSaysWhichEntryIsWrong) {
  const auto with = [](const std::function<void(Zip &)> &change) {
    Zip zip;
    change(zip);
    return zip.bytes();
  };
  EXPECT_EQ(Params(Zip().bytes()).names(), std::vector<std::string>{"a"});
  EXPECT_EQ(Params(with([](Zip &z) { z.comment = "text", z.stated_comment = 4; })).size(), 1u);
  EXPECT_EQ(Params(with([](Zip &z) { z.extra = z.local_extra = std::string("\x35\xD9\2\0\0\0", 6); })).size(), 1u);
  EXPECT_EQ(Params(with([](Zip &z) { z.flags = 1 << 3, z.local_change = 7; })).size(), 1u)
      << "the header of the entry has no checksum then";
  const size_t directory = Zip().directory(), end = directory + 46 + 5;
  const std::string at_directory = "the zip directory at offset " + std::to_string(directory) + " ";
  const std::string at_end = "the zip directory at offset " + std::to_string(end) + " ";
  const std::string unfit = at_directory + "does not fit the header of the entry \"a.npy\"";
  const std::string size = std::to_string(Zip().packed);
  const struct {
    std::string bytes, message;
  } cases[] = {
      {with([](Zip &z) { z.count = 0; }), at_directory + "has more entries than it counts"},
      {with([](Zip &z) { z.stated_comment = 4; }), at_end + "has a comment of 4 bytes, but 0 follow"},
      {with([](Zip &z) { z.after = "abc"; }), at_end + "has a comment of 0 bytes, but 3 follow"},
      {with([](Zip &z) { z.directory_more = 1; }), at_end + "takes 52 bytes from offset " + std::to_string(directory) +
                                                       ", but ends at offset " + std::to_string(end) +
                                                       ": it is damaged"},
      {with([](Zip &z) { ++z.signature; }), at_directory + "is damaged"},
      {with([](Zip &z) { z.local_name = "b.npy"; }), unfit},
      {with([](Zip &z) { z.local_method = 8; }), unfit},
      {with([](Zip &z) { z.local_change = 1; }), unfit},
      {with([&](Zip &z) { z.begin = static_cast<uint32_t>(directory) - 29; }), unfit},
      {with([&](Zip &z) { z.begin = static_cast<uint32_t>(directory) + 1; }), unfit},
      {with([](Zip &z) { z.unpacked -= 1; }),
       at_directory + "stores the entry \"a.npy\" of " + std::to_string(Zip().packed - 1) + " bytes in " + size},
      {with([](Zip &z) { z.packed = z.unpacked = z.packed + 1; }), at_directory + "has the entry \"a.npy\" of " +
                                                                       std::to_string(Zip().packed + 1) +
                                                                       " bytes, more bytes than the file has there"},
      {with([](Zip &z) { z.method = z.local_method = 8, z.unpacked = 1 << 30; }),
       "has 1073741824 bytes, which " + size + " deflated bytes cannot hold"},
      {with([](Zip &z) { z.name = z.local_name = "a.txt"; }), "the entry \"a.txt\" at offset 0 is not an .npy file"},
      {with([](Zip &z) { z.content[0] = 'x'; }), "the entry \"a.npy\" at offset 0 does not begin as an .npy file"},
  };
  for (const auto &test : cases) expect_error(load_error(test.bytes), OPD_BAD_FORMAT, test.message);
  expect_error(load_error(with([](Zip &z) { z.flags = 1; })), OPD_UNSUPPORTED, "the entry \"a.npy\" is encrypted");
  expect_error(load_error(with([](Zip &z) { z.method = z.local_method = 12; })), OPD_UNSUPPORTED,
               "the entry \"a.npy\" is compressed by method 12; 0 (stored) and 8 (deflated) are supported");
  expect_error(load_error("PK\5\6 too short"), OPD_BAD_FORMAT, "no end of a zip directory was found up to");
}

// By the format's specification (APPNOTE.TXT). The elements begin at a multiple of 64, which Android's padding sees to.
TEST(ParamsDamage, AnArchiveThatIsWrittenHasEachField) {
  const TemporaryDirectory directory;
  Params params;
  const char *const names[] = {"first", "z"};
  std::string expected, entries;
  for (const char *name : names) {
    params.set(name, counting<uint8_t>({*name == 'z' ? 3 : 5}, {kDLUInt, 8, 1}));
    Params one;
    one.set("", params[name]);
    one.save(directory / "one.npy");
    const std::string content = read_bytes(directory / "one.npy"), file = std::string(name) + ".npy";
    const auto begin = static_cast<uint32_t>(expected.size()), size = static_cast<uint32_t>(content.size());
    const auto pad = static_cast<uint16_t>((64 - (begin + 30 + file.size() + 6) % 64) % 64);
    // Version 2.0, names in UTF-8, stored, 1 January 1980.
    const std::string fields = number(uint16_t{20}) + number(uint16_t{1 << 11}) + number(uint16_t{0}) +
                               number(uint32_t{0x00210000}) + number(checksum_of(content)) + number(size) +
                               number(size) + number(static_cast<uint16_t>(file.size()));
    entries +=
        "PK\1\2" + number(uint16_t{45}) + fields + number(uint16_t{0}) + std::string(10, '\0') + number(begin) + file;
    expected += "PK\3\4" + fields + number(static_cast<uint16_t>(6 + pad)) + file + number(uint16_t{0xD935}) +
                number(static_cast<uint16_t>(2 + pad)) + number(uint16_t{64}) + std::string(pad, '\0') + content;
  }
  const auto place = static_cast<uint32_t>(expected.size());
  expected += entries + "PK\5\6" + number(uint32_t{0}) + number(uint16_t{2}) + number(uint16_t{2}) +
              number(static_cast<uint32_t>(entries.size())) + number(place) + number(uint16_t{0});
  params.save(directory / "a.npz");
  EXPECT_EQ(read_bytes(directory / "a.npz"), expected);
}

TEST(ParamsDamage, AnArchiveMayHaveSizesOf64BitsAndItsDirectoryInAnyOrder) {
  Zip zip;
  const uint64_t size = zip.packed;
  zip.packed = zip.unpacked = UINT32_MAX;
  zip.extra = number(uint16_t{1}) + number(uint16_t{16}) + number(size) + number(size);
  EXPECT_EQ(elements(Params(zip.bytes())["a"]), elements(Params(Zip().bytes())["a"]));
  Params two;
  two.set("a", counting<uint8_t>({3}, {kDLUInt, 8, 1}));
  two.set("b", counting<uint8_t>({5}, {kDLUInt, 8, 1}));
  const TemporaryDirectory directory;
  two.save(directory / "two.npz");
  std::string bytes = read_bytes(directory / "two.npz");
  constexpr size_t kEntry = 46 + 5;  // and the end of the directory has 22
  const size_t first = bytes.size() - 22 - 2 * kEntry, second = first + kEntry;
  bytes = bytes.substr(0, first) + bytes.substr(second, kEntry) + bytes.substr(first, kEntry) +
          bytes.substr(second + kEntry);
  const Params again(bytes);
  EXPECT_EQ(again.names(), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(elements(again["b"]), elements(two["b"]));
}

TEST(ParamsDamage, ChecksumsOfStoredEntriesAreReadWhenAskedFor) {
  const TemporaryDirectory directory;
  Zip zip;
  zip.checksum_change = zip.local_change = 1;
  write_bytes(directory / "a.npz", zip.bytes());
  check(open_error(directory / "a.npz", options(0)));
  expect_error(open_error(directory / "a.npz", options(0, 0, 1)), OPD_BAD_FORMAT,
               "the content of the entry \"a.npy\" at offset 35 does not fit its checksum");
}

}  // namespace
