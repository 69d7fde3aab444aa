// Values that a caller made by hand, with an object's type and the object NULL: they are refused where they are taken,
// and nothing ends with them.
#include "support/opdyno_test.h"

using namespace opdyno_test;

namespace {

constexpr int32_t kTypes[] = {OPD_OBJECT, OPD_STRING, OPD_BYTES, OPD_ERROR, OPD_FUNCTION,
                              OPD_SHAPE,  OPD_TENSOR, OPD_ARRAY, OPD_MAP,   OPD_MODULE};

opd_value null_of(int32_t type) {
  opd_value value = opd_none();
  value.type = type;
  return value;
}
std::string name_of(int32_t type) { return opd_type_key(type); }
std::string told(opd_error *error, opd_code code = OPD_INVALID_ARGUMENT) {
  if (!error) return "no error";
  const Error e(error);
  EXPECT_EQ(e.code(), code) << e.message();
  return e.message();
}

TEST(ValuesWithoutAnObject, AreReleasedAsNothing) {
  for (const int32_t type : kTypes) {
    opd_value value = null_of(type);
    opd_value_release(&value);
    EXPECT_EQ(value.type, OPD_NONE) << name_of(type);
  }
}

TEST(ValuesWithoutAnObject, AreNotKept) {
  for (const int32_t type : kTypes) {
    const std::string message = "a value of type " + name_of(type) + " has the object NULL; pass none instead";
    const opd_value value = null_of(type), pair[] = {opd_int(1), value};
    opd_value out = opd_int(7);
    EXPECT_EQ(told(opd_value_retain(&value, &out)), message);
    EXPECT_EQ(out.u.int64, 7);
    opd_array *array = nullptr;
    EXPECT_EQ(told(opd_array_create(pair, 2, &array)), message);
    EXPECT_EQ(array, nullptr);
    opd_map *map = nullptr;
    EXPECT_EQ(told(opd_map_create(pair, 1, &map)), message);
    EXPECT_EQ(map, nullptr);
  }
}

TEST(ValuesWithoutAnObject, AreShownAndFoundLikeOthers) {
  Handle<opd_map> map;
  const opd_value pair[] = {opd_int(1), opd_int(2)};
  check(opd_map_create(pair, 1, map.out()));
  for (const int32_t type : kTypes) {
    const opd_value value = null_of(type);
    EXPECT_EQ(text_of(opd_value_to_string, &value), "NULL");
    opd_value found = opd_none();
    EXPECT_EQ(told(opd_map_get(map.get(), &value, &found), OPD_NOT_FOUND), "the map has no key NULL");
  }
  const char *data = nullptr;
  size_t size = 0;
  const opd_value text = null_of(OPD_STRING), bytes = null_of(OPD_BYTES);
  EXPECT_EQ(told(opd_string_get(&text, &data, &size)),
            "value must be a string, but is ffi.String with the object NULL");
  EXPECT_EQ(told(opd_string_get(&bytes, &data, &size)),
            "value must be a string, but is ffi.Bytes with the object NULL");
}

TEST(ValuesWithoutAnObject, AreRefusedAsArgumentsOfPrograms) {
  const Vm vm(Executable::assemble(".func same(x) {\n  ret %x\n}\n").to_module());
  for (const int32_t type : kTypes) {
    const opd_value value = null_of(type);
    opd_value result = opd_none();
    EXPECT_EQ(told(opd_vm_call(vm.get(), "same", &value, 1, nullptr, &result)),
              "a value of type " + name_of(type) + " has the object NULL; pass none instead");
    EXPECT_EQ(result.type, OPD_NONE);
  }
}

TEST(ValuesWithoutAnObject, AreRefusedAsArgumentsOfBuiltins) {
  Function shape_of;
  check(opd_function_get_global("vm.builtin.shape_of", shape_of.out()));
  const opd_value tensor = null_of(OPD_TENSOR);
  opd_value result = opd_none();
  const std::string message = told(opd_function_call(shape_of.get(), &tensor, 1, &result));
  EXPECT_NE(message.find("must be a tensor, but is ffi.Tensor with the object NULL"), std::string::npos) << message;
}

// What a callback gives, a program would hold and release.
TEST(ValuesWithoutAnObject, AreRefusedAsResultsOfCallbacks) {
  define("value_null_test.gives",
         [](const opd_value *args, int32_t, opd_value *out) { *out = null_of(static_cast<int32_t>(args[0].u.int64)); });
  const Vm vm(Executable::assemble(".func f(x) {\n  %y = call value_null_test.gives(%x)\n  ret %y\n}\n").to_module());
  for (const int32_t type : kTypes) {
    const opd_value number = opd_int(type);
    opd_value result = opd_none();
    const std::string message = told(opd_vm_call(vm.get(), "f", &number, 1, nullptr, &result), OPD_CALL_FAILED);
    EXPECT_NE(message.find("the function returned a value of type " + name_of(type) + " with the object NULL"),
              std::string::npos)
        << message;
    EXPECT_EQ(result.type, OPD_NONE);
  }
  EXPECT_EQ(vm.call("f", 0).type(), int{OPD_NONE});
}

}  // namespace
