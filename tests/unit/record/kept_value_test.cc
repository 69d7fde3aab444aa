// Values in recordings, from bytes that nobody's program has written.
#include "record/kept_value.h"

#include <gtest/gtest.h>

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
    EXPECT_NE(huge(stride).find("is not one of a tensor"), std::string::npos) << stride;
  EXPECT_NE(error_of([] { value_of(tensor(kWithElements, {5}, {}, 16)); }).find("elements at offset "),
            std::string::npos);
}

TEST(AKeptTensor, MayBeOneThatWasMadeBefore) {
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
