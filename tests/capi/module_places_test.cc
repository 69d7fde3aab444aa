// Where files of modules are named from, and what an export leaves where.
#include "support/embedded_modules.h"
#include "support/log_messages.h"

namespace opdyno_test {
namespace {

namespace fs = std::filesystem;

// Works in another directory while it lives.
class Here {
 public:
  explicit Here(const std::string &directory) { fs::current_path(directory); }
  ~Here() { fs::current_path(before_); }
  Here(const Here &) = delete;

 private:
  const fs::path before_ = fs::current_path();
};

TEST(ALibraryOfTheCurrentDirectory, IsMappedFromItsFile) {
  const std::string directory = fresh_directory("here");
  build_library("here/near", kSource, "-Wl,-z,lazy");
  build_library("here/now", kSource, "-Wl,-z,now");
  const Here here(directory);
  const auto never = options_with(OPD_COPY_NEVER);
  {
    const Module module = Module::load("near.so", &never);
    EXPECT_TRUE(holds(json_of(module), "\"library_copy\":false"));
    EXPECT_EQ(as_int(module.function("slots")()), 11);
    expect_error(
        load("near.so", &never), OPD_FAILED_PRECONDITION,
        "near.so is mapped in this process already; loaded without a copy it would change under its other user");
  }
  try {
    Module::load("now.so", &never);
    ADD_FAILURE();
  } catch (const Error &e) {
    EXPECT_TRUE(e.message().starts_with("now.so cannot be loaded without a copy: now.so: undefined symbol: "))
        << e.message();
  }
}

TEST(ASourceOfTheCurrentDirectory, IncludesHeadersBesideIt) {
  const std::string directory = fresh_directory("beside_here"), cache = directory + "/cache";
  write_text("beside_here/value.h", "#define VALUE 6\n");
  write_text("beside_here/source.c", "#include \"value.h\"\nint value(void) { return VALUE; }\n");
  auto options = options_with(OPD_COPY_ALWAYS);
  options.cache_dir = cache.c_str();
  const Here here(directory);
  for (const char *path : {"source.c", "./source.c"}) {
    Function value;
    check(opd_module_native_function(Module::load(path, &options).get(), "value", "i32()", value.out()));
    EXPECT_EQ(as_int(value()), 6);
  }
}

// ---- exports

Module same() { return Executable::assemble(".func same(x) {\n  ret %x\n}\n").to_module(); }
// A program that imports code and C functions of a library.
Module mixed_tree(const std::string &name) {
  const Module root = same();
  root.add_import(Module::load_static_library(build_object(name, kSquareSource), {"square"}));
  root.add_import(native_half(name + "_native"));
  return root;
}
std::string function_of(const std::string &name) {
  return "int __tvm_ffi_" + name + "(void *s, const void *a, int n, void *r) { return 0; }\n";
}

TEST(AnArchiveThatIsExported, HasMembersOfDifferentNames) {
  const std::string directory = fresh_directory("members"), path = directory + "/all.tar";
  std::vector<std::string> addons;
  for (const std::string name : {"devc", "opdyno", "lib0", "own"}) {
    fs::rename(build_object("addon_" + name, function_of(name)), directory + "/" + name + ".o");
    addons.push_back(directory + "/" + name + ".o");
  }
  fs::create_directory(directory + "/more");
  fs::rename(build_object("addon_again", function_of("again")), directory + "/more/own.o");
  addons.push_back(directory + "/more/own.o");
  addons.push_back(write_text("members/own.c", function_of("source")));
  std::vector<const char *> names;
  for (const auto &addon : addons) names.push_back(addon.c_str());
  auto options = defaults(opd_export_options_init);
  options.addons = names.data(), options.num_addons = static_cast<int32_t>(names.size());
  mixed_tree("member").export_to(path, &options);
  ASSERT_EQ(std::system(("tar -tf '" + path + "' | LC_ALL=C sort > '" + directory + "/list'").c_str()), 0);
  EXPECT_EQ(read_bytes(directory + "/list"),
            "devc-2.o\ndevc.o\nlib0-2.o\nlib0.o\nopdyno-2.o\nopdyno.o\nown-2.o\nown-3.o\nown.o\n");
  const Module module = Module::load(path);
  for (const char *name : {"square", "devc", "opdyno", "lib0", "own", "again", "source"})
    EXPECT_TRUE(module.implements(name)) << name;
  EXPECT_EQ(module.function("half")(5.0).view().u.float64, 2.5);
  EXPECT_EQ(as_int(Vm(module).call("same", 5)), 5);
  // The format that was asked for is that of the file, not of the library of C functions beside it.
  auto as_tar = options_with(OPD_COPY_ALWAYS);
  as_tar.format = "tar";
  EXPECT_EQ(Module::load(path, &as_tar).function("half")(5.0).view().u.float64, 2.5);
}

TEST(AnArchiveThatIsExported, IsInspectedAndExportedWithoutRunningIt) {
  const std::string directory = fresh_directory("inspected"), path = directory + "/tree.tar";
  mixed_tree("inspect").export_to(path);
  auto options = options_with(OPD_COPY_ALWAYS);
  options.inspect_only = 1;
  const Module module = Module::load(path, &options);
  const std::string json = json_of(module);
  EXPECT_TRUE(json.starts_with("{\"kind\":\"relax.VMExecutable\"")) << json;
  EXPECT_TRUE(holds(json, "\"imports\":[{\"kind\":\"library\",\"file\":\"" + path + "\"")) << json;
  EXPECT_TRUE(holds(json, "{\"kind\":\"opdyno.native\"") && holds(json, "\"loaded\":false")) << json;
  EXPECT_EQ(std::stoull(json.substr(json.find("\"embedded_bytes\":") + 17)) > 0, true) << json;
  Function none;
  expect_error(opd_module_get_function(module.get(), "square", 1, none.out()), OPD_FAILED_PRECONDITION, path);
  module.export_to(directory + "/linked.so");
  const Module again = Module::load(directory + "/linked.so");
  EXPECT_EQ(again.function("square")(3.0).view().u.float64, 9);
  EXPECT_EQ(again.function("half")(5.0).view().u.float64, 2.5);
}

TEST(AnExport, LogsTheCompilersWarningsAndLeavesNoOtherFiles) {
  const std::string directory = fresh_directory("exports"), temporary = fresh_directory("exports_tmp");
  const std::string before = std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "";
  const std::string warns = write_text("warns.c", "#warning sent\n" + function_of("warns"));
  const char *addons[] = {warns.c_str()};
  auto options = defaults(opd_export_options_init);
  options.addons = addons, options.num_addons = 1, options.compiler = "cc";
  ::setenv("TMPDIR", temporary.c_str(), 1);
  for (const std::string name : {"/a.so", "/a.tar"}) {
    const LogMessages messages;
    same().export_to(directory + name, &options);
    ASSERT_EQ(messages.all().size(), 1u) << messages.text();
    EXPECT_EQ(messages.all()[0].level, OPD_LOG_WARNING);
    EXPECT_TRUE(messages.text().starts_with("cc for " + directory + name + ":\n0-warns.c:1:2: warning: "))
        << messages.text();
    EXPECT_TRUE(fs::is_empty(temporary));
  }
  write_text("warns.c", "#error broken\n");
  for (const std::string name : {"/b.so", "/b.tar"}) {
    expect_throws([&] { same().export_to(directory + name, &options); }, OPD_CALL_FAILED,
                  "cc could not make " + directory + name + ":\n0-warns.c:1:2: error: #error broken");
    EXPECT_FALSE(fs::exists(directory + name));
    EXPECT_TRUE(fs::is_empty(temporary));
  }
  options.num_addons = 0;
  ::setenv("TMPDIR", "/nonexistent", 1);
  expect_throws([&] { same().export_to(directory + "/c.so", &options); }, OPD_NOT_FOUND, "/nonexistent");
  ::setenv("TMPDIR", "", 1);  // the usual one
  same().export_to(directory + "/c.so", &options);
  EXPECT_TRUE(fs::exists(directory + "/c.so"));
  before.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before.c_str(), 1);
}

// ---- what an exported file embeds of opdyno's own

std::string own_library(const std::string &name, const std::string &kind, const std::string &bytes) {
  const std::string blob = text(number(2) + number(0) + number(0) + number(0) + text(kind) + text(bytes));
  std::string source = "const unsigned char __opdyno_library_bin[] = {";
  for (const char c : blob) source += std::to_string(static_cast<unsigned char>(c)) + ",";
  return build_library(name, source + "};\n");
}

TEST(AModuleOfOpdynosOwn, NamesTheMissingPart) {
  const std::string table = text("none.so") + number(1) + text("half") + text("f64(f64)");
  const std::string future = own_library("own_future", "opdyno.future", ""),
                    absent = own_library("own_absent", "opdyno.native", table),
                    short_one = own_library("own_short", "opdyno.native", table + "?");
  const std::string library = scratch_directory() + "/none.so";
  expect_error(load(future), OPD_UNSUPPORTED,
               future + " embeds a module of kind opdyno.future, which this version of opdyno does not know");
  expect_error(load(absent), OPD_NOT_FOUND,
               absent + " offers C functions of the library " + library +
                   ", which is not there; libraries beside an exported file must be moved together with it");
  expect_error(load_text(read_bytes(absent), "m.so"), OPD_NOT_FOUND,
               "m.so offers C functions of the library none.so, which lies beside the exported file; load that file "
               "instead of its bytes");
  expect_error(load(short_one), OPD_BAD_FORMAT,
               short_one + ": embedded table of C functions: the end at offset 51 is followed by 1 bytes");
}

}  // namespace
}  // namespace opdyno_test
