// Values, containers, dtypes, errors, buffers, the log.
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <regex>
#include <thread>

#include "support/log_messages.h"
#include "support/opdyno_test.h"

using namespace opdyno_test;

static_assert(sizeof(opd_value) == 16 && offsetof(opd_value, type) == 0 && offsetof(opd_value, length) == 4 &&
                  offsetof(opd_value, u) == 8,
              "the layout of values is frozen");

namespace {
Value string_value(const std::string &text) {
  Value value;
  check(opd_string_create(text.data(), text.size(), value.out()));
  return value;
}
std::string get_string(const opd_value &value) {
  const char *data;
  size_t size;
  check(opd_string_get(&value, &data, &size));
  return {data, size};
}
}  // namespace

TEST(Value, StringsOfAnyLengthComeBackWhole) {
  for (const std::string &text : {std::string(), std::string("a"), std::string("sevenby"), std::string("eight by"),
                                  std::string(1000, 'x'), std::string("nul\0in", 6)}) {
    const Value value = string_value(text);
    EXPECT_EQ(value.type(), text.size() <= 7 ? OPD_SMALL_STRING : OPD_STRING);
    EXPECT_EQ(get_string(value.view()), text);
    const Value copy = value;
    EXPECT_EQ(get_string(copy.view()), text);
  }
}

TEST(Value, RetainingAViewMakesAnOwnedCopy) {
  char text[] = "a text that will change";
  const Value owned = Value::retain(opd_cstring(text));
  text[0] = 'X';
  EXPECT_EQ(get_string(owned.view()), "a text that will change");
  DLTensor tensor{};
  const opd_value view = opd_dltensor(&tensor);
  opd_value out = opd_int(7);
  expect_error(opd_value_retain(&view, &out), OPD_INVALID_ARGUMENT, "borrowed");
  EXPECT_EQ(out.u.int64, 7) << "outputs stay as they were on failure";
}

TEST(Value, KindsHaveTvmFfisNames) {
  // The keys of TVMFFITypeIndex in tvm-ffi's c_api.h.
  for (const auto &[type, key] : {std::pair<int32_t, const char *>{0, "None"},
                                  {1, "int"},
                                  {2, "bool"},
                                  {3, "float"},
                                  {4, "void*"},
                                  {5, "DataType"},
                                  {6, "Device"},
                                  {7, "DLTensor*"},
                                  {8, "const char*"},
                                  {9, "TVMFFIByteArray*"},
                                  {10, "ObjectRValueRef"},
                                  {11, "ffi.SmallStr"},
                                  {12, "ffi.SmallBytes"},
                                  {64, "ffi.Object"},
                                  {65, "ffi.String"},
                                  {66, "ffi.Bytes"},
                                  {67, "ffi.Error"},
                                  {68, "ffi.Function"},
                                  {69, "ffi.Shape"},
                                  {70, "ffi.Tensor"},
                                  {71, "ffi.Array"},
                                  {72, "ffi.Map"},
                                  {73, "ffi.Module"},
                                  {74, "ffi.OpaquePyObject"},
                                  {75, "ffi.List"},
                                  {76, "ffi.Dict"},
                                  {78, "ffi.BigInt"}})
    EXPECT_STREQ(opd_type_key(type), key);
  EXPECT_STREQ(opd_type_key(99), "unknown");
  EXPECT_STREQ(opd_type_key(-5), "unknown");
  EXPECT_STREQ(opd_type_key(2000000000), "unknown");
}

TEST(Value, IsWrittenForPeople) {
  const auto text = [](const opd_value &v) { return Value::retain(v).to_string(); };
  EXPECT_EQ(text(opd_none()), "None");
  EXPECT_EQ(text(opd_int(-42)), "-42");
  EXPECT_EQ(text(opd_bool(3)), "true");
  EXPECT_EQ(text(opd_float(0.1)), "0.1");
  EXPECT_EQ(text(opd_dtype_value({kDLBfloat, 16, 4})), "bfloat16x4");
  EXPECT_EQ(text(opd_device_value({kDLCUDA, 1})), "cuda:1");
  EXPECT_EQ(string_value("say \"hi\"\n\xFF").to_string(), "\"say \\\"hi\\\"\\n\xEF\xBF\xBD\"");
  const Tensor tensor({2, 3}, "int8");
  EXPECT_EQ(text(arg(tensor)), "Tensor(int8[2, 3], cpu:0)");
}

TEST(Array, KeepsItemsAndChecksIndexes) {
  const Value text = string_value("a string on the heap");
  const opd_value items[] = {opd_int(1), text.view()};
  Handle<opd_array> array;
  check(opd_array_create(items, 2, array.out()));
  Value item;
  check(opd_array_get(array.get(), 1, item.out()));
  opd_value untouched = opd_int(7);
  expect_error(opd_array_get(array.get(), 2, &untouched), OPD_OUT_OF_RANGE, "index 2 of an array of 2 items");
  EXPECT_EQ(untouched.u.int64, 7);
  array = {};
  EXPECT_EQ(get_string(item.view()), "a string on the heap") << "an item outlives its array";
  EXPECT_EQ(opd_array_count(nullptr), 0);
}

TEST(Map, KeepsInsertionOrderAndTheLastValueOfAKey) {
  const Value longer = string_value("a key on the heap");
  const opd_value pairs[] = {opd_cstring("b"), opd_int(1), longer.view(),    opd_int(2),
                             opd_int(3),       opd_int(4), opd_cstring("b"), opd_int(5)};
  Handle<opd_map> map;
  check(opd_map_create(pairs, 4, map.out()));
  ASSERT_EQ(opd_map_count(map.get()), 3);
  Value key, value;
  check(opd_map_entry(map.get(), 0, key.out(), value.out()));
  EXPECT_EQ(get_string(key.view()), "b");
  EXPECT_EQ(value.view().u.int64, 5);
  const opd_value wanted = opd_cstring("a key on the heap");
  check(opd_map_get(map.get(), &wanted, value.out()));
  EXPECT_EQ(value.view().u.int64, 2);
  check(opd_map_entry(map.get(), 1, key.out(), value.out()));
  const opd_value absent = opd_int(9);
  expect_error(opd_map_get(map.get(), &absent, value.out()), OPD_NOT_FOUND, "no key 9");
  opd_value no_key, no_value;
  expect_error(opd_map_entry(map.get(), 3, &no_key, &no_value), OPD_OUT_OF_RANGE, "index 3");
  map = {};
  EXPECT_EQ(get_string(key.view()), "a key on the heap") << "an entry outlives its map";
}

TEST(Shape, HoldsItsSizes) {
  const int64_t dims[] = {2, -1, INT64_MAX};
  Handle<opd_shape> shape;
  check(opd_shape_create(dims, 3, shape.out()));
  int32_t ndim = 0;
  EXPECT_EQ(opd_shape_dims(shape.get(), &ndim)[2], INT64_MAX);
  EXPECT_EQ(ndim, 3);
  EXPECT_EQ(opd_shape_dims(nullptr, &ndim), nullptr);
  EXPECT_EQ(ndim, 0);
  EXPECT_EQ(Value::retain(arg(shape)).to_string(), "[2, -1, 9223372036854775807]");
}

TEST(Dtype, TextRoundTrips) {
  for (const char *text : {"float32",
                           "float16",
                           "float64",
                           "int8",
                           "int64",
                           "uint8",
                           "uint1",
                           "bool",
                           "bfloat16",
                           "handle",
                           "void",
                           "int8x4",
                           "float32x16",
                           "float8_e4m3fn",
                           "float8_e4m3",
                           "float8_e4m3b11fnuz",
                           "float8_e5m2fnuz",
                           "float8_e8m0fnu",
                           "float6_e2m3fn",
                           "float4_e2m1fn",
                           "complex64",
                           "float32xvscalex4",
                           "int4",
                           "boolx2"}) {
    DLDataType dtype;
    check(opd_dtype_from_string(text, &dtype));
    EXPECT_EQ(text_of(opd_dtype_to_string, dtype), text);
  }
  DLDataType dtype;
  check(opd_dtype_from_string("f16", &dtype));
  EXPECT_EQ(dtype.bits, 16);
  for (const char *short_name : {"f8_e4m3fn", "fp8_e4m3fn"}) {
    check(opd_dtype_from_string(short_name, &dtype));
    EXPECT_EQ(text_of(opd_dtype_to_string, dtype), "float8_e4m3fn") << short_name;
  }
  check(opd_dtype_from_string("bool", &dtype));
  EXPECT_EQ(dtype.code, kDLBool);
  EXPECT_EQ(dtype.bits, 8);
}

// Only an opaque handle without bits and lanes is "void". None of the others is a dtype, but each is shown as what it
// is.
TEST(Dtype, ShowsStrangeBitsAndLanes) {
  const auto shown = [](DLDataType dtype) { return text_of(opd_dtype_to_string, dtype); };
  EXPECT_EQ(shown({kDLOpaqueHandle, 0, 0}), "void");
  EXPECT_EQ(shown({kDLOpaqueHandle, 64, 1}), "handle");
  EXPECT_EQ(shown({kDLOpaqueHandle, 64, 0}), "handlex0");
  EXPECT_EQ(shown({kDLOpaqueHandle, 0, 1}), "handle0");
  EXPECT_EQ(shown({kDLOpaqueHandle, 32, 2}), "handle32x2");
  EXPECT_EQ(shown({kDLFloat, 0, 0}), "float0x0");
  EXPECT_EQ(shown({kDLInt, 8, 0xFFFC}), "int8xvscalex4") << "lanes below 0 are those of a scalable vector";
  EXPECT_EQ(shown({150, 16, 1}), "custom[150]16");
  EXPECT_EQ(shown({150, 16, 3}), "custom[150]16x3");
}

TEST(Dtype, ParseErrorsQuoteTheText) {
  for (const char *text :
       {"flot32", "float32x", "float32x0", "int999", "int", "xx", "float8_e4m3fnq", "f", "float32x99999", "int-8"}) {
    DLDataType dtype{};
    opd_error *error = opd_dtype_from_string(text, &dtype);
    if (std::string(text) == "int") {  // TVM reads it as int32
      EXPECT_EQ(error, nullptr);
      continue;
    }
    expect_error(error, OPD_INVALID_ARGUMENT, std::string("\"") + text + "\" is not a dtype");
  }
}

TEST(Errors, CarryCodeKindAndMessage) {
  opd_error *error = opd_error_create(OPD_NOT_FOUND, nullptr, "no such thing");
  EXPECT_EQ(opd_error_code(error), OPD_NOT_FOUND);
  EXPECT_STREQ(opd_error_kind(error), "LookupError");
  EXPECT_STREQ(opd_error_message(error), "no such thing");
  EXPECT_EQ(opd_error_cause(error), nullptr);
  EXPECT_STREQ(opd_error_backtrace(error), "");
  opd_error_release(error);
  EXPECT_EQ(opd_error_code(nullptr), OPD_OK);
  EXPECT_STREQ(opd_code_name(OPD_DEADLINE_EXCEEDED), "OPD_DEADLINE_EXCEEDED");
  EXPECT_STREQ(opd_code_name(static_cast<opd_code>(77)), "OPD_INTERNAL");
  error = opd_error_create(OPD_OK, "MyError", nullptr);
  EXPECT_EQ(opd_error_code(error), OPD_INTERNAL);
  EXPECT_STREQ(opd_error_kind(error), "MyError");
  opd_error_release(error);
}

TEST(Errors, ForANullHandleNameTheArgument) {
  expect_error(opd_string_create("x", 1, nullptr), OPD_INVALID_ARGUMENT, "must not be NULL");
  expect_error(opd_value_retain(nullptr, nullptr), OPD_INVALID_ARGUMENT, "must not be NULL");
  expect_error(opd_dtype_from_string(nullptr, nullptr), OPD_INVALID_ARGUMENT, "must not be NULL");
  expect_error(opd_build_info(nullptr), OPD_INVALID_ARGUMENT, "must not be NULL");
  opd_value_release(nullptr);
  opd_error_release(nullptr);
  opd_buffer_release(nullptr);
  opd_object_release(nullptr);
}

TEST(Library, HasAVersionAndBuildInfo) {
  EXPECT_EQ(opd_version(), std::to_string(OPD_VERSION_MAJOR) + "." + std::to_string(OPD_VERSION_MINOR) + "." +
                               std::to_string(OPD_VERSION_PATCH));
  const std::string info = text_of(opd_build_info);
  const std::regex whole(
      R"-(\{"version":"0\.2\.0","compiler":"(gcc|clang) [^"]+","build_type":"(release|debug)","architecture":"\w+",)-"
      R"-("features":\{"cpu":true,"libffi":true,"npz":true,"papi":false,"cuda":true,"opencl":true,"vulkan":true,)-"
      R"-("rpc":true\},"tvm_artifacts":\["0\.22","0\.23","0\.24","0\.25","0\.26","0\.27"\],)-"
      R"-("tvm_tested":\["0\.25","0\.26","0\.27"\]\})-");
  EXPECT_TRUE(std::regex_match(info, whole)) << info;
}

TEST(Value, AShortStringNeverEndsBehindTheValue) {
  opd_value value = opd_none();
  value.type = OPD_SMALL_STRING, value.length = 200;
  std::memset(value.u.bytes, 'x', sizeof value.u.bytes);
  const char *data = nullptr;
  size_t size = 0;
  check(opd_string_get(&value, &data, &size));
  EXPECT_EQ(std::string(data, size), "xxxxxxx");
}

TEST(Log, ReplacingTheCallbackEndsTheOldOne) {
  static int ended;
  ended = 0;
  const auto callback = [](void *, opd_log_level, const char *) {};
  const auto deleter = [](void *) { ++ended; };
  opd_log_set_callback(callback, nullptr, deleter);
  EXPECT_EQ(ended, 0);
  opd_log_set_callback(callback, nullptr, deleter);
  EXPECT_EQ(ended, 1);
  opd_log_set_callback(nullptr, nullptr, nullptr);
  EXPECT_EQ(ended, 2);
  opd_log_set_callback(nullptr, nullptr, deleter);
  EXPECT_EQ(ended, 3) << "without a callback, the data end at once";
  opd_log_set_callback(nullptr, nullptr, nullptr);
  EXPECT_EQ(ended, 3);
}

TEST(Log, GivesTheWarningsOfTheStartToTheFirstCallback) {
  if (!std::getenv("OPDYNO_TELEMETRY")) {  // it is read when the library is loaded, so another process has it
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    const std::string command =
        "OPDYNO_TELEMETRY=nonsense '" + self + "' --gtest_filter=Log.GivesTheWarnings* >/dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return;
  }
  {
    const LogMessages first;
    ASSERT_EQ(first.all().size(), 1u) << first.text();
    EXPECT_EQ(first.all()[0].level, OPD_LOG_WARNING);
    EXPECT_EQ(first.text().rfind("OPDYNO_TELEMETRY: ", 0), 0u) << first.text();
  }
  const LogMessages second;
  EXPECT_EQ(second.text(), "");
}

TEST(Objects, HaveATypeAndATypeKey) {
  EXPECT_EQ(opd_object_type(Tensor({1}, "float32").get()), OPD_TENSOR);
  Handle<opd_array> array;
  check(opd_array_create(nullptr, 0, array.out()));
  EXPECT_EQ(opd_object_type(array.get()), OPD_ARRAY);
  EXPECT_EQ(opd_object_type(nullptr), OPD_NONE);
  const auto key_of = [](const auto &handle) { return std::string(opd_type_key(opd_object_type(handle.get()))); };
  const Executable executable = Executable::assemble(".func f(x) {\n  ret %x\n}\n");
  Handle<opd_executable_builder> builder;
  check(opd_executable_builder_create(builder.out()));
  Handle<opd_params> params;
  check(opd_params_create(params.out()));
  EXPECT_EQ(key_of(executable), "opdyno.Executable");
  EXPECT_EQ(key_of(Vm(executable.to_module())), "opdyno.Vm");
  EXPECT_EQ(key_of(CancelToken::create()), "opdyno.Cancel");
  EXPECT_EQ(key_of(builder), "opdyno.Builder");
  EXPECT_EQ(key_of(params), "opdyno.Params");
}

TEST(Objects, ManyThreadsMayCountOne) {
  const Value text = string_value("shared by all threads");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) Value copy = text;
    });
  for (auto &thread : threads) thread.join();
  EXPECT_EQ(get_string(text.view()), "shared by all threads");
}

TEST(Values, AreEmptyOrNullIfTheirPointersAreNull) {
  const opd_value one[] = {opd_int(1), opd_int(2)};
  Handle<opd_map> map;
  check(opd_map_create(one, 1, map.out()));
  const opd_value key = opd_dltensor(nullptr), text = opd_cstring(nullptr);
  opd_value bytes = opd_none();
  bytes.type = OPD_BYTES_VIEW;
  Value out;
  expect_error(opd_map_get(map.get(), &key, out.out()), OPD_NOT_FOUND, "the map has no key NULL");
  EXPECT_EQ(text_of(opd_value_to_string, &key), "NULL");
  for (const opd_value &empty : {text, bytes}) EXPECT_EQ(get_string(Value::retain(empty).view()), "");
  check(opd_string_create(nullptr, 0, out.out()));
  EXPECT_EQ(get_string(out.view()), "");
  check(opd_bytes_create(nullptr, 0, out.out()));
  EXPECT_EQ(get_string(out.view()), "");
}

TEST(Values, LargerThanTheAddressSpaceAreAnError) {
  Value text;
  expect_error(opd_string_create("x", SIZE_MAX, text.out()), OPD_OUT_OF_MEMORY);
}

constexpr int kVeryDeep = 1'000'000;  // each level on the stack would need some 50 bytes of it: more than there are

TEST(Arrays, AreReleasedHoweverDeepTheyNest) {
  Handle<opd_array> outer;
  for (int i = 0; i < kVeryDeep; ++i) {
    const opd_value item = opd_value_of_object(outer.get());
    Handle<opd_array> next;
    check(opd_array_create(&item, 1, next.out()));
    outer = std::move(next);
  }
  const opd_value value = opd_value_of_object(outer.get());
  EXPECT_NE(text_of(opd_value_to_string, &value).find("..."), std::string::npos);

  Tensor view = floats({1, 2}), lent = floats({1, 2});
  const int64_t dims[] = {2};
  for (int i = 0; i < kVeryDeep; ++i) {
    Tensor next;
    check(opd_tensor_reshape(view.get(), dims, 1, next.out()));
    view = std::move(next);
  }
  for (int i = 0; i < kVeryDeep; ++i) {
    DLManagedTensor *managed = nullptr;
    check(opd_tensor_to_dlpack(lent.get(), &managed));
    check(opd_tensor_from_dlpack(managed, lent.out()));
  }
}

TEST(Map, NestDeeperThanTheStack) {
  Handle<opd_map> outer;
  for (int i = 0; i < 300000; ++i) {
    const opd_value pair[] = {opd_int(0), opd_value_of_object(outer.get())};
    Handle<opd_map> next;
    check(opd_map_create(pair, 1, next.out()));
    outer = std::move(next);
  }
}
