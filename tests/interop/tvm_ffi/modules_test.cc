// What tvm-ffi's Python does with modules: by global functions, and by an attribute of its class.
#include "interop/tvm_ffi/globals.h"
#include "support/c_artifact.h"

using namespace tvm_ffi_test;
using namespace opdyno_test;

namespace {

// A library whose function `name` gives `number`; `told` are further functions.
Value library(const std::string &file, const std::string &name, int number, const std::string &told = "") {
  const std::string path = build_library(file, kArtifactHead + R"(
static int text(Any *out, const char *value, uint32_t length) {
  out->type = 11, out->length = length, out->u.i = 0;
  __builtin_memcpy(&out->u, value, length);
  return 0;
}
int __tvm_ffi_)" + name + R"((void *self, const Any *args, int32_t n, Any *out) {
  out->type = 1, out->u.i = )" + std::to_string(number) +
                                                   R"(;
  return 0;
}
)" + told);
  const Value module = call("ffi.ModuleLoadFromFile", {path.c_str()});
  EXPECT_EQ(last_error, "");
  return module;
}
std::string tells(const std::string &what, const std::string &name, const std::string &value) {
  return "int __tvm_ffi__" + what + "_" + name +
         "(void *self, const Any *args, int32_t n, Any *out) { return text(out, \"" + value + "\", " +
         std::to_string(value.size()) + "); }\n";
}

uint32_t references(const Value &value) {
  uint64_t counts;
  std::memcpy(&counts, value.raw.u.object, sizeof counts);  // tvm-ffi's header: the low half counts strong references
  return static_cast<uint32_t>(counts);
}

TEST(ModulesOfPython, GiveOwnAndImportedFunctions) {
  const Value outer = library("outer", "first", 1), inner = library("inner", "second", 2);
  call("ffi.ModuleImportModule", {outer, inner});
  EXPECT_EQ(last_error, "");
  const auto result = [&](const char *name, bool with_imports) -> std::string {
    const Value function = call("ffi.ModuleGetFunction", {outer, name, with_imports});
    if (!last_error.empty()) return last_error;
    if (function.raw.type == OPD_NONE) return "None";
    opd_value out = opd_none();
    EXPECT_EQ(opd_function_call(reinterpret_cast<opd_function *>(function.raw.u.object), nullptr, 0, &out), nullptr);
    return std::to_string(out.u.int64);
  };
  EXPECT_EQ(result("first", false), "1");
  EXPECT_EQ(result("first", true), "1");
  EXPECT_EQ(result("second", false), "None");
  EXPECT_EQ(result("second", true), "2");
  EXPECT_EQ(result("third", true), "None");
  const auto has = [&](const char *name, bool with_imports) {
    return call("ffi.ModuleImplementsFunction", {outer, name, with_imports}).raw.u.int64 != 0;
  };
  EXPECT_TRUE(has("first", false));
  EXPECT_FALSE(has("second", false));
  EXPECT_TRUE(has("second", true));
  EXPECT_FALSE(has("third", true));
  call("ffi.ModuleClearImports", {outer});
  EXPECT_EQ(result("second", true), "None");
  EXPECT_EQ(result("first", true), "1");
}

TEST(ModulesOfPython, DescribeOwnAndImportedFunctions) {
  const Value outer = library("telling", "first", 1, tells("metadata", "first", "int") + tells("doc", "first", "it"));
  const Value middle = library("silent", "second", 2);
  const Value inner = library("told", "third", 3,
                              tells("metadata", "third", "float") + tells("doc", "third", "a text") +
                                  "int __tvm_ffi__doc_bad(void *self, const Any *args, int32_t n, Any *out) {\n"
                                  "  return fail(\"KeyError\", \"no doc\");\n}\n");
  call("ffi.ModuleImportModule", {middle, inner});
  call("ffi.ModuleImportModule", {outer, middle});
  const auto metadata = [&](const char *name, bool with_imports) {
    return repr(call("ffi.ModuleGetFunctionMetadata", {outer, name, with_imports}));
  };
  const auto doc = [&](const char *name, bool with_imports) {
    return repr(call("ffi.ModuleGetFunctionDoc", {outer, name, with_imports}));
  };
  EXPECT_EQ(metadata("first", false), "\"int\"");
  EXPECT_EQ(doc("first", false), "\"it\"");
  EXPECT_EQ(doc("first", true), "\"it\"");
  EXPECT_EQ(metadata("second", true), "None");
  EXPECT_EQ(metadata("third", false), "None");
  EXPECT_EQ(metadata("third", true), "\"float\"") << "of an import's import";
  EXPECT_EQ(doc("third", true), "\"a text\"");
  EXPECT_EQ(doc("bad", false), "None");
  EXPECT_EQ(last_error, "");
  call("ffi.ModuleGetFunctionDoc", {outer, "bad", true});
  EXPECT_EQ(last_error, "KeyError: artifact: no doc");
  Value with_zero;
  EXPECT_EQ(opd_string_create("first\0x", 7, &with_zero.raw), nullptr);
  EXPECT_EQ(repr(call("ffi.ModuleGetFunctionDoc", {outer, with_zero, true})), "None");
}

TEST(ModulesOfPython, HaveKindsPropertiesAndImports) {
  const Value outer = library("kinds", "first", 1), inner = library("imported", "second", 2);
  EXPECT_EQ(text(call("ffi.ModuleGetKind", {outer})),
            opd_module_kind(reinterpret_cast<opd_module *>(outer.raw.u.object)));
  EXPECT_EQ(call("ffi.ModuleGetPropertyMask", {outer}).raw.u.int64,
            opd_module_properties(reinterpret_cast<opd_module *>(outer.raw.u.object)));
  const auto list = [&] {
    Value found;
    EXPECT_EQ(read_field(OPD_MODULE, "imports_", outer, &found.raw), 0);
    return opd_array_count(reinterpret_cast<opd_array *>(found.raw.u.object));
  };
  EXPECT_EQ(list(), 0u);
  call("ffi.ModuleImportModule", {outer, inner});
  EXPECT_EQ(list(), 1u);
  call("ffi.ModuleImportModule", {inner, outer});
  EXPECT_NE(last_error, "") << "a cycle";
  call("ffi.ModuleClearImports", {outer});
  EXPECT_EQ(list(), 0u);
}

TEST(ModulesOfPython, AreKeptOnceUntilTheyAreRemoved) {
  const Value module = library("kept", "first", 1);
  const uint32_t before = references(module);
  call("ffi.ModuleGlobalsAdd", {module});
  EXPECT_EQ(references(module), before + 1);
  call("ffi.ModuleGlobalsAdd", {module});
  EXPECT_EQ(references(module), before + 1) << "it is there already";
  call("ffi.ModuleGlobalsRemove", {module});
  EXPECT_EQ(references(module), before);
  call("ffi.ModuleGlobalsRemove", {module});
  EXPECT_EQ(last_error, "");
  EXPECT_EQ(references(module), before);
}

TEST(ModulesOfPython, AreWrittenInTheFormsThatTheyOffer) {
  const std::string source =
      write_text("written.c", "#include <stdint.h>\nint32_t twice(int32_t x) { return 2 * x; }\n");
  const Value module = call("ffi.ModuleLoadFromFile", {source.c_str()});
  ASSERT_EQ(last_error, "");
  EXPECT_EQ(repr(call("ffi.ModuleGetWriteFormats", {module})), "(\"c\",)");
  EXPECT_NE(text(call("ffi.ModuleInspectSource", {module, "c"})).find("twice"), std::string::npos);
  call("ffi.ModuleInspectSource", {module, "ptx"});
  EXPECT_EQ(last_error, "NotImplementedError: a module of kind c has no source of format ptx");
  const std::string copy = scratch_directory() + "/copy.c";
  call("ffi.ModuleWriteToFile", {module, copy.c_str(), "c"});
  EXPECT_EQ(last_error, "");
  EXPECT_NE(read_bytes(copy).find("int32_t twice"), std::string::npos);
  call("ffi.ModuleWriteToFile", {module, copy.c_str(), "ptx"});
  EXPECT_NE(last_error.find("ptx"), std::string::npos) << last_error;
}

TEST(ModulesOfPython, AreLoadedByAFrontEndsLoaderOfTheirSuffix) {
  opd_function *loader = nullptr;
  const auto load = [](void *, const opd_value *args, int32_t count, opd_value *out) -> opd_error * {
    EXPECT_EQ(count, 2);
    return opd_value_retain(&args[1], out);  // the format
  };
  ASSERT_EQ(opd_function_create(load, nullptr, nullptr, &loader), nullptr);
  ASSERT_EQ(opd_function_register("ffi.Module.load_from_file.test_form", loader, 0), nullptr);
  EXPECT_EQ(text(call("ffi.ModuleLoadFromFile", {"a.file/of.test_form"})), "test_form") << last_error;
  call("ffi.ModuleLoadFromFile", {"no suffix"});
  EXPECT_NE(last_error.find("no suffix"), std::string::npos);
  opd_function_release(loader);
}

TEST(ModulesOfPython, RefuseAnotherNumberOfArguments) {
  const std::pair<const char *, int> arities[] = {{"ffi.ModuleGetKind", 1},
                                                  {"ffi.ModuleGetPropertyMask", 1},
                                                  {"ffi.ModuleGetWriteFormats", 1},
                                                  {"ffi.ModuleClearImports", 1},
                                                  {"ffi.ModuleGlobalsAdd", 1},
                                                  {"ffi.ModuleGlobalsRemove", 1},
                                                  {"ffi.ModuleImportModule", 2},
                                                  {"ffi.ModuleInspectSource", 2},
                                                  {"ffi.ModuleWriteToFile", 3},
                                                  {"ffi.ModuleImplementsFunction", 3},
                                                  {"ffi.ModuleLoadFromFile", 1},
                                                  {"ffi.ModuleGetFunction", 3},
                                                  {"ffi.ModuleGetFunctionMetadata", 3},
                                                  {"ffi.ModuleGetFunctionDoc", 3}};
  for (const auto &[name, arity] : arities) {
    for (const int given : {arity - 1, arity + 1}) {
      call(name, std::vector<Value>(static_cast<size_t>(given)));
      EXPECT_NE(last_error.find(std::to_string(given)), std::string::npos) << name << ": " << last_error;
    }
    call(name, std::vector<Value>(static_cast<size_t>(arity)));
    EXPECT_EQ(last_error.rfind("TypeError: ", 0), 0u) << name << ": " << last_error;
  }
  call("ffi.SystemLib", {"a", "b"});
  EXPECT_EQ(last_error, "ValueError: ffi.SystemLib takes a prefix");
  for (const std::vector<Value> &args : {std::vector<Value>{}, std::vector<Value>{"none_such_"}})
    EXPECT_EQ(text(call("ffi.ModuleGetKind", {call("ffi.SystemLib", args)})), "library") << last_error;
}

}  // namespace
