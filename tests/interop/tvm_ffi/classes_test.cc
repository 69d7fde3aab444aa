// What Python's front end does with types: classes whose fields lie at offsets, and their constructors.
#include "interop/tvm_ffi/classes.h"

using namespace tvm_ffi_test;

namespace {

TEST(FieldsOfPythonsClasses, KeepValuesOfTheirTypes) {
  int64_t integer = 0;
  double real = 0;
  bool flag = false;
  void *address = nullptr;
  DLDataType dtype{};
  DLDevice device{};
  opd_value any = opd_none();
  opd_object *object = nullptr;
  const auto set = [](int32_t type, void *place, const Value &value) {
    invoke(setter(type).raw, {pointer(place), value});
    return last_error;
  };
  const auto get = [](int32_t type, void *place) {
    Value found;
    EXPECT_EQ(getter(type)(place, &found.raw), 0);
    return found;
  };
  EXPECT_EQ(set(OPD_INT, &integer, 42), "");
  EXPECT_EQ(integer, 42);
  EXPECT_EQ(repr(get(OPD_INT, &integer)), "42");
  EXPECT_EQ(set(OPD_FLOAT, &real, 2.5), "");
  EXPECT_EQ(real, 2.5);
  EXPECT_EQ(repr(get(OPD_FLOAT, &real)), "2.5");
  EXPECT_EQ(set(OPD_FLOAT, &real, 3), "") << "an integer is a number, too";
  EXPECT_EQ(real, 3);
  EXPECT_EQ(set(OPD_BOOL, &flag, raw(OPD_BOOL, [](opd_value &v) { v.u.int64 = 1; })), "");
  EXPECT_TRUE(flag);
  EXPECT_EQ(repr(get(OPD_BOOL, &flag)), "True");
  EXPECT_EQ(set(OPD_BOOL, &flag, 0), "");
  EXPECT_FALSE(flag);
  EXPECT_EQ(set(OPD_POINTER, &address, pointer(&integer)), "");
  EXPECT_EQ(address, &integer);
  EXPECT_EQ(get(OPD_POINTER, &address).raw.u.pointer, &integer);
  EXPECT_EQ(get(OPD_POINTER, &address).raw.type, OPD_POINTER);
  EXPECT_EQ(set(OPD_POINTER, &address, {}), "") << "None is NULL";
  EXPECT_EQ(address, nullptr);
  EXPECT_EQ(set(OPD_DTYPE, &dtype, raw(OPD_DTYPE, [](opd_value &v) { v.u.dtype = {kDLInt, 16, 2}; })), "");
  EXPECT_EQ(repr(get(OPD_DTYPE, &dtype)), "int16x2");
  EXPECT_EQ(set(OPD_DTYPE, &dtype, "float32"), "") << "the text of one is one";
  EXPECT_EQ(repr(get(OPD_DTYPE, &dtype)), "float32");
  EXPECT_EQ(set(OPD_DEVICE, &device, raw(OPD_DEVICE, [](opd_value &v) { v.u.device = {kDLCUDA, 3}; })), "");
  EXPECT_EQ(device.device_id, 3);
  EXPECT_EQ(repr(get(OPD_DEVICE, &device)), "cuda:3");
  for (const int32_t type : {kAny, static_cast<int32_t>(OPD_NONE)}) {
    EXPECT_EQ(set(type, &any, "a text that is long enough for an object"), "");
    EXPECT_EQ(text(get(type, &any)), "a text that is long enough for an object");
    EXPECT_EQ(set(type, &any, 7), "");
    EXPECT_EQ(any.u.int64, 7);
  }
  for (const int32_t type : {int32_t{OPD_OBJECT}, int32_t{OPD_ARRAY}}) {
    EXPECT_EQ(set(type, &object, call("ffi.Array", {Value(1), Value(2)})), "");
    EXPECT_EQ(repr(get(type, &object)), "(1, 2)");
    EXPECT_EQ(set(type, &object, {}), "");
    EXPECT_EQ(object, nullptr);
  }
}

TEST(FieldsOfPythonsClasses, RefuseValuesOfOtherTypes) {
  int64_t room[2] = {5, 6};
  const Value list = call("ffi.List", {});
  for (const auto &[type, value, message] :
       {std::tuple<int32_t, Value, const char *>{OPD_INT, "x", "the field must be"},
        {OPD_INT, 1.5, "the field must be"},
        {OPD_FLOAT, "x", "the field must be"},
        {OPD_BOOL, "x", "the field must be"},
        {OPD_POINTER, 1, "the field must be void*, but is int"},
        {OPD_DTYPE, list, "the field must be"},
        {OPD_DEVICE, "cpu", "the field must be Device, but is ffi.SmallStr"},
        {OPD_OBJECT, 1, "the field must be an object, but is int"},
        {7, 1, "ValueError: Unsupported field type index for setter: 7"},
        {kAny, "refused", "ValueError: the converter refuses it"}}) {
    invoke(setter(type).raw, {pointer(room), value});
    EXPECT_NE(last_error.find(message), std::string::npos) << type << ": " << last_error;
    EXPECT_EQ(room[0], 5);
    EXPECT_EQ(room[1], 6);
  }
  invoke(setter(OPD_INT).raw, {1, 1});
  EXPECT_EQ(last_error, "TypeError: the place of a field must be void*, but is int");
  invoke(setter(OPD_INT).raw, {pointer(room)});
  EXPECT_EQ(last_error, "TypeError: a field's setter takes 2 arguments, but was given 1");
  call("ffi.MakeFieldGetter", {7});
  EXPECT_EQ(last_error, "ValueError: Unsupported field type index for getter: 7");
  call("ffi.MakeFieldGetter", {63});
  EXPECT_EQ(last_error, "ValueError: Unsupported field type index for getter: 63");
  call("ffi.MakeFieldSetter", {Value(1), Value(0), Value(0)});
  EXPECT_EQ(last_error, "ValueError: ffi.MakeFieldSetter: the converter's function must not be NULL");
}

Value attribute(int32_t type, const char *name) {
  Value found;
  const opd_value *kept = attribute_of(type, name);
  EXPECT_TRUE(kept) << name;
  EXPECT_EQ(kept ? opd_value_retain(kept, &found.raw) : nullptr, nullptr);
  return found;
}

TEST(PythonsClasses, AreMadeOfNamedValues) {
  const int32_t type = make_class("test.Named");
  const Value one = call("ffi.MakeObjectFromPackedArgs", {type, "number", 3, "word", "w", "own", 9});
  EXPECT_EQ(repr(one), R"(test.Named(any="preset", number=3, part=[], word="w"))") << last_error;
  const Value other =
      call("ffi.MakeObjectFromPackedArgs", {"test.Named", "own", 9, "any", 1.5, "word", {}, "number", 4});
  EXPECT_EQ(repr(other), "test.Named(any=1.5, number=4, part=[], word=None)") << last_error;
  const std::pair<std::vector<Value>, const char *> bad[] = {
      {{"test.Named", "word", 1, "own", 1}, "TypeError: Required field `number` not set in type `test.Named`"},
      {{"test.Named", "number", 1, "word", 1, "own", 1, "none", 1},
       "TypeError: Type `test.Named` does not have field `none`"},
      {{"test.Named", "number", 1, "word", 1, "own", 1, "number", 2},
       "TypeError: Type `test.Named` does not have field `number`"},
      {{"test.NoSuch"}, "RuntimeError: Cannot find type `test.NoSuch`"},
      {{1 << 28}, "RuntimeError: there is no type of index 268435456"},
      {{"test.Named", "number"}, "ValueError: ffi.MakeObjectFromPackedArgs takes a type, then names and values"},
      {{}, "ValueError: ffi.MakeObjectFromPackedArgs takes a type, then names and values"}};
  for (const auto &[args, message] : bad) {
    call("ffi.MakeObjectFromPackedArgs", args);
    EXPECT_EQ(last_error, message);
  }
  call("ffi.MakeObjectFromPackedArgs", {type, "number", "x", "word", 1, "own", 1});
  EXPECT_NE(last_error.find("the field must be"), std::string::npos) << last_error;
  call("ffi.MakeObjectFromPackedArgs", {"ffi.Module"});
  EXPECT_NE(last_error.find("`ffi.Module` does not support reflection creation"), std::string::npos) << last_error;
}

TEST(PythonsClasses, HaveConstructorsOfPositionsAndKeywords) {
  const int32_t type = make_class("test.Made");
  const Value make = attribute(type, "__ffi_init__"), keywords = call("ffi.GetKwargsObject", {});
  EXPECT_EQ(repr(invoke(make.raw, {1, keywords, "word", 2})), R"(test.Made(any="preset", number=1, part=[], word=2))");
  // Parameters without a default come before those with one, whatever the order of the fields.
  const Value list = call("ffi.List", {Value(5)});
  EXPECT_EQ(repr(invoke(make.raw, {1, "a", list, keywords, "word", 2})),
            R"(test.Made(any="a", number=1, part=[5], word=2))");
  EXPECT_EQ(repr(invoke(make.raw, {keywords, "word", 2, "any", 7, "number", 8})),
            "test.Made(any=7, number=8, part=[], word=2)");
  const std::pair<std::vector<Value>, const char *> bad[] = {
      {{}, "missing required argument: 'number'"},
      {{1}, "missing required keyword-only argument: 'word'"},
      {{1, 2, list, 4}, "takes at most 3 positional argument(s), but 4 were given"},
      {{1, keywords, "word"}, "KWARGS requires an even number of key-value arguments"},
      {{1, keywords, "word", 1, "number", 2}, "got multiple values for argument 'number'"},
      {{1, keywords, "word", 1, "word", 2}, "got multiple values for argument 'word'"},
      {{1, keywords, "own", 1}, "got an unexpected keyword argument 'own'"},
      {{1, keywords, "none", 1}, "got an unexpected keyword argument 'none'"}};
  for (const auto &[args, message] : bad) {
    invoke(make.raw, args);
    EXPECT_EQ(last_error, std::string("TypeError: test.Made.__ffi_init__() ") + message);
  }
  invoke(make.raw, {"refused"});
  EXPECT_EQ(last_error, "ValueError: test.Made.__ffi_init__() field 'number':\n  the converter refuses it");
}

TEST(PythonsClasses, AreMadeEmptyAndCopied) {
  const int32_t type = make_class("test.Copied");
  const Value make = attribute(type, "__ffi_new__"), copy = attribute(type, "__ffi_shallow_copy__");
  EXPECT_EQ(repr(invoke(make.raw, {})), "test.Copied(any=None, number=0, part=None, word=None)");
  const Value list = call("ffi.List", {Value(1)});
  const Value one = call("ffi.MakeObjectFromPackedArgs", {type, "number", 3, "word", "a word", "own", 9, "part", list});
  const Value other = invoke(copy.raw, {one});
  EXPECT_NE(one.raw.u.object, other.raw.u.object);
  call("ffi.ListAppend", {list, 2});
  for (const Value &object : {one, other})  // both hold the same list
    EXPECT_EQ(repr(object), R"(test.Copied(any="preset", number=3, part=[1, 2], word="a word"))");
  const auto own = [](const Value &object) {
    int64_t number;
    std::memcpy(&number, reinterpret_cast<const char *>(object.raw.u.object) + 72, sizeof number);
    return number;
  };
  EXPECT_EQ(own(other), 9) << "fields that are not shown are copied, too";
  invoke(copy.raw, {list});
  EXPECT_EQ(last_error, "TypeError: what is copied must be test.Copied, but is ffi.List");
  invoke(copy.raw, {1});
  EXPECT_EQ(last_error, "TypeError: what is copied must be test.Copied, but is int");
  invoke(make.raw, {1});
  EXPECT_EQ(last_error, "TypeError: __ffi_new__ takes 0 arguments, but was given 1");
  const Text key("test.Small");
  const int32_t small = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, OPD_OBJECT);
  for (const int64_t bytes : {int64_t{-1}, int64_t{0}, int64_t{23}, int64_t{1} << 30}) {
    call("ffi._PyClassRegisterTypeAttrColumns", {small, bytes});
    EXPECT_EQ(last_error, "ValueError: objects of type test.Small cannot have " + std::to_string(bytes) + " bytes");
  }
  call("ffi._PyClassRegisterTypeAttrColumns", {small, 24});
  EXPECT_EQ(last_error, "") << "a header alone";
  EXPECT_EQ(repr(invoke(attribute(small, "__ffi_init__").raw, {})), "test.Small");
}

TEST(PythonsClasses, KeepTheirFieldsInGraphs) {
  const int32_t type = make_class("test.Kept");
  const Value list = call("ffi.List", {5});
  const Value one = call("ffi.MakeObjectFromPackedArgs", {type, "number", 3, "word", 2.5, "own", 9, "part", list});
  const Value graph = call("ffi.ToJSONGraphString", {call("ffi.Array", {one, list}), {}});
  // Integers lie in the object's data, all else are nodes.
  EXPECT_EQ(text(graph), R"({"root_index":5,"nodes":[{"type":"ffi.String","data":"preset"},{"type":"int","data":5},)"
                         R"({"type":"ffi.List","data":[1]},{"type":"float","data":2.5},{"type":"test.Kept","data":)"
                         R"({"any":0,"number":3,"part":2,"word":3,"own":9}},{"type":"ffi.Array","data":[4,2]}]})")
      << last_error;
  const Value back = call("ffi.FromJSONGraphString", {graph});
  EXPECT_EQ(repr(back), R"((test.Kept(any="preset", number=3, part=[5], word=2.5), [5]))") << last_error;
  const auto decoded = [](const std::string &data) {
    const std::string graph =
        R"({"root_index":0,"nodes":[{"type":"test.Kept","data":)" + data + R"(},{"type":"None"}]})";
    const Value made = call("ffi.FromJSONGraphString", {graph.c_str()});
    return last_error.empty() ? repr(made) : last_error;
  };
  EXPECT_EQ(decoded(R"({"number":1,"word":1,"own":1})"), R"(test.Kept(any="preset", number=1, part=[], word=None))");
  EXPECT_EQ(decoded(R"({"number":1,"word":1})"), "TypeError: Required field `own` not set in type `test.Kept`");
  EXPECT_EQ(decoded("[]"), "TypeError: an object's data must be an object, but is ffi.Array");
  EXPECT_NE(decoded(R"({"number":"x","word":1,"own":1})").find("TypeError: a value in a JSON Object Graph"),
            std::string::npos);
  opd_function *function = nullptr;
  EXPECT_EQ(opd_function_get_global("ffi.List", &function), nullptr);
  Value plain;
  plain.raw.type = OPD_FUNCTION, plain.raw.u.object = reinterpret_cast<opd_object *>(function);
  call("ffi.ToJSONGraph", {plain, {}});
  EXPECT_EQ(last_error,
            "TypeError: Type `ffi.Function` does not support ToJSONGraph (no native creator or __ffi_new__ "
            "type attr)");
}

TEST(PythonsClasses, AreComparedHashedAndCopiedFieldByField) {
  const int32_t type = make_class("test.Compared");
  const auto make = [&](const Value &number, const Value &word, const Value &part) {
    return call("ffi.MakeObjectFromPackedArgs", {type, "number", number, "word", word, "own", 1, "part", part});
  };
  const auto less = [](const Value &a, const Value &b) { return call("ffi.RecursiveLt", {a, b}).raw.u.int64 != 0; };
  const auto equal = [](const Value &a, const Value &b) { return call("ffi.RecursiveEq", {a, b}).raw.u.int64 != 0; };
  const auto hash = [](const Value &a) { return call("ffi.RecursiveHash", {a}).raw.u.int64; };
  const Value list = call("ffi.List", {1}), one = make(1, "w", list), same = make(1, "w", call("ffi.List", {1}));
  EXPECT_TRUE(equal(one, same));
  EXPECT_EQ(hash(one), hash(same));
  for (const Value &other : {make(2, "w", list), make(1, "x", list), make(1, "w", call("ffi.List", {2}))}) {
    EXPECT_TRUE(less(one, other));
    EXPECT_FALSE(less(other, one));
    EXPECT_FALSE(equal(one, other));
    EXPECT_NE(hash(one), hash(other));
  }
  // The first field that differs decides.
  EXPECT_TRUE(less(make(1, "z", list), make(2, "a", list)));
  const Value copy = call("ffi.DeepCopy", {one});
  call("ffi.ListAppend", {list, 2});
  EXPECT_EQ(repr(one), R"(test.Compared(any="preset", number=1, part=[1, 2], word="w"))");
  EXPECT_EQ(repr(copy), R"(test.Compared(any="preset", number=1, part=[1], word="w"))");
  // An array that holds an object that holds the array.
  const Value array = call("ffi.Array", {one}), whole = make(1, array, {});
  EXPECT_EQ(repr(call("ffi.DeepCopy", {whole})), repr(whole));
}

// ---- functions of a class that are asked in place of its fields

int64_t number_of(const opd_value &object) {
  int64_t number = 0;
  std::memcpy(&number, reinterpret_cast<const char *>(object.u.object) + 24,
              sizeof number);  // where make_class() has it
  return number;
}

using Hook = opd_error *(*)(void *, const opd_value *args, int32_t num_args, opd_value *out);
void set_hook(int32_t type, const char *name, Hook hook) {
  opd_function *function = nullptr;
  ASSERT_EQ(opd_function_create(hook, nullptr, nullptr, &function), nullptr);
  const Text text(name);
  const opd_value value = opd_value_of_object(function);
  EXPECT_EQ(TVMFFITypeRegisterAttr(type, &text, &value), 0) << name;
  opd_function_release(function);
}

struct Hooked {
  int32_t type;
  Value operator()(int number, const Value &word) const {
    return call("ffi.MakeObjectFromPackedArgs", {type, "number", number, "word", word, "own", 1, "part", {}});
  }
};
bool is(const char *relation, const Value &a, const Value &b) { return call(relation, {a, b}).raw.u.int64 != 0; }

TEST(PythonsClasses, AreComparedByTheirOwnEqualityAndOrderedByTheirFields) {
  const Hooked make{make_class("test.OwnEquality")};
  set_hook(make.type, "__ffi_eq__", [](void *, const opd_value *args, int32_t, opd_value *out) -> opd_error * {
    *out = opd_bool(number_of(args[0]) == number_of(args[1]));
    return nullptr;
  });
  const Value one = make(1, "a"), same = make(1, "b"), other = make(2, "a");
  EXPECT_TRUE(is("ffi.RecursiveEq", one, same));
  EXPECT_FALSE(is("ffi.RecursiveEq", one, other));
  EXPECT_TRUE(is("ffi.RecursiveEq", call("ffi.Array", {one}), call("ffi.Array", {same})));
  EXPECT_TRUE(is("ffi.RecursiveLt", one, same)) << "the words differ";
  EXPECT_FALSE(is("ffi.RecursiveLt", same, one));
  EXPECT_TRUE(is("ffi.RecursiveLt", same, other));
  call("ffi.RecursiveHash", {one});
  EXPECT_NE(last_error.find("defines __ffi_eq__ or __ffi_compare__ but not __ffi_hash__"), std::string::npos)
      << last_error;
  set_hook(make.type, "__ffi_hash__", [](void *, const opd_value *args, int32_t, opd_value *out) -> opd_error * {
    *out = opd_int(3 * number_of(args[0]));
    return nullptr;
  });
  EXPECT_EQ(call("ffi.RecursiveHash", {one}).raw.u.int64, 3);
  EXPECT_EQ(call("ffi.RecursiveHash", {call("ffi.Array", {one})}).raw.u.int64,
            call("ffi.RecursiveHash", {call("ffi.Array", {same})}).raw.u.int64);
}

TEST(PythonsClasses, AreOrderedByTheirOwnComparison) {
  const Hooked make{make_class("test.OwnOrder")};
  set_hook(make.type, "__ffi_compare__", [](void *, const opd_value *args, int32_t, opd_value *out) -> opd_error * {
    *out = opd_int(number_of(args[1]) - number_of(args[0]));  // the larger one comes first
    return nullptr;
  });
  const Value one = make(1, "a"), same = make(1, "b"), two = make(2, "a");
  EXPECT_TRUE(is("ffi.RecursiveLt", two, one));
  EXPECT_FALSE(is("ffi.RecursiveLt", one, two));
  EXPECT_FALSE(is("ffi.RecursiveLt", one, same));
  EXPECT_TRUE(is("ffi.RecursiveLe", one, same));
  EXPECT_TRUE(is("ffi.RecursiveGe", one, two));
  EXPECT_TRUE(is("ffi.RecursiveEq", one, same));
  EXPECT_FALSE(is("ffi.RecursiveEq", one, two));
}

// A hook may ask for the comparison, or the hash, of a part by the function that it is given.
TEST(PythonsClasses, MayCompareAndHashTheirPartsAsOthersAre) {
  const Hooked make{make_class("test.OwnParts")};
  struct Parts {
    static opd_value word_of(const opd_value &object) {  // borrowed from the field, where make_class() has it
      opd_value word;
      std::memcpy(&word, reinterpret_cast<const char *>(object.u.object) + 56, sizeof word);
      return word;
    }
    static opd_error *ask(const opd_value &inner, std::vector<opd_value> parts, opd_value *out) {
      return opd_function_call(reinterpret_cast<opd_function *>(inner.u.object), parts.data(),
                               static_cast<int32_t>(parts.size()), out);
    }
  };
  set_hook(make.type, "__ffi_eq__", [](void *, const opd_value *args, int32_t, opd_value *out) {
    opd_error *error = Parts::ask(args[2], {Parts::word_of(args[0]), Parts::word_of(args[1])}, out);
    EXPECT_EQ(out->type, OPD_BOOL);
    return error;
  });
  set_hook(make.type, "__ffi_compare__", [](void *, const opd_value *args, int32_t, opd_value *out) {
    opd_error *error =
        Parts::ask(args[2], {Parts::word_of(args[1]), Parts::word_of(args[0])}, out);  // the larger first
    EXPECT_EQ(out->type, OPD_INT);
    return error;
  });
  set_hook(make.type, "__ffi_hash__", [](void *, const opd_value *args, int32_t, opd_value *out) {
    return Parts::ask(args[1], {Parts::word_of(args[0])}, out);
  });
  const auto list = [](int64_t item) { return call("ffi.List", {item}); };
  const Value one = make(1, list(5)), same = make(2, list(5)), other = make(1, list(6));
  EXPECT_TRUE(is("ffi.RecursiveEq", one, same)) << "the lists have equal content";
  EXPECT_FALSE(is("ffi.RecursiveEq", one, other));
  EXPECT_TRUE(is("ffi.RecursiveLt", other, one));
  EXPECT_FALSE(is("ffi.RecursiveLt", one, other));
  EXPECT_TRUE(is("ffi.RecursiveLe", one, same));
  EXPECT_EQ(call("ffi.RecursiveHash", {one}).raw.u.int64, call("ffi.RecursiveHash", {list(5)}).raw.u.int64);
  EXPECT_NE(call("ffi.RecursiveHash", {one}).raw.u.int64, call("ffi.RecursiveHash", {other}).raw.u.int64);
}

TEST(PythonsClasses, AreShownByTheirOwnText) {
  const Hooked make{make_class("test.OwnText")};
  set_hook(make.type, "__ffi_repr__", [](void *, const opd_value *args, int32_t, opd_value *out) -> opd_error * {
    const opd_value number = opd_int(10 * number_of(args[0]));
    return opd_function_call(reinterpret_cast<opd_function *>(args[1].u.object), &number, 1, out);  // of a part
  });
  EXPECT_EQ(repr(make(4, "a")), "40");
  EXPECT_EQ(repr(call("ffi.Array", {make(4, "a"), make(5, "b")})), "(40, 50)");
}

}  // namespace
