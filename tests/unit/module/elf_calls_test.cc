// What the loader calls while it loads a library must be functions of the library: initialisers, finalisers, and those
// that choose others.
#include <algorithm>
#include <map>

#include "unit/module/elf_bytes.h"

namespace opd {
namespace {

constexpr uint64_t kOutside = uint64_t{1} << 30;
const std::string kCallsSource = R"(
int data = 1;
__attribute__((constructor)) static void start(void) { data = 2; }
__attribute__((destructor)) static void stop(void) { data = 3; }
void first(void) { data = 4; }
void last(void) { data = 5; }
int resolved(int x) { return x + data + 12345; }
void *choose(void) { return resolved; }
)";
const std::string kChosenHere = R"(
static int chosen_here(int) __attribute__((ifunc("choose")));
int call(int x) { return chosen_here(x) + 1; }
)";
const std::string kChosen = "int chosen(int) __attribute__((ifunc(\"choose\")));\n";

void expect_refused(const Library &library, const std::string &what) {
  const std::string told = library.refusal();
  EXPECT_TRUE(told.find(what) != std::string::npos && told.find("offset") != std::string::npos) << told;
}

class Arrays : public testing::TestWithParam<const char *> {};

TEST_P(Arrays, MayOnlyNameFunctions) {
  const Library good(kCallsSource, GetParam());
  ASSERT_EQ(good.refusal(), "accepted");
  struct Case {
    int64_t array, size;
    const char *what;
  };
  for (const auto &[array, size, what] : {Case{DT_INIT_ARRAY, DT_INIT_ARRAYSZ, "the initialisers"},
                                          Case{DT_FINI_ARRAY, DT_FINI_ARRAYSZ, "the finalisers"}}) {
    const auto aimed = [&, a = array, s = size](uint64_t target) {
      Library library = good;
      library.aim(a, s, target);
      return library;
    };
    EXPECT_EQ(aimed(good.address_of("choose")).refusal(), "accepted");  // nothing tells which function is meant
    expect_refused(aimed(good.address_of("data")),
                   concat(what, " at address ", good.address_of("data"), " lies outside"));
    expect_refused(aimed(kOutside), "lies outside the code");
    expect_refused(aimed(good.address_of("resolved") + 4), "lies inside a function");
  }
}

TEST_P(Arrays, AreAlsoCheckedIfOnlyProgramsMayHaveThem) {  // the loader calls DT_PREINIT_ARRAY of libraries, too
  Library library(kCallsSource, GetParam());
  library.set<int64_t>(library.dynamic(DT_INIT_ARRAY), DT_PREINIT_ARRAY);
  expect_refused(library, "has tag");
  library.set<int64_t>(library.dynamic(DT_INIT_ARRAYSZ), DT_PREINIT_ARRAYSZ);
  EXPECT_EQ(library.refusal(), "accepted");
  library.aim(DT_PREINIT_ARRAY, DT_PREINIT_ARRAYSZ, kOutside);
  expect_refused(library, "the first initialisers");
}

INSTANTIATE_TEST_SUITE_P(Relocated, Arrays, testing::Values("", "-Wl,-z,pack-relative-relocs"),
                         [](const auto &info) { return info.index ? "Packed" : "OneByOne"; });

TEST(Initialisers, NeedTheirPackedRelocations) {
  Library library(kCallsSource, "-Wl,-z,pack-relative-relocs");
  if (!library.dynamic(DT_RELR)) GTEST_SKIP() << "this linker packs no relocations";
  // The first word is the lowest address; without it, that word is no longer moved when the library is.
  library.set<uint64_t>(library.offset_of(library.dynamic_value(DT_RELR)), library.address_of("data") & ~uint64_t{7});
  EXPECT_NE(library.refusal(), "accepted");
}

TEST(Initialisers, MustBeFunctionsIfTheyAreOfTheOldKind) {
  const Library good(kCallsSource, "-Wl,-init,first,-fini,last");
  ASSERT_EQ(good.refusal(), "accepted");
  const ElfFile file(as_bytes(good.bytes), "calls.so");
  const uint64_t last_finaliser = good.dynamic_value(DT_FINI_ARRAY) + good.dynamic_value(DT_FINI_ARRAYSZ) - 8;
  int64_t stop = 0;
  for (const auto &r : file.relocations())
    if (r.address == last_finaliser) stop = r.addend;
  ASSERT_NE(stop, 0);
  for (const auto &[tag, name] : {std::pair{DT_INIT, "DT_INIT"}, {DT_FINI, "DT_FINI"}}) {
    Library library = good;
    const size_t place = good.dynamic(tag) + offsetof(Elf64_Dyn, d_un);
    library.set<uint64_t>(place, good.address_of("data"));
    expect_refused(library, concat(name, " at address ", good.address_of("data"), " lies outside the code"));
    library.set<uint64_t>(place, good.address_of("resolved") + 4);
    expect_refused(library, "lies inside a function");
    library.set<uint64_t>(place, static_cast<uint64_t>(stop));  // a function, but one of those that nothing names
    expect_refused(library, "is not the start of a section or an exported function");
  }
}

// The relocation that is chosen by a function gets another one.
void aim_chooser(Library &library, uint64_t choose, uint64_t target) {
  library.aim_relocation(
      [choose](const Elf64_Rela &r) {
        return relocates(static_cast<uint32_t>(ELF64_R_TYPE(r.r_info))) == Relocates::kIndirect &&
               static_cast<uint64_t>(r.r_addend) == choose;
      },
      target);
}

TEST(Choosers, MustBeFunctionsInRelocations) {
  const Library good(kCallsSource + kChosenHere, "");
  ASSERT_EQ(good.refusal(), "accepted");
  const uint64_t choose = good.address_of("choose");
  for (const uint64_t target : {good.address_of("data"), kOutside, good.address_of("resolved") + 4}) {
    Library library = good;
    aim_chooser(library, choose, target);
    expect_refused(library, "the function of a relocation");
  }
}

TEST(Choosers, MustBeFunctionsInSymbols) {
  const Library good(kCallsSource + kChosen, "");
  ASSERT_EQ(good.refusal(), "accepted");
  const ElfFile file(as_bytes(good.bytes), "calls.so");
  const auto symbols = file.symbols();
  const auto chosen = std::find_if(symbols.begin(), symbols.end(), [](const auto &s) { return s.name == "chosen"; });
  ASSERT_NE(chosen, symbols.end());
  for (const uint64_t target : {good.address_of("data"), kOutside, good.address_of("resolved") + 4}) {
    Library library = good;
    library.set<uint64_t>(chosen->entry + offsetof(Elf64_Sym, st_value), target);
    EXPECT_NE(library.refusal(), "accepted") << target;
  }
}

// ld -s leaves the header as it is without them, and so does lld.
TEST(Choosers, AreAcceptedWithoutAMarkInTheHeader) {
  for (const std::string &source :
       {kCallsSource + kChosenHere, kCallsSource + kChosen + kChosenHere,
        kCallsSource + kChosen + "int chosen2(int) __attribute__((ifunc(\"choose\")));\n"}) {
    Library library(source, "-s");
    EXPECT_EQ(library.refusal(), "accepted");
    library.set<uint8_t>(EI_OSABI, ELFOSABI_SYSV);
    EXPECT_EQ(library.refusal(), "accepted");
  }
  Library library(kCallsSource + kChosen, "");
  library.set<uint8_t>(EI_OSABI, ELFOSABI_SYSV);  // as lld links it: .symtab tells
  EXPECT_EQ(library.refusal(), "accepted");
  Library stripped(kCallsSource + kChosen, "-s");
  stripped.set<uint8_t>(EI_OSABI, ELFOSABI_SYSV);  // as any function looks after one bit of its symbol was changed
  expect_refused(stripped, "nothing else in the file says");
}

TEST(Choosers, AreRefusedIfOneChangedBitMadeThem) {
  const Library good(kCallsSource, "");
  const ElfFile file(as_bytes(good.bytes), "calls.so");
  for (const auto &symbol : file.symbols()) {
    if (!symbol.is_defined() || symbol.type != STT_FUNC) continue;
    Library library = good;
    const size_t info = symbol.entry + offsetof(Elf64_Sym, st_info);
    library.set<uint8_t>(info, library.get<uint8_t>(info) ^ (STT_FUNC ^ STT_GNU_IFUNC));
    expect_refused(library, "nothing else in the file says");
  }
}

// The unwinder's search table, by the format of .eh_frame_hdr: four bytes that tell its form, the place of the records,
// a count, and for each function a start and a record, which are relative to the table.
TEST(EntryPoints, InsideAFunctionAreRefusedIfItsBoundsAreKnown) {
  const Library good(kCallsSource, "");
  const auto segment = good.get<Elf64_Phdr>(good.segment(PT_GNU_EH_FRAME));
  const size_t table = segment.p_offset;
  const auto count = good.get<uint32_t>(table + 8);
  ASSERT_EQ(good.get<uint32_t>(table), 0x3b031b01u);
  ASSERT_LE(count, (segment.p_filesz - 12) / 8);
  const uint64_t inside = good.address_of("resolved") + 4;
  Library library = good;
  library.aim(DT_INIT_ARRAY, DT_INIT_ARRAYSZ, inside);
  const std::string refused = concat("an entry of the initialisers at address ", inside, " lies inside a function");
  expect_refused(library, refused);
  const auto with = [&](size_t at, uint32_t value) {
    Library changed = library;
    changed.set<uint32_t>(at, value);
    return changed;
  };
  for (const uint32_t form : {0x3b031b02u, 0x3b031c01u, 0x3b041b01u, 0x3c031b01u})
    EXPECT_EQ(with(table, form).refusal(), "accepted") << form;
  EXPECT_EQ(with(table + 8, static_cast<uint32_t>((segment.p_filesz - 12) / 8 + 1)).refusal(), "accepted");
  EXPECT_EQ(with(table + 8, 0).refusal(), "accepted");
  expect_refused(with(table + 8, count), refused);
  size_t entry = table + 12;
  const auto start = [&](size_t at) { return segment.p_vaddr + static_cast<uint64_t>(int64_t{good.get<int32_t>(at)}); };
  while (start(entry) != inside - 4) {
    entry += 8;
    ASSERT_LT(entry, table + 12 + 8 * count);
  }
  EXPECT_EQ(with(entry + 4, 1 << 30).refusal(), "accepted") << "a record that is not in the file";
  EXPECT_EQ(with(entry + 4, good.get<uint32_t>(entry + 4) + 4).refusal(), "accepted") << "no record begins there";
  // The record has the function's size; an address behind that lies in none.
  const size_t record = good.offset_of(start(entry + 4));
  EXPECT_EQ(with(record + 12, 4).refusal(), "accepted");
  expect_refused(with(record + 12, 5), refused);
}

TEST(EntryPoints, LieInSectionsOfFunctions) {
  const Library good(
      kCallsSource + "#include <stdlib.h>\nint calls(void) { return abs(data) + (getenv(\"HOME\") != 0); }\n",
      "-fno-builtin -Wl,-z,lazy");
  const auto header = good.get<Elf64_Ehdr>(0);
  uint64_t plt = 0, behind = 0;  // the table of calls; the first byte behind a section, in none
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const auto section = good.get<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
    if (!(section.sh_flags & SHF_EXECINSTR)) continue;
    if (section.sh_entsize) plt = plt ? plt : section.sh_addr;
    behind = section.sh_addr + section.sh_size;  // of the last one
  }
  ASSERT_NE(plt, 0u);
  const auto aimed = [&](uint64_t target) {
    Library library = good;
    library.aim(DT_INIT_ARRAY, DT_INIT_ARRAYSZ, target);
    return library.refusal();
  };
  const auto outside = [](uint64_t address, const char *what) {
    return concat("an entry of the initialisers at address ", address, " lies ", what);
  };
  EXPECT_NE(aimed(plt).find(outside(plt, "in no section of functions")), std::string::npos) << aimed(plt);
  const ElfFile file(as_bytes(good.bytes), "calls.so");
  const bool is_code = file.lies_in(behind, 1, PF_X);  // up to the end of the page
  const std::string told = aimed(behind);
  EXPECT_NE(told.find(outside(behind, is_code ? "in no section of functions" : "outside the code")), std::string::npos)
      << told;
  Library stripped = good;  // without sections there is nothing to compare with
  stripped.set<uint64_t>(offsetof(Elf64_Ehdr, e_shoff), 0);
  stripped.aim(DT_INIT_ARRAY, DT_INIT_ARRAYSZ, plt);
  EXPECT_EQ(stripped.refusal(), "accepted");
}

// A function of assembly code without unwind information, as hand-written ones are.
TEST(Choosers, MustBeKnownFunctions) {
  const std::string bare =
      "__asm__(\".text\\n.globl bare\\n.type bare, %function\\nbare: ret\\nret\\n.size bare, . - bare\\n\");\n";
  const Library good(kCallsSource + kChosenHere + bare, "");
  const uint64_t choose = good.address_of("choose"), target = good.address_of("bare");
  Library library = good;
  aim_chooser(library, choose, target);
  expect_refused(library, concat("the function of a relocation at address ", target, " is not a function"));
  library.set<uint32_t>(library.segment(PT_GNU_EH_FRAME), PT_NULL);
  EXPECT_EQ(library.refusal(), "accepted") << "without any unwind information nothing can be asked for";
  Library initialised = good;
  initialised.aim(DT_INIT_ARRAY, DT_INIT_ARRAYSZ, target);
  EXPECT_EQ(initialised.refusal(), "accepted") << "an initialiser needs none";
}

// The linker's own initialiser and finaliser test the first two by a slot and call them, on AArch64 by another slot.
TEST(SlotsOfTheStartFiles, MustHaveTheirOwnSymbols) {
  const Library good(kCallsSource, "");
  ASSERT_EQ(good.refusal(), "accepted");
  const ElfFile file(as_bytes(good.bytes), "calls.so");
  const auto symbols = file.symbols();
  int tried = 0;
  for (const auto &[table, size] : {std::pair{DT_RELA, DT_RELASZ}, {DT_JMPREL, DT_PLTRELSZ}})
    for (uint64_t i = 0; good.dynamic(table) && i < good.dynamic_value(size); i += sizeof(Elf64_Rela)) {
      const size_t at = good.offset_of(good.dynamic_value(table)) + i + offsetof(Elf64_Rela, r_info);
      const auto info = good.get<uint64_t>(at);
      const auto &name = symbols[ELF64_R_SYM(info)].name;
      const bool is_call = relocates(static_cast<uint32_t>(ELF64_R_TYPE(info))) == Relocates::kCall;
      if (name != "__gmon_start__" && name != "__cxa_finalize") continue;
      for (size_t other = 1; other < symbols.size(); ++other) {
        // A wrong call slot is known where its symbol may be null.
        if (other == ELF64_R_SYM(info) || (is_call && symbols[other].name.substr(0, 5) != "_ITM_")) continue;
        Library library = good;
        library.set<uint64_t>(at, ELF64_R_INFO(uint64_t{other}, ELF64_R_TYPE(info)));
        EXPECT_NE(library.refusal(), "accepted") << name << " became " << symbols[other].name;
        ++tried;
      }
    }
  EXPECT_GT(tried, 4);
}

TEST(Slots, AreRefusedIfASymbolHasTwoOfOneKind) {
  const Library good(kCallsSource, "");
  const ElfFile file(as_bytes(good.bytes), "calls.so");
  const auto symbols = file.symbols();
  std::map<Relocates, std::vector<size_t>> places;  // of relocations that fill a slot, by kind
  for (const auto &[table, size] : {std::pair{DT_RELA, DT_RELASZ}, {DT_JMPREL, DT_PLTRELSZ}})
    for (uint64_t i = 0; good.dynamic(table) && i < good.dynamic_value(size); i += sizeof(Elf64_Rela)) {
      const size_t at = good.offset_of(good.dynamic_value(table)) + i + offsetof(Elf64_Rela, r_info);
      const Relocates kind = relocates(static_cast<uint32_t>(ELF64_R_TYPE(good.get<uint64_t>(at))));
      if (kind == Relocates::kGot || kind == Relocates::kCall) places[kind].push_back(at);
    }
  int tried = 0;
  for (const auto &[kind, of_kind] : places)
    for (const size_t at : of_kind)
      for (const size_t other : of_kind) {
        const auto symbol = ELF64_R_SYM(good.get<uint64_t>(other));
        const auto info = good.get<uint64_t>(at);
        if (ELF64_R_SYM(info) == symbol) continue;
        Library library = good;
        library.set<uint64_t>(at, ELF64_R_INFO(symbol, ELF64_R_TYPE(info)));
        EXPECT_NE(library.refusal().find("symbol " + std::string(symbols[symbol].name) + " has two slots of one kind"),
                  std::string::npos)
            << library.refusal();
        ++tried;
      }
  EXPECT_GT(tried, 0);
}

}  // namespace
}  // namespace opd
