// What the functions of modules say when they fail: whole sentences, with the module, its file and what to do.
#include "support/embedded_modules.h"

namespace opdyno_test {
namespace {

std::string told(opd_error *error, opd_code code) {
  if (!error) return "no error";
  const Error e(error);
  EXPECT_EQ(e.code(), code) << e.message();
  return e.message();
}
std::string told_of(const Module &module, const char *function, opd_code code = OPD_NOT_FOUND, int imports = 1) {
  Function none;
  return told(opd_module_get_function(module.get(), function, imports, none.out()), code);
}
const char *const kCallPlain =
    ": it offers none, as no symbol of it starts with __tvm_ffi_. A plain C function of it is called by its signature: "
    "opd_module_native_function(module, \"cos\", \"f64(f64)\", …), in Python module.native_function(\"cos\", "
    "\"f64(f64)\")";

TEST(ModuleMessages, SayWhichModuleLacksAFunction) {
  const std::string plain = build_library("plain_messages", "int plain(void) { return 1; }\n");
  EXPECT_EQ(told_of(Module::load(plain), "f"),
            "the module " + plain + " of kind library has no function \"f\"" + kCallPlain);
  EXPECT_EQ(told_of(source_module("int plain(void) { return 1; }\n"), "f"),
            std::string("the module of kind c has no function \"f\"") + kCallPlain);
  EXPECT_EQ(told_of(with_root("messages_static", "static_library", text("object") + list({})), "cuont"),
            "the module of kind static_library has no function \"cuont\". Did you mean count?");
  const Module vm = echo_program();
  EXPECT_EQ(told_of(vm, "main", OPD_UNSUPPORTED),
            "function \"main\" of a program is not called by itself: a VM runs it");
  EXPECT_EQ(told_of(vm, "mian"), "the module of kind relax.VMExecutable has no function \"mian\". Did you mean main?");
  vm.add_import(Module::load(library()));
  EXPECT_EQ(told_of(vm, "cuont", OPD_NOT_FOUND, 1),
            "the module of kind relax.VMExecutable has no function \"cuont\". Did you mean count?");
  EXPECT_EQ(told_of(vm, "zzzzzzzz", OPD_NOT_FOUND, 0),
            "the module of kind relax.VMExecutable has no function \"zzzzzzzz\".");
}

TEST(ModuleMessages, StateWhyThereIsNoEntryFunction) {
  const auto entry = [](const Module &module, opd_code code) -> std::string {
    try {
      module.entry();
    } catch (const Error &e) {
      EXPECT_EQ(e.code(), code);
      return e.message();
    }
    return "no error";
  };
  EXPECT_EQ(entry(source_module("int plain(void) { return 1; }\n"), OPD_NOT_FOUND),
            "the module of kind c has no entry function: neither it nor its imports have a function main");
  const std::string plain = build_library("plain_entry", "int plain(void) { return 1; }\n");
  EXPECT_EQ(entry(Module::load(plain), OPD_NOT_FOUND),
            "the module " + plain +
                " of kind library has no entry function: neither it nor its imports have a function main");
  EXPECT_EQ(entry(echo_program(), OPD_UNSUPPORTED),
            "the entry function of a module of kind relax.VMExecutable is not called by itself: a VM runs it");
}

TEST(ModuleMessages, StateWhyAModuleCannotBeImportedOrSaved) {
  const Module a = echo_program(), b = Module::load(library());
  a.add_import(b);
  EXPECT_EQ(told(opd_module_add_import(b.get(), a.get()), OPD_INVALID_ARGUMENT),
            "a module of kind library cannot import one of kind relax.VMExecutable, which imports it already: their "
            "functions would look for each other without end");
  EXPECT_EQ(told(opd_module_save(b.get(), (scratch_directory() + "/x.so").c_str(), nullptr), OPD_UNSUPPORTED),
            "a module of kind library cannot be saved by itself; its file is " + library());
  EXPECT_EQ(told(opd_module_save(Module::system_lib("messages_").get(), "x.so", nullptr), OPD_UNSUPPORTED),
            "a module of kind library cannot be saved by itself");
  EXPECT_EQ(told(opd_module_save(a.get(), "x", "elf"), OPD_UNSUPPORTED),
            "a module of kind relax.VMExecutable is not saved as \"elf\"; it offers vmexec, opdasm");
  opd_buffer *text = nullptr;
  EXPECT_EQ(told(opd_module_get_source(b.get(), nullptr, &text), OPD_UNSUPPORTED),
            "a module of kind library has no source");
  EXPECT_EQ(told(opd_module_get_source(b.get(), "ll", &text), OPD_UNSUPPORTED),
            "a module of kind library has no source of format ll");
  // The suffix of the path decides among the formats that a module offers; another suffix means the usual one.
  a.save(scratch_directory() + "/saved.other");
  EXPECT_STREQ(Module::load(scratch_directory() + "/saved.other").kind(), "relax.VMExecutable");
  a.save(scratch_directory() + "/savedopdasm");
  EXPECT_STREQ(Module::load(scratch_directory() + "/savedopdasm").kind(), "relax.VMExecutable");
}

TEST(ModuleMessages, NameTheFormatOfAFileThatCannotBeLoaded) {
  const auto loaded = [](const std::string &name, const std::string &bytes, opd_code code = OPD_UNSUPPORTED) {
    return told(load_text(bytes, name.c_str()), code);
  };
  EXPECT_EQ(loaded("m.a", "!<thin>\nx"),
            "m.a is an archive that names other files instead of holding them; make one that holds them (ar rc)");
  EXPECT_EQ(loaded("m.dll", "MZ and more"), "m.dll is a Windows library; export the model for this system");
  for (const char *start : {"\xCF\xFA\xED\xFE", "\xCA\xFE\xBA\xBE"})
    EXPECT_EQ(loaded("m.dylib", std::string(start) + "more"),
              "m.dylib is a macOS library; export the model for this system");
  EXPECT_EQ(loaded("m.zip", "PK\x03\x04more"), "m.zip is a zip archive");
  EXPECT_EQ(loaded("m.so", "", OPD_BAD_FORMAT), "m.so is empty");
  EXPECT_EQ(loaded("m.so", std::string("\x01\xab", 2), OPD_BAD_FORMAT),
            "m.so starts with the bytes 01 ab at offset 0, which no known module does: a shared library and an object "
            "file start with 7f 45 4c 46, a VM executable with 1d or 1e 15 14 42 2f de 25 d2; a C source is "
            "recognized by its suffix .c");
  EXPECT_TRUE(holds(loaded("m.so", "0123456789", OPD_BAD_FORMAT), "the bytes 30 31 32 33 34 35 36 37 at"));
  auto options = options_with(OPD_COPY_ALWAYS);
  for (const char *format : {"dso", "dll", "dylib"}) {  // other names of shared libraries
    options.format = format;
    EXPECT_EQ(names_of(Module::load(library(), &options)), names_of(Module::load(library()))) << format;
  }
  options.format = "elf";
  EXPECT_EQ(told(load(library(), &options), OPD_INVALID_ARGUMENT),
            "the format of a module must be so, vmexec, c, o, a or tar, but is \"elf\"");
  EXPECT_EQ(told(load(scratch_directory()), OPD_INVALID_ARGUMENT),
            "cannot load " + scratch_directory() + ": it is a directory");
}

TEST(ModuleMessages, StateWhyAModuleCannotBeExported) {
  const auto exported = [](const Module &module, const std::string &path, opd_code code) {
    return told(opd_module_export(module.get(), path.c_str(), nullptr), code);
  };
  const Module source = source_module(kSumSource), library_module = Module::load(library());
  EXPECT_EQ(
      exported(source, "x.zip", OPD_INVALID_ARGUMENT),
      "cannot export to x.zip: a module is exported as a shared library (.so) or as an archive of objects (.tar)");
  EXPECT_EQ(exported(library_module, "x.tar", OPD_UNSUPPORTED),
            "cannot export to x.tar: the tree's code is a shared library already, which an archive of objects cannot "
            "hold; export it to a .so");
  EXPECT_EQ(exported(Module::system_lib("messages_"), "x.so", OPD_UNSUPPORTED),
            "a module of kind library cannot be exported: it is part of the program; export it where it was compiled");
  const std::string linked = " cannot be exported together with ";
  const std::string reason =
      ": it is linked already, and what it was linked from is not kept; add its object files as static libraries "
      "instead";
  const Module root = echo_program();
  root.add_import(library_module);
  const std::string other = build_library("other_export", kSource);
  root.add_import(Module::load(other));
  EXPECT_EQ(exported(root, "x.so", OPD_UNSUPPORTED),
            "a module of kind library from " + library() + linked + "a module of kind library from " + other + reason);
  const Module mixed = echo_program();
  mixed.add_import(library_module);
  mixed.add_import(source);
  EXPECT_EQ(exported(mixed, "x.so", OPD_UNSUPPORTED),
            "a module of kind library from " + library() + linked + "a module of kind c" + reason);
  opd_export_options options;
  opd_export_options_init(&options);
  const std::string object = build_object("messages_addon", kSquareSource);
  const char *addons[] = {object.c_str()};
  options.addons = addons, options.num_addons = 1;
  EXPECT_EQ(told(opd_module_export(library_module.get(), "x.so", &options), OPD_UNSUPPORTED),
            "a module of kind library from " + library() + linked + "addons" + reason);
  const Module upper = source_module(kSumSource), between = echo_program();
  upper.add_import(between);
  between.add_import(source_module(kSquareSource));
  EXPECT_EQ(exported(upper, "x.so", OPD_UNSUPPORTED),
            "a module of kind relax.VMExecutable lies between modules of code that become one library, which would "
            "import itself");
  std::string bytes = read_bytes(library());
  Module memory;
  check(opd_module_load_bytes(bytes.data(), bytes.size(), nullptr, nullptr, memory.out()));
  EXPECT_EQ(exported(memory, "x.so", OPD_UNSUPPORTED),
            "a library that was loaded from memory cannot be exported: its bytes are not kept; load it from its file");
}

TEST(ModuleMessages, StateThatAnInspectedModuleHasNoCode) {
  auto options = options_with(OPD_COPY_ALWAYS);
  options.inspect_only = 1;
  const std::string reason =
      " cannot be had: it was read for inspection only, and its code was not loaded; load it without inspect_only";
  const Module module = Module::load(library(), &options);
  EXPECT_EQ(told_of(module, "count", OPD_FAILED_PRECONDITION), "function \"count\" of " + library() + reason);
  Function none;
  EXPECT_EQ(
      told(opd_module_native_function(module.get(), "plain_add", "i32(i32,i32)", none.out()), OPD_FAILED_PRECONDITION),
      "C symbol \"plain_add\" of " + library() + reason);
  const std::string bytes = read_bytes(library());
  Module memory;
  check(opd_module_load_bytes(bytes.data(), bytes.size(), nullptr, &options, memory.out()));
  EXPECT_EQ(told_of(memory, "count", OPD_FAILED_PRECONDITION), "function \"count\" of a module" + reason);
  const std::string json = json_of(module);
  EXPECT_TRUE(json.starts_with("{\"kind\":\"library\",\"file\":\"" + library() +
                               "\",\"tvm_release\":\"0.26 or newer\",\"loaded\":false,\"size_bytes\":" +
                               std::to_string(bytes.size()) + ",\"memory_bytes\":"))
      << json;
  EXPECT_FALSE(holds(json, "\"compiled\"") || holds(json, "not_loadable") || holds(json, "_metadata_count")) << json;
  const Module old = Module::load(build_library("old_messages", "void *__tvm_ffi_library_ctx;"), &options);
  EXPECT_TRUE(holds(json_of(old), "\"tvm_release\":\"0.21\",\"loaded\":false,\"not_loadable\":\"")) << json_of(old);
  Module text;
  check(load_source("int __tvm_ffi_f(void);", &options, text.out()));
  EXPECT_TRUE(holds(json_of(text), "\"compiled\":false")) << json_of(text);
  EXPECT_EQ(told_of(text, "g", OPD_FAILED_PRECONDITION), "function \"g\" of a module" + reason) << "macros form names";
  EXPECT_TRUE(holds(json_of(Module::load(build_object("inspected", kSquareSource), &options)), "\"square\":"));
}

TEST(ModuleMessages, NameTheFunctionThatCodeCallsAndNobodyHas) {
  const Module module = Module::load(library());
  try {
    module.function("call")("no_such_function_anywhere");
    ADD_FAILURE();
  } catch (const Error &e) {
    EXPECT_EQ(e.kind(), "RuntimeError");
    EXPECT_TRUE(holds(e.message(), "the library " + library() +
                                       " calls the function \"no_such_function_anywhere\", which neither its imported "
                                       "modules nor the global registry have."))
        << e.message();
  }
}

}  // namespace
}  // namespace opdyno_test
