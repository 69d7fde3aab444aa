// What Python's front end does with types: classes whose fields lie at offsets, their constructors, and paths to parts
// of objects. The structs are those of tvm-ffi's c_api.h,
// as those in globals.h.
#include <cstdlib>

#include "interop/tvm_ffi/globals.h"

using namespace tvm_ffi_test;

namespace {

enum Flag : int64_t {
  kHasDefault = 1 << 1,
  kDefaultFromFactory = 1 << 5,
  kReprOff = 1 << 6,
  kInitOff = 1 << 9,
  kKeywordOnly = 1 << 10,
  kSetterIsFunction = 1 << 11
};

}  // namespace

extern "C" {
int32_t TVMFFITypeGetOrAllocIndex(const Text *key, int32_t index, int32_t depth, int32_t slots, int32_t overflow,
                                  int32_t parent);
int TVMFFITypeRegisterField(int32_t type, const Field *field);
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
int TVMFFIBigIntFromByteArray(const Text *bytes, opd_value *out);
}

namespace {

constexpr int32_t kAny = -1;

// What the front end does with a value before it is stored. Here a text "refused" is.
int convert(void *, const opd_value *value, opd_value *out) {
  const char *data = nullptr;
  size_t size = 0;
  opd_error *error = opd_string_get(value, &data, &size);
  const bool is_refused = !error && std::string_view(data, size) == "refused";
  opd_error_release(error);
  if (is_refused) return TVMFFIErrorSetRaisedFromCStr("ValueError", "the converter refuses it"), -1;
  return opd_value_retain(value, out) ? -1 : 0;
}

Getter getter(int32_t type) { return reinterpret_cast<Getter>(call("ffi.MakeFieldGetter", {type}).raw.u.int64); }
Value setter(int32_t type) {
  return call("ffi.MakeFieldSetter", {type, 0, static_cast<int64_t>(reinterpret_cast<intptr_t>(&convert))});
}

// Calls an object that is a function. None, with last_error set, if the call fails.
Value invoke(const opd_value &function, const std::vector<Value> &args) {
  std::vector<opd_value> views;
  for (const Value &arg : args) views.push_back(arg.raw);
  Value result;
  EXPECT_EQ(function.type, OPD_FUNCTION);
  if (function.type != OPD_FUNCTION) return result;
  opd_error *error = opd_function_call(reinterpret_cast<opd_function *>(function.u.object), views.data(),
                                       static_cast<int32_t>(views.size()), &result.raw);
  last_error = error ? std::string(opd_error_kind(error)) + ": " + opd_error_message(error) : "";
  opd_error_release(error);
  return result;
}

Value raw(int32_t type, auto set) {
  Value made;
  made.raw.type = type;
  set(made.raw);
  return made;
}
Value pointer(void *to) {
  return raw(OPD_POINTER, [to](opd_value &v) { v.u.pointer = to; });
}

TEST(Globals, RefuseAnotherNumberOfArguments) {
  const std::pair<const char *, int> arities[] = {{"ffi.DeepCopy", 1},
                                                  {"ffi.ToJSONGraph", 2},
                                                  {"ffi.ToJSONGraphString", 2},
                                                  {"ffi.FromJSONGraph", 1},
                                                  {"ffi.FromJSONGraphString", 1},
                                                  {"ffi.json.Parse", 1},
                                                  {"ffi.RecursiveEq", 2},
                                                  {"ffi.RecursiveHash", 1},
                                                  {"ffi.RecursiveLt", 2},
                                                  {"ffi.RecursiveLe", 2},
                                                  {"ffi.RecursiveGt", 2},
                                                  {"ffi.RecursiveGe", 2},
                                                  {"ffi.ReprPrint", 1},
                                                  {"ffi._RegisterFFIInit", 1},
                                                  {"ffi.ArrayGetItem", 2},
                                                  {"ffi.ArraySize", 1},
                                                  {"ffi.ArrayContains", 2},
                                                  {"ffi.ListGetItem", 2},
                                                  {"ffi.ListSize", 1},
                                                  {"ffi.ListContains", 2},
                                                  {"ffi.ListSetItem", 3},
                                                  {"ffi.ListAppend", 2},
                                                  {"ffi.ListInsert", 3},
                                                  {"ffi.ListPop", 2},
                                                  {"ffi.ListErase", 2},
                                                  {"ffi.ListEraseRange", 3},
                                                  {"ffi.ListReplaceSlice", 4},
                                                  {"ffi.ListReverse", 1},
                                                  {"ffi.ListClear", 1},
                                                  {"ffi.MapSize", 1},
                                                  {"ffi.MapGetItem", 2},
                                                  {"ffi.MapGetItemOrMissing", 2},
                                                  {"ffi.MapCount", 2},
                                                  {"ffi.MapForwardIterFunctor", 1},
                                                  {"ffi.DictSize", 1},
                                                  {"ffi.DictGetItem", 2},
                                                  {"ffi.DictGetItemOrMissing", 2},
                                                  {"ffi.DictCount", 2},
                                                  {"ffi.DictForwardIterFunctor", 1},
                                                  {"ffi.DictSetItem", 3},
                                                  {"ffi.DictErase", 2},
                                                  {"ffi.DictClear", 1},
                                                  {"ffi.ContainerFindFirstNonCPUDevice", 1},
                                                  {"ffi.GetInvalidObject", 0},
                                                  {"ffi.GetKwargsObject", 0},
                                                  {"ffi.String", 1},
                                                  {"ffi.Bytes", 1},
                                                  {"ffi.FunctionFromExternC", 3},
                                                  {"ffi.MakeFieldGetter", 1},
                                                  {"ffi.MakeFieldSetter", 3},
                                                  {"ffi._PyClassRegisterTypeAttrColumns", 2}};
  for (const auto &[name, arity] : arities)
    for (const int given : {arity - 1, arity + 1}) {
      if (given < 0) continue;
      call(name, std::vector<Value>(static_cast<size_t>(given)));
      EXPECT_EQ(last_error, "TypeError: " + std::string(name) + " takes " + std::to_string(arity) + " argument" +
                                (arity == 1 ? "" : "s") + ", but was given " + std::to_string(given));
    }
}

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

TEST(FieldsOfPythonsClasses, RefuseWhatIsNoneOfTheirTypes) {
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
  EXPECT_EQ(last_error, "ValueError: ffi.MakeFieldSetter was given no function");
}

// A class with an object's header of 24 bytes and these fields: `number` without a default; `any` with one; `part`, an
// object, from a factory; `word`, of keywords only; `own`, which the constructor does not take.
constexpr int64_t kClassBytes = 24 + 8 + 16 + 8 + 16 + 8;

int32_t make_class(const char *key) {
  const Text text(key);
  const int32_t type = TVMFFITypeGetOrAllocIndex(&text, -1, 1, 0, 1, OPD_OBJECT);
  const auto add = [&](const char *name, int32_t kind, int64_t offset, int64_t size, int64_t flags, Value preset = {}) {
    Field field;
    const Value set = setter(kind);
    field.name = name;
    field.flags = flags | kSetterIsFunction;
    field.size = size, field.offset = offset;
    field.getter = getter(kind);
    field.setter = set.raw.u.object;
    field.default_value = preset.raw;
    field.static_type = kind;
    EXPECT_EQ(TVMFFITypeRegisterField(type, &field), 0);
  };
  add("any", kAny, 32, 16, kHasDefault, "preset");
  add("number", OPD_INT, 24, 8, 0);
  Value factory;
  opd_function *function = nullptr;
  opd_error *error = opd_function_get_global("ffi.List", &function);
  EXPECT_EQ(error, nullptr);
  factory.raw.type = OPD_FUNCTION, factory.raw.u.object = reinterpret_cast<opd_object *>(function);
  add("part", OPD_OBJECT, 48, 8, kHasDefault | kDefaultFromFactory, factory);
  add("word", kAny, 56, 16, kKeywordOnly);
  add("own", OPD_INT, 72, 8, kInitOff | kReprOff);
  call("ffi._PyClassRegisterTypeAttrColumns", {type, kClassBytes});
  EXPECT_EQ(last_error, "");
  return type;
}

Value attribute(int32_t type, const char *name) {
  const Text text(name);
  const Column *column = TVMFFIGetTypeAttrColumn(&text);
  Value found;
  EXPECT_TRUE(column && type >= column->begin && type - column->begin < column->size) << name;
  if (!column) return found;
  EXPECT_EQ(opd_value_retain(&column->data[type - column->begin], &found.raw), nullptr);
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

int add_seven(void *self, const opd_value *args, int32_t count, opd_value *out) {
  if (count != 1) return TVMFFIErrorSetRaisedFromCStr("TypeError", "one argument"), -1;
  *out = opd_int(args[0].u.int64 + 7 + (self ? *static_cast<int64_t *>(self) : 0));
  return 0;
}

TEST(FunctionsOfC, AreMadeOfAnAddressAndAState) {
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
  const Value fresh = invoke(attribute(type_of("ffi.EnumState")->index, "__ffi_init__").raw, {});
  EXPECT_EQ(repr(fresh), "ffi.EnumState(entries=[], indexes={}, attrs={})");
  EXPECT_EQ(type_of("ffi.IntEnum")->ancestors[1], type_of("ffi.Enum"));
  EXPECT_EQ(type_of("ffi.StrEnum")->ancestors[1], type_of("ffi.Enum"));
}

TEST(Containers, FindWhatTheyHold) {
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

TEST(Containers, TellOfTheFirstTensorThatIsNotTheProcessors) {
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
  for (int i = 0; i < 1100; ++i) deep = call("ffi.List", {deep});
  call("ffi.ContainerFindFirstNonCPUDevice", {deep});
  EXPECT_EQ(last_error, "RecursionError: containers are nested more than 1000 deep");
}

TEST(Representations, AreThoseOfPython) {
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
