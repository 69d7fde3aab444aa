// include/opdyno/function.h, through the C API: callbacks, the registry, C functions by signature, closures.
#include <opdyno/opdyno.h>

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Failure {
  opd_code code;
  std::string kind, message;
};
Failure failure(opd_error *error) {
  Failure told{opd_error_code(error), opd_error_kind(error), error ? opd_error_message(error) : ""};
  opd_error_release(error);
  return told;
}
#define EXPECT_OK(call) EXPECT_EQ(failure(call).message, "")

// A function handle that ends with its scope.
struct Function {
  opd_function *handle = nullptr;
  Function() = default;
  Function(const Function &) = delete;
  ~Function() { opd_function_release(handle); }
  opd_error *call(std::vector<opd_value> args, opd_value *result) {
    return opd_function_call(handle, args.data(), static_cast<int32_t>(args.size()), result);
  }
  Failure refused(std::vector<opd_value> args) {
    opd_value result = opd_int(-77);
    const Failure told = failure(call(std::move(args), &result));
    EXPECT_EQ(result.type, OPD_NONE);
    return told;
  }
  opd_value plain(std::vector<opd_value> args) {
    opd_value result = opd_none();
    EXPECT_OK(call(std::move(args), &result));
    return result;
  }
  std::string text(std::vector<opd_value> args) {
    opd_value result = plain(std::move(args));
    const char *data = "";
    size_t size = 0;
    EXPECT_OK(opd_string_get(&result, &data, &size));
    std::string out(data, size);
    opd_value_release(&result);
    return out;
  }
};

template <class F>
struct Native : Function {
  Native(F *pointer, const char *signature, const char *name = "f", void *keep_alive = nullptr) {
    EXPECT_OK(opd_function_create_native(reinterpret_cast<void *>(pointer), signature, name, keep_alive, &handle));
  }
};

// ---- callbacks

struct Counter {
  int calls = 0, ended = 0;
};
opd_error *add(void *self, const opd_value *args, int32_t num_args, opd_value *out) {
  ++static_cast<Counter *>(self)->calls;
  if (num_args != 2) return opd_error_create(OPD_INVALID_ARGUMENT, "TypeError", "add takes 2 arguments");
  *out = opd_int(args[0].u.int64 + args[1].u.int64);
  return nullptr;
}
void end(void *self) { ++static_cast<Counter *>(self)->ended; }

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
  EXPECT_OK(opd_function_create([](void *n, const opd_value *, int32_t, opd_value *out) -> opd_error * {
    *out = opd_int(++*static_cast<std::atomic<int> *>(n));
    return *static_cast<std::atomic<int> *>(n) % 10 ? nullptr : opd_error_create(OPD_CANCELLED, nullptr, "every tenth");
  }, &calls, nullptr, &function.handle));
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
  for (size_t i = 0; i < opd_array_count(names); ++i) {
    opd_value item;
    const char *data;
    size_t size;
    EXPECT_OK(opd_array_get(names, i, &item));
    EXPECT_OK(opd_string_get(&item, &data, &size));
    const std::string name(data, size);
    EXPECT_LT(before, name);
    before = name;
    if (name.substr(0, 5) == "test.") ours.push_back(name);
  }
  EXPECT_EQ(ours, (std::vector<std::string>{"test.a_name_that_is_long", "test.z"}));
  opd_object_release(names);
  for (const char *name : {"test.z", "test.a_name_that_is_long"}) EXPECT_OK(opd_function_remove_global(name));
}

// ---- C functions

TEST(ANativeFunction, CallsTheMathLibrary) {
  Native<double(double, double)> power(&std::pow, "f64(f64, f64)", "pow");
  EXPECT_EQ(power.plain({opd_float(2), opd_float(10)}).u.float64, 1024.0);
  EXPECT_EQ(power.plain({opd_int(3), opd_int(4)}).u.float64, 81.0);  // ints that float64 has exactly
  int exponent = 0;
  Native<double(double, int *)> mantissa(&std::frexp, "f64(f64, ptr)", "frexp");
  EXPECT_EQ(mantissa.plain({opd_float(48), opd_pointer(&exponent)}).u.float64, 0.75);  // 48 = 0.75 * 2^6
  EXPECT_EQ(exponent, 6);
  Native<float(float)> root(&std::sqrt, "f32(f32)", "sqrtf");
  EXPECT_EQ(root.plain({opd_float(2.25)}).u.float64, 1.5);
}

TEST(ANativeFunction, TakesAndGivesStructs) {
  Native<div_t(int, int)> divide(&div, "{i32, i32}(i32, i32)", "div");
  opd_value result = divide.plain({opd_int(-17), opd_int(5)});
  ASSERT_EQ(result.type, OPD_ARRAY);
  auto *array = reinterpret_cast<opd_array *>(result.u.object);
  opd_value quotient, remainder;
  EXPECT_OK(opd_array_get(array, 0, &quotient));
  EXPECT_OK(opd_array_get(array, 1, &remainder));
  EXPECT_EQ(quotient.u.int64, -3);  // C rounds to zero: -17 = -3 * 5 - 2
  EXPECT_EQ(remainder.u.int64, -2);
  opd_value_release(&result);
}

struct Inner {
  double weight;
  const char *name;
};
struct Outer {
  int8_t tag;
  Inner inner;
  float scale;
};
double measure(Outer outer, uint16_t factor) {
  return outer.tag + outer.inner.weight * static_cast<double>(std::strlen(outer.inner.name)) + outer.scale * factor;
}
opd_value array_of(std::vector<opd_value> items) {
  opd_array *array = nullptr;
  EXPECT_OK(opd_array_create(items.data(), items.size(), &array));
  return opd_object_value(array);
}

TEST(ANativeFunction, TakesNestedStructsWithTheirPadding) {
  Native<double(Outer, uint16_t)> function(&measure, "f64({i8, {f64, str}, f32}, u16)", "measure");
  opd_value inner = array_of({opd_float(2.5), opd_cstring("four")});
  opd_value outer = array_of({opd_int(-3), inner, opd_float(0.5)});
  EXPECT_EQ(function.plain({outer, opd_int(100)}).u.float64, -3 + 2.5 * 4 + 0.5 * 100);
  const Failure count = function.refused({inner, opd_int(1)});
  EXPECT_EQ(count.message, "args[0] of measure must have 3 fields, but has 2");
  EXPECT_EQ(function.refused({opd_int(1), opd_int(1)}).message,
            "args[0] of measure must be an array of the struct's fields, but is int");
  opd_value bad_inner = array_of({opd_float(1), opd_int(9)}), bad = array_of({opd_int(1), bad_inner, opd_float(1)});
  EXPECT_EQ(function.refused({bad, opd_int(1)}).message, "args[0][1][1] of measure must be str, but is int");
  for (opd_value *value : {&inner, &outer, &bad_inner, &bad}) opd_value_release(value);
}

TEST(ANativeFunction, MayBeVariadic) {
  char buffer[128];
  Native<int(char *, size_t, const char *, ...)> print(&std::snprintf, "i32(ptr, u64, str, ...)", "snprintf");
  opd_value small;
  EXPECT_OK(opd_string_create("small", 5, &small));
  EXPECT_EQ(print
                .plain({opd_pointer(buffer), opd_int(sizeof buffer), opd_cstring("%ld %.2f %s %d %s"),
                        opd_int(-5'000'000'000), opd_float(2.5), opd_cstring("text"), opd_bool(1), small})
                .u.int64,
            29);
  EXPECT_STREQ(buffer, "-5000000000 2.50 text 1 small");
  EXPECT_EQ(print.plain({opd_pointer(buffer), opd_int(sizeof buffer), opd_cstring("%p %%"), opd_none()}).u.int64, 7);
  EXPECT_EQ(print.plain({opd_pointer(buffer), opd_int(3), opd_cstring("plain")}).u.int64, 5);
  EXPECT_STREQ(buffer, "pl");
  EXPECT_EQ(print.refused({opd_pointer(buffer), opd_int(3)}).message,
            "snprintf takes at least 3 arguments, but was given 2");
  const Failure told =
      print.refused({opd_pointer(buffer), opd_int(3), opd_cstring(""), opd_dtype_value({kDLInt, 8, 1})});
  EXPECT_EQ(told.message,
            "args[3] of snprintf must be int, float, a string, a pointer or a tensor after the fixed arguments, but is "
            "DataType");
  std::vector<opd_value> many = {opd_pointer(buffer), opd_int(sizeof buffer),
                                 opd_cstring("%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d")};
  for (int i = 0; i < 20; ++i) many.push_back(opd_int(i % 10));
  EXPECT_EQ(print.plain(many).u.int64, 20);
  EXPECT_STREQ(buffer, "01234567890123456789");
}

template <class T> T same(T value) { return value; }
template <class T> void check_range(const char *signature, int64_t least, int64_t greatest) {
  Native<T(T)> function(&same<T>, signature, "same");
  EXPECT_EQ(function.plain({opd_int(least)}).u.int64, least) << signature;
  EXPECT_EQ(function.plain({opd_int(greatest)}).u.int64, greatest) << signature;
  EXPECT_EQ(function.plain({opd_bool(1)}).u.int64, 1) << signature;
  if (least > INT64_MIN) {
    EXPECT_EQ(function.refused({opd_int(least - 1)}).code, OPD_OUT_OF_RANGE) << signature;
  }
  if (greatest < INT64_MAX) {
    EXPECT_EQ(function.refused({opd_int(greatest + 1)}).code, OPD_OUT_OF_RANGE) << signature;
  }
  EXPECT_EQ(function.refused({opd_float(1)}).kind, "TypeError") << signature;
}

TEST(ANativeFunction, TruncatesNoInteger) {
  check_range<int8_t>("i8(i8)", -128, 127);
  check_range<int16_t>("i16(i16)", -32768, 32767);
  check_range<int32_t>("i32(i32)", INT32_MIN, INT32_MAX);
  check_range<int64_t>("i64(i64)", INT64_MIN, INT64_MAX);
  check_range<uint8_t>("u8(u8)", 0, 255);
  check_range<uint16_t>("u16(u16)", 0, 65535);
  check_range<uint32_t>("u32(u32)", 0, 4294967295);
  check_range<uint64_t>("u64(u64)", 0, INT64_MAX);
  Native<int8_t(int8_t)> function(&same<int8_t>, "i8(i8)", "same");
  EXPECT_EQ(function.refused({opd_int(200)}).message, "args[0] of same must fit i8, but is 200");
  EXPECT_EQ(function.refused({opd_cstring("1")}).message, "args[0] of same must be i8, but is const char*");
}

TEST(ANativeFunction, CarriesLargeUnsignedNumbersInPointers) {
  Native<uint64_t(uint64_t)> half(+[](uint64_t x) { return x / 2; }, "u64(u64)");
  EXPECT_EQ(half.plain({opd_pointer(reinterpret_cast<void *>(UINT64_MAX))}).u.int64, INT64_MAX);
  Native<uint64_t(uint64_t)> identity(&same<uint64_t>, "u64(u64)", "identity");
  const Failure told = identity.refused({opd_pointer(reinterpret_cast<void *>(UINT64_MAX))});
  EXPECT_EQ(told.code, OPD_OUT_OF_RANGE);
  EXPECT_EQ(told.message, "the result of identity is 18446744073709551615, which is more than an int value holds");
}

TEST(ANativeFunction, ChangesNoNumber) {
  Native<double(double)> wide(&same<double>, "f64(f64)");
  EXPECT_EQ(wide.plain({opd_int(int64_t{1} << 53)}).u.float64, 9007199254740992.0);
  EXPECT_EQ(wide.refused({opd_int((int64_t{1} << 53) + 1)}).code, OPD_OUT_OF_RANGE);
  EXPECT_EQ(wide.refused({opd_int(INT64_MAX)}).code, OPD_OUT_OF_RANGE);
  EXPECT_EQ(wide.plain({opd_int(INT64_MIN)}).u.float64, -0x1p63);
  EXPECT_TRUE(std::isnan(wide.plain({opd_float(std::nan(""))}).u.float64));
  EXPECT_EQ(wide.refused({opd_none()}).message, "args[0] of f must be f64, but is None");
  Native<float(float)> narrow(&same<float>, "f32(f32)");
  EXPECT_EQ(narrow.plain({opd_float(0.1)}).u.float64, double{0.1f});  // rounded, as C does
  EXPECT_EQ(narrow.refused({opd_float(1e39)}).message, "args[0] of f must fit f32, but is 1e+39");
  EXPECT_EQ(narrow.plain({opd_float(-std::numeric_limits<double>::infinity())}).u.float64,
            -std::numeric_limits<double>::infinity());
  EXPECT_EQ(narrow.plain({opd_int(1 << 24)}).u.float64, 16777216.0);
  EXPECT_EQ(narrow.refused({opd_int((1 << 24) + 1)}).code, OPD_OUT_OF_RANGE);
  Native<bool(bool)> flip(+[](bool x) { return !x; }, "bool(bool)");
  EXPECT_EQ(flip.plain({opd_bool(1)}).type, OPD_BOOL);
  EXPECT_EQ(flip.plain({opd_bool(1)}).u.int64, 0);
  EXPECT_EQ(flip.plain({opd_int(0)}).u.int64, 1);
  EXPECT_EQ(flip.refused({opd_int(2)}).code, OPD_OUT_OF_RANGE);
  EXPECT_EQ(flip.refused({opd_float(1)}).code, OPD_INVALID_ARGUMENT);
}

TEST(ANativeFunction, TakesAndGivesText) {
  Native<size_t(const char *)> length(&std::strlen, "u64(str)", "strlen");
  opd_value small, heap, bytes, with_nul;
  EXPECT_OK(opd_string_create("seven b", 7, &small));
  EXPECT_OK(opd_string_create("a string of the heap", 20, &heap));
  EXPECT_OK(opd_bytes_create("bytes of the heap", 17, &bytes));
  EXPECT_OK(opd_string_create("a\0b", 3, &with_nul));
  EXPECT_EQ(length.plain({opd_cstring("four")}).u.int64, 4);
  EXPECT_EQ(length.plain({small}).u.int64, 7);
  EXPECT_EQ(length.plain({heap}).u.int64, 20);
  EXPECT_EQ(length.refused({with_nul}).message,
            "args[0] of strlen must not hold a NUL byte, for C would end the string there");
  EXPECT_EQ(length.refused({bytes}).message, "args[0] of strlen must be str, but is ffi.Bytes");
  EXPECT_EQ(length.refused({opd_cstring(nullptr)}).message,
            "args[0] of strlen must be a string, but is NULL; the type ptr takes NULL");
  EXPECT_EQ(length.refused({opd_none()}).kind, "TypeError");
  Native<const char *(const char *, int)> find(
      +[](const char *text, int c) -> const char * { return std::strchr(text, c); }, "str(str, i32)");
  EXPECT_EQ(find.text({heap, opd_int('o')}), "of the heap");
  EXPECT_EQ(find.plain({heap, opd_int('z')}).type, OPD_NONE);
  for (opd_value *value : {&small, &heap, &bytes, &with_nul}) opd_value_release(value);
}

TEST(ANativeFunction, TakesAndGivesPointersAndTensors) {
  Native<void *(void *)> pointer(&same<void *>, "ptr(ptr)");
  int x = 0;
  EXPECT_EQ(pointer.plain({opd_pointer(&x)}).type, OPD_POINTER);
  EXPECT_EQ(pointer.plain({opd_pointer(&x)}).u.pointer, &x);
  EXPECT_EQ(pointer.plain({opd_none()}).type, OPD_NONE);
  EXPECT_EQ(pointer.refused({opd_int(0)}).message, "args[0] of f must be ptr, but is int");
  Native<int(DLTensor *)> rank(+[](DLTensor *tensor) { return int{tensor->ndim}; }, "i32(tensor)");
  const int64_t dims[] = {1, 2, 3};
  opd_tensor *tensor = nullptr;
  EXPECT_OK(opd_tensor_create(dims, 3, {kDLFloat, 32, 1}, {kDLCPU, 0}, &tensor));
  EXPECT_EQ(rank.plain({opd_object_value(tensor)}).u.int64, 3);
  EXPECT_EQ(rank.plain({opd_dltensor(opd_tensor_view(tensor))}).u.int64, 3);
  EXPECT_EQ(rank.refused({opd_none()}).message, "args[0] of f must be tensor, but is None");
  EXPECT_EQ(rank.refused({opd_dltensor(nullptr)}).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(pointer.refused({opd_object_value(tensor)}).message, "args[0] of f must be ptr, but is ffi.Tensor");
  opd_tensor_release(tensor);
}

TEST(ANativeFunction, TellsAWrongCount) {
  Native<double(double, double)> power(&std::pow, "f64(f64, f64)", "pow");
  for (size_t given : {0u, 1u, 3u}) {
    const Failure told = power.refused(std::vector<opd_value>(given, opd_float(1)));
    EXPECT_EQ(told.code, OPD_INVALID_ARGUMENT);
    EXPECT_EQ(told.kind, "TypeError");
    EXPECT_EQ(told.message, "pow takes 2 arguments, but was given " + std::to_string(given));
  }
}

int64_t weigh(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h, int64_t i,
              int64_t j, double k, double l, double m, double n, double o, double p, double q, double r, double s,
              int8_t t) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j +
         static_cast<int64_t>(11 * k + 12 * l + 13 * m + 14 * n + 15 * o + 16 * p + 17 * q + 18 * r + 19 * s) + 20 * t;
}

TEST(ANativeFunction, TakesMoreArgumentsThanThereAreRegisters) {
  Native<decltype(weigh)> function(
      &weigh, "i64(i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, f64, f64, f64, f64, f64, f64, f64, f64, f64, i8)");
  std::vector<opd_value> args;
  int64_t expected = 0;
  for (int i = 1; i <= 20; ++i) {
    args.push_back(i <= 10 || i == 20 ? opd_int(-i) : opd_float(-i));
    expected -= int64_t{i} * i;  // the sum of squares up to 20 is 20 * 21 * 41 / 6 = 2870
  }
  EXPECT_EQ(expected, -2870);
  EXPECT_EQ(function.plain(args).u.int64, expected);
}

TEST(ANativeFunction, KeepsAliveWhatItIsGiven) {
  Counter counter;
  opd_function *kept = nullptr;
  EXPECT_OK(opd_function_create(add, &counter, end, &kept));
  {
    Native<double(double)> function(&same<double>, "f64(f64)", nullptr, kept);
    opd_function_release(kept);
    EXPECT_EQ(counter.ended, 0);
    EXPECT_EQ(function.refused({}).message, "function takes 1 argument, but was given 0");  // the name that NULL means
  }
  EXPECT_EQ(counter.ended, 1);
}

TEST(ANativeFunction, IsRefusedWithoutAPointerOrASignature) {
  opd_function *none = nullptr;
  auto *pointer = reinterpret_cast<void *>(&same<int>);
  EXPECT_EQ(failure(opd_function_create_native(nullptr, "void()", "f", nullptr, &none)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(failure(opd_function_create_native(pointer, nullptr, "f", nullptr, &none)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(failure(opd_function_create_native(pointer, "void()", "f", nullptr, nullptr)).code, OPD_INVALID_ARGUMENT);
  const Failure mistake = failure(opd_function_create_native(pointer, "i32(i32; i32)", "f", nullptr, &none));
  EXPECT_EQ(mistake.code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(mistake.message, "the signature \"i32(i32; i32)\" must have ')' at offset 7, but has \"; i32)\".");
  EXPECT_EQ(failure(opd_function_create_native(pointer, "{i32, tensor}()", "f", nullptr, &none)).code,
            OPD_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
}

TEST(ANativeFunction, TurnsACppExceptionIntoAnError) {
  Native<int(int)> function(+[](int x) -> int { return x ? throw std::runtime_error("from C++") : 0; }, "i32(i32)");
  EXPECT_EQ(function.refused({opd_int(1)}).message, "from C++");
}

// ---- closures

struct Closure {
  opd_closure *handle = nullptr;
  Function function;
  Closure(opd_packed_fn body, void *data, const char *signature) {
    EXPECT_OK(opd_function_create(body, data, nullptr, &function.handle));
    EXPECT_OK(opd_closure_create(function.handle, signature, &handle));
  }
  Closure(const Closure &) = delete;
  ~Closure() { opd_closure_release(handle); }
  template <class F> F *pointer() { return reinterpret_cast<F *>(opd_closure_pointer(handle)); }
  Failure error() { return failure(opd_closure_take_error(handle)); }
};

opd_error *compare(void *calls, const opd_value *args, int32_t, opd_value *out) {
  ++*static_cast<int *>(calls);
  const int a = *static_cast<const int *>(args[0].u.pointer), b = *static_cast<const int *>(args[1].u.pointer);
  *out = opd_int((a > b) - (a < b));
  return nullptr;
}

TEST(AClosure, ComparesForQsort) {
  int calls = 0, data[] = {5, -3, 9, 0, 7, 7, -8};
  Closure closure(compare, &calls, "i32(ptr, ptr)");
  qsort(data, 7, sizeof(int), closure.pointer<int(const void *, const void *)>());
  EXPECT_EQ(std::vector<int>(data, data + 7), (std::vector<int>{-8, -3, 0, 5, 7, 7, 9}));
  EXPECT_GE(calls, 6);
  EXPECT_EQ(opd_closure_take_error(closure.handle), nullptr);
}

opd_error *echo(void *seen, const opd_value *args, int32_t num_args, opd_value *out) {
  for (int32_t i = 0; i < num_args; ++i) static_cast<std::vector<opd_value> *>(seen)->push_back(args[i]);
  return opd_value_retain(&args[num_args - 1], out);
}

TEST(AClosure, GivesEveryTypeToItsFunction) {
  std::vector<opd_value> seen;
  Closure closure(echo, &seen, "f64(bool, i8, i16, i32, i64, u8, u16, u32, u64, ptr, str, tensor, f32, f64)");
  DLTensor tensor{};
  const double result = closure.pointer<double(bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                                               uint64_t, void *, const char *, DLTensor *, float, double)>()(
      true, -128, -32768, INT32_MIN, INT64_MIN, 255, 65535, UINT32_MAX, INT64_MAX, nullptr, "text", &tensor, 0.5f,
      0.25);
  EXPECT_EQ(result, 0.25);
  ASSERT_EQ(seen.size(), 14u);
  const int64_t ints[] = {1, -128, -32768, INT32_MIN, INT64_MIN, 255, 65535, UINT32_MAX, INT64_MAX};
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(seen[i].type, i == 0 ? OPD_BOOL : OPD_INT);
    EXPECT_EQ(seen[i].u.int64, ints[i]);
  }
  EXPECT_EQ(seen[9].type, OPD_NONE);
  EXPECT_EQ(seen[10].type, OPD_CSTRING);
  EXPECT_EQ(seen[11].u.dltensor, &tensor);
  EXPECT_EQ(seen[12].u.float64, 0.5);
  EXPECT_EQ(closure.error().message, "");
}

template <class T>
void check_results(const char *signature, std::vector<T> values) {
  std::vector<opd_value> seen;
  Closure closure(echo, &seen, signature);
  for (const T value : values) EXPECT_EQ(closure.pointer<T(T)>()(value), value) << signature;
  EXPECT_EQ(closure.error().message, "") << signature;
}

TEST(AClosure, ReturnsEveryType) {
  check_results<bool>("bool(bool)", {true, false});
  check_results<int8_t>("i8(i8)", {-128, -1, 127});
  check_results<int16_t>("i16(i16)", {-32768, 32767});
  check_results<int32_t>("i32(i32)", {INT32_MIN, -1, INT32_MAX});
  check_results<int64_t>("i64(i64)", {INT64_MIN, INT64_MAX});
  check_results<uint8_t>("u8(u8)", {0, 255});
  check_results<uint16_t>("u16(u16)", {65535});
  check_results<uint32_t>("u32(u32)", {UINT32_MAX});
  check_results<uint64_t>("u64(u64)", {INT64_MAX});
  check_results<float>("f32(f32)", {-0.5f, 1e30f});
  check_results<double>("f64(f64)", {1e300});
  int x = 0;
  check_results<void *>("ptr(ptr)", {nullptr, &x});
}

struct Pair {
  int8_t small;
  double large;
};
TEST(AClosure, TakesAndGivesStructs) {
  Closure closure([](void *, const opd_value *args, int32_t, opd_value *out) -> opd_error * {
    auto *given = reinterpret_cast<opd_array *>(args[0].u.object);
    opd_value fields[2];
    for (size_t i = 0; i < 2; ++i)
      if (opd_error *error = opd_array_get(given, 1 - i, &fields[i])) return error;
    std::swap(fields[0], fields[1]);
    fields[0].u.int64 += 1;
    opd_array *array = nullptr;
    if (opd_error *error = opd_array_create(fields, 2, &array)) return error;
    *out = opd_object_value(array);
    return nullptr;
  }, nullptr, "{i8, f64}({i8, f64})");
  const Pair result = closure.pointer<Pair(Pair)>()({41, 2.5});
  EXPECT_EQ(closure.error().message, "");
  EXPECT_EQ(result.small, 42);
  EXPECT_EQ(result.large, 2.5);
}

TEST(AClosure, ReturnsZeroAndKeepsTheFirstError) {
  Closure closure([](void *, const opd_value *args, int32_t, opd_value *) {
    return opd_error_create(OPD_NOT_FOUND, "KeyError", args[0].u.int64 == 1 ? "first" : "second");
  }, nullptr, "i32(i32)");
  EXPECT_EQ(closure.pointer<int(int)>()(1), 0);
  EXPECT_EQ(closure.pointer<int(int)>()(2), 0);
  const Failure told = closure.error();
  EXPECT_EQ(told.code, OPD_NOT_FOUND);
  EXPECT_EQ(told.kind, "KeyError");
  EXPECT_EQ(told.message, "first");
  EXPECT_EQ(opd_closure_take_error(closure.handle), nullptr);  // once
  EXPECT_EQ(closure.pointer<int(int)>()(2), 0);
  EXPECT_EQ(closure.error().message, "second");
}

TEST(AClosure, RefusesAResultThatDoesNotFit) {
  const auto large = [](void *, const opd_value *, int32_t, opd_value *out) -> opd_error * {
    return *out = opd_int(300), nullptr;
  };
  const auto text = [](void *, const opd_value *, int32_t, opd_value *out) {
    return opd_string_create("a long string", 13, out);
  };
  Closure narrow(large, nullptr, "u8()"), number(text, nullptr, "f64()"), pair(text, nullptr, "{i64, i64, i64}()"),
      nothing(text, nullptr, "void()");
  EXPECT_EQ(narrow.pointer<uint8_t()>()(), 0);
  EXPECT_EQ(narrow.error().message, "the result of the closure must fit u8, but is 300");
  EXPECT_EQ(number.pointer<double()>()(), 0.0);
  EXPECT_EQ(number.error().message, "the result of the closure must be f64, but is ffi.String");
  struct Three { int64_t a, b, c; };
  const Three three = pair.pointer<Three()>()();
  EXPECT_EQ(three.a | three.b | three.c, 0);
  EXPECT_EQ(pair.error().kind, "TypeError");
  nothing.pointer<void()>()();  // C asked for no result
  EXPECT_EQ(opd_closure_take_error(nothing.handle), nullptr);
}

TEST(AClosure, RefusesAnArgumentThatNoValueHolds) {
  int calls = 0;
  Closure closure(compare, &calls, "i32(u64, ptr)");
  EXPECT_EQ(closure.pointer<int(uint64_t, void *)>()(UINT64_MAX, nullptr), 0);
  EXPECT_EQ(closure.error().message,
            "args[0] of the closure is 18446744073709551615, which is more than an int value holds");
  EXPECT_EQ(calls, 0);
}

TEST(AClosure, IsCalledFromAnyThread) {
  std::atomic<int> calls{0};
  Closure closure([](void *n, const opd_value *args, int32_t, opd_value *out) -> opd_error * {
    ++*static_cast<std::atomic<int> *>(n);
    if (args[0].u.int64 == 13) return opd_error_create(OPD_CALL_FAILED, nullptr, "thirteen");
    return *out = opd_int(args[0].u.int64 * 2), nullptr;
  }, &calls, "i64(i64)");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(closure.pointer<int64_t(int64_t)>()(i), i == 13 ? 0 : 2 * i);
    });
  for (auto &thread : threads) thread.join();
  EXPECT_EQ(calls, 400);
  EXPECT_EQ(closure.error().message, "thirteen");
  EXPECT_EQ(opd_closure_take_error(closure.handle), nullptr);
}

TEST(AClosure, KeepsItsFunctionAlive) {
  Counter counter;
  opd_function *function = nullptr;
  opd_closure *closure = nullptr;
  EXPECT_OK(opd_function_create(add, &counter, end, &function));
  EXPECT_OK(opd_closure_create(function, "i64(i64, i64)", &closure));
  opd_function_release(function);
  EXPECT_EQ(counter.ended, 0);
  EXPECT_EQ(reinterpret_cast<int64_t (*)(int64_t, int64_t)>(opd_closure_pointer(closure))(20, 22), 42);
  opd_closure_release(closure);
  EXPECT_EQ(counter.ended, 1);
}

TEST(AClosure, GoesRoundThroughANativeFunction) {
  int calls = 0;
  Closure closure(compare, &calls, "i32(ptr, ptr)");
  Native<void(void *, size_t, size_t, int (*)(const void *, const void *))> sort(&qsort, "void(ptr, u64, u64, ptr)",
                                                                                 "qsort");
  int data[] = {3, 1, 2};
  EXPECT_EQ(
      sort.plain({opd_pointer(data), opd_int(3), opd_int(4), opd_pointer(opd_closure_pointer(closure.handle))}).type,
      OPD_NONE);
  EXPECT_EQ(data[0] * 100 + data[1] * 10 + data[2], 123);
}

TEST(AClosure, IsRefusedForSignaturesThatItCannotServe) {
  Function function;
  opd_closure *none = nullptr;
  EXPECT_OK(opd_function_create(echo, nullptr, nullptr, &function.handle));
  for (const char *signature :
       {"i32(str, ...)", "str(i32)", "tensor()", "{i32, str}()", "void({i32, tensor})", "i32(", "i33()"})
    EXPECT_EQ(failure(opd_closure_create(function.handle, signature, &none)).code, OPD_INVALID_ARGUMENT) << signature;
  EXPECT_EQ(failure(opd_closure_create(nullptr, "void()", &none)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(failure(opd_closure_create(function.handle, nullptr, &none)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(failure(opd_closure_create(function.handle, "void()", nullptr)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(opd_closure_pointer(nullptr), nullptr);
  EXPECT_EQ(opd_closure_take_error(nullptr), nullptr);
  opd_closure_release(nullptr);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__) && !defined(__clang__)
TEST(AClosure, IsUnsupportedWithoutExecutableMemory) {
  Function function;
  EXPECT_OK(opd_function_create(echo, nullptr, nullptr, &function.handle));
  const pid_t child = fork();
  if (child == 0) {
    // No further mappings, but a heap with room: then libffi's memory is what runs out.
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_MMAP_MAX, 0);
    std::free(std::malloc(64 << 20));
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_AS, &none);
    opd_error *error = nullptr;
    for (int i = 0; i < 20'000 && !error; ++i) {
      opd_closure *closure = nullptr;
      error = opd_closure_create(function.handle, "void()", &closure);
    }
    _exit(opd_error_code(error));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), OPD_UNSUPPORTED);
}
#endif

}  // namespace
