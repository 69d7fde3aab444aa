// Embedded modules: the tree that TVM writes, and bytes that claim to be one.
#include "module/blob_reader.h"

#include <gtest/gtest.h>

#include "module/kinds/native_module.h"
#include "module/kinds/placeholder_module.h"
#include "support/refusal.h"

namespace opd {
namespace {

// What a library's symbol holds: the size, rows and entries of the import tree, then kind and bytes of each module.
struct Blob {
  std::vector<uint64_t> starts, children;
  std::vector<std::pair<std::string, std::string>> modules;

  std::string text() const {
    ByteWriter body;
    for (const auto *numbers : {&starts, &children}) {
      body.write<uint64_t>(numbers->size());
      for (const uint64_t number : *numbers) body.write(number);
    }
    for (const auto &[kind, bytes] : modules) {
      body.write_string(kind);
      if (kind != kLibraryEntry) body.write_string(bytes);
    }
    ByteWriter whole;
    whole.write_string(body.take());
    return whole.take();
  }
};

// A Relax library: the executable is the root and imports the code.
Blob relax() { return {{0, 1, 1}, {1}, {{"test.Executable", "abc"}, {"_lib", ""}}}; }

std::string blob_refusal(const std::string &text) {
  return refusal(OPD_BAD_FORMAT, [&] { read_embedded_modules(as_bytes(text), "model.so"); });
}
std::vector<Ref<Object>> derived;

struct Named final : Module {
  std::string name;
  explicit Named(std::string n) : name(std::move(n)) {}
  const char *kind() const override { return "library"; }
  Ref<Function> find(std::string_view) override { return nullptr; }
  std::vector<std::string> list() override { return {}; }
  int32_t properties() const override { return OPD_MODULE_RUNNABLE; }
};

TEST(BlobReader, GivesKindsBytesAndImportsInTheirOrder) {
  const std::string text = relax().text();
  const auto modules = read_embedded_modules(as_bytes(text), "model.so");
  ASSERT_EQ(modules.size(), 2u);
  EXPECT_EQ(modules[0].kind, "test.Executable");
  EXPECT_EQ(as_text(modules[0].bytes), "abc");
  EXPECT_EQ(modules[0].imports, std::vector<size_t>{1});
  EXPECT_EQ(modules[1].kind, "_lib");
  EXPECT_TRUE(modules[1].imports.empty());
}

TEST(BlobReader, LinksModulesAndGivesTheRoot) {
  register_module_kind("test.Executable", [](const EmbeddedBytes &given) -> Ref<Module> {
    return make_object<Named>(concat(as_text(given.bytes), "@", given.name));
  });
  const std::string text = relax().text();
  Ref<Module> library = make_object<Named>("library");
  const auto root = make_embedded_modules(as_bytes(text), library, "model.so", {}, derived);
  EXPECT_EQ(static_cast<Named &>(*root).name, "abc@model.so");
  ASSERT_EQ(root->imports().size(), 1u);
  EXPECT_EQ(root->imports()[0].get(), library.get());
}

TEST(BlobReader, ReportsALoaderThatReturnsNoModule) {
  register_module_kind("test.None", [](const EmbeddedBytes &) -> Ref<Module> { return nullptr; });
  const std::string text = Blob{{0, 0}, {}, {{"test.None", "abc"}}}.text();
  try {
    make_embedded_modules(as_bytes(text), make_object<Named>("library"), "model.so", {}, derived);
    ADD_FAILURE();
  } catch (const Exception &e) {
    EXPECT_EQ(e.error()->code, OPD_INTERNAL);
    EXPECT_STREQ(e.what(), "the loader of modules of kind test.None returned no module");
  }
}

// A loader may keep something there for the next load of the same bytes.
TEST(BlobReader, GivesEachModuleAPlaceOfItsOwnThatTheNextLoadHasAgain) {
  std::vector<std::string> kept;
  register_module_kind("test.Keeps", [&](const EmbeddedBytes &given) -> Ref<Module> {
    if (*given.derived) kept.push_back(static_cast<Named &>(static_cast<Module &>(**given.derived)).name);
    auto made = make_object<Named>(std::string(as_text(given.bytes)));
    *given.derived = Ref<Object>::share(made.get());
    return made;
  });
  const std::string text = Blob{{0, 2, 2, 2}, {1, 2}, {{"test.Keeps", "a"}, {"_lib", ""}, {"test.Keeps", "c"}}}.text();
  std::vector<Ref<Object>> places;
  for (int load = 0; load < 2; ++load)
    make_embedded_modules(as_bytes(text), make_object<Named>("library"), "model.so", {}, places);
  EXPECT_EQ(kept, (std::vector<std::string>{"a", "c"}));
  ASSERT_EQ(places.size(), 3u);
  EXPECT_FALSE(places[1]) << "the library's";
}

TEST(BlobReader, SharesAModuleThatSeveralImport) {
  const std::string text = Blob{{0, 2, 3, 3}, {1, 2, 2}, {{"_lib", ""}, {"odd.a", "x"}, {"odd.b", "y"}}}.text();
  const auto root = make_embedded_modules(as_bytes(text), make_object<Named>("library"), "model.so", {}, derived);
  ASSERT_EQ(root->imports().size(), 2u);
  EXPECT_EQ(root->imports()[1].get(), root->imports()[0]->imports()[0].get());
}

TEST(BlobReader, KeepsAModuleOfUnknownKindInItsPlace) {
  const std::string text = Blob{{0, 1, 1}, {1}, {{"_lib", ""}, {"odd.kind", std::string("\1\2\0\3", 4)}}}.text();
  const auto root = make_embedded_modules(as_bytes(text), make_object<Named>("library"), "model.so", {}, derived);
  const auto child = root->imports().at(0);
  EXPECT_STREQ(child->kind(), "odd.kind");
  EXPECT_EQ(static_cast<PlaceholderModule &>(*child).bytes(), std::string("\1\2\0\3", 4));
  EXPECT_EQ(child->find("anything").get(), nullptr);
  try {
    root->get("missing", true);
    FAIL();
  } catch (const Exception &e) {
    EXPECT_EQ(e.error()->code, OPD_UNSUPPORTED);
    EXPECT_NE(std::string(e.what()).find("odd.kind"), std::string::npos) << e.what();
  }
}

// The bytes of a device module: format, functions with their launch parameters, code.
std::string device_bytes() {
  ByteWriter out;
  out.write_string("cuda");
  out.write<uint64_t>(1);
  out.write_string("add_kernel");
  out.write_string("add_kernel");
  out.write<uint64_t>(1);
  out.write<uint32_t>(0x00012002);  // float32
  out.write<uint64_t>(1);
  out.write_string("blockIdx.x");
  out.write<uint64_t>(0);
  out.write_string("__global__ void add_kernel(float *x) {}");
  return out.take();
}

TEST(BlobReader, ListsTheFunctionsOfDeviceModulesAndRefusesOnlyThose) {
  const std::string text = Blob{{0, 1, 1}, {1}, {{"_lib", ""}, {"cuda", device_bytes()}}}.text();
  const auto root = make_embedded_modules(as_bytes(text), make_object<Named>("library"), "model.so", {}, derived);
  EXPECT_EQ(root->imports().at(0)->list(), std::vector<std::string>{"add_kernel"});
  EXPECT_EQ(root->find_with_imports("vm.builtin.copy").get(), nullptr);  // may be found elsewhere
  EXPECT_THROW(root->find_with_imports("add_kernel"), Exception);
  try {
    root->get("other", true);
    FAIL();
  } catch (const Exception &e) { EXPECT_EQ(e.error()->code, OPD_NOT_FOUND) << e.what(); }
}

TEST(BlobReader, RefusesEveryLengthButTheRightOne) {
  const std::string text = relax().text();
  for (size_t size = 0; size < text.size(); ++size) EXPECT_NE(blob_refusal(text.substr(0, size)), "accepted") << size;
  EXPECT_EQ(blob_refusal(text + "padding"), "accepted");  // the symbol may be longer than the modules
  std::string longer = text + "x";
  longer[0] = static_cast<char>(longer[0] + 1);
  EXPECT_NE(blob_refusal(longer).find("is followed by 1 bytes"), std::string::npos) << blob_refusal(longer);
}

TEST(BlobReader, RefusesAnyDamagedByteOrReadsIt) {
  const std::string text = relax().text();
  for (size_t at = 0; at < text.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
      blob_refusal(damaged);  // must end, within its bytes
    }
}

TEST(BlobReader, RefusesInvalidTrees) {
  const auto with = [](std::vector<uint64_t> starts, std::vector<uint64_t> children) {
    return blob_refusal(Blob{std::move(starts), std::move(children), {{"odd.a", ""}, {"_lib", ""}}}.text());
  };
  EXPECT_NE(with({}, {}).find("has no root"), std::string::npos);
  EXPECT_NE(with({0}, {}).find("has no root"), std::string::npos);
  EXPECT_NE(with({1, 1, 1}, {}).find("has no root"), std::string::npos);
  EXPECT_NE(with({0, 2, 1}, {1}).find("rows"), std::string::npos);
  EXPECT_NE(with({0, 1, 2}, {1}).find("rows"), std::string::npos);
  EXPECT_NE(with({0, 1, 1}, {2}).find("import 2 of 2"), std::string::npos);
  EXPECT_NE(with({0, 1, 1}, {0}).find("cycle"), std::string::npos);
  EXPECT_NE(with({0, 1, 2}, {1, 0}).find("cycle"), std::string::npos);
  EXPECT_NE(with({0, 1, 1}, {UINT64_MAX}).find("import 18446744073709551615"), std::string::npos);
}

TEST(BlobReader, RefusesCountsThatTheBytesCannotHold) {
  ByteWriter body;
  body.write<uint64_t>(UINT64_MAX / 8);
  ByteWriter whole;
  whole.write_string(body.take());
  EXPECT_NE(blob_refusal(whole.take()).find("offset 16"), std::string::npos);
  std::vector<uint64_t> rows(1200, 0);  // more modules than any library has
  EXPECT_NE(blob_refusal(Blob{rows, {}, {}}.text()).find("more than"), std::string::npos);
}

TEST(BlobReader, RefusesTheLibraryTwiceAndKindsWithoutAName) {
  EXPECT_NE(blob_refusal(Blob{{0, 1, 1}, {1}, {{"_lib", ""}, {"_lib", ""}}}.text()).find("a second time"),
            std::string::npos);
  EXPECT_NE(blob_refusal(Blob{{0, 0}, {}, {{"", "x"}}}.text()).find("has 0 bytes"), std::string::npos);
  EXPECT_NE(blob_refusal(Blob{{0, 0}, {}, {{std::string("a\0b", 3), "x"}}}.text()).find("0 byte in it"),
            std::string::npos);
}

// ---- our own tree beside TVM's

Ref<Module> own_tree(const Blob &own, const std::string &blob) {
  const std::string text = own.text();
  return make_own_modules(as_bytes(text), as_bytes(blob), make_object<Named>("library"), "model.so", {}, derived,
                          [](std::string_view kind, Bytes bytes) -> Ref<Module> {
                            return make_object<Named>(concat(kind, ":", as_text(bytes)));
                          });
}
std::string own_refusal(const Blob &own, const std::string &blob) {
  try {
    own_tree(own, blob);
  } catch (const Exception &e) {
    EXPECT_EQ(e.error()->code, OPD_BAD_FORMAT) << e.what();
    return e.what();
  }
  return "accepted";
}
std::string place(uint64_t number) { return {reinterpret_cast<const char *>(&number), sizeof number}; }

TEST(BlobReader, PutsOurOwnModulesAmongTvms) {
  const std::string tvms = Blob{{0, 1, 1}, {1}, {{"odd.root", "abc"}, {"_lib", ""}}}.text();
  const auto root = own_tree({{0, 1, 2, 2}, {1, 2}, {{"opdyno.x", "new"}, {"_tvm", place(0)}, {"_lib", ""}}}, tvms);
  EXPECT_EQ(static_cast<Named &>(*root).name, "opdyno.x:new");
  ASSERT_EQ(root->imports().size(), 1u);
  EXPECT_STREQ(root->imports()[0]->kind(), "odd.root");
  ASSERT_EQ(root->imports()[0]->imports().size(), 1u);  // once, not by both trees
  EXPECT_EQ(static_cast<Named &>(*root->imports()[0]->imports()[0]).name, "library");
  // Without any of TVM's.
  EXPECT_EQ(static_cast<Named &>(*own_tree({{0, 0}, {}, {{"opdyno.y", ""}}}, "")).name, "opdyno.y:");
}

TEST(BlobReader, RefusesAnOwnTreeThatDoesNotFitTvms) {
  const std::string tvms = Blob{{0, 1, 1}, {1}, {{"odd.root", "abc"}, {"_lib", ""}}}.text();
  const auto with = [&](const std::string &kind, const std::string &bytes) {
    return own_refusal({{0, 1, 1}, {1}, {{"_tvm", place(0)}, {kind, bytes}}}, tvms);
  };
  EXPECT_NE(with("_tvm", place(2)).find("is 2, which is none of 2"), std::string::npos);
  EXPECT_NE(with("_tvm", place(0)).find("comes again"), std::string::npos);
  EXPECT_NE(with("_tvm", place(1)).find("is 1, which is none"), std::string::npos);  // the library is "_lib"
  EXPECT_NE(with("_tvm", "1234").find("needs 8 bytes, 4 remain"), std::string::npos);
  EXPECT_NE(with("_tvm", place(0) + "?").find("entry 1"), std::string::npos);
  EXPECT_NE(with("odd.b", "").find("none of opdyno's own"), std::string::npos);
  EXPECT_NE(own_refusal({{0, 1, 1}, {0}, {{"_lib", ""}, {"opdyno.x", ""}}}, "").find("cycle"), std::string::npos);
}

TEST(NativeTable, IsCheckedWhenItIsRead) {
  const auto table = [](const std::vector<std::string> &texts, uint64_t count) {
    ByteWriter out;
    out.write_string(texts[0]);
    out.write(count);
    for (size_t i = 1; i < texts.size(); ++i) out.write_string(texts[i]);
    return out.take();
  };
  const auto refused = [](const std::string &bytes) {
    try {
      read_native_table(as_bytes(bytes), "model.so");
    } catch (const Exception &e) {
      EXPECT_EQ(e.error()->code, OPD_BAD_FORMAT) << e.what();
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  const std::string good = table({"lib.so", "f", "f64()"}, 1);
  const NativeTable read = read_native_table(as_bytes(good), "model.so");
  EXPECT_EQ(read.library, "lib.so");
  ASSERT_EQ(read.entries.size(), 1u);
  EXPECT_EQ(read.entries[0].name + read.entries[0].signature, "ff64()");
  for (size_t size = 0; size < good.size(); ++size) EXPECT_NE(refused(good.substr(0, size)), "accepted") << size;
  EXPECT_NE(refused(good + "?").find("followed by 1 bytes"), std::string::npos);
  EXPECT_NE(refused(table({"", "f", "f64()"}, 1)).find("the path of the library at offset 8 has 0 bytes"),
            std::string::npos);
  EXPECT_NE(refused(table({"lib.so", std::string("f\0g", 3), "f64()"}, 1)).find("a 0 byte"), std::string::npos);
  EXPECT_NE(refused(table({"lib.so", "f", std::string(5000, 'x')}, 1)).find("has 5000 bytes"), std::string::npos);
  EXPECT_NE(refused(table({"lib.so"}, uint64_t{1} << 60)), "accepted");
  for (size_t i = 0; i < 3; ++i) {  // the path, a name, a signature
    std::vector<std::string> texts = {"lib.so", "f", "f64()"};
    texts[i] = std::string(4096, 'x');
    EXPECT_EQ(refused(table(texts, 1)), "accepted") << i;
    texts[i] += 'x';
    EXPECT_NE(refused(table(texts, 1)).find("has 4097 bytes, or a 0 byte among them"), std::string::npos) << i;
  }
  const NativeTable none = read_native_table(as_bytes(table({"lib.so"}, 0)), "model.so");
  EXPECT_TRUE(none.entries.empty());
}

}  // namespace
}  // namespace opd
