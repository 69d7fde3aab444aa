// include/opdyno/function.h, through the C API: callbacks and the registry.
#include "support/function_test.h"

#include <atomic>
#include <thread>

namespace opdyno_test {
namespace {

TEST(ACallback, IsCalledAndEndedOnce) {
  Counter counter;
  {
    Function function;
    EXPECT_OK(opd_function_create(add, &counter, end, &function.handle));
    EXPECT_EQ(function.plain({opd_int(2), opd_int(40)}).u.int64, 42);
    const opd_value args[] = {opd_int(1), opd_int(1)};
    EXPECT_OK(opd_function_call(function.handle, args, 2, nullptr));  // the result is of no interest
    const Failure told = function.refused({opd_int(1)});
    EXPECT_EQ(told.code, OPD_INVALID_ARGUMENT);
    EXPECT_EQ(told.kind, "TypeError");
    EXPECT_EQ(told.message, "add takes 2 arguments");
    EXPECT_EQ(counter.calls, 3);
    EXPECT_EQ(counter.ended, 0);
    EXPECT_EQ(failure(opd_function_call(function.handle, nullptr, 1, nullptr)).code, OPD_INVALID_ARGUMENT);
    EXPECT_EQ(failure(opd_function_call(function.handle, args, -1, nullptr)).code, OPD_INVALID_ARGUMENT);
    EXPECT_EQ(failure(opd_function_call(nullptr, nullptr, 0, nullptr)).code, OPD_INVALID_ARGUMENT);
  }
  EXPECT_EQ(counter.ended, 1);
}

TEST(ACallback, IsNotTakenOverWhenRefused) {
  Counter counter;
  opd_function *none = nullptr;
  EXPECT_EQ(failure(opd_function_create(nullptr, &counter, end, &none)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(failure(opd_function_create(add, &counter, end, nullptr)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(counter.ended, 0);
  opd_function_release(nullptr);
}

TEST(ACallback, MayHaveNoDeleterAndAnObjectAsResult) {
  Function function;
  EXPECT_OK(opd_function_create([](void *, const opd_value *args, int32_t,
                                   opd_value *out) { return opd_string_create(args[0].u.cstring, 12, out); },
                                nullptr, nullptr, &function.handle));
  EXPECT_EQ(function.text({opd_cstring("twelve chars")}), "twelve chars");
}

TEST(ACallback, RunsOnManyThreadsAtOnce) {
  std::atomic<int> calls{0};
  Function function;
  EXPECT_OK(opd_function_create(
      [](void *n, const opd_value *, int32_t, opd_value *out) -> opd_error * {
        *out = opd_int(++*static_cast<std::atomic<int> *>(n));
        return *static_cast<std::atomic<int> *>(n) % 10 ? nullptr
                                                        : opd_error_create(OPD_CANCELLED, nullptr, "every tenth");
      },
      &calls, nullptr, &function.handle));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 250; ++i) opd_error_release(opd_function_call(function.handle, nullptr, 0, nullptr));
    });
  for (auto &thread : threads) thread.join();
  EXPECT_EQ(calls, 1000);
}

// ---- registry

TEST(TheRegistry, KeepsFunctionsByName) {
  Counter counter;
  Function function, found;
  EXPECT_OK(opd_function_create(add, &counter, end, &function.handle));
  EXPECT_OK(opd_function_register("test.add", function.handle, 0));
  const Failure taken = failure(opd_function_register("test.add", function.handle, 0));
  EXPECT_EQ(taken.code, OPD_ALREADY_EXISTS);
  EXPECT_EQ(taken.message, "a global function named test.add exists already");
  EXPECT_OK(opd_function_register("test.add", function.handle, 1));
  EXPECT_OK(opd_function_get_global("test.add", &found.handle));
  EXPECT_EQ(found.plain({opd_int(1), opd_int(2)}).u.int64, 3);

  Function none;
  const Failure missing = failure(opd_function_get_global("test.ad", &none.handle));
  EXPECT_EQ(missing.code, OPD_NOT_FOUND);
  EXPECT_NE(missing.message.find("Did you mean test.add"), std::string::npos);

  EXPECT_OK(opd_function_remove_global("test.add"));
  EXPECT_EQ(failure(opd_function_remove_global("test.add")).code, OPD_NOT_FOUND);
  EXPECT_EQ(found.plain({opd_int(3), opd_int(4)}).u.int64, 7);  // who holds it keeps it
  EXPECT_EQ(failure(opd_function_register(nullptr, function.handle, 0)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(failure(opd_function_get_global(nullptr, &none.handle)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(failure(opd_function_remove_global(nullptr)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(failure(opd_function_list_global(nullptr)).code, OPD_INVALID_ARGUMENT);
}

TEST(TheRegistry, ListsItsNamesSorted) {
  Counter counter;
  Function function;
  EXPECT_OK(opd_function_create(add, &counter, nullptr, &function.handle));
  for (const char *name : {"test.z", "test.a_name_that_is_long"})
    EXPECT_OK(opd_function_register(name, function.handle, 0));
  opd_array *names = nullptr;
  EXPECT_OK(opd_function_list_global(&names));
  std::vector<std::string> ours;
  std::string before;
  for (int32_t i = 0; i < opd_array_count(names); ++i) {
    opd_value item;
    const char *data;
    size_t size;
    EXPECT_OK(opd_array_get(names, i, &item));
    EXPECT_OK(opd_string_get(&item, &data, &size));
    const std::string name(data, size);
    opd_value_release(&item);
    EXPECT_LT(before, name);
    before = name;
    if (name.substr(0, 5) == "test.") ours.push_back(name);
  }
  EXPECT_EQ(ours, (std::vector<std::string>{"test.a_name_that_is_long", "test.z"}));
  opd_object_release(names);
  for (const char *name : {"test.z", "test.a_name_that_is_long"}) EXPECT_OK(opd_function_remove_global(name));
}

}  // namespace
}  // namespace opdyno_test
