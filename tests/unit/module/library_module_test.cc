// A library as a module: its slots, the functions that its code looks up, names with a prefix.
#include "module/kinds/library_module.h"

#include "module/kernel_args.h"
#include "module/loader.h"
#include "support/c_artifact.h"
#include "support/described_module.h"
#include "support/refusal.h"
#include "tvmffi/tvmffi.h"

namespace opd {
namespace {

using opdyno_test::build_library;
using opdyno_test::kArtifactHead;
using opdyno_test::read_bytes;

Ref<Module> load(const std::string &name, const std::string &source, const std::string &flags = "") {
  register_tvmffi_symbols();
  const std::string bytes = read_bytes(build_library(name, kArtifactHead + source, flags));
  return load_module_bytes(as_bytes(bytes), name + ".so", {});
}
LibraryModule &as_library(const Ref<Module> &module) { return dynamic_cast<LibraryModule &>(*module); }

const std::string kContext = R"(
void *__tvm_ffi__library_ctx;
SLOT(int, TVMFFIFunctionCall, void *, Any *, int32_t, Any *)
int __tvm_ffi_f(void *self, const Any *args, int32_t n, Any *result) { return 0; }
)";

TEST(LibraryModule, IsInTheSlotOfItsContextAsLongAsItLives) {
  Ref<Module> module = load("context", kContext, "-Wl,-z,nodelete");  // stays mapped, so that the slot can be read
  auto **const slot = static_cast<void **>(module->symbol("__tvm_ffi__library_ctx"));
  ASSERT_NE(slot, nullptr);
  EXPECT_EQ(*slot, static_cast<Object *>(module.get()));
  EXPECT_EQ(&code_of_context(*slot), &as_library(module));
  EXPECT_NE(*static_cast<void **>(module->symbol("__TVMFFIFunctionCall")), nullptr);
  EXPECT_EQ(module->symbol("__tvm_ffi_gone"), nullptr);
  module = nullptr;
  EXPECT_EQ(*slot, nullptr) << "functions that its code made find no imports then";
}

TEST(LibraryModule, RefusesContextsOfOtherTypes) {
  EXPECT_EQ(refusal(OPD_INVALID_ARGUMENT, [] { code_of_context(nullptr); }),
            "a library's context is not a module; was the library loaded by something else too?");
  const Ref<Function> function = make_function([](Args) { return Value(); });
  EXPECT_EQ(refusal(OPD_INVALID_ARGUMENT, [&] { code_of_context(static_cast<Object *>(function.get())); }),
            "a library's context is not a module; was the library loaded by something else too?");
  const auto other = make_object<Functions>();
  EXPECT_EQ(refusal(OPD_INVALID_ARGUMENT, [&] { code_of_context(static_cast<Object *>(other.get())); }),
            "a library's context is a module of another kind");
}

TEST(LibraryModule, KeepsTheFunctionsThatItsCodeLooksUp) {
  const Ref<Module> module = load("looks_up", kContext);
  LibraryModule &library = as_library(module);
  const auto first = make_object<Functions>(), second = make_object<Functions>();
  const auto make = [] { return make_function([](Args) { return Value(); }); };
  first->all["a"] = make(), second->all["a"] = make(), second->all["b"] = make();
  module->add_import(first);
  module->add_import(second);
  register_function("unit.library_module.b", make(), true);
  Function *const a = library.look_up("a");
  EXPECT_EQ(a, first->all["a"].get()) << "of the first import that has it";
  EXPECT_EQ(library.look_up("b"), second->all["b"].get());
  Function *const global = library.look_up("unit.library_module.b");
  EXPECT_EQ(global, find_function("unit.library_module.b").get());
  first->all["a"] = make();
  EXPECT_EQ(library.look_up("a"), a) << "which its code may hold";
  EXPECT_EQ(library.looked_up_name(*a), "a");
  EXPECT_EQ(library.looked_up_name(*global), "unit.library_module.b");
  EXPECT_EQ(library.looked_up_name(*first->all["a"]), "");
  const std::string told = refusal(OPD_NOT_FOUND, [&] { library.look_up("unit.library_module.c"); });
  EXPECT_TRUE(
      told.starts_with("the library from memory calls the function \"unit.library_module.c\", which neither its "
                       "imported modules nor the global registry have. Did you mean unit.library_module.b"))
      << told;
  remove_function("unit.library_module.b");
  EXPECT_EQ(library.look_up("unit.library_module.b"), global);
}

TEST(LibraryModule, FindsFunctionsOfASystemLibraryWithAndWithoutPrefix) {
  const Ref<Module> module = load("prefixed", R"(
void *mine___tvm_ffi__library_ctx;
int __tvm_ffi_mine_f(void *self, const Any *args, int32_t n, Any *result) { return 0; }
int __tvm_ffi_g(void *self, const Any *args, int32_t n, Any *result) { return 0; }
int __tvm_ffi_mine_data = 1;
)");
  for (const char *name : {"f", "mine_f", "g"}) {
    const Ref<Function> found = module->find(name);
    ASSERT_TRUE(found) << name;
    ASSERT_NE(as_kernel(*found), nullptr);
    EXPECT_EQ(as_kernel(*found)->name, name);
    EXPECT_EQ(as_kernel(*found)->library.get(), module.get());
  }
  for (const std::string_view name : {std::string_view("data"), std::string_view("mine_data"), std::string_view("h"),
                                      std::string_view(""), std::string_view("f\0", 2), std::string_view("g\0x", 3)})
    EXPECT_FALSE(module->find(name)) << name;
  EXPECT_EQ(*static_cast<void **>(module->symbol("mine___tvm_ffi__library_ctx")), static_cast<Object *>(module.get()));
}

// The code passes each name as a C string; the text of an embedded module is none of the code's.
TEST(LibraryModule, NamesTheBuiltinsThatItsCodeCalls) {
  const Ref<Module> module = load("builtins", kContext + R"(
const char names[] = "\0vm.builtin.copy\0vm.builtin.a_1.b\0vm.builtin.Upper\0xvm.builtin.inside\0vm.builtin.two words\0"
                     "VM.builtin.x\0vm.builtinx\0vm.builtin.last";
)");
  EXPECT_EQ(as_library(module).called_functions(),
            (std::vector<std::string_view>{"vm.builtin.copy", "vm.builtin.a_1.b", "vm.builtin.last"}));
}

}  // namespace
}  // namespace opd
