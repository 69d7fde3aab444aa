// C functions of a library in an exported tree: a section of opdyno's own, and the library's place.
#include "support/export_test.h"

namespace opdyno_test {
namespace {

namespace fs = std::filesystem;

struct NativeExport : testing::Test {
  std::string directory = scratch_directory() + "/native-export", cache = scratch_directory() + "/native-export-cache";
  NativeExport() {
    fs::remove_all(directory);
    fs::create_directories(directory + "/lib");
  }

  std::string native_library(const std::string &name) const {
    const std::string path = directory + "/lib/" + name + ".so";
    fs::rename(build_library(name, "double twice(double x) { return 2 * x; }\n"), path);
    return path;
  }
  static Module native(const std::string &path) {
    Module module;
    const char *names[] = {"twice"}, *signatures[] = {"f64(f64)"};
    check(opd_module_load_native(path.c_str(), names, signatures, 1, nullptr, module.out()));
    return module;
  }
  // main(x) gives twice the square of the sum of x.
  static Module tree(const Module &native) {
    const Module program = Executable::assemble(R"(
.func main(x) {
  %s = call sum(%x)
  %q = call square(%s)
  %r = call twice(%q)
  ret %r
}
)")
                               .to_module();
    program.add_import(source_module(kSumSource));
    program.add_import(native);
    native.add_import(Module::load_static_library(build_object("square", kSquareSource), {"square"}));
    return program;
  }
  Module again(const std::string &path) const {
    opd_module_options how = options_with(OPD_COPY_ALWAYS);
    how.cache_dir = cache.c_str();
    return Module::load(path, &how);
  }
};

void expect_eighteen(const Module &module) {
  EXPECT_EQ(Vm(module).call("main", floats({1, 2})).view().u.float64, 18);  // 2 (1 + 2)²
}

std::vector<std::string> kinds_of_imports(const Module &module) {
  opd_array *imports = nullptr;
  check(opd_module_list_imports(module.get(), &imports));
  const Handle<opd_array> owned(imports);
  std::vector<std::string> kinds;
  for (int32_t i = 0; i < opd_array_count(imports); ++i) {
    Value item;
    check(opd_array_get(imports, i, item.out()));
    kinds.emplace_back(opd_module_kind(reinterpret_cast<const opd_module *>(item.view().u.object)));
  }
  return kinds;
}

TEST_F(NativeExport, KeepsItsPlaceInTheTree) {
  const Module whole = tree(native(native_library("placed")));
  for (const char *name : {"/tree.so", "/tree.tar"}) {
    whole.export_to(directory + name);
    const Module module = again(directory + name);
    expect_eighteen(module);
    EXPECT_EQ(kinds_of_imports(module), (std::vector<std::string>{"library", "opdyno.native"}));
    EXPECT_TRUE(holds(json_of(module), "\"signatures\":{\"twice\":\"f64(f64)\"}")) << json_of(module);
  }
  EXPECT_TRUE(holds(read_bytes(directory + "/tree.so"), std::string("\0.opdyno\0", 9)));
  EXPECT_TRUE(holds(read_bytes(directory + "/tree.tar"), "opdyno.o"));
}

TEST_F(NativeExport, FindsItsLibraryBesideItselfOrWhereItWas) {
  const std::string beside = native_library("beside"),
                    away = build_library("away", "double twice(double x) { return 2 * x; }");
  tree(native(beside)).export_to(directory + "/moved.so");
  fs::rename(directory, directory + "-2");
  expect_eighteen(again(directory + "-2/moved.so"));
  expect_throws(
      [&] {
        const std::string bytes = read_bytes(directory + "-2/moved.so");
        check(opd_module_load_bytes(bytes.data(), bytes.size(), "moved", nullptr, Module().out()));
      },
      OPD_NOT_FOUND, "moved offers C functions of the library lib/beside.so");
  fs::remove_all(directory + "-2/lib");
  expect_throws([&] { again(directory + "-2/moved.so"); }, OPD_NOT_FOUND,
                directory + "-2/lib/beside.so, which is not there");
  fs::create_directory(directory);
  tree(native(away)).export_to(directory + "/fixed.so");
  fs::rename(directory + "/fixed.so", directory + "-2/fixed.so");
  expect_eighteen(again(directory + "-2/fixed.so"));
  fs::remove_all(directory + "-2");
}

TEST_F(NativeExport, FindsItsLibraryAlsoThroughALink) {
  const std::string link = directory + "-link", moved = directory + "-moved";
  for (const bool library_by_link : {true, false}) {
    fs::remove(link);
    fs::remove_all(moved);
    fs::create_directories(directory + "/lib");
    fs::create_directory_symlink(directory, link);
    native_library("linked");
    tree(native((library_by_link ? link : directory) + "/lib/linked.so"))
        .export_to((library_by_link ? directory : link) + "/tree.so");
    fs::rename(directory, moved);
    expect_eighteen(again(moved + "/tree.so"));
  }
  fs::remove(link);
  fs::remove_all(moved);
}

TEST_F(NativeExport, FindsItsLibraryByTheNameOfTheLink) {
  fs::create_symlink(native_library("real"), directory + "/lib/link.so");
  tree(native(directory + "/lib/link.so")).export_to(directory + "/tree.so");
  fs::remove(directory + "/lib/link.so");
  fs::rename(directory + "/lib/real.so", directory + "/lib/link.so");
  expect_eighteen(again(directory + "/tree.so"));
}

TEST_F(NativeExport, FindsALibraryThatWasNamedFromTheCurrentDirectory) {
  native_library("near");
  const fs::path before = fs::current_path();
  fs::current_path(directory + "/lib");
  tree(native("./near.so")).export_to("tree.so");
  fs::current_path(before);
  fs::rename(directory + "/lib", directory + "/moved");
  expect_eighteen(again(directory + "/moved/tree.so"));
}

TEST_F(NativeExport, MayBeTheRootOfOneTree) {
  const Module module = native(native_library("root"));
  module.export_to(directory + "/alone.so");
  const Module alone = again(directory + "/alone.so");
  EXPECT_STREQ(alone.kind(), "opdyno.native");
  EXPECT_EQ(alone.function("twice")(4.0).view().u.float64, 8);
  EXPECT_EQ(kinds_of_imports(alone), std::vector<std::string>{});
  module.add_import(source_module(kSumSource));
  module.export_to(directory + "/code.tar");
  EXPECT_EQ(again(directory + "/code.tar").function("sum")(floats({3, 4})).view().u.float64, 7);
  module.add_import(Executable::assemble(".func same(x) {\n  ret %x\n}\n").to_module());
  expect_throws([&] { module.export_to(directory + "/two.so"); }, OPD_UNSUPPORTED, "that imports 2 others");
}

TEST_F(NativeExport, IsRefusedIfItsLibraryHasChanged) {
  const std::string path = native_library("changed");
  tree(native(path)).export_to(directory + "/tree.so");
  fs::rename(build_library("changed", "double once(double x) { return x; }\n"), path);
  expect_throws([&] { again(directory + "/tree.so"); }, OPD_NOT_FOUND, "no C function \"twice\"");
  // A library that names itself is not read for ever: only its C functions are taken.
  fs::copy_file(directory + "/tree.so", path, fs::copy_options::overwrite_existing);
  expect_throws([&] { again(path); }, OPD_NOT_FOUND, "lib/lib/changed.so");
  fs::create_directories(directory + "/lib/lib");
  fs::copy_file(path, directory + "/lib/lib/changed.so");
  expect_throws([&] { again(path); }, OPD_NOT_FOUND, "no C function \"twice\"");
}

TEST_F(NativeExport, NeedsTheDirectoryThatTheLibraryWasIn) {
  const Module module = native(native_library("gone"));
  fs::rename(directory + "/lib", directory + "/moved");
  expect_throws([&] { module.export_to(directory + "/none.so"); }, OPD_NOT_FOUND,
                directory + "/lib/gone.so is not there");
}

TEST_F(NativeExport, IsReadAsBytesThatMayBeDamaged) {
  tree(native(native_library("flipped"))).export_to(directory + "/whole.so");
  const std::string whole = read_bytes(directory + "/whole.so"), path = directory + "/damaged.so";
  const size_t kind = whole.find("opdyno.native"), begin = (kind - 200) / 64 * 64,
               end = whole.find("f64(f64)", kind) + 8;  // the section's start has that alignment
  ASSERT_NE(kind, std::string::npos);
  int refused = 0;
  for (size_t at = begin; at < end; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1 << at % 8);
    std::ofstream(path, std::ios::binary) << damaged;
    Module module;
    if (opd_error *error = opd_module_load(path.c_str(), nullptr, module.out())) {
      EXPECT_FALSE(Error(error).message().empty());
      ++refused;
    }
  }
  EXPECT_GT(refused, static_cast<int>(end - kind) / 2);  // what is left changes who imports whom
}

}  // namespace
}  // namespace opdyno_test
