// What every kind of module tells about itself, as docs/modules.md has it.
#include "support/embedded_modules.h"

namespace opdyno_test {
namespace {

constexpr int32_t kEmbedded = OPD_MODULE_SERIALIZABLE, kRuns = OPD_MODULE_RUNNABLE,
                  kLinked = OPD_MODULE_COMPILATION_EXPORTABLE;

struct Kind {
  const char *test_name;
  Module (*make)();
  const char *kind, *format;
  int32_t properties;
  const char *function;  // its own one
  bool implemented;
  opd_code asked;                    // what asking for it gives
  std::string source;                // "" if it has none
  std::vector<std::string> formats;  // of saving it alone
};

Module native() { return native_half("kind_native"); }
const std::string kConstants = list({"a"}) + number(1) + tensor({1, 2}) + list({"count"}) + number(1) + list({"a"});
const std::string kProgram = ".func main(x) {\n  ret %x\n}\n";

const Kind kKinds[] = {
    {"Library",
     [] { return Module::load(library()); },
     "library",
     "so",
     kEmbedded | kRuns,
     "count",
     true,
     OPD_OK,
     "",
     {}},
    {"Program",
     [] { return Executable::assemble(kProgram).to_module(); },
     "relax.VMExecutable",
     "vmexec",
     kEmbedded,
     "main",
     true,
     OPD_UNSUPPORTED,
     Executable::assemble(kProgram).disassemble(),
     {"vmexec", "opdasm"}},
    {"Source",
     [] { return source_module(kSource); },
     "c",
     "c",
     kEmbedded | kRuns | kLinked,
     "count",
     true,
     OPD_OK,
     kSource,
     {"c"}},
    {"EmbeddedSource",
     [] { return with_root("kind_c", "c", c_source(kSquareSource, "c", {"square"})); },
     "c",
     "c",
     kEmbedded | kRuns | kLinked,
     "square",
     true,
     OPD_OK,
     kSquareSource,
     {"c"}},
    {"SourceOfAnotherLanguage",
     [] { return with_root("kind_cu", "c", c_source("kernel", "cu", {"f"})); },
     "c",
     "cu",
     kEmbedded | kLinked,
     "f",
     true,
     OPD_UNSUPPORTED,
     "kernel",
     {"cu"}},
    {"StaticLibrary",
     [] { return Module::load_static_library(build_object("kind_static", kSource), {"count"}); },
     "static_library",
     "o",
     kEmbedded | kLinked,
     "count",
     true,
     OPD_UNSUPPORTED,
     "",
     {"o"}},
    {"SystemLibrary",
     [] { return Module::system_lib("nobody_has_this_prefix_"); },
     "library",
     "",
     kRuns,
     "count",
     false,
     OPD_NOT_FOUND,
     "",
     {}},
    {"Native", native, "opdyno.native", "so", kEmbedded | kRuns, "half", true, OPD_OK, "", {}},
    {"Constants",
     [] { return with_root("kind_constants", "const_loader", kConstants); },
     "const_loader",
     "",
     kEmbedded,
     "get_const_var_tensor",
     true,
     OPD_OK,
     "",
     {}},
    {"DeviceCode",
     [] { return with_root("kind_device", "metal", device_code("metal", "kernel void f")); },
     "metal",
     "metal",
     kEmbedded,
     "add_kernel",
     true,
     OPD_UNSUPPORTED,
     "kernel void f",
     {"metal"}},
    {"UnknownCode",
     [] { return with_root("kind_unknown", "vulkan", "SPIR-V"); },
     "vulkan",
     "",
     kEmbedded,
     "f",
     false,
     OPD_UNSUPPORTED,
     "",
     {}},
};

struct EveryKind : testing::TestWithParam<Kind> {
  const Kind &expected = GetParam();
  const Module module = expected.make();
};

TEST_P(EveryKind, HasItsKindFormatAndProperties) {
  EXPECT_STREQ(module.kind(), expected.kind);
  EXPECT_STREQ(opd_module_format(module.get()), expected.format);
  EXPECT_EQ(module.properties(), expected.properties);
  EXPECT_EQ(opd_module_is_dso_exportable(module.get()), (expected.properties & kLinked) != 0);
  EXPECT_TRUE(holds(json_of(module), std::string("{\"kind\":\"") + expected.kind + "\"")) << json_of(module);
}

TEST_P(EveryKind, OffersItsFunctions) {
  const auto names = names_of(module);
  const bool listed = std::find(names.begin(), names.end(), expected.function) != names.end();
  EXPECT_EQ(listed, expected.implemented);
  EXPECT_EQ(module.implements(expected.function, false), expected.implemented);
  EXPECT_EQ(opd_module_has_function(module.get(), expected.function, 0), expected.asked == OPD_OK);
  Function found;
  opd_error *error = opd_module_get_function(module.get(), expected.function, 0, found.out());
  if (expected.asked == OPD_OK) check(error);
  else expect_error(error, expected.asked, expected.function);
  // Never offered without being implemented.
  for (const auto &name : names) {
    const bool offered = opd_module_has_function(module.get(), name.c_str(), 0) != 0;
    EXPECT_TRUE(!offered || module.implements(name.c_str(), false)) << name;
  }
  EXPECT_FALSE(module.implements("no such function", false));
  EXPECT_EQ(opd_module_has_function(module.get(), "no such function", 0), 0);
}

TEST_P(EveryKind, GivesItsSourceAndItsFiles) {
  if (expected.source.empty()) expect_throws([&] { module.source(); }, OPD_UNSUPPORTED, expected.kind);
  else EXPECT_EQ(module.source(), expected.source);
  expect_throws([&] { module.source("no such format"); }, OPD_UNSUPPORTED, expected.kind);
  EXPECT_EQ(names_of(module, opd_module_list_formats), expected.formats);
  const std::string path = scratch_directory() + "/kind.saved";
  for (const auto &format : expected.formats) {
    module.save(path, format.c_str());
    EXPECT_FALSE(read_bytes(path).empty()) << format;
  }
  if (!expected.source.empty()) {  // the last format is that of the source
    EXPECT_EQ(read_bytes(path), expected.source);
  }
  expect_throws([&] { module.save(path, "no such format"); }, OPD_UNSUPPORTED, expected.kind);
}

INSTANTIATE_TEST_SUITE_P(Modules, EveryKind, testing::ValuesIn(kKinds),
                         [](const auto &info) { return std::string(info.param.test_name); });

}  // namespace
}  // namespace opdyno_test
