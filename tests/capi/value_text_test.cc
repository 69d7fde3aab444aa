// Values as text for people: every kind, and how large ones are cut.
#include "support/tensors.h"

using namespace opdyno_test;

namespace {

std::string text(const opd_value &value) { return text_of(opd_value_to_string, &value); }

}  // namespace

TEST(TextOfAValue, HoldsTheItemsOfContainersInOrder) {
  EXPECT_EQ(text(array_of({}).view()), "[]");
  EXPECT_EQ(text(array_of({opd_int(1), opd_none(), opd_cstring("a")}).view()), "[1, None, \"a\"]");
  EXPECT_EQ(text(map_of({}).view()), "{}");
  EXPECT_EQ(text(map_of({opd_cstring("b"), opd_int(1), opd_int(2), opd_float(0.5)}).view()), "{\"b\": 1, 2: 0.5}");
  const Value inner = array_of({opd_bool(0)});
  EXPECT_EQ(text(map_of({opd_int(1), inner.view()}).view()), "{1: [false]}");
  EXPECT_EQ(text(array_of({inner.view(), inner.view()}).view()), "[[false], [false]]");
}

TEST(TextOfAValue, ShowsTheKindAndTheMessageOfAnError) {
  opd_error *error = opd_error_create(OPD_NOT_FOUND, "KeyError", "no such thing");
  EXPECT_EQ(text(opd_value_of_object(error)), "KeyError: no such thing");
  opd_error_release(error);
}

TEST(TextOfAValue, ShowsTheKindOfOtherObjects) {
  const Function function = make_function([](const opd_value *, int32_t, opd_value *) {});
  EXPECT_EQ(text(arg(function)), "<ffi.Function>");
  EXPECT_EQ(text(opd_cstring("a C string")), "\"a C string\"");
}

TEST(TextOfAValue, ShowsABorrowedTensorAsATensor) {
  int64_t shape[] = {2, 3};
  DLTensor tensor{};
  tensor.dtype = {kDLInt, 8, 1}, tensor.device = {kDLCPU, 0};
  tensor.ndim = 2, tensor.shape = shape;
  EXPECT_EQ(text(opd_dltensor(&tensor)), "Tensor(int8[2, 3], cpu:0)");
  tensor.shape = nullptr;
  EXPECT_EQ(text(opd_dltensor(&tensor)), "a DLTensor without a shape");
  tensor.ndim = 0;
  EXPECT_EQ(text(opd_dltensor(&tensor)), "Tensor(int8[], cpu:0)");
  EXPECT_EQ(text(opd_dltensor(nullptr)), "NULL");
}

TEST(TextOfAValue, EndsAfterAThousandItems) {
  std::vector<opd_value> items(1000, opd_int(7));
  const std::string whole = text(array_of(items).view());
  EXPECT_EQ(whole.size(), 1000u + 999 * 2 + 2) << "1000 digits, the commas between them, two brackets";
  items.push_back(opd_int(7));
  EXPECT_EQ(text(array_of(items).view()), whole.substr(0, whole.size() - 1) + ", ...]");

  std::vector<opd_value> pairs;
  for (int i = 0; i < 1000; ++i) pairs.insert(pairs.end(), {opd_int(i), opd_none()});
  EXPECT_TRUE(text(map_of(pairs).view()).ends_with(", 999: None}"));
  pairs.insert(pairs.end(), {opd_int(1000), opd_none()});
  EXPECT_TRUE(text(map_of(pairs).view()).ends_with(", 999: None, ...}"));
}

TEST(TextOfAValue, EndsBelow32ContainersInEachOther) {
  const auto nested = [](int depth) {
    Value value = Value::retain(opd_int(7));
    for (int i = 0; i < depth; ++i) value = array_of({value.view()});
    return text(value.view());
  };
  EXPECT_EQ(nested(32), std::string(32, '[') + "7" + std::string(32, ']'));
  EXPECT_EQ(nested(33), std::string(33, '[') + "..." + std::string(33, ']'));
}

// Each array holds the one before twice: the whole text would have 2^24 numbers.
TEST(TextOfAValue, EndsAfterAboutAMillionBytes) {
  Value value = Value::retain(opd_int(7));
  for (int i = 0; i < 24; ++i) value = array_of({value.view(), value.view()});
  const std::string shown = text(value.view());
  EXPECT_GT(shown.size(), 1u << 20);
  EXPECT_LT(shown.size(), (1u << 20) + 1000);
  EXPECT_NE(shown.find("..."), std::string::npos);
}
