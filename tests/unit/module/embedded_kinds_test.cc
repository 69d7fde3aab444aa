// Modules that libraries embed: their bytes field by field, and what each kind tells.
#include <gtest/gtest.h>

#include "module/blob_reader.h"
#include "module/kinds/placeholder_module.h"
#include "module/module.h"
#include "support/described_module.h"
#include "support/refusal.h"
#include "value/tensor.h"

namespace opd {
namespace {

using Names = std::vector<std::string>;

std::string number(uint64_t value) { return {reinterpret_cast<const char *>(&value), sizeof value}; }
std::string text(const std::string &content) { return number(content.size()) + content; }
std::string list(const Names &names) {
  std::string out = number(names.size());
  for (const auto &name : names) out += text(name);
  return out;
}

Ref<Module> read_kind(const char *kind, const std::string &bytes) {
  register_static_library_kind();
  register_const_loader_kind();
  register_source_kind();
  const std::string name = "m.so";
  return find_module_kind(kind)({as_bytes(bytes), name, {}});
}
std::string kind_refusal(const char *kind, const std::string &bytes) {
  return refusal(OPD_BAD_FORMAT, [&] { read_kind(kind, bytes); });
}

TEST(EmbeddedSources, AreReadFieldByField) {
  const std::string what = "m.so: embedded C source: ";
  const auto source = [](const std::string &format, const std::string &rest = list({"f"}) + list({"c"})) {
    return text("x;") + text(format) + rest;
  };
  EXPECT_EQ(kind_refusal("c", source("c")), "accepted");
  EXPECT_EQ(kind_refusal("c", source(std::string(16, 'f'))), "accepted");
  EXPECT_EQ(kind_refusal("c", number(3) + "x;"), what + "the source at offset 8 needs 3 bytes, 2 remain");
  EXPECT_EQ(kind_refusal("c", text("x;") + "1234567"), what + "its format at offset 10 needs 8 bytes, 7 remain");
  EXPECT_EQ(kind_refusal("c", source("")), what + "its format at offset 18 has 0 bytes, or a 0 byte among them");
  EXPECT_EQ(kind_refusal("c", source(std::string(17, 'f'))),
            what + "its format at offset 35 has 17 bytes, or a 0 byte among them");
  EXPECT_EQ(kind_refusal("c", source(std::string("c\0", 2))),
            what + "its format at offset 20 has 2 bytes, or a 0 byte among them");
  EXPECT_EQ(kind_refusal("c", source("c", number(2) + text("f"))),
            what + "function names at offset 27 counts 2 entries, but only 9 bytes remain");
  EXPECT_EQ(kind_refusal("c", source("c", list({}) + number(1))),
            what + "names of constants at offset 35 counts 1 entries, but only 0 bytes remain");
  EXPECT_EQ(kind_refusal("c", source("c") + "??"), what + "the end at offset 53 is followed by 2 bytes");
  const auto module = read_kind("c", source("cu"));
  EXPECT_EQ(refusal(OPD_UNSUPPORTED, [&] { module->find("f"); }),
            "function \"f\" of m.so is in a source of format cu, which is not compiled here; C sources are");
  EXPECT_EQ(module->find("g").get(), nullptr);
  EXPECT_EQ(module->list(), Names{"f"});
  EXPECT_EQ(module->serialize(), text("x;") + text("cu") + list({"f"}) + number(0)) << "without names of constants";
  EXPECT_EQ(json_of(*module), "{}");
  const auto open = read_kind("c", source("cu", list({}) + list({})));
  EXPECT_EQ(refusal(OPD_UNSUPPORTED, [&] { open->find("any"); }).substr(0, 14), "function \"any\"")
      << "names that are not listed may exist";
}

TEST(EmbeddedStaticLibraries, AreReadFieldByField) {
  const std::string what = "m.so: embedded static library: ";
  const std::string good = text("ELF") + list({"f", "g"});
  EXPECT_EQ(kind_refusal("static_library", good), "accepted");
  EXPECT_EQ(kind_refusal("static_library", number(9) + "x"),
            what + "the object code at offset 8 needs 9 bytes, 1 remain");
  EXPECT_EQ(kind_refusal("static_library", text("ELF") + number(1)),
            what + "function names at offset 19 counts 1 entries, but only 0 bytes remain");
  EXPECT_EQ(kind_refusal("static_library", text("ELF") + number(1) + number(2) + "f"),
            what + "a function name at offset 27 needs 2 bytes, 1 remain");
  EXPECT_EQ(kind_refusal("static_library", good + "?"), what + "the end at offset 37 is followed by 1 bytes");
  const auto module = read_kind("static_library", good);
  EXPECT_EQ(module->serialize(), good);
  EXPECT_EQ(json_of(*module), R"({"size_bytes":3})");
  EXPECT_EQ(refusal(OPD_UNSUPPORTED, [&] { module->find("g"); }),
            "function \"g\" is in the object code of a static library, which is kept as it is: export the module and "
            "load the result, or load its object file as a module, which links it");
}

TEST(EmbeddedConstants, AreReadFieldByField) {
  const std::string what = "m.so: embedded constants: ";
  EXPECT_EQ(kind_refusal("const_loader", list({}) + number(0) + list({}) + number(0)), "accepted");
  EXPECT_EQ(kind_refusal("const_loader", number(1)),
            what + "names of constants at offset 8 counts 1 entries, but only 0 bytes remain");
  EXPECT_EQ(kind_refusal("const_loader", list({"a"}) + number(2)),
            what + "the number of tensors at offset 25 is not that of their names, 1");
  EXPECT_EQ(kind_refusal("const_loader", list({}) + number(0) + list({"f"}) + number(0)),
            what + "the number of lists at offset 41 is not that of their functions, 1");
  EXPECT_EQ(kind_refusal("const_loader", list({}) + number(0) + list({"f"}) + number(1) + list({"gone"})),
            what + "constants of a function at offset 61 name one that is not there");
  EXPECT_EQ(kind_refusal("const_loader", list({}) + number(0) + list({}) + number(0) + "?"),
            what + "the end at offset 32 is followed by 1 bytes");
  const auto module = read_kind("const_loader", list({}) + number(0) + list({}) + number(0));
  EXPECT_EQ(module->list(), Names{"get_const_var_tensor"});
  EXPECT_EQ(json_of(*module), R"({"constants":0,"initializes":[]})");
}

// A tensor as TVM stores it: a magic number, a reserved word, device, dimensions, dtype, shape, bytes.
std::string tensor(const std::vector<float> &values) {
  const auto raw = [](const auto &value) { return std::string(reinterpret_cast<const char *>(&value), sizeof value); };
  std::string out = number(0xDD5E40F096B4A13F) + number(0) + raw(int32_t{1}) + raw(int32_t{0}) + raw(int32_t{1}) +
                    raw(DLDataType{kDLFloat, 32, 1}) + number(values.size()) + number(4 * values.size());
  for (const float value : values) out += raw(value);
  return out;
}

int64_t asked(Module &module, const char *name) {
  const Ref<Function> function = module.find(name);
  return function ? call(*function, {}).view().u.int64 : -1;
}

TEST(EmbeddedConstants, AreGivenToImportsBeforeTheirFirstUse) {
  const std::string bytes = list({"a", "b"}) + number(2) + tensor({1, 2}) + tensor({3}) + list({"f", "g", "gone"}) +
                            number(3) + list({"b", "a", "b"}) + list({}) + list({});
  const auto module = read_kind("const_loader", bytes);
  EXPECT_EQ(json_of(*module), R"({"constants":2,"initializes":["f","g","gone"]})");
  EXPECT_EQ(module->serialize(), bytes);
  EXPECT_EQ(module->properties(), OPD_MODULE_SERIALIZABLE);
  const auto first = make_object<Functions>(), second = make_object<Functions>();
  module->add_import(first);
  module->add_import(second);
  int begun = 0;
  std::vector<float> given;
  first->all["__init_f"] = make_function([&](Args args) {
    ++begun;
    EXPECT_EQ(args.size(), 1u);
    EXPECT_EQ(args[0].type, int{OPD_ARRAY});
    for (const View &item : static_cast<const Array *>(object_of(args[0]))->views())
      given.push_back(*static_cast<const float *>(as_dltensor(item, "a").data));
    return Value(int64_t{0});
  });
  second->gives("f", Value(int64_t{1})), second->gives("g", Value(int64_t{2})), second->gives("h", Value(int64_t{3}));
  second->all["__init_f"] = make_function([&](Args) -> Value {
    ADD_FAILURE() << "the first import has it";
    return {};
  });
  EXPECT_EQ(begun, 0);
  EXPECT_EQ(asked(*module, "f"), 1);
  EXPECT_EQ(asked(*module, "f"), 1);
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(given, (std::vector<float>{3, 1, 3})) << "the first elements of b, a and b";
  EXPECT_EQ(asked(*module, "g"), 2) << "without an initialiser";
  EXPECT_EQ(asked(*module, "h"), -1) << "which needs no constants: the imports have it";
  EXPECT_EQ(asked(*module, "gone"), -1);
  // What both imports have is the first one's.
  first->gives("g", Value(int64_t{4}));
  EXPECT_EQ(asked(*module, "g"), 4);
  const Value all = call(*module->find("get_const_var_tensor"), {});
  EXPECT_EQ(all.view().type, int{OPD_MAP});
}

TEST(EmbeddedConstants, ReportAnInitialisersErrorUntilItSucceeds) {
  const auto module = read_kind("const_loader", list({}) + number(0) + list({"f"}) + number(1) + list({}));
  const auto import = make_object<Functions>();
  module->add_import(import);
  import->gives("f", Value(int64_t{1}));
  for (const int64_t status : {int64_t{7}, int64_t{-1}}) {
    import->gives("__init_f", Value(status));
    EXPECT_EQ(refusal(OPD_CALL_FAILED, [&] { module->find("f"); }),
              concat("__init_f, which takes the constants of f, returned ", status));
  }
  import->all["__init_f"] = make_function([](Args) -> Value { fail(OPD_OUT_OF_RANGE, "too much");
});
EXPECT_EQ(refusal(OPD_OUT_OF_RANGE, [&] { module->find("f"); }), "too much");
import->gives("__init_f", Value(1.5));  // only an integer is a status
EXPECT_EQ(asked(*module, "f"), 1);
import->gives("__init_f", Value(int64_t{7}));
EXPECT_EQ(asked(*module, "f"), 1) << "it is not asked again";
}  // namespace

// A device module: format; for each function its key, name, argument types, launch parameters, argument tags; code.
struct KernelEntry {
  std::string key;
  uint64_t types = 0, tags = 0;
  Names launch = {};
};
std::string device(const std::string &format, const std::vector<KernelEntry> &functions, const std::string &code) {
  std::string out = text(format) + number(functions.size());
  for (const auto &[key, types, tags, launch] : functions) {
    out += text(key) + text(key) + number(types) + std::string(4 * types, 't') + list(launch);
    out += number(tags) + std::string(4 * tags, 't');
  }
  return out + text(code);
}

TEST(CodeOfDevices, ListsItsFunctionsIfItsFormatIsKnown) {
  const auto module = [](const char *kind, const std::string &bytes) {
    return make_object<PlaceholderModule>(kind, as_bytes(bytes), "m.so");
  };
  const std::string good = device("ptx", {{"one", 2, 1, {"blockIdx.x", "threadIdx.x"}}, {"two"}}, "code");
  for (const char *kind : {"cuda", "hsaco", "hip", "rocm", "opencl", "hexagon", "metal", "vulkan", "webgpu"}) {
    const auto made = module(kind, good);
    EXPECT_TRUE(made->names_known()) << kind;
    EXPECT_EQ(made->list(), (Names{"one", "two"})) << kind;
    EXPECT_STREQ(made->format(), "ptx");
    EXPECT_EQ(made->source(""), "code");
    EXPECT_EQ(made->source("ptx"), "code");
    EXPECT_EQ(made->save_formats(), Names{"ptx"});
    EXPECT_EQ(made->serialize(), good);
    EXPECT_EQ(json_of(*made), concat(R"({"supported":false,"size_bytes":)", good.size(), "}"));
    EXPECT_EQ(made->find("three").get(), nullptr);
    EXPECT_EQ(refusal(OPD_UNSUPPORTED, [&] { made->find("two"); }),
              concat("function \"two\" of m.so is in its embedded module of kind ", kind,
                     ", for which this build of opdyno has no back end"));
    EXPECT_EQ(refusal(OPD_UNSUPPORTED, [&] { made->source("cubin"); }),
              concat("a module of kind ", kind, " has no source of format cubin"));
  }
  // Code that is no text has no source, but can be saved.
  const auto binary = module("cuda", device("cubin", {},
                                            std::string("\x7f"
                                                        "ELF\0",
                                                        5)));
  EXPECT_EQ(refusal(OPD_UNSUPPORTED, [&] { binary->source(""); }), "a module of kind cuda has no source");
  EXPECT_EQ(binary->save("cubin").size(), 5u);
  EXPECT_EQ(module("metal", device("metal", {}, "a\tb\r\n\xc3\xa9"))->source(""), "a\tb\r\n\xc3\xa9");
  // What cannot be read: any function may be there.
  for (const std::string &bytes :
       {std::string("SPIR-V"), good.substr(0, 40), device("ptx", {{"a b"}}, ""), device("ptx", {{""}}, ""),
        device("ptx", {{std::string(513, 'n')}}, ""), device("ptx", {{"\x7f"}}, "")}) {
    const auto made = module("cuda", bytes);
    EXPECT_FALSE(made->names_known());
    EXPECT_TRUE(made->list().empty());
    EXPECT_EQ(
        refusal(OPD_UNSUPPORTED, [&] { made->refuse("f"); }),
        "function \"f\" of m.so may be in its embedded module of kind cuda, for which this build of opdyno has no "
        "back end");
  }
  EXPECT_EQ(module("cuda", device("ptx", {{std::string(512, 'n')}}, ""))->list().size(), 1u);
  EXPECT_EQ(module("cuda", device("a b", {{"f"}}, "code"))->save_formats(), Names{}) << "its format is no name";
  // Graphs for other libraries start with the name of their function.
  const auto graph = module("dnnl_json", text("dense") + "{}");
  EXPECT_EQ(graph->list(), Names{"dense"});
  EXPECT_TRUE(graph->names_known());
  EXPECT_FALSE(module("dnnl_json", text("two words"))->names_known());
}

std::string blob(const std::vector<uint64_t> &rows, const std::vector<uint64_t> &entries, const std::string &modules) {
  std::string body = number(rows.size());
  for (const uint64_t row : rows) body += number(row);
  body += number(entries.size());
  for (const uint64_t entry : entries) body += number(entry);
  return text(body + modules);
}

TEST(EmbeddedTrees, HaveAtMost1024ModulesAnd65536Imports) {
  const auto refused = [](const std::string &bytes) {
    return refusal(OPD_BAD_FORMAT, [&] { read_embedded_modules(as_bytes(bytes), "m.so"); });
  };
  const auto modules = [](size_t count, size_t imports = 0) {
    std::vector<uint64_t> rows(count + 1, imports);
    rows[0] = 0;
    std::string all = text("_lib");
    for (size_t i = 1; i < count; ++i) all += text("k") + text("");
    return blob(rows, std::vector<uint64_t>(imports, 1), all);
  };
  EXPECT_EQ(refused(modules(1024)), "accepted");
  EXPECT_EQ(refused(modules(1025)),
            "m.so: embedded modules: the import tree's rows at offset 16 counts 1026 entries, more than 1025");
  EXPECT_EQ(refused(modules(2, 65536)), "accepted");
  EXPECT_EQ(refused(modules(2, 65537)),
            "m.so: embedded modules: the import tree's entries at offset 48 counts 65537 entries, more than 65536");
  EXPECT_EQ(refused(blob({0, 0}, {}, text(std::string(256, 'k')) + text(""))), "accepted");
  EXPECT_EQ(refused(blob({0, 0}, {}, text(std::string(257, 'k')) + text(""))),
            "m.so: embedded modules: the kind of a module at offset 305 has 257 bytes");
  EXPECT_EQ(refused(blob({0, 1, 1}, {2}, "")),
            "m.so: embedded modules: the import tree at offset 56 lets module 0 import 2 of 2");
  EXPECT_EQ(refused(blob({0, 1, 2}, {1, 0}, "")), "m.so: embedded modules: the import tree at offset 64 has a cycle");
}

}  // namespace opd
}  // namespace opd
