// Code that is linked into the program: symbols that it registers, and the modules that they make.
#include "module/kinds/system_library.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "module/kernel_args.h"
#include "support/described_module.h"
#include "support/log_messages.h"
#include "support/refusal.h"

namespace opd {
namespace {

using Names = std::vector<std::string>;

int gives_its_count(void *, const View *, int32_t num_args, View *result) {
  *result = opd_int(num_args);
  return 0;
}
void *code() { return reinterpret_cast<void *>(&gives_its_count); }
int64_t number_of_args(Function &function) {
  const View args[] = {opd_int(7), opd_int(8), opd_int(9)};
  return call(function, Args(args, 3)).view().u.int64;
}

TEST(SystemLibrary, HasTheSymbolsOfItsPrefix) {
  void *slot = nullptr;
  for (const char *name : {"__tvm_ffi_unit_a_f", "__tvm_ffi_unit_a_g", "__tvm_ffi_unit_a__metadata_f",
                           "__tvm_ffi_unit_a__doc_f", "__tvm_ffi_unit_b_h", "__tvm_ffi__doc_unit"})
    register_system_symbol(name, code());
  register_system_symbol("unit_a___tvm_ffi__library_ctx", &slot);
  const Ref<Module> module = system_library("unit_a_"), other = system_library("unit_b_");
  EXPECT_EQ(module.get(), system_library("unit_a_").get());
  EXPECT_NE(module.get(), other.get());
  EXPECT_STREQ(module->kind(), "library");
  EXPECT_EQ(module->properties(), OPD_MODULE_RUNNABLE);
  EXPECT_EQ(json_of(*module), R"({"system_library":true,"prefix":"unit_a_"})");
  EXPECT_EQ(module->list(), (Names{"f", "g"}));
  EXPECT_EQ(other->list(), Names{"h"});
  EXPECT_TRUE(module->imports().empty());
  EXPECT_EQ(slot, static_cast<Object *>(module.get())) << "by which its code finds the module";
  for (const char *name : {"f", "g", "unit_a_f"}) {
    const Ref<Function> function = module->find(name);
    ASSERT_TRUE(function) << name;
    EXPECT_EQ(number_of_args(*function), 3);
    ASSERT_NE(as_kernel(*function), nullptr);
    EXPECT_EQ(as_kernel(*function)->name, name);
    EXPECT_EQ(as_kernel(*function)->library.get(), module.get());
  }
  for (const char *name : {"h", "_metadata_f", "_doc_f", "_doc_unit", "_library_ctx", "", "a_f"})
    EXPECT_FALSE(module->find(name)) << name;
  EXPECT_EQ(module->symbol("unit_a___tvm_ffi__library_ctx"), &slot);
  EXPECT_EQ(module->symbol("__tvm_ffi_unit_b_h"), code());
  EXPECT_EQ(module->symbol("unit_a_f"), nullptr);
}

// Objects that are compiled without a prefix have the names of the symbols as they are.
TEST(SystemLibrary, TakesTheContextOfObjectsWithoutAPrefix) {
  void *slot = nullptr;
  register_system_symbol("__tvm_ffi__library_ctx", &slot);
  EXPECT_EQ(slot, nullptr) << "before the library is asked for";
  const Ref<Module> module = system_library("unit_c_");
  EXPECT_EQ(slot, static_cast<Object *>(module.get()));
  register_system_symbol("__tvm_ffi__library_ctx", new void *(nullptr));  // this one ends with the test
}

TEST(SystemLibrary, WarnsOfASymbolThatIsRegisteredAgainWithAnotherAddress) {
  int first = 0, second = 0;
  const opdyno_test::LogMessages messages;
  register_system_symbol("__tvm_ffi_unit_twice", &first);
  register_system_symbol("__tvm_ffi_unit_twice", &first);
  EXPECT_EQ(messages.text(), "");
  register_system_symbol("__tvm_ffi_unit_twice", &second);
  ASSERT_EQ(messages.all().size(), 1u);
  EXPECT_EQ(messages.all()[0].level, OPD_LOG_WARNING);
  EXPECT_EQ(messages.all()[0].text,
            "the program registered __tvm_ffi_unit_twice twice; the second one is used from here on");
  EXPECT_EQ(system_library("unit_a_")->symbol("__tvm_ffi_unit_twice"), &second);
}

// The size, the rows 0 1 1 and the entry 1 of the import tree, a root of unknown kind, the library.
TEST(SystemLibrary, IsImportedByTheModulesThatAreEmbeddedBesideIt) {
  ByteWriter body;
  for (const uint64_t word : {3, 0, 1, 1, 1, 1}) body.write(word);
  body.write_string("odd.kind"), body.write_string("abc"), body.write_string("_lib");
  ByteWriter whole;
  whole.write_string(body.take());
  std::string bytes = whole.take();
  register_system_symbol("unit_d___tvm_ffi__library_bin", bytes.data());
  const Ref<Module> root = system_library("unit_d_");
  EXPECT_STREQ(root->kind(), "odd.kind");
  ASSERT_EQ(root->imports().size(), 1u);
  EXPECT_EQ(json_of(*root->imports()[0]), R"({"system_library":true,"prefix":"unit_d_"})");

  uint64_t size = UINT64_MAX;
  register_system_symbol("unit_e___tvm_ffi__library_bin", &size);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(refusal(OPD_BAD_FORMAT, [] { system_library("unit_e_"); }),
              "the modules embedded in the program have 18446744073709551615 bytes");
  bytes.back() = '?';  // of "_lib"
  register_system_symbol("unit_f___tvm_ffi__library_bin", bytes.data());
  const std::string told = refusal(OPD_BAD_FORMAT, [] { system_library("unit_f_"); });
  EXPECT_TRUE(told.starts_with("the program: embedded modules: ")) << told;
}

}  // namespace
}  // namespace opd
