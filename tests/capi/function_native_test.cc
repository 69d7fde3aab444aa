// C functions by their signature.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "support/function_test.h"

namespace opdyno_test {
namespace {

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
  opd_value quotient, remainder;  // plain numbers: nothing to release
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
  return opd_value_of_object(array);
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

template <class T>
T same(T value) {
  return value;
}
template <class T>
void check_range(const char *signature, int64_t least, int64_t greatest) {
  Native<T(T)> function(&same<T>, signature, "same");
  EXPECT_EQ(function.plain({opd_int(least)}).u.int64, least) << signature;
  EXPECT_EQ(function.plain({opd_int(greatest)}).u.int64, greatest) << signature;
  EXPECT_EQ(function.plain({opd_bool(1)}).u.int64, 1) << signature;
  if (least > INT64_MIN) { EXPECT_EQ(function.refused({opd_int(least - 1)}).code, OPD_OUT_OF_RANGE) << signature; }
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
  Native<uint64_t(uint64_t)> half(
      +[](uint64_t x) { return x / 2; }, "u64(u64)");
  EXPECT_EQ(half.plain({opd_pointer(reinterpret_cast<void *>(UINT64_MAX))}).u.int64, INT64_MAX);
  Native<uint64_t(uint64_t)> identity(&same<uint64_t>, "u64(u64)", "identity");
  const Failure told = identity.refused({opd_pointer(reinterpret_cast<void *>(UINT64_MAX))});
  EXPECT_EQ(told.code, OPD_OUT_OF_RANGE);
  EXPECT_EQ(told.message, "the result of identity is 18446744073709551615, which is more than an int value holds");
}

TEST(ANativeFunction, RefusesNumbersThatItsTypesCannotHold) {
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
  Native<bool(bool)> flip(
      +[](bool x) { return !x; }, "bool(bool)");
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
  Native<int(DLTensor *)> rank(
      +[](DLTensor *tensor) { return int{tensor->ndim}; }, "i32(tensor)");
  const int64_t dims[] = {1, 2, 3};
  opd_tensor *tensor = nullptr;
  EXPECT_OK(opd_tensor_create(dims, 3, {kDLFloat, 32, 1}, {kDLCPU, 0}, &tensor));
  EXPECT_EQ(rank.plain({opd_value_of_object(tensor)}).u.int64, 3);
  EXPECT_EQ(rank.plain({opd_dltensor(opd_tensor_view(tensor))}).u.int64, 3);
  EXPECT_EQ(rank.refused({opd_none()}).message, "args[0] of f must be tensor, but is None");
  EXPECT_EQ(rank.refused({opd_dltensor(nullptr)}).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(pointer.refused({opd_value_of_object(tensor)}).message, "args[0] of f must be ptr, but is ffi.Tensor");
  opd_tensor_release(tensor);
}

TEST(ANativeFunction, RefusesAWrongNumberOfArguments) {
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

TEST(ANativeFunction, TakesMoreArgumentsThanItsStackHasRoomFor) {
  char buffer[512];
  Native<int(char *, size_t, const char *, ...)> print(&std::snprintf, "i32(ptr, u64, str, ...)", "snprintf");
  std::string format, expected;
  std::vector<opd_value> args = {opd_pointer(buffer), opd_int(sizeof buffer), opd_none()};
  for (int i = 0; i < 80; ++i) {
    format += "%ld,", expected += std::to_string(i * i) + ",";
    args.push_back(opd_int(i * i));
  }
  args[2] = opd_cstring(format.c_str());
  EXPECT_EQ(print.plain(args).u.int64, static_cast<int64_t>(expected.size()));
  EXPECT_EQ(buffer, expected);
}

TEST(ANativeFunction, GivesEachShortTextItsOwnMemory) {
  char buffer[64];
  Native<int(char *, size_t, const char *, ...)> print(&std::snprintf, "i32(ptr, u64, str, ...)", "snprintf");
  const auto small = [](const char *text) {  // up to seven letters lie in the value itself and need no release
    opd_value value;
    EXPECT_OK(opd_string_create(text, std::strlen(text), &value));
    EXPECT_EQ(value.type, OPD_SMALL_STRING);
    return value;
  };
  for (const char *const text : {"7777777", "1"}) {
    print.plain({opd_pointer(buffer), opd_int(sizeof buffer), opd_cstring("%s %s"), small(text), small("two")});
    EXPECT_EQ(buffer, std::string(text) + " two");
  }
}

struct Names {
  const char *first, *second;
};
int lengths(Names names) { return static_cast<int>(100 * std::strlen(names.first) + std::strlen(names.second)); }

TEST(ANativeFunction, EndsShortTextsInsideOfStructsEachByItself) {
  Native<int(Names)> function(&lengths, "i32({str, str})", "lengths");
  const auto small = [](uint32_t length) {  // the bytes behind the text are not zero
    opd_value value = opd_none();
    value.type = OPD_SMALL_STRING, value.length = length;
    std::memset(value.u.bytes, 'x', sizeof value.u.bytes);
    return value;
  };
  for (uint32_t length = 0; length < 7; ++length) {
    opd_value names = array_of({small(length), small(7 - length)});
    EXPECT_EQ(function.plain({names}).u.int64, 100 * length + 7 - length);
    opd_value_release(&names);
  }
}

TEST(ANativeFunction, KeepsItsOwnerAlive) {
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
  for (const std::string signature : {"{i32, tensor}()", "tensor(i32)"})
    EXPECT_EQ(
        failure(opd_function_create_native(pointer, signature.c_str(), "f", nullptr, &none)).message,
        "the signature \"" + signature + "\" cannot have a tensor in its result, for nothing would own it; use ptr");
  EXPECT_EQ(none, nullptr);
}

TEST(ANativeFunction, TurnsACppExceptionIntoAnError) {
  Native<int(int)> function(
      +[](int x) -> int { return x ? throw std::runtime_error("from C++") : 0; }, "i32(i32)");
  EXPECT_EQ(function.refused({opd_int(1)}).message, "from C++");
}

}  // namespace
}  // namespace opdyno_test
