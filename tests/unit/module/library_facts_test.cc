// What is known of a library, of object files and of C sources before any of their code runs.
#include "module/library_facts.h"

#include "module/c_source_text.h"
#include "module/elf/object_file.h"
#include "module/image/artifact.h"
#include "tvmffi/tvmffi.h"
#include "unit/module/elf_bytes.h"

namespace opd {
namespace {

using Names = std::vector<std::string>;
using opdyno_test::read_bytes;
using opdyno_test::scratch_directory;
using opdyno_test::write_text;

std::string object_bytes(const std::string &source, const std::string &flags = "") {
  const std::string text = write_text("facts.c", source), path = scratch_directory() + "/facts.o";
  const std::string command = "cc -O1 -fPIC -c -o '" + path + "' '" + text + "' " + flags;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return read_bytes(path);
}
Names names_of(const LibraryFacts &facts) {
  Names names;
  for (const auto &function : facts.functions) names.push_back(function.name);
  std::sort(names.begin(), names.end());  // the linker's order is that of a hash table
  return names;
}
std::string json_of(const LibrarySizes &sizes) {
  JsonWriter json;
  json.begin_object();
  sizes.describe(json);
  json.end_object();
  return json.take();
}

const std::string kFactsSource = R"(
int __tvm_ffi_one(void *s, void *a, int n, void *r) { return n; }
int __tvm_ffi_two(void *s, void *a, int n, void *r) { return n + 1; }
static int __tvm_ffi_own(void *s) { return s != 0; }
__attribute__((visibility("hidden"))) int __tvm_ffi_hidden(void *s) { return __tvm_ffi_own(s); }
int other(void *s) { return __tvm_ffi_hidden(s); }
int __tvm_ffi_data = 3;
extern int __tvm_ffi_absent(void);
int calls(void) { return __tvm_ffi_absent(); }
const char __tvm_ffi__library_bin[5] = "abcd";
)";

TEST(LibraryFacts, ComeFromSymbolsAndSegments) {
  register_tvmffi_symbols();
  const std::string bytes = read_bytes(opdyno_test::build_library("facts", kFactsSource));
  const ElfFile file(as_bytes(bytes), "facts.so");
  const LibraryFacts facts = facts_of(file);
  EXPECT_EQ(names_of(facts), (Names{"one", "two"}));
  for (const auto &function : facts.functions)
    for (const ElfSymbol &symbol : file.symbols())
      if (symbol.name == "__tvm_ffi_" + function.name) { EXPECT_EQ(function.bytes, symbol.size); }
  EXPECT_TRUE(facts.is_compiled);
  EXPECT_EQ(facts.not_loadable, "");
  EXPECT_EQ(facts.release, "");
  EXPECT_EQ(facts.prefix, "");
  EXPECT_EQ(facts.sizes.file, bytes.size());
  EXPECT_EQ(facts.sizes.embedded, 5u);
  uint64_t memory = 0, code = 0;
  Library library(kFactsSource, "");
  library.bytes = bytes;
  for (const auto &s : library.segments())
    if (s.p_type == PT_LOAD) memory += s.p_memsz, code += s.p_flags & PF_X ? s.p_memsz : 0;
  EXPECT_EQ(facts.sizes.memory, memory);
  EXPECT_EQ(facts.sizes.code, code);
  EXPECT_EQ(json_of({1, 2, 3, 4}), R"({"size_bytes":1,"memory_bytes":2,"code_bytes":3,"embedded_bytes":4})");
  EXPECT_EQ(as_text(embedded_by_tvm(file)), std::string_view("abcd", 5));
  EXPECT_TRUE(embedded_in(file, kOwnBlobSymbol).empty());
}

TEST(LibraryFacts, StateWhyAnUndamagedLibraryCannotBeLoaded) {
  register_tvmffi_symbols();
  const auto facts = [](const std::string &source) {
    const std::string bytes = read_bytes(opdyno_test::build_library("facts", source));
    return facts_of(ElfFile(as_bytes(bytes), "facts.so"));
  };
  const LibraryFacts old = facts("void *__tvm_ffi_library_ctx; int __tvm_ffi_f(void) { return 1; }");
  EXPECT_EQ(old.release, "0.21");
  EXPECT_EQ(names_of(old), Names{"f"});
  EXPECT_EQ(old.not_loadable,
            "facts.so was made by TVM 0.21 (it has the symbol __tvm_ffi_library_ctx), which has another calling "
            "convention; export the model again with TVM 0.22 to 0.27");
  EXPECT_EQ(facts("__attribute__((weak)) void *__TVMNewSlot;").not_loadable,
            "facts.so expects its loader to provide TVMNewSlot, which this version of opdyno does not offer");
  EXPECT_EQ(facts("int TVMNewThing(void); int f(void) { return TVMNewThing(); }").not_loadable,
            "facts.so calls TVMNewThing, which this version of opdyno does not offer");
  EXPECT_THROW(facts("__attribute__((weak)) int __TVMFFIFunctionCall;"), Exception);
  const LibraryFacts system = facts(
      "void *mine___tvm_ffi__library_ctx; int __tvm_ffi_mine_f(void) { return 1; }"
      "const char mine___tvm_ffi__library_bin[3] = \"xy\";");
  EXPECT_EQ(system.prefix, "mine_");
  EXPECT_EQ(system.sizes.embedded, 3u) << "of a system library, too";
}

// A function that TVM's compiler marks by no type, one that is chosen, and what only looks like a function.
TEST(LibraryFacts, DistinguishFunctionsFromOtherSymbols) {
  const auto facts = [](const std::string &assembly) {
    const std::string bytes = read_bytes(opdyno_test::build_library("facts", "__asm__(\"" + assembly + "\");"));
    return names_of(facts_of(ElfFile(as_bytes(bytes), "facts.so")));
  };
  EXPECT_EQ(facts(".text\\n.globl __tvm_ffi_f\\n__tvm_ffi_f: nop\\n"), Names{"f"});
  EXPECT_EQ(facts(".data\\n.globl __tvm_ffi_d\\n__tvm_ffi_d: .quad 1\\n.text\\n"), Names{});
  EXPECT_EQ(facts(".text\\n.globl a__tvm_ffi_f\\na__tvm_ffi_f: nop\\n"), Names{});
  EXPECT_EQ(facts(".text\\n.globl __tvm_ffi_i\\n.type __tvm_ffi_i, %gnu_indirect_function\\n__tvm_ffi_i: ret\\n"
                  ".globl __tvm_ffi_j\\n.type __tvm_ffi_j, %gnu_indirect_function\\n__tvm_ffi_j: ret\\n"),
            (Names{"i", "j"}));
}

TEST(LibraryFacts, RefuseEmbeddedBytesThatAreNotInTheFile) {
  const std::string bytes =
      read_bytes(opdyno_test::build_library("facts", "char __tvm_ffi__library_bin[64]; int x = 1;"));
  const ElfFile file(as_bytes(bytes), "facts.so");
  for (const ElfSymbol &symbol : file.symbols())
    if (symbol.name == kBlobSymbol) try {
        embedded_by_tvm(file);
        ADD_FAILURE();
      } catch (const Exception &e) {
        EXPECT_EQ(std::string(e.what()),
                  concat("facts.so: __tvm_ffi__library_bin at address ", symbol.value,
                         " with 64 bytes is not data of the file (at offset ", symbol.entry, ")"));
      }
}

TEST(ObjectFacts, CombineAllObjectsAndSources) {
  const std::string object = object_bytes(kFactsSource);
  const ObjectFacts facts = facts_of({{"a.o", object}}, "x.tar");
  EXPECT_EQ(names_of(facts.library), (Names{"one", "two"}));
  EXPECT_EQ(facts.embedded, std::string("abcd", 5));
  EXPECT_EQ(facts.own, "");
  EXPECT_TRUE(facts.library.is_compiled);
  EXPECT_EQ(facts.library.sizes.file, object.size());
  EXPECT_EQ(facts.library.sizes.embedded, 5u);
  EXPECT_EQ(facts.library.sizes.code, ObjectFile(as_bytes(object), "a.o").code_bytes());
  EXPECT_GT(facts.library.sizes.code, 0u);
  const std::string own = object_bytes(
      "const char __opdyno_library_bin[3] = \"ab\"; void *__TVMFFIHandleInitOnce;"
      "void *p___tvm_ffi__library_ctx; int __tvm_ffi_p_f(void) { return 1; }"
      "const char p___tvm_ffi__library_bin[2] = \"z\";");
  const std::string c = "int __tvm_ffi_three(void *a) { return 3; }\n";
  const ObjectFacts all = facts_of({{"own.o", own}, {"b.c", c}}, "x.tar");
  EXPECT_EQ(names_of(all.library), (Names{"p_f", "three"}));
  EXPECT_EQ(all.own, std::string("ab", 3));
  EXPECT_EQ(all.embedded, std::string("z", 2)) << "with the prefix of a system library";
  EXPECT_EQ(all.library.prefix, "p_");
  EXPECT_EQ(all.library.release, "0.26 or newer");
  EXPECT_FALSE(all.library.is_compiled);
  EXPECT_EQ(all.library.sizes.file, own.size() + c.size());
  EXPECT_EQ(all.library.functions[1].bytes, 0u);
  const ObjectFacts source = facts_of({{"b.c", "unsigned char __tvm_ffi__library_bin[2] = {0x61,0x62};"}}, "x.tar");
  EXPECT_EQ(source.embedded, "ab");
  EXPECT_EQ(source.library.sizes.embedded, 2u);
}

std::string damaged_object(const std::string &object, size_t at, std::string_view bytes, const char *name = "a.o") {
  std::string changed = object;
  changed.replace(at, bytes.size(), bytes);
  try {
    facts_of({{name, changed}}, "x.tar");
  } catch (const Exception &e) {
    EXPECT_EQ(e.error()->code, OPD_BAD_FORMAT);
    return e.what();
  }
  return "accepted";
}
template <class T>
std::string_view raw(const T &value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

TEST(ObjectFiles, AreReadWithinTheirBytes) {
  const std::string object = object_bytes(kFactsSource);
  Elf64_Ehdr header;
  std::memcpy(&header, object.data(), sizeof header);
  size_t symbols = 0;
  Elf64_Shdr table{};
  for (size_t i = 0; i < header.e_shnum; ++i) {
    std::memcpy(&table, object.data() + header.e_shoff + i * sizeof table, sizeof table);
    if (table.sh_type != SHT_SYMTAB) continue;
    symbols = header.e_shoff + i * sizeof table;
    break;
  }
  ASSERT_NE(symbols, 0u);
  const auto past = [](const std::string &what, uint64_t offset) {
    return concat("x.tar: a.o: ", what, " lies past the end of the file (at offset ", offset, ")");
  };
  const auto with = [&](size_t at, const auto &value) { return damaged_object(object, at, raw(value)); };
  constexpr size_t kOffset = offsetof(Elf64_Shdr, sh_offset), kSize = offsetof(Elf64_Shdr, sh_size),
                   kLink = offsetof(Elf64_Shdr, sh_link);
  const uint64_t size = object.size();
  EXPECT_EQ(with(offsetof(Elf64_Ehdr, e_shoff), uint64_t{0}), "accepted");
  EXPECT_EQ(with(offsetof(Elf64_Ehdr, e_shoff), size - 63), past("the section header table", size - 63));
  EXPECT_EQ(with(offsetof(Elf64_Ehdr, e_shentsize), uint16_t{40}), past("the section header table", header.e_shoff));
  EXPECT_EQ(with(symbols + kOffset, size - table.sh_size + 1), past("a section", size - table.sh_size + 1));
  EXPECT_EQ(with(symbols + kSize, size + 1), past("a section", table.sh_offset));
  EXPECT_EQ(with(symbols + kLink, uint32_t{header.e_shnum}), past("the string table of the symbols", table.sh_offset));
  const size_t last = table.sh_offset + table.sh_size - sizeof(Elf64_Sym);
  EXPECT_EQ(with(last + offsetof(Elf64_Sym, st_name), UINT32_MAX), past("the name of a symbol", last));
  // The number of sections stands in the first header if there are many.
  std::string many = object;
  const uint64_t number = header.e_shnum, too_many = (1 << 20) + 1;
  many.replace(offsetof(Elf64_Ehdr, e_shnum), 2, std::string(2, '\0'));
  EXPECT_EQ(damaged_object(many, header.e_shoff + kSize, raw(number)), "accepted");
  EXPECT_EQ(damaged_object(many, header.e_shoff + kSize, raw(too_many)),
            past("the section header table", header.e_shoff));
  const ObjectFile file(as_bytes(object), "a.o");
  for (const ObjectSymbol &symbol : file.symbols()) {
    if (symbol.name == "__tvm_ffi__library_bin") {
      ObjectSymbol longer = symbol;
      longer.size = size;
      EXPECT_THROW(file.contents(longer), Exception);
      longer.size = symbol.size, longer.value = size;
      EXPECT_THROW(file.contents(longer), Exception);
    }
    const std::string properties =
        concat(symbol.is_defined ? "defined " : "", symbol.is_global ? "global " : "", symbol.is_code ? "code" : "");
    for (const auto &[name, expected] : {std::pair{"__tvm_ffi_absent", ""},
                                         {"__tvm_ffi_own", "defined code"},
                                         {"__tvm_ffi_hidden", "defined code"},
                                         {"__tvm_ffi_one", "defined global code"},
                                         {"__tvm_ffi_data", "defined global "}})
      if (symbol.name == name) { EXPECT_EQ(properties, expected) << name; }
  }
}

// A member's header has sixty bytes: its name in sixteen, its size in ten from the 48th on, "`\n" at the end.
std::string member(std::string name, const std::string &content) {
  name.resize(16, ' ');
  std::string size = std::to_string(content.size());
  size.resize(10, ' ');
  return name + std::string(32, '0') + size + "`\n" + content + (content.size() % 2 ? "\n" : "");
}

TEST(Archives, GiveTheirObjectsAndLeaveTheirIndexOut) {
  const std::string elf(
      "\x7f"
      "ELF!"),
      start = "!<arch>\n";  // an odd number of bytes, which one more follows
  const std::string archive = start + member("/", "index") + member("one.o/", elf) + member("sixteen_bytes_.o", elf) +
                              member("notes.txt", "text") + member("last.o", elf + "x");
  const auto members = read_archive(as_bytes(archive), "x.a");
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(members[0].first, "one.o");
  EXPECT_EQ(as_text(members[0].second), elf);
  EXPECT_EQ(members[1].first, "sixteen_bytes_.o");
  EXPECT_EQ(members[2].first, "last.o");
  EXPECT_EQ(as_text(members[2].second), elf + "x");
  EXPECT_EQ(read_archive(as_bytes(start + member("o", elf).substr(0, 65)), "x.a").size(), 1u) << "without padding";
  EXPECT_TRUE(read_archive(as_bytes(start), "x.a").empty());
  const auto told = [](const std::string &bytes) {
    try {
      read_archive(as_bytes(bytes), "x.a");
    } catch (const Exception &e) { return std::string(e.what()); }
    return std::string("accepted");
  };
  EXPECT_EQ(told("!<arch>x"), "x.a: archive: its start at offset 8 is of another format");
  EXPECT_EQ(told("!<arch>"), "x.a: archive: its start at offset 0 needs 8 bytes, 7 remain");
  const auto with = [&](size_t at, const char *bytes) {
    std::string changed = start + member("one.o", elf);
    return told(changed.replace(at, std::strlen(bytes), bytes));
  };
  EXPECT_EQ(with(8 + 58, "''"), "x.a: archive: a member's header at offset 68 has a wrong end");
  EXPECT_EQ(with(8 + 48, "5x"),
            "x.a: archive: a member's header at offset 68 has other than decimal digits in a number");
  EXPECT_EQ(with(8 + 48, "7"), "x.a: archive: a member at offset 68 needs 7 bytes, 6 remain");
  EXPECT_EQ(told(start + std::string(59, ' ')),
            "x.a: archive: a member's header at offset 8 needs 60 bytes, 59 remain");
}

TEST(ObjectFacts, CombineAllMembersOfAnArchive) {
  const std::string object = object_bytes(kFactsSource), archive = "!<arch>\n" + member("one.o/", object);
  const ObjectFacts alone = facts_of({{"one.o", object}}, "one.o"), facts = facts_of({{"x.a", archive}}, "x.a");
  EXPECT_EQ(names_of(facts.library), (Names{"one", "two"}));
  EXPECT_EQ(facts.embedded, std::string("abcd", 5));
  EXPECT_TRUE(facts.library.is_compiled);
  EXPECT_EQ(facts.library.sizes.file, archive.size());
  EXPECT_EQ(facts.library.sizes.code, alone.library.sizes.code);
  const auto told = [](const LinkInput &input, const std::string &origin) {
    try {
      facts_of({input}, origin);
    } catch (const Exception &e) { return std::string(e.what()); }
    return std::string("accepted");
  };
  const std::string cut = "the ELF header lies past the end of the file (at offset 0)",
                    broken = "!<arch>\n" + member("cut.o/", object.substr(0, 63));
  EXPECT_EQ(told({"x.a", broken}, "x.tar"), "x.tar: x.a: cut.o: " + cut);
  EXPECT_EQ(told({"x.a", broken}, "x.a"), "x.a: cut.o: " + cut);
  EXPECT_EQ(told({"cut.o", object.substr(0, 63)}, "x.tar"), "x.tar: cut.o: " + cut);
  EXPECT_EQ(told({"cut.o", object.substr(0, 63)}, "cut.o"), "cut.o: " + cut);
  EXPECT_EQ(told({"x.a", "!<arch>\n?"}, "x.tar"),
            "x.tar: x.a: archive: a member's header at offset 8 needs 60 bytes, 1 remain");
}

// A library without relocations: those of another machine mean other things.
TEST(LibraryFacts, DescribeALibraryOfAnotherMachine) {
  std::string bytes =
      read_bytes(opdyno_test::build_library("other_machine", "int __tvm_ffi_f(void) { return 1; }", "-nostdlib"));
  const uint16_t other = kMachine == EM_X86_64 ? EM_AARCH64 : EM_X86_64;
  std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_machine), &other, sizeof other);
  const ElfFile file(as_bytes(bytes), "other.so", ElfFile::Use::kInspect);
  EXPECT_EQ(file.machine(), other);
  const LibraryFacts facts = facts_of(file);
  EXPECT_EQ(names_of(facts), Names{"f"});
  EXPECT_EQ(facts.not_loadable,
            concat("other.so is made for ", machine_name(other), "; this process runs on ", machine_name(kMachine)));
  const uint16_t unknown = EM_RISCV;
  std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_machine), &unknown, sizeof unknown);
  try {
    ElfFile(as_bytes(bytes), "other.so", ElfFile::Use::kInspect);
    ADD_FAILURE();
  } catch (const Exception &e) { EXPECT_EQ(e.error()->code, OPD_UNSUPPORTED) << e.what(); }
}

TEST(CSourceTexts, NameTheirFunctions) {
  const std::pair<const char *, Names> cases[] = {
      {"int __tvm_ffi_a(void) {}", {"a"}},
      {"int __tvm_ffi_a \t\n(void) {} int __tvm_ffi_b(void); int x = __tvm_ffi_a(1);", {"a", "b"}},
      {"__tvm_ffi_a(", {"a"}},
      {"int __tvm_ffi_a; int __tvm_ffi_b", {}},
      {"int x__tvm_ffi_a(void); int _1__tvm_ffi_b(void);", {}},
      {"int __tvm_ffi_(void);", {}},
      {"int __tvm_ffi__metadata_f(void); int __tvm_ffi__doc_f(void); int __tvm_ffi__library_f(void);", {}},
      {"// __tvm_ffi_a(\nint __tvm_ffi_b(void);", {"b"}},
      {"// __tvm_ffi_a(", {}},
      {"/* __tvm_ffi_a( */ int __tvm_ffi_b(void); /* __tvm_ffi_c(", {"b"}},
      {"/*/ __tvm_ffi_a( */ int __tvm_ffi_b(void);", {"b"}},
      {R"(char *s = "__tvm_ffi_a(\"__tvm_ffi_b("; int __tvm_ffi_c(void);)", {"c"}},
      {R"(char c = '"'; int __tvm_ffi_a(void); char d = '\''; int __tvm_ffi_b(void);)", {"a", "b"}},
      {"#error don't\nint __tvm_ffi_a(void);", {"a"}},
      {"int __tvm_ffi_a/* */(void);", {"a"}},
      {"int __tvm_ffi_A_Z09(void);", {"A_Z09"}},
      {"int __tvm_ffi_az(void); int z__tvm_ffi_b(void); int Z__tvm_ffi_c(void); int 9__tvm_ffi_d(void);", {"az"}},
      {"char *s = \"__tvm_ffi_a(", {}},
      {"char *s = \"\\", {}},
      {"/* __tvm_ffi_a(/", {}},
      {"/", {}},
      {"int x = 4 / 2; int __tvm_ffi_a(void);", {"a"}},
      {"", {}}};
  for (const auto &[source, names] : cases) EXPECT_EQ(functions_named_in(source), names) << source;
}

TEST(CSourceTexts, HoldBytesAsTvmWritesThem) {
  const std::pair<const char *, std::string> cases[] = {{"x[2] = {0x61,0x62};", "ab"},
                                                        {"x[2] =\r\n{ 0x61 ,\t0x62 , }", "ab"},
                                                        {"x[2] = {0x61 0x62}", "ab"},
                                                        {"x; int x[1] = {0x7a}", "z"},
                                                        {"x[1] = {0xff}", "\xff"},
                                                        {"x[1] = {0x100}", ""},
                                                        {"x[1] = {255}", ""},
                                                        {"x[2] = {0x61}", ""},
                                                        {"x[1] = {0x61,0x62}", ""},
                                                        {"x[1] = {0x61", ""},
                                                        {"x[1] = {0x61,0x100}", ""},
                                                        {"x[1] = {0x61,0x}", ""},
                                                        {"x[0] = {}", ""},
                                                        {"x[2] {0x61,0x62} x[1] = {0x63}", "c"},
                                                        {"x[] = {0x61}", ""},
                                                        {"x[n] = {0x61}", ""},
                                                        {"x[1]", ""},
                                                        {"", ""}};
  for (const auto &[source, bytes] : cases) EXPECT_EQ(bytes_written_in(source, "x"), bytes) << source;
}

}  // namespace
}  // namespace opd
