// Module trees exported to one file, and loaded again.
#include "support/export_test.h"

namespace opdyno_test {
namespace {

struct ExportTest : testing::Test {
  std::string cache = scratch_directory() + "/export-cache";
  opd_export_options options;
  ExportTest() { opd_export_options_init(&options); }

  Module again(const std::string &path) const {
    opd_module_options how = options_with(OPD_COPY_ALWAYS);
    how.cache_dir = cache.c_str();
    return Module::load(path, &how);
  }
  std::string file(const std::string &name) const { return scratch_directory() + "/" + name; }
  Module exported(const Module &module, const std::string &name) const {
    module.export_to(file(name), &options);
    return again(file(name));
  }
};

void expect_nine(const Module &module) {
  EXPECT_STREQ(module.kind(), "relax.VMExecutable");
  Tensor x({2}, "float32");
  x.data<float>()[0] = 1, x.data<float>()[1] = 2;
  EXPECT_EQ(Vm(module).call("main", x).view().u.float64, 9);  // (1 + 2)²
}

TEST_F(ExportTest, GivesALibraryOrAnArchiveThatRunsAsTheTreeDid) {
  const Module tree = tree_to_export();
  expect_nine(exported(tree, "tree.so"));
  expect_nine(exported(tree, "tree.tar"));
  const std::string json = json_of(again(file("tree.so")));
  EXPECT_TRUE(holds(json, "\"functions\":[\"main\"],\"imports\":[{\"kind\":\"library\"")) << json;
}

TEST_F(ExportTest, EmbedsNothingForCodeAlone) {
  const Module module = exported(source_module(kSumSource), "code.so");
  EXPECT_STREQ(module.kind(), "library");
  EXPECT_EQ(names_of(module), std::vector<std::string>{"sum"});
  const Module library =
      exported(Module::load_static_library(build_object("alone", kSquareSource), {"square"}), "alone.tar");
  EXPECT_EQ(library.function("square")(3.0).view().u.float64, 9);
}

TEST_F(ExportTest, NeedsNoCodeForAProgramAlone) {
  const Module program = Executable::assemble(".func same(x) {\n  ret %x\n}\n").to_module();
  const Module module = exported(program, "program.so");
  EXPECT_EQ(as_int(Vm(module).call("same", 5)), 5);
  EXPECT_EQ(as_int(Vm(exported(program, "program.tar")).call("same", 6)), 6);
}

TEST_F(ExportTest, KeepsATreeInWhichTwoModulesImportOne) {
  const Module root = Executable::assemble(".func a(x) {\n  ret %x\n}\n").to_module(),
               left = Executable::assemble(".func b(x) {\n  ret %x\n}\n").to_module(),
               right = Executable::assemble(".func c(x) {\n  ret %x\n}\n").to_module(),
               code = source_module(kSumSource);
  root.add_import(left);
  root.add_import(code);  // its code follows those that import it
  root.add_import(right);
  left.add_import(code);
  right.add_import(code);
  const Module module = exported(root, "diamond.so");
  EXPECT_TRUE(holds(json_of(module), "\"functions\":[\"a\"]"));
  opd_array *imports = nullptr;
  check(opd_module_list_imports(module.get(), &imports));
  const Handle<opd_array> owned(imports);
  ASSERT_EQ(opd_array_count(imports), 3);
  const char *const kinds[] = {"relax.VMExecutable", "library", "relax.VMExecutable"};
  for (size_t i = 0; i < 3; ++i) {
    Value item;
    check(opd_array_get(imports, i, item.out()));
    EXPECT_STREQ(opd_module_kind(reinterpret_cast<const opd_module *>(item.view().u.object)), kinds[i]);
  }
  EXPECT_TRUE(module.implements("sum") && module.implements("b") && module.implements("c"));
}

TEST_F(ExportTest, RefusesATreeThatTheLibraryWouldClose) {
  const Module upper = source_module(kSumSource), lower = source_module(kSquareSource),
               between = Executable::assemble(".func a(x) {\n  ret %x\n}\n").to_module();
  upper.add_import(between);
  between.add_import(lower);
  expect_throws([&] { upper.export_to(file("none.so")); }, OPD_UNSUPPORTED, "lies between");
}

TEST_F(ExportTest, LinksAddonsAndKeepsItsWork) {
  const std::string workspace = file("work/inner"), object = build_object("lib0", kSquareSource);
  const char *addons[] = {object.c_str()};
  options.addons = addons, options.num_addons = 1, options.workspace_dir = workspace.c_str();
  const Module source = source_module(kSumSource);
  for (const char *name : {"addons.so", "addons.tar"}) {
    const Module module = exported(source, name);
    EXPECT_EQ(names_of(module), (std::vector<std::string>{"square", "sum"}));
  }
  EXPECT_FALSE(std::filesystem::is_empty(workspace));
  options.num_addons = 0;
  expect_nine(exported(tree_to_export(), "quoted \"name\".so"));
}

TEST_F(ExportTest, LetsTheRootImportAddonsWhereNothingElseHasCode) {
  const Module program = Executable::assemble(".func main(x) {\n  %y = call square(%x)\n  ret %y\n}\n").to_module();
  const std::string object = build_object("only_addon", kSquareSource);
  const char *addons[] = {object.c_str()};
  options.addons = addons, options.num_addons = 1;
  for (const char *name : {"root_addons.so", "root_addons.tar"})
    EXPECT_EQ(Vm(exported(program, name)).call("main", 3.0).view().u.float64, 9);
}

TEST_F(ExportTest, WorksInDirectoriesWithUnusualNames) {
  const std::string workspace = file("a \"b\" \\c 'd'");
  options.workspace_dir = workspace.c_str();
  expect_nine(exported(tree_to_export(), "unusual.so"));
}

TEST_F(ExportTest, NamesTheFileThatCausedTheError) {
  const Module tree = tree_to_export();
  expect_throws([&] { tree.export_to(file("tree.zip")); }, OPD_INVALID_ARGUMENT, ".so");
  expect_throws([&] { tree.export_to("/nonexistent/tree.so"); }, OPD_NOT_FOUND, "/nonexistent");
  const char *missing[] = {"/nonexistent.o"}, *text[] = {nullptr};
  options.addons = missing, options.num_addons = 1;
  expect_throws([&] { tree.export_to(file("tree.so"), &options); }, OPD_NOT_FOUND, "/nonexistent.o");
  const std::string script = write_text("script.o", "INPUT(x)");
  text[0] = script.c_str(), options.addons = text;
  expect_throws([&] { tree.export_to(file("tree.so"), &options); }, OPD_BAD_FORMAT, "script.o");
  options.num_addons = 0, options.compiler = "no-such-compiler";
  expect_throws([&] { tree.export_to(file("tree.so"), &options); }, OPD_NOT_FOUND, "no-such-compiler");
  options.compiler = nullptr, options.c_flags = "-Wl,--no-such-option";
  expect_throws([&] { tree.export_to(file("tree.so"), &options); }, OPD_CALL_FAILED, "no-such-option");
  const Module twice = source_module(kSumSource);
  twice.add_import(source_module(kSumSource));
  expect_throws([&] { twice.export_to(file("twice.so")); }, OPD_CALL_FAILED, "multiple definition");
}

}  // namespace
}  // namespace opdyno_test
