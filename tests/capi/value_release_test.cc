// What holds values releases them: the deleter of a function in it is called, once, and only when nothing holds it.
#include <atomic>

#include "support/tensors.h"

using namespace opdyno_test;

namespace {

std::atomic<int> ended{0};

// A function whose end is counted.
Function counted() {
  Function function;
  static int data;
  check(opd_function_create([](void *, const opd_value *, int32_t, opd_value *) -> opd_error * { return nullptr; },
                            &data, [](void *) { ++ended; }, function.out()));
  return function;
}

// Expects that the function ends with what `hold` makes of it, not before.
void expect_held(const std::function<Value(const opd_value &)> &hold, const char *what) {
  ended = 0;
  {
    Function function = counted();
    Value holder = hold(arg(function));
    function = Function();
    EXPECT_EQ(ended, 0) << what;
    Value other = holder;
    holder = Value();
    EXPECT_EQ(ended, 0) << what << ", held by a copy";
  }
  EXPECT_EQ(ended, 1) << what;
}

TEST(Containers, ReleaseTheirItems) {
  expect_held([](const opd_value &item) { return Value::retain(item); }, "a value");
  expect_held([](const opd_value &item) { return array_of({item}); }, "an array");
  expect_held([](const opd_value &item) { return map_of({opd_int(1), item}); }, "the value of a map");
  expect_held([](const opd_value &item) { return map_of({item, opd_int(1)}); }, "the key of a map");
  expect_held(
      [](const opd_value &item) {
        return array_of({map_of({opd_int(1), array_of({item}).view()}).view()});
      },
      "containers within each other");
}

// Their releases do not nest, which would take stack for each.
TEST(Containers, ReleaseAllTheirLevels) {
  ended = 0;
  {
    Function function = counted();
    Value value = array_of({arg(function)});
    function = Function();
    for (int i = 0; i < 500'000; ++i) value = i % 2 ? array_of({value.view()}) : map_of({opd_int(i), value.view()});
    EXPECT_EQ(ended, 0);
  }
  EXPECT_EQ(ended, 1);
}

TEST(Containers, GiveItemsThatOutliveThem) {
  ended = 0;
  Value item;
  {
    Handle<opd_array> array;
    const Function function = counted();
    const opd_value items[] = {arg(function), arg(function)};
    check(opd_array_create(items, 2, array.out()));
    check(opd_array_get(array.get(), 1, item.out()));
  }
  EXPECT_EQ(ended, 0);
  item = Value();
  EXPECT_EQ(ended, 1);
}

TEST(Functions, ReturnTheirArgumentWithoutKeepingIt) {
  ended = 0;
  const Function same =
      make_function([](const opd_value *args, int32_t, opd_value *out) { check(opd_value_retain(args, out)); });
  {
    const Function function = counted();
    const opd_value argument = arg(function);
    Value result;
    check(opd_function_call(same.get(), &argument, 1, result.out()));
    EXPECT_EQ(result.type(), OPD_FUNCTION);
  }
  EXPECT_EQ(ended, 1) << "neither the call nor its result keeps it";
}

}  // namespace
