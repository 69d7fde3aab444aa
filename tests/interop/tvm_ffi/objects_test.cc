// Objects of tvm-ffi's own classes: big integers, functions of C, access paths, enums, containers, and how each is
// shown.
#include "interop/tvm_ffi/globals.h"

using namespace tvm_ffi_test;

extern "C" {
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
int TVMFFIBigIntFromByteArray(const Text *bytes, opd_value *out);
}

namespace {

// Words of 64 bits, the lowest first, of a number in two's complement.
Value big(std::vector<int64_t> words) {
  Text bytes;
  bytes.data = reinterpret_cast<const char *>(words.data()), bytes.size = words.size() * sizeof(int64_t);
  Value made;
  EXPECT_EQ(TVMFFIBigIntFromByteArray(&bytes, &made.raw), 0);
  return made;
}

TEST(BigIntegers, AreShownInDecimal) {
  EXPECT_EQ(repr(big({0, 1})), "18446744073709551616");
  EXPECT_EQ(repr(big({-1, 0})), "18446744073709551615");
  EXPECT_EQ(repr(big({0, -1})), "-18446744073709551616");
  EXPECT_EQ(repr(big({-1, -2})), "-18446744073709551617");
  EXPECT_EQ(repr(big({0, 0, 1})), "340282366920938463463374607431768211456");
  EXPECT_EQ(repr(big({0, 0, -1})), "-340282366920938463463374607431768211456");
  EXPECT_EQ(repr(big({static_cast<int64_t>(10000000000000000000u), 0})), "10000000000000000000") << "with its zeros";
  EXPECT_EQ(repr(big({0x4e10000000000000, 5})), "97858716303133507584");
  EXPECT_EQ(repr(big({-7})), "-7") << "one word is a plain integer";
}

TEST(BigIntegers, AreOrderedAndHashedByTheirValue) {
  const Value ascending[] = {
      big({0, 0, -1}), big({-1, -2}), big({0, -1}), big({1, -1}), Value(INT64_MIN), -1,          0,
      INT64_MAX,       big({-1, 0}),  big({0, 1}),  big({1, 1}),  big({-1, 1}),     big({0, 2}), big({0, 0, 1})};
  const auto holds = [](const char *name, const Value &a, const Value &b) {
    const bool holds = call(name, {a, b}).raw.u.int64 != 0;
    EXPECT_EQ(last_error, "");
    return holds;
  };
  for (const Value &a : ascending)
    for (const Value &b : ascending) {
      EXPECT_EQ(holds("ffi.RecursiveLt", a, b), &a < &b) << repr(a) << " and " << repr(b);
      EXPECT_EQ(holds("ffi.RecursiveEq", a, b), &a == &b) << repr(a) << " and " << repr(b);
    }
  const auto hash = [](const Value &a) { return call("ffi.RecursiveHash", {a}).raw.u.int64; };
  EXPECT_EQ(hash(big({5, 6})), hash(big({5, 6})));
  EXPECT_NE(hash(big({5, 6})), hash(big({6, 5})));
  const Value map = call("ffi.Map", {big({5, 6}), "found"});
  EXPECT_EQ(repr(call("ffi.MapGetItemOrMissing", {map, big({5, 6})})), "\"found\"") << "as keys, too";
  EXPECT_EQ(repr(call("ffi.MapGetItemOrMissing", {map, big({5, 7})})), "<MISSING>");
}

// C++ that was compiled with tvm-ffi's headers asks these for itself.
TEST(BigIntegers, HaveHooksForForeignCode) {
  const auto hook = [](const char *name, const std::vector<Value> &args) {
    const Value result = invoke(*attribute_of("ffi.BigInt", name), args);
    return last_error.empty() ? repr(result) : last_error;
  };
  const Value one = big({5, 6}), same = big({5, 6}), more = big({5, 7});
  EXPECT_EQ(hook("__any_equal__", {one, same}), "True");
  EXPECT_EQ(hook("__any_equal__", {one, more}), "False");
  EXPECT_EQ(hook("__ffi_eq__", {one, same, {}}), "True");
  EXPECT_EQ(hook("__ffi_eq__", {one, more, {}}), "False");
  EXPECT_EQ(hook("__ffi_compare__", {one, more, {}}), "-1");
  EXPECT_EQ(hook("__ffi_compare__", {more, one, {}}), "1");
  EXPECT_EQ(hook("__any_hash__", {one}), hook("__ffi_hash__", {same, {}}));
  EXPECT_NE(hook("__any_hash__", {one}), hook("__any_hash__", {more}));
  EXPECT_EQ(hook("__ffi_eq__", {one, same}), "TypeError: __ffi_eq__ takes 3 arguments, but was given 2");
}

int add_seven(void *self, const opd_value *args, int32_t count, opd_value *out) {
  if (count != 1) return TVMFFIErrorSetRaisedFromCStr("TypeError", "one argument"), -1;
  *out = opd_int(args[0].u.int64 + 7 + (self ? *static_cast<int64_t *>(self) : 0));
  return 0;
}

TEST(FunctionFromExternC, TakesAnAddressAndAState) {
  static int64_t state = 100;
  static int ended = 0;
  const auto pointer_to = [](auto *function) { return pointer(reinterpret_cast<void *>(function)); };
  {
    const Value plain = call("ffi.FunctionFromExternC", {{}, pointer_to(&add_seven), {}});
    EXPECT_EQ(invoke(plain.raw, {1}).raw.u.int64, 8) << last_error;
    invoke(plain.raw, {1, 2});
    EXPECT_EQ(last_error, "TypeError: one argument");
    void (*end)(void *) = [](void *self) { ended += self == &state; };
    const Value with_state =
        call("ffi.FunctionFromExternC", {pointer(&state), pointer_to(&add_seven), pointer_to(end)});
    EXPECT_EQ(invoke(with_state.raw, {1}).raw.u.int64, 108) << last_error;
    EXPECT_EQ(ended, 0);
  }
  EXPECT_EQ(ended, 1);
  call("ffi.FunctionFromExternC", {1, pointer_to(&add_seven), {}});
  EXPECT_EQ(last_error, "TypeError: ffi.FunctionFromExternC's argument must be void*, but is int");
}

// The methods of ffi.reflection.AccessPath, which tvm-ffi's C++ calls by their names, too.
Value path_method(const char *name, const std::vector<Value> &args) {
  const Type *type = type_of("ffi.reflection.AccessPath");
  for (int32_t i = 0; i < type->num_methods; ++i)
    if (std::string_view(type->methods[i].name.data, type->methods[i].name.size) == name)
      return invoke(type->methods[i].method, args);
  ADD_FAILURE() << "there is no method " << name;
  return {};
}

TEST(AccessPaths, NameThePartsOfAnObject) {
  const Value root = path_method("_root", {});
  EXPECT_EQ(repr(root), "<root>");
  const Value attribute = path_method("_attr", {root, "name"}), item = path_method("_array_item", {attribute, 3}),
              entry = path_method("_map_item", {item, "key"});
  EXPECT_EQ(repr(entry), R"(<root>.name[3]["key"])");
  EXPECT_EQ(repr(path_method("_attr_missing", {item, "gone"})), R"(<root>.name[3][<missing:"gone">])");
  EXPECT_EQ(repr(path_method("_array_item_missing", {attribute, 4})), "<root>.name[<missing:4>]");
  EXPECT_EQ(repr(path_method("_map_item_missing", {root, 1.5})), "<root>[<missing:1.5>]");
  const Value steps = path_method("_to_steps", {entry});
  EXPECT_EQ(repr(steps), R"((.name, [3], ["key"]))");
  EXPECT_EQ(repr(path_method("_extend", {root, call("ffi.ArrayGetItem", {steps, 1})})), "<root>[3]");
  EXPECT_EQ(repr(path_method("_to_steps", {root})), "()");
}

TEST(AccessPaths, AreComparedStepByStep) {
  const auto path = [](const char *name, int64_t place) {
    return path_method("_array_item", {path_method("_attr", {path_method("_root", {}), name}), place});
  };
  const Value root = path_method("_root", {}), one = path("a", 1), same = path("a", 1);
  const auto equal = [](const Value &a, const Value &b) { return path_method("_path_equal", {a, b}).raw.u.int64 != 0; };
  const auto begins = [](const Value &a, const Value &b) {
    return path_method("_is_prefix_of", {a, b}).raw.u.int64 != 0;
  };
  EXPECT_TRUE(equal(one, same));
  EXPECT_FALSE(equal(one, path("a", 2)));
  EXPECT_FALSE(equal(one, path("b", 1)));
  EXPECT_FALSE(equal(one, root));
  EXPECT_FALSE(equal(path_method("_array_item", {root, 1}), path_method("_map_item", {root, 1})));
  EXPECT_TRUE(equal(root, path_method("_root", {})));
  const Value longer = path_method("_attr", {same, "z"});
  EXPECT_TRUE(begins(root, one));
  EXPECT_TRUE(begins(one, longer));
  EXPECT_TRUE(begins(one, one));
  EXPECT_FALSE(begins(longer, one));
  EXPECT_FALSE(begins(path("a", 2), longer));
  path_method("_is_prefix_of", {one, 1});
  EXPECT_EQ(last_error, "TypeError: the path must be ffi.reflection.AccessPath, but is int");
}

// Fields of classes that are written in C++, as the front end gets and sets them.
TEST(FieldsOfClasses, AreReadAndSet) {
  const Value step =
      call("ffi.ArrayGetItem", {path_method("_to_steps", {path_method("_attr", {path_method("_root", {}), "a"})}), 0});
  const auto read = [](const char *key, const char *name, const Value &object) {
    Value found;
    EXPECT_EQ(read_field(type_of(key)->index, name, object, &found.raw), 0) << name;
    return repr(found);
  };
  constexpr const char *kStep = "ffi.reflection.AccessStep", *kPath = "ffi.reflection.AccessPath";
  EXPECT_EQ(read(kStep, "kind", step), "0");
  EXPECT_EQ(read(kStep, "key", step), "\"a\"");
  EXPECT_EQ(write_field(kStep, "kind", step, 1), "");
  EXPECT_EQ(write_field(kStep, "key", step, 7), "");
  EXPECT_EQ(repr(step), "[7]");
  EXPECT_NE(write_field(kStep, "kind", step, "x").find("the field must be"), std::string::npos);
  EXPECT_EQ(repr(step), "[7]");
  const Value path = path_method("_attr", {path_method("_root", {}), "b"});
  EXPECT_EQ(read(kPath, "depth", path), "1");
  EXPECT_EQ(read(kPath, "parent", path), "<root>");
  EXPECT_EQ(write_field(kPath, "step", path, step), "");
  EXPECT_EQ(repr(path), "<root>[7]");
  EXPECT_EQ(write_field(kPath, "step", path, path),
            "TypeError: the field must be ffi.reflection.AccessStep, but is ffi.reflection.AccessPath");
  const Value root = path_method("_root", {});
  EXPECT_EQ(read(kPath, "step", root), "None");
  EXPECT_EQ(write_field(kPath, "step", root, step), "");
  EXPECT_EQ(read(kPath, "step", root), "[7]");
  EXPECT_EQ(write_field(kPath, "step", root, {}), "");
  EXPECT_EQ(read(kPath, "step", root), "None");
}

TEST(Enums, AreObjectsWithANumberAndAName) {
  const Value one = call("ffi.MakeObjectFromPackedArgs", {"ffi.Enum", "_int_index", 3, "_str_index", "three"});
  EXPECT_EQ(repr(one), "ffi.Enum.three") << last_error;
  call("ffi.MakeObjectFromPackedArgs", {"ffi.Enum", "_int_index", "x", "_str_index", "three"});
  EXPECT_NE(last_error.find("the field must be"), std::string::npos) << last_error;
  const Value state =
      call("ffi.MakeObjectFromPackedArgs", {"ffi.EnumState", "entries", call("ffi.List", {1}), "indexes",
                                            call("ffi.Dict", {"a", 2}), "attrs", call("ffi.Dict", {})});
  EXPECT_EQ(repr(state), R"(ffi.EnumState(entries=[1], indexes={"a": 2}, attrs={}))") << last_error;
  const Value fresh = invoke(*attribute_of("ffi.EnumState", "__ffi_init__"), {});
  EXPECT_EQ(repr(fresh), "ffi.EnumState(entries=[], indexes={}, attrs={})");
  EXPECT_EQ(type_of("ffi.IntEnum")->ancestors[1], type_of("ffi.Enum"));
  EXPECT_EQ(type_of("ffi.StrEnum")->ancestors[1], type_of("ffi.Enum"));
}

TEST(Containers, FindTheirItems) {
  const Value list = call("ffi.List", {1, "two", 2.5});
  const Value array = call("ffi.Array", {1, "two", 2.5});
  for (const auto &[prefix, sequence] : {std::pair<std::string, Value>{"ffi.List", list}, {"ffi.Array", array}}) {
    const auto contains = [&prefix = prefix, &sequence = sequence](const Value &item) {
      return call((prefix + "Contains").c_str(), {sequence, item}).raw.u.int64 != 0;
    };
    EXPECT_TRUE(contains(1));
    EXPECT_TRUE(contains("two"));
    EXPECT_TRUE(contains(2.5));
    EXPECT_FALSE(contains(2));
    EXPECT_FALSE(contains("tw"));
    EXPECT_EQ(call((prefix + "Size").c_str(), {sequence}).raw.u.int64, 3);
    EXPECT_EQ(repr(call((prefix + "GetItem").c_str(), {sequence, 2})), "2.5");
    call((prefix + "GetItem").c_str(), {sequence, 3});
    EXPECT_EQ(last_error, "IndexError: Index 3 out of bounds 3");
  }
  call("ffi.ListInsert", {list, 3, "end"});
  EXPECT_EQ(last_error, "");
  call("ffi.ListInsert", {list, 5, "beyond"});
  EXPECT_EQ(last_error, "IndexError: Index 5 out of bounds 4");
  call("ffi.ListErase", {list, 0});
  EXPECT_EQ(repr(list), R"(["two", 2.5, "end"])");
  call("ffi.ListErase", {list, 3});
  EXPECT_EQ(last_error, "IndexError: Index 3 out of bounds 3");
  call("ffi.ListEraseRange", {list, 2, 1});
  EXPECT_EQ(last_error, "IndexError: Erase range [2, 1) out of bounds 3");
  call("ffi.ListEraseRange", {list, 1, 1});
  EXPECT_EQ(last_error, "");
  EXPECT_EQ(call("ffi.ListSize", {list}).raw.u.int64, 3);
  for (const std::string prefix : {"ffi.Map", "ffi.Dict"}) {
    const Value map = call(prefix.c_str(), {"a", 1, 2, "b"});
    const auto of = [&](const char *action, const Value &key) { return call((prefix + action).c_str(), {map, key}); };
    EXPECT_EQ(of("Count", "a").raw.u.int64, 1);
    EXPECT_EQ(of("Count", "b").raw.u.int64, 0);
    EXPECT_EQ(of("GetItem", "a").raw.u.int64, 1);
    EXPECT_EQ(repr(of("GetItemOrMissing", 2)), "\"b\"");
    EXPECT_EQ(repr(of("GetItemOrMissing", 3)), "<MISSING>");
    EXPECT_EQ(call((prefix + "Size").c_str(), {map}).raw.u.int64, 2);
    call(prefix.c_str(), {"a"});
    EXPECT_EQ(last_error, "ValueError: " + prefix + " takes keys and values, but was given 1 arguments");
    call((prefix + "Size").c_str(), {list});
    EXPECT_EQ(last_error, "TypeError: the map must be ffi.Map or ffi.Dict, but is ffi.List");
    const Value walk = call((prefix + "ForwardIterFunctor").c_str(), {call(prefix.c_str(), {})});
    EXPECT_EQ(invoke(walk.raw, {2}).raw.u.int64, 0) << "there is no next entry";
    for (const int64_t command : {0, 1}) {
      invoke(walk.raw, {command});
      EXPECT_NE(last_error.find("the iterator of a map is at its end"), std::string::npos) << last_error;
    }
  }
}

TEST(Containers, FindTheFirstTensorOfAnotherDevice) {
  const auto device = [](const Value &value) { return repr(call("ffi.ContainerFindFirstNonCPUDevice", {value})); };
  const auto tensor = [](DLDeviceType type, int32_t id) {
    static int64_t dims[] = {1};
    static float data[1];
    auto *managed = new DLManagedTensor{};
    managed->dl_tensor = {data, {type, id}, 1, {kDLFloat, 32, 1}, dims, nullptr, 0};
    managed->deleter = [](DLManagedTensor *self) { delete self; };
    opd_tensor *made = nullptr;
    EXPECT_EQ(opd_tensor_from_dlpack(managed, &made), nullptr);
    Value value;
    value.raw.type = OPD_TENSOR, value.raw.u.object = reinterpret_cast<opd_object *>(made);
    return value;
  };
  const Value near = tensor(kDLCPU, 0), far = tensor(kDLCUDA, 2), farther = tensor(kDLCUDA, 5);
  EXPECT_EQ(device(near), "cpu:0");
  EXPECT_EQ(device(far), "cuda:2");
  EXPECT_EQ(device(1), "cpu:0");
  EXPECT_EQ(device(call("ffi.List", {near, call("ffi.Array", {1, far}), farther})), "cuda:2");
  EXPECT_EQ(device(call("ffi.Map", {"a", near, "b", call("ffi.List", {farther, far})})), "cuda:5");
  EXPECT_EQ(device(call("ffi.Map", {})), "cpu:0");
  Value deep = call("ffi.List", {far});
  for (int i = 1; i < 1000; ++i) deep = call("ffi.List", {deep});
  EXPECT_EQ(device(deep), "cuda:2") << "a tensor in 1000 lists";
  call("ffi.ContainerFindFirstNonCPUDevice", {call("ffi.List", {deep})});
  EXPECT_EQ(last_error, "RecursionError: containers are nested more than 1000 deep");
}

TEST(Representations, LookAsInPython) {
  EXPECT_EQ(repr("tab\t return\r back\\slash \"quoted\""), R"("tab\t return\r back\\slash \"quoted\"")");
  EXPECT_EQ(repr("\x01\x1f\x7f ~"), R"("\x01\x1f\x7f ~")");
  EXPECT_EQ(repr("\u00e9\u20ac\U0001f600"), R"("\u00e9\u20ac\U0001f600")");
  EXPECT_EQ(repr("\xc3(\xe2\x82!\xf0\x9f\x98!\xff"), R"("\xc3(\xe2\x82!\xf0\x9f\x98!\xff")") << "no UTF-8";
  EXPECT_EQ(repr(call("ffi.Bytes", {"a \"\\\x1f\x7f\xff~"})), R"(b"a \x22\x5c\x1f\x7f\xff~")");
  EXPECT_EQ(repr(1234567.0), "1.23457e+06");
  EXPECT_EQ(repr(0.1), "0.1");
  EXPECT_EQ(repr(raw(OPD_BOOL, [](opd_value &v) { v.u.int64 = 0; })), "False");
  EXPECT_EQ(repr(raw(OPD_DEVICE, [](opd_value &v) { v.u.device = {kDLCPU, 1}; })), "cpu:1");
  EXPECT_EQ(repr(call("ffi.Array", {})), "()");
  EXPECT_EQ(repr(call("ffi.Array", {1, 2})), "(1, 2)");
  EXPECT_EQ(repr(call("ffi.List", {1})), "[1]");
  EXPECT_EQ(repr(call("ffi.Shape", {})), "Shape()");
  EXPECT_EQ(repr(call("ffi.GetKwargsObject", {})), "<KWARGS>");
  const Value twice = call("ffi.Array", {7});
  EXPECT_EQ(repr(call("ffi.List", {twice, twice})), "[(7,), (7,)]") << "what appears twice is shown twice";
  call("ffi.Shape", {1, 2.5});
  EXPECT_EQ(last_error, "ValueError: Expect shape to take list of int arguments, but argument 1 is float");
}

}  // namespace
