// The global functions that libopdyno_tvmffi defines when it is loaded, called through opdyno's own interface.
#include "interop/tvm_ffi/globals.h"

#include <cmath>
#include <opdyno/opdyno.hpp>

extern "C" void TVMFFIGetVersion(uint32_t *out_version);  // so that the library is linked
extern "C" int TVMFFIEnvModRegisterSystemLibSymbol(const char *name, void *address);

namespace {

using namespace tvm_ffi_test;

TEST(Globals, ReportTheVersionOfTvmFfi) {
  uint32_t version[3] = {};
  TVMFFIGetVersion(version);
  EXPECT_EQ(version[0] * 10000 + version[1] * 100 + version[2], 115u);
}

TEST(Globals, ShowValuesAsPythonDoes) {
  EXPECT_EQ(repr(Value()), "None");
  EXPECT_EQ(repr(1.5), "1.5");
  EXPECT_EQ(repr("a\n\"\x01é"), R"("a\n\"\x01\u00e9")");
  EXPECT_EQ(repr(call("ffi.Array", {Value(1)})), "(1,)");
  EXPECT_EQ(repr(call("ffi.String", {"abc"})), "\"abc\"");
  call("ffi.String", {Value(1)});
  EXPECT_NE(last_error.find("TypeError"), std::string::npos) << last_error;
  EXPECT_EQ(repr(call("ffi.Map", {"key", call("ffi.List", {Value(1), "x"})})), R"({"key": [1, "x"]})");
  EXPECT_EQ(repr(call("ffi.Shape", {Value(2), Value(3)})), "Shape(2, 3)");
  const Value list = call("ffi.List", {});
  call("ffi.ListAppend", {list, list});
  EXPECT_EQ(repr(list), "[...]");
  call("ffi.ListClear", {list});
}

TEST(Globals, ChangeLists) {
  const Value list = call("ffi.List", {Value(0), Value(1), Value(2)});
  for (int64_t i = 3; i < 20; ++i) call("ffi.ListAppend", {list, i});
  EXPECT_EQ(call("ffi.ListSize", {list}).raw.u.int64, 20);
  EXPECT_EQ(call("ffi.ListPop", {list, Value(19)}).raw.u.int64, 19);
  call("ffi.ListEraseRange", {list, Value(3), Value(19)});
  call("ffi.ListInsert", {list, Value(1), "between"});
  call("ffi.ListReplaceSlice", {list, Value(0), Value(1), list});  // by itself
  EXPECT_EQ(repr(list), R"([0, "between", 1, 2, "between", 1, 2])");
  call("ffi.ListReverse", {list});
  call("ffi.ListSetItem", {list, Value(0), Value()});
  EXPECT_EQ(repr(list), R"([None, 1, "between", 2, 1, "between", 0])");
  call("ffi.ListGetItem", {list, Value(7)});
  EXPECT_EQ(last_error, "IndexError: Index 7 out of bounds 7");
  call("ffi.ListSetItem", {list, Value(-1), Value()});
  EXPECT_EQ(last_error, "IndexError: Index -1 out of bounds 7");
  call("ffi.ListEraseRange", {list, Value(3), Value(2)});
  EXPECT_NE(last_error, "");
  call("ffi.ListAppend", {Value(1), Value(1)});
  EXPECT_EQ(last_error, "TypeError: the list must be ffi.List, but is int");
  call("ffi.ListAppend", {list});
  EXPECT_EQ(last_error, "TypeError: ffi.ListAppend takes 2 arguments, but was given 1");
}

TEST(Globals, ChangeAndWalkDicts) {
  const Value dict = call("ffi.Dict", {});
  for (int64_t i = 0; i < 30; ++i) call("ffi.DictSetItem", {dict, i, 2 * i});
  for (int64_t i = 0; i < 30; i += 2) call("ffi.DictErase", {dict, i});
  const Value walk = call("ffi.DictForwardIterFunctor", {dict});
  int64_t expected = 1;
  for (bool more = true; more; expected += 2) {
    Value key, value, next;
    const opd_value commands[] = {opd_int(0), opd_int(1), opd_int(2)};
    auto *step = reinterpret_cast<opd_function *>(walk.raw.u.object);
    EXPECT_EQ(opd_function_call(step, &commands[0], 1, &key.raw), nullptr);
    EXPECT_EQ(opd_function_call(step, &commands[1], 1, &value.raw), nullptr);
    EXPECT_EQ(opd_function_call(step, &commands[2], 1, &next.raw), nullptr);
    EXPECT_EQ(key.raw.u.int64, expected);
    EXPECT_EQ(value.raw.u.int64, 2 * expected);
    more = next.raw.u.int64;
  }
  EXPECT_EQ(expected, 31);
  call("ffi.DictGetItem", {dict, Value(0)});
  EXPECT_EQ(last_error, "KeyError: key is not in Map");
  EXPECT_EQ(repr(call("ffi.DictGetItemOrMissing", {dict, Value(0)})), "<MISSING>");
  call("ffi.DictClear", {dict});
  EXPECT_EQ(call("ffi.DictSize", {dict}).raw.u.int64, 0);
}

TEST(Globals, CompareHashAndCopyByContent) {
  const auto make = [](int64_t last) {
    return call("ffi.List", {call("ffi.Map", {"a", Value(1), "b", 2.5}), call("ffi.Array", {last})});
  };
  const Value one = make(3), same = call("ffi.DeepCopy", {one}), more = make(4);
  EXPECT_NE(one.raw.u.object, same.raw.u.object);
  EXPECT_TRUE(call("ffi.RecursiveEq", {one, same}).raw.u.int64);
  EXPECT_FALSE(call("ffi.RecursiveEq", {one, more}).raw.u.int64);
  EXPECT_EQ(call("ffi.RecursiveHash", {one}).raw.u.int64, call("ffi.RecursiveHash", {same}).raw.u.int64);
  EXPECT_TRUE(call("ffi.RecursiveLt", {one, more}).raw.u.int64);
  call("ffi.RecursiveLt", {Value(1), "1"});
  EXPECT_EQ(last_error, "TypeError: Cannot compare values of different types: int vs ffi.SmallStr");
  call("ffi.ListAppend", {one, one});  // a copy holds itself, too
  const Value circle = call("ffi.DeepCopy", {one});
  EXPECT_EQ(call("ffi.ListGetItem", {circle, Value(2)}).raw.u.object, circle.raw.u.object);
  for (const Value &list : {one, circle}) call("ffi.ListClear", {list});
}

TEST(Globals, CompareAnItemThatAppearsTwice) {
  const auto list = [](int64_t last) {
    const Value part = call("ffi.Array", {Value(7)});
    return call("ffi.List", {part, part, last});
  };
  EXPECT_TRUE(call("ffi.RecursiveLt", {list(1), list(2)}).raw.u.int64) << last_error;
}

TEST(Globals, MapsOfDifferentSizesDiffer) {
  const Value one = call("ffi.Map", {"a", Value(1)}), two = call("ffi.Map", {"a", Value(1), "b", Value(2)});
  EXPECT_FALSE(call("ffi.RecursiveEq", {one, two}).raw.u.int64);
  EXPECT_FALSE(call("ffi.RecursiveEq", {two, one}).raw.u.int64);
}

TEST(Globals, EqualNumbersHaveEqualHashes) {
  const auto hash = [](double number) { return call("ffi.RecursiveHash", {number}).raw.u.int64; };
  EXPECT_EQ(hash(0.0), hash(-0.0));
  EXPECT_EQ(hash(std::nan("1")), hash(-std::nan("2")));
  EXPECT_NE(hash(0.0), hash(1.0));
}

TEST(Globals, ACopyOfAnArrayThatHoldsItselfHoldsTheCopy) {
  const Value list = call("ffi.List", {}), array = call("ffi.Array", {list});
  call("ffi.ListAppend", {list, array});
  const Value copy = call("ffi.DeepCopy", {array}), copied_list = call("ffi.ArrayGetItem", {copy, Value(0)});
  EXPECT_NE(copy.raw.u.object, array.raw.u.object);
  EXPECT_NE(copied_list.raw.u.object, list.raw.u.object);
  EXPECT_EQ(call("ffi.ListGetItem", {copied_list, Value(0)}).raw.u.object, copy.raw.u.object);
  for (const Value &circle : {list, copied_list}) call("ffi.ListClear", {circle});
}

TEST(Globals, WriteAndReadJson) {
  const char *document = R"({"a": [1, -2.5, true, null, "x\u00e9\ud83d\ude00\n"], "b": {}})";
  EXPECT_EQ(text(call("ffi.json.Parse", {"\"a b\""})), "a b") << last_error;
  call("ffi.json.Parse", {"\"a\x1f\""});
  EXPECT_NE(last_error.find("control character"), std::string::npos) << last_error;
  const Value value = call("ffi.json.Parse", {document});
  EXPECT_EQ(text(call("ffi.json.Stringify", {value})), "{\"a\":[1,-2.5,true,null,\"xé😀\\n\"],\"b\":{}}");
  for (const char *bad :
       {"", "[1,", "{\"a\" 1}", "[1] 2", "\"\\ud800\"", "\"\\q\"", "01x", "tru", "[1 2]", "\"a\nb\""}) {
    call("ffi.json.Parse", {bad});
    EXPECT_EQ(last_error.rfind("ValueError: JSON text", 0), 0u) << bad << ": " << last_error;
  }
  call("ffi.json.Parse", {std::string(5000, '[').c_str()});
  EXPECT_NE(last_error.find("nested more than"), std::string::npos);
}

TEST(Globals, KeepObjectsInGraphs) {
  const Value shared = call("ffi.Array", {"twice", Value(1)});
  const Value list =
      call("ffi.List", {shared, shared, call("ffi.Bytes", {"raw bytes"}), call("ffi.Shape", {Value(7)})});
  const Value graph = call("ffi.ToJSONGraphString", {list, Value()});
  const Value back = call("ffi.FromJSONGraphString", {graph});
  EXPECT_EQ(last_error, "");
  EXPECT_TRUE(call("ffi.RecursiveEq", {list, back}).raw.u.int64);
  EXPECT_EQ(call("ffi.ListGetItem", {back, Value(0)}).raw.u.object,
            call("ffi.ListGetItem", {back, Value(1)}).raw.u.object);
  for (const char *bad :
       {"[]", "{}", R"({"root_index":3,"nodes":[]})", R"({"root_index":0,"nodes":[{"type":"none such"}]})",
        R"({"root_index":0,"nodes":[{"type":"ffi.Array","data":[0]}]})",
        R"({"root_index":0,"nodes":[{"type":"ffi.Map","data":[1]},{"type":"None"}]})",
        R"({"root_index":0,"nodes":[{"type":"Device","data":[1]}]})"}) {
    call("ffi.FromJSONGraphString", {bad});
    EXPECT_NE(last_error, "") << bad;
  }
}

TEST(Globals, SymbolsOfLinkedObjectsHaveANameAndAnAddress) {
  int object = 0;
  for (const auto &[name, address] : {std::pair<const char *, void *>{nullptr, &object}, {"__tvm_ffi_none", nullptr}}) {
    EXPECT_EQ(TVMFFIEnvModRegisterSystemLibSymbol(name, address), -1);
    opd_error *error = nullptr;
    TVMFFIErrorMoveFromRaised(&error);
    ASSERT_NE(error, nullptr);
    EXPECT_STREQ(opd_error_message(error), "TVMFFIEnvModRegisterSystemLibSymbol was given NULL");
    opd_error_release(error);
  }
  EXPECT_EQ(TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_some", &object), 0);
}

TEST(Globals, ListLinkedObjectsWithoutTheirPrefix) {
  int object = 0;
  for (const char *name : {"__tvm_ffi_one_f", "__tvm_ffi_one_g", "__tvm_ffi_one__metadata_f", "__tvm_ffi_other_h"})
    EXPECT_EQ(TVMFFIEnvModRegisterSystemLibSymbol(name, &object), 0);
  const auto names = [](const char *prefix) { return opdyno::Module::system_lib(prefix).functions(); };
  EXPECT_EQ(names("one_"), (std::vector<std::string>{"f", "g"}));
  EXPECT_EQ(names("other_"), (std::vector<std::string>{"h"}));
  EXPECT_EQ(names("nobody_has_this_prefix_"), std::vector<std::string>());
  const auto module = opdyno::Module::system_lib("one_");
  EXPECT_TRUE(module.implements("f"));
  EXPECT_TRUE(module.implements("one_f")) << "as programs name their kernels";
  EXPECT_FALSE(module.implements("h"));
}

// tvm-ffi's C++ passes an object that it gives away as a reference to its own pointer (type 10, ObjectRValueRef).
TEST(Globals, TakeObjectsByRvalueReference) {
  const auto called = [](const char *name, const std::vector<opd_value> &args) {
    opd_function *function = nullptr;
    EXPECT_EQ(opd_function_get_global(name, &function), nullptr) << name;
    Value result;
    EXPECT_EQ(opd_function_call(function, args.data(), static_cast<int32_t>(args.size()), &result.raw), nullptr)
        << name;
    opd_function_release(function);
    return result;
  };
  const Value array = call("ffi.Array", {Value(7), Value(8)}), list = call("ffi.List", {Value(9)});
  void *object = array.raw.u.object;
  opd_value given = opd_none();
  given.type = 10, given.u.pointer = &object;
  EXPECT_EQ(called("ffi.ArraySize", {given}).raw.u.int64, 2);
  EXPECT_EQ(called("ffi.ArrayGetItem", {given, opd_int(1)}).raw.u.int64, 8);
  EXPECT_TRUE(called("ffi.RecursiveEq", {given, given}).raw.u.int64);
  EXPECT_EQ(text(called("ffi.ReprPrint", {given})), "(7, 8)");
  called("ffi.ListAppend", {list.raw, given});
  EXPECT_EQ(repr(list), "[9, (7, 8)]");
}

TEST(Globals, ListRegisteredFunctions) {
  const Value list = call("ffi.FunctionListGlobalNamesFunctor", {});
  opd_value count = opd_none(), all = opd_int(-1);
  EXPECT_EQ(opd_function_call(reinterpret_cast<opd_function *>(list.raw.u.object), &all, 1, &count), nullptr);
  EXPECT_GT(count.u.int64, 60);
  EXPECT_NE(text(invoke(list.raw, {0})), "");
  EXPECT_NE(text(invoke(list.raw, {count.u.int64 - 1})), "");
  invoke(list.raw, {count.u.int64});
  const std::string number = std::to_string(count.u.int64);
  EXPECT_EQ(last_error, "IndexError: function " + number + " of " + number);
  invoke(list.raw, {});
  EXPECT_EQ(last_error, "TypeError: the list of functions(index) takes 1 argument, but was given 0");
  EXPECT_EQ(call("ffi.FunctionRemoveGlobal", {"no such function"}).raw.u.int64, 0);
  call("ffi.GetGlobalFuncMetadata", {"no such function"});
  EXPECT_EQ(last_error.rfind("RuntimeError", 0), 0u);
  EXPECT_GT(opd_array_count(reinterpret_cast<opd_array *>(call("ffi.GetRegisteredTypeKeys", {}).raw.u.object)), 20);
  call("ffi.ModuleLoadFromFile", {"no/such/file.so"});
  EXPECT_NE(last_error.find("no/such/file.so"), std::string::npos);
}

TEST(Globals, NameTheirArgumentsInErrors) {
  const std::tuple<const char *, const char *, int> signatures[] = {
      {"ffi.FunctionRemoveGlobal", "ffi.FunctionRemoveGlobal(name)", 1},
      {"ffi.GetGlobalFuncMetadata", "ffi.GetGlobalFuncMetadata(name)", 1},
      {"ffi.ModuleLoadFromFile", "ffi.ModuleLoadFromFile(file_name)", 1},
      {"ffi.ModuleGetFunction", "ffi.ModuleGetFunction(module, name, query_imports)", 3},
      {"ffi.ModuleGetFunctionMetadata", "what a module tells about a function(module, name, query_imports)", 3},
      {"ffi.ModuleGetFunctionDoc", "what a module tells about a function(module, name, query_imports)", 3},
      {"ffi.ModuleGetKind", "ffi.ModuleGetKind", 1},
      {"ffi.ModuleGetPropertyMask", "ffi.ModuleGetPropertyMask", 1},
      {"ffi.ModuleGetWriteFormats", "ffi.ModuleGetWriteFormats", 1},
      {"ffi.ModuleClearImports", "ffi.ModuleClearImports", 1},
      {"ffi.ModuleGlobalsAdd", "ffi.ModuleGlobalsAdd", 1},
      {"ffi.ModuleGlobalsRemove", "ffi.ModuleGlobalsRemove", 1},
      {"ffi.ModuleImportModule", "ffi.ModuleImportModule", 2},
      {"ffi.ModuleInspectSource", "ffi.ModuleInspectSource", 2},
      {"ffi.ModuleWriteToFile", "ffi.ModuleWriteToFile", 3},
      {"ffi.ModuleImplementsFunction", "ffi.ModuleImplementsFunction", 3}};
  for (const auto &[name, shown, arity] : signatures)
    for (const int given : {arity - 1, arity + 1}) {
      call(name, std::vector<Value>(static_cast<size_t>(given)));
      EXPECT_EQ(last_error, "TypeError: " + std::string(shown) + " takes " + std::to_string(arity) + " argument" +
                                (arity == 1 ? "" : "s") + ", but was given " + std::to_string(given));
    }
  call("ffi.SystemLib", {"a", "b"});
  EXPECT_EQ(last_error, "ValueError: ffi.SystemLib takes a prefix");
  call("ffi.ModuleGetKind", {1});
  EXPECT_EQ(last_error, "TypeError: the module must be ffi.Module, but is int");
}

// The attribute of Python's class that lists the imports.
TEST(Globals, GiveModulesAFieldForTheirImports) {
  const Field *field = field_of(OPD_MODULE, "imports_");
  ASSERT_NE(field, nullptr);
  EXPECT_EQ(field->size, 8);
  EXPECT_EQ(field->alignment, 8);
  EXPECT_EQ(field->static_type, OPD_ARRAY);
  EXPECT_EQ(std::string(field->metadata.data, field->metadata.size),
            R"-({"type_schema":"{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"Any\"}]}"})-");
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

}  // namespace
