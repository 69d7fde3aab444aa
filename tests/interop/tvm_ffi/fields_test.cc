// Fields of classes: their flags, inherited ones, what holds and ends the values in them, and hooks for graphs.
#include "interop/tvm_ffi/classes.h"

using namespace tvm_ffi_test;

namespace {

struct Given {
  const char *name;
  int32_t kind;
  int64_t offset, size, flags = 0;
  Value preset = {};
  bool is_read = true, is_set = true;
};

int32_t make_type(const char *key, int32_t parent, const std::vector<Given> &fields, int64_t bytes) {
  const Text text(key);
  const int32_t depth = TVMFFIGetTypeInfo(parent)->depth + 1;
  const int32_t type = TVMFFITypeGetOrAllocIndex(&text, -1, depth, 0, 1, parent);
  for (const Given &given : fields) {
    Field field;
    const Value set = setter(given.kind);
    field.name = given.name;
    field.flags = given.flags | kSetterIsFunction;
    field.size = given.size, field.offset = given.offset;
    field.getter = given.is_read ? getter(given.kind) : nullptr;
    field.setter = given.is_set ? set.raw.u.object : nullptr;
    field.default_value = given.preset.raw;
    field.static_type = given.kind;
    EXPECT_EQ(TVMFFITypeRegisterField(type, &field), 0);
  }
  call("ffi._PyClassRegisterTypeAttrColumns", {type, bytes});
  EXPECT_EQ(last_error, "") << key;
  return type;
}
Value make(int32_t type, std::vector<Value> args) {
  args.insert(args.begin(), type);
  return call("ffi.MakeObjectFromPackedArgs", args);
}
int64_t number(const char *name, const std::vector<Value> &args) { return call(name, args).raw.u.int64; }

TEST(Fields, MayBeLeftOutOfComparisonsAndHashes) {
  const int32_t type = make_type("test.Flags", OPD_OBJECT,
                                 {{"all", OPD_INT, 24, 8},
                                  {"no_hash", OPD_INT, 32, 8, kHashOff},
                                  {"none", OPD_INT, 40, 8, kCompareOff},
                                  {"hidden", OPD_INT, 48, 8, kReprOff}},
                                 56);
  const auto object = [&](int all, int no_hash, int none) {
    return make(type, {"all", all, "no_hash", no_hash, "none", none, "hidden", 9});
  };
  const Value one = object(1, 1, 1);
  EXPECT_EQ(repr(one), "test.Flags(all=1, no_hash=1, none=1)");
  EXPECT_TRUE(number("ffi.RecursiveEq", {one, object(1, 1, 2)}));
  EXPECT_FALSE(number("ffi.RecursiveLt", {one, object(1, 1, 2)}));
  EXPECT_FALSE(number("ffi.RecursiveEq", {one, object(1, 2, 1)}));
  EXPECT_TRUE(number("ffi.RecursiveLt", {one, object(1, 2, 1)}));
  const int64_t hash = number("ffi.RecursiveHash", {one});
  EXPECT_EQ(number("ffi.RecursiveHash", {object(1, 1, 2)}), hash);
  EXPECT_EQ(number("ffi.RecursiveHash", {object(1, 2, 1)}), hash);
  EXPECT_NE(number("ffi.RecursiveHash", {object(2, 1, 1)}), hash);
}

TEST(Fields, AreNamedIfTheyCannotBeReadOrSet) {
  const int32_t unread = make_type("test.Unread", OPD_OBJECT, {{"x", OPD_INT, 24, 8, 0, {}, false, true}}, 32);
  call("ffi.ReprPrint", {make(unread, {"x", 1})});
  EXPECT_EQ(last_error, "TypeError: field `x` cannot be read");
  const int32_t unset = make_type("test.Unset", OPD_OBJECT, {{"y", OPD_INT, 24, 8, 0, {}, true, false}}, 32);
  make(unset, {"y", 1});
  EXPECT_EQ(last_error, "TypeError: field `y` cannot be set");
}

TEST(Fields, WithADefaultThatIsRefusedAreNamed) {
  const int32_t type = make_type("test.BadDefault", OPD_OBJECT, {{"any", kAny, 24, 16, kHasDefault, "refused"}}, 40);
  invoke(*attribute_of(type, "__ffi_init__"), {});
  EXPECT_EQ(last_error,
            "ValueError: test.BadDefault.__ffi_init__() default for field 'any':\n  the converter refuses it");
  const int32_t factory =
      make_type("test.BadFactory", OPD_OBJECT, {{"any", kAny, 24, 16, kHasDefault | kDefaultFromFactory, 7}}, 40);
  invoke(*attribute_of(factory, "__ffi_init__"), {});
  EXPECT_EQ(last_error,
            "TypeError: test.BadFactory.__ffi_init__() default for field 'any':\n  a default's factory must be "
            "ffi.Function, but is int");
}

TEST(Fields, BeginWithTheAncestorsFields) {
  const int32_t parent = make_type("test.Parent", OPD_OBJECT, {{"a", OPD_INT, 24, 8}, {"same", OPD_INT, 32, 8}}, 40);
  const int32_t child = make_type("test.Parent.Child", parent, {{"same", OPD_INT, 40, 8}, {"b", OPD_INT, 48, 8}}, 56);
  EXPECT_EQ(TVMFFIGetTypeInfo(child)->depth, 2);
  const opd_value &init = *attribute_of(child, "__ffi_init__");
  // By position a, same, same, b; by name the class's own one.
  const Value one = invoke(init, {1, 2, 3, 4});
  EXPECT_EQ(last_error, "");
  EXPECT_EQ(repr(one), "test.Parent.Child(a=1, same=2, b=4)") << "the ancestor's field is shown";
  const auto read = [](const Value &object, int64_t offset) {
    int64_t value;
    std::memcpy(&value, reinterpret_cast<const char *>(object.raw.u.object) + offset, sizeof value);
    return value;
  };
  EXPECT_EQ(read(one, 40), 3);
  const Value keywords = call("ffi.GetKwargsObject", {}), other = invoke(init, {1, 2, keywords, "same", 7, "b", 8});
  EXPECT_EQ(last_error, "");
  EXPECT_EQ(read(other, 32), 2);
  EXPECT_EQ(read(other, 40), 7);
  invoke(init, {1, 2, 3, 4, 5});
  EXPECT_EQ(last_error,
            "TypeError: test.Parent.Child.__ffi_init__() takes at most 4 positional argument(s), but 5 were given");
  // An object of the child is one of the parent; not the other way round.
  EXPECT_EQ(repr(invoke(*attribute_of(parent, "__ffi_shallow_copy__"), {one})), "test.Parent(a=1, same=2)");
  invoke(*attribute_of(child, "__ffi_shallow_copy__"), {make(parent, {"a", 1, "same", 2})});
  EXPECT_EQ(last_error, "TypeError: what is copied must be test.Parent.Child, but is test.Parent");
}

// An object that counts its end.
int ended = 0;
int nothing(void *, const opd_value *, int32_t, opd_value *) { return 0; }
Value counted() {
  void (*end)(void *) = [](void *) { ++ended; };
  return call("ffi.FunctionFromExternC",
              {pointer(&ended), pointer(reinterpret_cast<void *>(&nothing)), pointer(reinterpret_cast<void *>(end))});
}

TEST(Fields, HoldTheirObjectsUntilTheirOwnObjectEnds) {
  const int32_t type = make_type("test.Holder", OPD_OBJECT,
                                 {{"any", kAny, 24, 16}, {"part", OPD_OBJECT, 40, 8}, {"slot", kAny, 48, 8}}, 56);
  // A field of any type that has room for a pointer only holds an object.
  const auto set = [&](const Value &object, const char *name, const Value &value) {
    const Field *field = field_of(type, name);
    const Value place = pointer(place_of(object, *field));
    opd_value function = opd_none();
    function.type = OPD_FUNCTION, function.u.object = static_cast<opd_object *>(field->setter);
    if (std::string_view(name) == "slot") function = setter(OPD_OBJECT).raw;
    invoke(function, {place, value});
    EXPECT_EQ(last_error, "");
  };
  ended = 0;
  Value copy;
  {
    const Value holder = invoke(*attribute_of(type, "__ffi_new__"), {});
    for (const char *name : {"any", "part"}) set(holder, name, counted());
    EXPECT_EQ(ended, 0);
    for (const char *name : {"any", "part"}) set(holder, name, counted());
    EXPECT_EQ(ended, 2) << "those that were in the fields before";
    copy = invoke(*attribute_of(type, "__ffi_shallow_copy__"), {holder});
  }
  EXPECT_EQ(ended, 2) << "the copy holds them";
  copy = {};
  EXPECT_EQ(ended, 4);
}

TEST(Fields, AreDataOfGraphsIfTheirTypesArePlain) {
  const int32_t type = make_type("test.Plain", OPD_OBJECT,
                                 {{"i", OPD_INT, 24, 8},
                                  {"f", OPD_FLOAT, 32, 8},
                                  {"b", OPD_BOOL, 40, 1},
                                  {"d", OPD_DTYPE, 44, 4},
                                  {"where", OPD_DEVICE, 48, 8}},
                                 56);
  const Value yes = raw(OPD_BOOL, [](opd_value &v) { v.u.int64 = 1; });
  const Value device = raw(OPD_DEVICE, [](opd_value &v) { v.u.device = {kDLCUDA, 2}; });
  const Value one = make(type, {"i", 5, "f", 2.5, "b", yes, "d", "int8x4", "where", device});
  ASSERT_EQ(last_error, "");
  const Value graph = call("ffi.ToJSONGraphString", {one, {}});
  EXPECT_EQ(text(graph), R"({"root_index":1,"nodes":[{"type":"Device","data":[2,2]},{"type":"test.Plain","data":)"
                         R"({"i":5,"f":2.5,"b":true,"d":"int8x4","where":0}}]})");
  EXPECT_EQ(repr(call("ffi.FromJSONGraphString", {graph})), repr(one));
  EXPECT_EQ(repr(one), "test.Plain(i=5, f=2.5, b=True, d=int8x4, where=cuda:2)");
  const int32_t with_pointer = make_type("test.Pointer", OPD_OBJECT, {{"p", OPD_POINTER, 24, 8}}, 32);
  call("ffi.ToJSONGraph", {make(with_pointer, {"p", pointer(&ended)}), {}});
  EXPECT_EQ(last_error, "RuntimeError: Cannot serialize type `void*`");
}

TEST(Hooks, ReplaceTheFieldsInGraphs) {
  const int32_t type = make_type("test.Packed", OPD_OBJECT, {{"i", OPD_INT, 24, 8}}, 32);
  const auto set_hook = [&](const char *name, auto hook) {
    opd_function *function = nullptr;
    ASSERT_EQ(opd_function_create(hook, nullptr, nullptr, &function), nullptr);
    const Text text(name);
    const opd_value value = opd_value_of_object(function);
    EXPECT_EQ(TVMFFITypeRegisterAttr(type, &text, &value), 0) << name;
    opd_function_release(function);
  };
  set_hook("__data_to_json__", [](void *, const opd_value *, int32_t count, opd_value *out) -> opd_error * {
    *out = opd_int(40 + count);
    return nullptr;
  });
  set_hook("__data_from_json__", [](void *, const opd_value *args, int32_t count, opd_value *out) -> opd_error * {
    *out = opd_int(100 * args[0].u.int64 + count);
    return nullptr;
  });
  const Value graph = call("ffi.ToJSONGraphString", {make(type, {"i", 7}), {}});
  EXPECT_EQ(text(graph), R"({"root_index":0,"nodes":[{"type":"test.Packed","data":41}]})") << last_error;
  EXPECT_EQ(call("ffi.FromJSONGraphString", {graph}).raw.u.int64, 4101);
}

TEST(Constructors, AreMadeForTypesThatCanBeMade) {
  const Text key("test.Bare");
  const int32_t type = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, OPD_OBJECT);
  call("ffi._RegisterFFIInit", {type});
  EXPECT_EQ(last_error, "");
  invoke(*attribute_of(type, "__ffi_init__"), {});
  EXPECT_EQ(
      last_error,
      "RuntimeError: Type `test.Bare` does not support reflection creation (no native creator or __ffi_new__ type "
      "attr)");
  call("ffi._RegisterFFIInit", {1 << 28});
  EXPECT_EQ(last_error, "RuntimeError: there is no type of index 268435456");
}

TEST(Iterators, KeepTheirMapAndLists) {
  ended = 0;
  Value walk;
  {
    const Value map = call("ffi.Dict", {"key", counted()});
    walk = call("ffi.DictForwardIterFunctor", {map});
  }
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(repr(invoke(walk.raw, {0})), "\"key\"");
  walk = {};
  EXPECT_EQ(ended, 1);
  const Value list = call("ffi.List", {counted(), counted(), counted(), counted()});
  call("ffi.ListAppend", {list, counted()});  // into another block of memory
  EXPECT_EQ(ended, 1);
  call("ffi.ListSetItem", {list, 0, {}});
  EXPECT_EQ(ended, 2);
  call("ffi.ListErase", {list, 1});
  EXPECT_EQ(ended, 3);
  EXPECT_EQ(call("ffi.ListPop", {list, 1}).raw.type, OPD_FUNCTION);
  EXPECT_EQ(ended, 4);
  call("ffi.ListClear", {list});
  EXPECT_EQ(ended, 6);
  call("ffi.ListReplaceSlice", {list, 0, 0, 1});
  EXPECT_EQ(last_error, "TypeError: the replacement must be ffi.Array or ffi.List, but is int");
}

TEST(Representations, HaveAddressesIfTheEnvironmentAsksForThem) {
  const Value list = call("ffi.List", {1});
  char address[32];
  std::snprintf(address, sizeof address, "@0x%zx", reinterpret_cast<size_t>(list.raw.u.object));
  ::setenv("TVM_FFI_REPR_WITH_ADDR", "1", 1);
  EXPECT_EQ(repr(list), "[1]" + std::string(address));
  ::setenv("TVM_FFI_REPR_WITH_ADDR", "0", 1);
  EXPECT_EQ(repr(list), "[1]");
  ::unsetenv("TVM_FFI_REPR_WITH_ADDR");
}

TEST(Representations, ShowTheTypeTheShapeAndTheDeviceOfTensors) {
  const int64_t dims[] = {2, 3};
  opd_tensor *tensor = nullptr;
  ASSERT_EQ(opd_tensor_create(dims, 2, {kDLFloat, 32, 1}, {kDLCPU, 0}, &tensor), nullptr);
  const Value value = raw(OPD_TENSOR, [&](opd_value &v) { v.u.object = reinterpret_cast<opd_object *>(tensor); });
  EXPECT_EQ(repr(value), "float32[2, 3]@cpu:0");
}

}  // namespace
