// Values in captures, from bytes that nobody's program has written.
#include "replay/kept_value.h"

#include <gtest/gtest.h>

#include "device/device.h"
#include "value/map.h"

using namespace opd;

namespace {

std::string tensor(uint8_t flags, const std::vector<int64_t> &dims, const std::vector<int64_t> &strides,
                   size_t num_bytes) {
  ByteWriter out;
  out.write<uint8_t>(KeptValue::kTensor), out.write(flags);
  out.write(DLDataType{kDLFloat, 32, 1}), out.write(DLDevice{kDLCPU, 0});
  out.write<uint64_t>(dims.size());
  for (const int64_t dim : dims) out.write(dim);
  for (const int64_t stride : strides) out.write(stride);
  out.write<uint64_t>(0), out.write(ContentsHash());
  const std::string elements(num_bytes, 'x');
  out.write_bytes(elements.data(), elements.size());
  return out.take();
}

std::string tensor_of(uint8_t flags, DLDataType dtype, uint64_t ndim, const std::vector<int64_t> &sizes,
                      uint64_t offset, size_t num_bytes) {
  ByteWriter out;
  out.write<uint8_t>(KeptValue::kTensor), out.write(flags);
  out.write(dtype), out.write(DLDevice{kDLCPU, 0}), out.write(ndim);
  for (const int64_t size : sizes) out.write(size);
  out.write(offset), out.write(ContentsHash());
  const std::string elements(num_bytes, 'x');
  out.write_bytes(elements.data(), elements.size());
  return out.take();
}

std::string text(KeptValue::Kind kind, std::string_view words) {
  ByteWriter out;
  out.write<uint8_t>(kind), out.write_string(words);
  return out.take();
}
std::string items(KeptValue::Kind kind, const std::vector<std::string> &values) {
  ByteWriter out;
  out.write<uint8_t>(kind), out.write<uint64_t>(values.size());
  std::string bytes = out.take();
  for (const std::string &value : values) bytes += value;
  return bytes;
}

std::string number(KeptValue::Kind kind, int64_t n) {
  ByteWriter out;
  out.write<uint8_t>(kind), out.write(n);
  return out.take();
}

KeptValue value_of(const std::string &bytes) {
  ByteReader from(as_bytes(bytes), "call.opdrec");
  return read_value(from);
}

template <class Action>
std::string error_of(const Action &action) {
  try {
    action();
  } catch (const Exception &e) { return e.what(); }
  return "";
}

constexpr uint8_t kWithElements = 1, kWithBoth = 3;

}  // namespace

TEST(AKeptTensor, HasNoMoreMemoryThanItsElementsAreWorth) {
  EXPECT_EQ(value_of(tensor(kWithBoth, {2}, {3}, 16)).tensor->elements.size(), 16U);
  const auto huge = [](int64_t stride) { return error_of([&] { value_of(tensor(kWithBoth, {2}, {stride}, 16)); }); };
  for (const int64_t stride : {int64_t{1} << 20, int64_t{1} << 40, INT64_MAX, int64_t{-1}})
    EXPECT_NE(huge(stride).find("does not describe a valid tensor"), std::string::npos) << stride;
  EXPECT_NE(error_of([] { value_of(tensor(kWithElements, {5}, {}, 16)); }).find("elements at offset "),
            std::string::npos);
}

// With strides or without, on its device or on another one.
TEST(AKeptTensor, IsReadOnlyAgainIfItWas) {
  constexpr uint8_t kReadOnly = 4;
  const DLDevice here = {kDLCPU, 0}, there = {kDLCPU, 1};
  for (const DLDevice device : {here, there})
    for (const uint8_t flags : {uint8_t{0}, kReadOnly}) {
      ValueMaker maker(nullptr, {here, device});
      const Value plain = maker.make(value_of(tensor(kWithElements | flags, {3}, {}, 12)));
      const Value strided = maker.make(value_of(tensor(kWithBoth | flags, {2}, {2}, 12)));
      for (const Value *const made : {&plain, &strided}) {
        const auto &its = as<Tensor>(made->view(), "what was kept");
        EXPECT_EQ(is_read_only(its), flags != 0) << device_name(device);
        EXPECT_EQ(its.dl.device.device_id, device.device_id);
      }
      EXPECT_EQ(as<Tensor>(strided.view(), "it").dl.shape[0], 2);
    }
}

TEST(AKeptTensor, MayReferToAnEarlierTensor) {
  ValueMaker maker;
  const std::string bytes = tensor(kWithElements, {4}, {}, 16);
  const Value first = maker.make(value_of(bytes)), again = maker.make(value_of(number(KeptValue::kSameTensor, 0)));
  EXPECT_EQ(object_of(first.view()), object_of(again.view()));
  const Value given = maker.make(value_of(number(KeptValue::kGivenTensor, 1)), std::vector{opd_none(), first.view()});
  EXPECT_EQ(object_of(first.view()), object_of(given.view()));
  for (const int64_t other : {int64_t{1}, int64_t{-1}, INT64_MAX}) {
    EXPECT_NE(error_of([&] { maker.make(value_of(number(KeptValue::kSameTensor, other))); }).find("refers to tensor "),
              std::string::npos);
    EXPECT_NE(error_of([&] {
                maker.make(value_of(number(KeptValue::kGivenTensor, other)), std::vector{first.view()});
              }).find("of a call's arguments, which have 1"),
              std::string::npos);
  }
}

TEST(AKeptTensor, SaysWhichOfItsFieldsIsWrong) {
  constexpr DLDataType kFloat{kDLFloat, 32, 1};
  constexpr uint64_t kMebibyte = uint64_t{1} << 20;
  const auto error = [](const std::string &bytes) { return error_of([&] { value_of(bytes); }); };
  EXPECT_EQ(error(tensor_of(7, kFloat, 1, {1, 1}, 0, 4)), "");
  EXPECT_NE(error(tensor_of(8, kFloat, 1, {1, 1}, 0, 4)).find("flags at offset 2 of a tensor must be below 8"),
            std::string::npos)
      << error(tensor_of(8, kFloat, 1, {1, 1}, 0, 4));
  EXPECT_EQ(error(tensor_of(1, kFloat, 64, std::vector<int64_t>(64, 1), 0, 4)), "");
  EXPECT_NE(error(tensor_of(1, kFloat, 65, std::vector<int64_t>(65, 1), 0, 4)).find("number of dimensions at offset "),
            std::string::npos);
  EXPECT_NE(error(tensor_of(1, kFloat, 65, std::vector<int64_t>(65, 1), 0, 4)).find(" exceeds 64"), std::string::npos);
  EXPECT_EQ(error(tensor_of(1, kFloat, 1, {1}, kMebibyte, 4)), "");
  EXPECT_NE(error(tensor_of(1, kFloat, 1, {1}, kMebibyte + 1, 4)).find("byte offset at offset "), std::string::npos);
  EXPECT_NE(error(tensor_of(1, kFloat, 1, {1}, kMebibyte + 1, 4)).find(" exceeds 1 MiB"), std::string::npos);
  for (const DLDataType dtype : {DLDataType{kDLFloat, 0, 1}, DLDataType{kDLFloat, 32, 0}})
    EXPECT_NE(error(tensor_of(1, dtype, 1, {0}, 0, 4)).find("does not describe a valid tensor"), std::string::npos);
  EXPECT_NE(error(tensor_of(1, kFloat, 1, {-1}, 0, 4)).find("does not describe a valid tensor"), std::string::npos);
  EXPECT_NE(error(tensor_of(0, kFloat, 2, {int64_t{1} << 62, 4}, 0, 0)).find("does not describe a valid tensor"),
            std::string::npos);
  EXPECT_EQ(error(tensor_of(2, kFloat, 1, {0, -1}, 0, 0)), "") << "strides of nothing do not matter";
}

// Up to 1 MiB from the first to the last element, gaps are of any size; beyond it they are at most 16 times the
// elements.
TEST(AKeptTensor, MayHaveGapsThatAreSmall) {
  const auto is_taken = [](int64_t count, int64_t stride) {
    return error_of([&] { value_of(tensor_of(2, {kDLUInt, 8, 1}, 1, {count, stride}, 0, 0)); }).empty();
  };
  constexpr int64_t kMebibyte = int64_t{1} << 20;
  EXPECT_TRUE(is_taken(2, kMebibyte - 1));  // 1 MiB from the first to the last
  EXPECT_FALSE(is_taken(2, kMebibyte));     // a byte more for two elements
  EXPECT_TRUE(is_taken(kMebibyte, 16));     // 16 * (2^20 - 1) + 1 bytes for 2^20
  EXPECT_TRUE(is_taken(kMebibyte, 1));
  EXPECT_FALSE(is_taken(kMebibyte, 17));
}

TEST(AKeptValue, NamesItsProblem) {
  const auto error = [](const std::string &bytes) { return error_of([&] { value_of(bytes); }); };
  const std::string none(1, '\0');
  EXPECT_NE(error(std::string(1, char{KeptValue::kSameState + 1}))
                .find("kind at offset 1 of a value must be at most 17, but is 18"),
            std::string::npos)
      << error(std::string(1, char{KeptValue::kSameState + 1}));
  EXPECT_EQ(error(items(KeptValue::kMap, {none, none})), "");
  EXPECT_NE(error(items(KeptValue::kMap, {none, none, none})).find("of a map must be even"), std::string::npos);
  EXPECT_EQ(error(items(KeptValue::kArray, {none, none, none})), "");
  const auto nested = [&](int depth) {
    std::string value = none;
    for (int i = 0; i < depth; ++i)
      value = items(i % 2 ? KeptValue::kMap : KeptValue::kArray, std::vector(i % 2 + 1, value));
    return value;
  };
  EXPECT_EQ(error(nested(16)), "");
  EXPECT_NE(error(nested(17)).find("is nested more than 16 deep"), std::string::npos);
  std::string many = items(KeptValue::kArray, {});
  const uint64_t count = uint64_t{1} << 20;  // and the array
  std::memcpy(&many[1], &count, sizeof count);
  EXPECT_NE(error(many + std::string(count, '\0')).find("has more than 1048576 items"), std::string::npos);
}

TEST(AKeptValue, ComesBackAsItWasWritten) {
  const int64_t dims[] = {2, 3};
  Ref<Tensor> tensor = make_tensor(dims, {kDLInt, 8, 1}, {kDLCPU, 0});
  std::memcpy(tensor->dl.data, "abcdef", 6);
  const DLDataType half{kDLFloat, 16, 1};
  const DLDevice second{kDLCPU, 1};
  const std::vector<Value> pair = {Value(std::string("key")), Value(int64_t{7})};
  const std::vector<Value> values = {Value(),
                                     Value(int64_t{-5}),
                                     Value(true),
                                     Value(false),
                                     Value(0.25),
                                     Value(half),
                                     Value(second),
                                     Value(std::string("a text that is long")),
                                     make_bytes(std::string("\0\xFF bytes", 8)),
                                     Value(Shape::make(std::vector<int64_t>{4, 5})),
                                     Value(Array::make(views_of(pair))),
                                     Value(Map::make(views_of(pair)))};
  ValueMaker maker;
  for (const Value &value : values) {
    const std::string bytes = ValueWriter(Keeping::kArguments).write(value.view());
    const Value again = maker.make(value_of(bytes));
    EXPECT_EQ(again.type(), value.type());
    EXPECT_EQ(to_text(again.view()), to_text(value.view()));
    EXPECT_EQ(ValueWriter(Keeping::kArguments).write(again.view()), bytes);
  }
  const Value made = maker.make(value_of(ValueWriter(Keeping::kElements).write(Value(tensor).view())));
  const DLTensor &dl = *try_dltensor(made.view());
  EXPECT_EQ(std::string(static_cast<const char *>(dl.data), 6), "abcdef");
  EXPECT_EQ(std::vector<int64_t>(dl.shape, dl.shape + dl.ndim), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(maker.mark().tensors, 1u);
  EXPECT_EQ(error_of([&] { maker.make(value_of(ValueWriter(Keeping::kHashes).write(Value(tensor).view()))); }),
            "of a tensor int8[2, 3], the recording has only a hash");
  EXPECT_EQ(error_of([&] { maker.make(value_of(text(KeptValue::kOpaque, "some.Type"))); }),
            "a value of type some.Type cannot be kept in a recording");
}

TEST(AKeptTensor, ComesBackAtItsOffsetWithItsStridesAndReadOnly) {
  ValueMaker maker;
  for (const bool is_read_only : {false, true})
    for (const uint64_t offset : {0, 8})
      for (const bool has_strides : {false, true}) {
        const auto flags = static_cast<uint8_t>(1 | (has_strides ? 2 : 0) | (is_read_only ? 4 : 0));
        // Two by two bytes, column by column: four in a row; or with a byte between the columns.
        const std::vector<int64_t> sizes = has_strides ? std::vector<int64_t>{2, 2, 1, 3} : std::vector<int64_t>{2, 2};
        std::string bytes = tensor_of(flags, {kDLUInt, 8, 1}, 2, sizes, offset, has_strides ? 5 : 4);
        bytes.replace(bytes.size() - (has_strides ? 5 : 4), std::string::npos,
                      has_strides ? std::string("ac\0bd", 5) : "abcd");
        const Value made = maker.make(value_of(bytes));
        const DLTensor &dl = *try_dltensor(made.view());
        EXPECT_EQ(dl.byte_offset, offset);
        EXPECT_EQ(is_read_only, opd::is_read_only(*static_cast<Tensor *>(object_of(made.view()))));
        EXPECT_EQ(is_contiguous(dl), !has_strides);
        const char *data = static_cast<const char *>(dl.data) + dl.byte_offset;
        const int64_t rows = has_strides ? 1 : 2, columns = has_strides ? 3 : 1;
        std::string found;
        for (int64_t row = 0; row < 2; ++row)
          for (int64_t column = 0; column < 2; ++column) found += data[row * rows + column * columns];
        EXPECT_EQ(found, "abcd");
      }
}

TEST(ALeaf, IsShownByItsType) {
  const std::string one = number(KeptValue::kInt, 1);
  const std::string bytes = items(
      KeptValue::kArray,
      {one, items(KeptValue::kArray, {items(KeptValue::kArray, {}), text(KeptValue::kText, "t")}),
       items(KeptValue::kMap, {one, one, number(KeptValue::kInt, 2), one}), number(KeptValue::kSameTensor, 3),
       number(KeptValue::kGivenTensor, 4), text(KeptValue::kOpaque, "some.Type"), tensor(kWithElements, {4}, {}, 16)});
  std::vector<std::string> shown;
  for (const KeptLeaf &leaf : leaves_of(value_of(bytes), "out")) {
    shown.push_back(leaf.name + ": " + leaf.shown);
    EXPECT_EQ(leaf.tensor != nullptr, leaf.name == "out_6");
  }
  EXPECT_EQ(shown, (std::vector<std::string>{"out_0: 1", "out_1_1: \"t\"", "out_2: a map of 2",
                                             "out_3: tensor 3 of the arguments", "out_4: tensor 4 that it was given",
                                             "out_5: an object of type some.Type", "out_6: float32[4] on cpu:0"}));
}

TEST(TensorsOfAValue, AreFoundInTuplesAndMaps) {
  ValueMaker maker;
  const std::string one = tensor(kWithElements, {4}, {}, 16);
  const Value value = maker.make(value_of(
      items(KeptValue::kArray,
            {one, number(KeptValue::kInt, 1),
             items(KeptValue::kMap, {number(KeptValue::kInt, 1), one, number(KeptValue::kInt, 2), one}),
             items(KeptValue::kArray, {items(KeptValue::kArray, {one}), number(KeptValue::kSameTensor, 0)})})));
  const std::vector<View> tensors = tensors_in(value.view());
  ASSERT_EQ(tensors.size(), 5u);
  EXPECT_EQ(object_of(tensors[0]), object_of(tensors[4])) << "the same one again";
  EXPECT_EQ(maker.mark().tensors, 4u);
  maker.rewind({1, 0});
  EXPECT_EQ(maker.mark().tensors, 1u);
}

TEST(AHash, DependsOnTheElementsAndTheirType) {
  ValueMaker maker;
  const auto hash = [&](const std::string &bytes) { return hash_of_value(maker.make(value_of(bytes)).view()); };
  const auto floats = [](char last) {
    std::string bytes = tensor(kWithElements, {4}, {}, 16);
    bytes.back() = last;
    return bytes;
  };
  EXPECT_EQ(hash(floats('x')), hash(floats('x')));
  EXPECT_NE(hash(floats('x')), hash(floats('y')));
  EXPECT_NE(hash(tensor(kWithElements, {4}, {}, 16)), hash(tensor(kWithElements, {2, 2}, {}, 16)));
  EXPECT_NE(hash(tensor_of(1, {kDLInt, 32, 1}, 1, {4}, 0, 16)), hash(tensor_of(1, {kDLUInt, 32, 1}, 1, {4}, 0, 16)));
  EXPECT_NE(hash(number(KeptValue::kInt, 1)), hash(number(KeptValue::kBool, 1)));
}
