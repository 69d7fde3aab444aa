// The dynamic section, the strings and the relocations: what is told of each entry that cannot be right.
#include "unit/module/elf_bytes.h"

namespace opd {
namespace {

const std::string kDynamicSource = R"(
#include <math.h>
extern int absent(int);
_Thread_local int counter = 3;
int shared = 1;
int *pointer = &shared;
static int hidden = 2;
int *relative = &hidden;
long spare[2] = {0, 1};
double f(double x) { return exp(x) + ++counter + shared; }
int g(int x) { return absent(x) + hidden++; }
__attribute__((constructor)) static void start(void) { shared = 2; }
)";
constexpr int64_t kIgnored = 0x6000000d;  // a tag that loaders ignore
constexpr size_t kValue = offsetof(Elf64_Dyn, d_un);

const Library &good_dynamic() {
  static const Library library(kDynamicSource,
                               "-lm -Wl,-z,lazy -Wl,-soname,changed.so -Wl,-rpath,/nowhere -Wl,--hash-style=both");
  return library;
}
std::function<void(Library &)> value(int64_t tag, uint64_t given) {
  return [=](Library &l) { l.set<uint64_t>(l.dynamic(tag) + kValue, given); };
}
std::function<void(Library &)> retagged(int64_t tag, int64_t other) {
  return [=](Library &l) { l.set<int64_t>(l.dynamic(tag), other); };
}

struct Pair {
  int64_t tag, needs;
};
// Of the ELF specification and of GNU's extensions: a table, its size and the size of its entries belong together.
constexpr Pair kPairs[] = {{DT_RELA, DT_RELASZ},
                           {DT_RELASZ, DT_RELA},
                           {DT_RELA, DT_RELAENT},
                           {DT_JMPREL, DT_PLTRELSZ},
                           {DT_PLTRELSZ, DT_JMPREL},
                           {DT_JMPREL, DT_PLTREL},
                           {DT_PLTREL, DT_JMPREL},
                           {DT_RELR, DT_RELRSZ},
                           {DT_RELRSZ, DT_RELR},
                           {DT_RELR, DT_RELRENT},
                           {DT_PREINIT_ARRAY, DT_PREINIT_ARRAYSZ},
                           {DT_PREINIT_ARRAYSZ, DT_PREINIT_ARRAY},
                           {DT_INIT_ARRAY, DT_INIT_ARRAYSZ},
                           {DT_INIT_ARRAYSZ, DT_INIT_ARRAY},
                           {DT_FINI_ARRAY, DT_FINI_ARRAYSZ},
                           {DT_FINI_ARRAYSZ, DT_FINI_ARRAY},
                           {DT_VERNEED, DT_VERNEEDNUM},
                           {DT_VERNEEDNUM, DT_VERNEED},
                           {DT_VERDEF, DT_VERDEFNUM},
                           {DT_VERDEFNUM, DT_VERDEF},
                           {DT_VERNEED, DT_VERSYM},
                           {DT_VERDEF, DT_VERSYM},
                           {DT_RELAENT, DT_RELA},
                           {DT_RELACOUNT, DT_RELA}};

TEST(ElfDynamicSection, HasTagsThatNeedEachOther) {
  for (const auto &[tag, needs] : kPairs) {
    Library library = good_dynamic();
    // Entries that nothing needs become the tag, and what else it needs.
    std::vector<int64_t> spare{DT_SONAME, DT_RUNPATH, DT_INIT, DT_FINI};
    const auto add = [&, needs = needs](int64_t wanted) {
      if (wanted == needs || library.dynamic(wanted)) return;
      library.set<int64_t>(library.dynamic(spare.back()), wanted);
      spare.pop_back();
    };
    add(tag);
    for (const auto &other : kPairs)
      if (other.tag == tag) add(other.needs);
    // What needs the missing tag, in turn, goes with it.
    std::vector<int64_t> gone{needs};
    for (size_t i = 0; i < gone.size(); ++i)
      for (const auto &other : kPairs)
        if (other.needs == gone[i] && other.tag != tag && std::find(gone.begin(), gone.end(), other.tag) == gone.end())
          gone.push_back(other.tag);
    for (const int64_t one : gone)
      if (const size_t at = library.dynamic(one)) library.set<int64_t>(at, kIgnored);
    EXPECT_EQ(library.told(), bad_at(library.dynamic(tag), "the dynamic section has tag ", tag, ", but not ", needs));
  }
}

TEST(ElfDynamicSection, IsCheckedEntryByEntry) {
  const size_t segment = good_dynamic().segment(PT_DYNAMIC);
  const auto d = good_dynamic().get<Elf64_Phdr>(segment);
  const auto entry = [](int64_t tag) { return good_dynamic().dynamic(tag); };
  const auto missing = [&](int64_t tag) {
    return ElfChange{retagged(tag, kIgnored), bad_at(d.p_offset, "the dynamic section has no tag ", tag)};
  };
  const auto fixed = [&](int64_t tag, uint64_t given, uint64_t right) {
    return ElfChange{value(tag, given),
                     bad_at(entry(tag), "the dynamic section gives tag ", tag, " the value ", given, ", not ", right)};
  };
  const auto both = [](auto first, auto then) { return [=](Library &l) { first(l), then(l); }; };
  const std::string code = "unsupported: calls.so changes its own code when it is loaded; compile it with -fPIC";
  expect_each(
      good_dynamic(),
      {{[=](Library &l) {
          auto moved = d;
          moved.p_offset += 4, moved.p_vaddr += 4, moved.p_filesz -= 4, moved.p_memsz -= 4;
          l.set(segment, moved);
        },
        bad_at(d.p_offset + 4, "the dynamic section is not aligned")},
       {[=](Library &l) {
          for (size_t at = d.p_offset; at < d.p_offset + d.p_filesz; at += sizeof(Elf64_Dyn))
            if (l.get<int64_t>(at) == DT_NULL) l.set<int64_t>(at, kIgnored);
        },
        bad_at(d.p_offset, "the dynamic section has no end")},
       {retagged(DT_RUNPATH, DT_SONAME),
        bad_at(std::max(entry(DT_RUNPATH), entry(DT_SONAME)), "the dynamic section has tag 14 twice")},
       {retagged(DT_RUNPATH, DT_RELACOUNT), bad_at(std::max(entry(DT_RUNPATH), entry(DT_RELACOUNT)),
                                                   "the dynamic section has tag ", DT_RELACOUNT, " twice")},
       {both(retagged(DT_RUNPATH, 0x70000001), retagged(DT_SONAME, 0x70000001)), "accepted"},
       missing(DT_STRTAB),
       missing(DT_STRSZ),
       missing(DT_SYMTAB),
       missing(DT_SYMENT),
       {both(retagged(DT_HASH, kIgnored), retagged(DT_GNU_HASH, kIgnored)),
        bad_at(d.p_offset, "the dynamic section has no hash table")},
       {retagged(DT_HASH, kIgnored), "accepted"},
       {retagged(DT_GNU_HASH, kIgnored), "accepted"},
       fixed(DT_SYMENT, 25, 24),
       fixed(DT_RELAENT, 16, 24),
       fixed(DT_PLTREL, DT_REL, DT_RELA),
       {value(DT_RELASZ, 0), bad_at(entry(DT_RELASZ), "a relocation table is empty")},
       {value(DT_PLTRELSZ, 0), bad_at(entry(DT_PLTRELSZ), "a relocation table is empty")},
       {retagged(DT_RUNPATH, DT_TEXTREL), code},
       {both(retagged(DT_RUNPATH, DT_FLAGS), value(DT_FLAGS, DF_TEXTREL)), code},
       {retagged(DT_RUNPATH, DT_REL), bad_at(entry(DT_RUNPATH), "the dynamic section has relocations of 32-bit form")},
       {retagged(DT_RUNPATH, DT_RELSZ),
        bad_at(entry(DT_RUNPATH), "the dynamic section has relocations of 32-bit form")},
       {retagged(DT_RUNPATH, DT_RELENT),
        bad_at(entry(DT_RUNPATH), "the dynamic section has relocations of 32-bit form")},
       {both(retagged(DT_RUNPATH, DT_FLAGS_1), value(DT_FLAGS_1, DF_1_PIE)),
        "unsupported: calls.so is a program, not a shared library"}});
}

TEST(ElfDynamicSection, SaysHowTheLibraryIsBound) {
  const auto binds_now = [](int64_t tag, uint64_t flags) {
    Library library = good_dynamic();
    library.set<int64_t>(library.dynamic(DT_RUNPATH), tag);
    library.set<uint64_t>(library.dynamic(tag) + kValue, flags);
    return ElfFile(as_bytes(library.bytes), "calls.so").binds_now();
  };
  EXPECT_FALSE(binds_now(DT_RUNPATH, good_dynamic().dynamic_value(DT_RUNPATH)));
  EXPECT_TRUE(binds_now(DT_BIND_NOW, 0));
  EXPECT_TRUE(binds_now(DT_FLAGS, DF_BIND_NOW));
  EXPECT_FALSE(binds_now(DT_FLAGS, DF_ORIGIN));
  EXPECT_TRUE(binds_now(DT_FLAGS_1, DF_1_NOW));
  EXPECT_FALSE(binds_now(DT_FLAGS_1, DF_1_GLOBAL));
}

TEST(ElfStrings, LieInTheirTable) {
  const uint64_t size = good_dynamic().dynamic_value(DT_STRSZ),
                 at = good_dynamic().offset_of(good_dynamic().dynamic_value(DT_STRTAB));
  const auto entry = [](int64_t tag) { return good_dynamic().dynamic(tag); };
  const auto outside = [&](int64_t tag) {
    return ElfChange{value(tag, size), bad_at(entry(tag), "a name in the dynamic section is string ", size,
                                              " of a table of ", size, " bytes")};
  };
  const auto as = [](int64_t tag, uint64_t given) {
    return [=](Library &l) {
      l.set<int64_t>(l.dynamic(DT_SONAME), tag);
      l.set<uint64_t>(l.dynamic(tag) + kValue, given);
    };
  };
  std::vector<ElfChange> changes = {
      {value(DT_STRSZ, size - 1), bad_at(at, "the dynamic string table does not end with a 0")},
      {value(DT_STRSZ, 0), bad_at(0, "the dynamic string table does not end with a 0")},
      {value(DT_STRTAB, 1 << 30), bad_at(entry(DT_STRTAB), "the dynamic string table at address 1073741824 with ", size,
                                         " bytes lies outside the file's segments")},
      outside(DT_NEEDED),
      outside(DT_SONAME),
      outside(DT_RUNPATH),
      {value(DT_SONAME, size - 1), "accepted"}};
  for (const int64_t tag : {DT_RPATH, DT_AUXILIARY, DT_FILTER, DT_AUDIT, DT_DEPAUDIT, DT_CONFIG})
    changes.push_back({as(tag, size), bad_at(entry(DT_SONAME), "a name in the dynamic section is string ", size,
                                             " of a table of ", size, " bytes")});
  expect_each(good_dynamic(), changes);

  const ElfFile file(as_bytes(good_dynamic().bytes), "calls.so");
  EXPECT_EQ(file.run_path(), "/nowhere");
  EXPECT_EQ(file.soname_entry(), entry(DT_SONAME));
  ASSERT_FALSE(file.needed().empty());
  EXPECT_EQ(file.needed()[0], "libm.so.6");
  EXPECT_EQ(file.needed_entries()[0], entry(DT_NEEDED));
  // Of the two kinds of run path the newer one counts, wherever it stands.
  Library older = good_dynamic();
  as(DT_RPATH, good_dynamic().dynamic_value(DT_SONAME))(older);
  EXPECT_EQ(ElfFile(as_bytes(older.bytes), "calls.so").run_path(), "/nowhere");
  older.set<int64_t>(older.dynamic(DT_RUNPATH), kIgnored);
  EXPECT_EQ(ElfFile(as_bytes(older.bytes), "calls.so").run_path(), "changed.so");
}

// Where the first relocation of a kind lies, of a symbol if it is named.
size_t of_kind(Relocates kind, std::string_view symbol = {}) {
  const uint64_t number = symbol.empty() ? 0 : good_dynamic().symbol_number(symbol);
  return good_dynamic().relocation([&](const Elf64_Rela &r) {
    return relocates(static_cast<uint32_t>(ELF64_R_TYPE(r.r_info))) == kind &&
           (symbol.empty() || ELF64_R_SYM(r.r_info) == number);
  });
}

TEST(ElfRelocations, AreCheckedOneByOne) {
  const size_t relative = of_kind(Relocates::kRelative), data = of_kind(Relocates::kData, "shared"),
               got = of_kind(Relocates::kGot, "shared"), call = of_kind(Relocates::kCall, "absent"),
               variable = of_kind(Relocates::kThreadLocal, "counter");
  const uint64_t count = good_dynamic().dynamic_value(DT_RELASZ) / 24,
                 ahead = good_dynamic().dynamic_value(DT_RELACOUNT);
  const size_t table = good_dynamic().offset_of(good_dynamic().dynamic_value(DT_RELA));
  const auto place = [](size_t at, uint64_t address) {
    return [=](Library &l) { l.set<uint64_t>(at + offsetof(Elf64_Rela, r_offset), address); };
  };
  const auto kind = [](size_t at, uint64_t symbol, uint64_t type) {
    return [=](Library &l) { l.set<uint64_t>(at + offsetof(Elf64_Rela, r_info), ELF64_R_INFO(symbol, type)); };
  };
  const auto type_of = [](size_t at) { return ELF64_R_TYPE(good_dynamic().get<Elf64_Rela>(at).r_info); };
  const auto number = [&](size_t at) { return (at - table) / 24; };
  const auto entry = [](int64_t tag) { return good_dynamic().dynamic(tag); };
  const uint64_t f = good_dynamic().address_of("f"), word = good_dynamic().get<Elf64_Rela>(relative).r_offset;
  const auto dynamic = good_dynamic().get<Elf64_Phdr>(good_dynamic().segment(PT_DYNAMIC));
  const auto not_writable = [](uint64_t address) {
    return concat("a relocation changes address ", address, ", which is not in writable data of the file");
  };
  const auto d = good_dynamic().get<Elf64_Phdr>(good_dynamic().segment(PT_LOAD, 0, PF_R | PF_W));
  const auto addend = good_dynamic().get<Elf64_Rela>(relative).r_addend;
  expect_each(
      good_dynamic(),
      {{value(DT_JMPREL, good_dynamic().dynamic_value(DT_RELA) + 24),
        bad_at(entry(DT_JMPREL), "the relocation tables overlap")},
       {value(DT_RELASZ, 24 * count - 8),
        bad_at(entry(DT_RELASZ), "a relocation table has ", 24 * count - 8, " bytes")},
       {value(DT_RELACOUNT, count + 1),
        bad_at(entry(DT_RELACOUNT), "DT_RELACOUNT is ", count + 1, " of ", count, " relocations")},
       {value(DT_RELACOUNT, ahead + 1),
        bad_at(table + 24 * ahead, "relocation ", ahead, " is not relative, but DT_RELACOUNT is ", ahead + 1)},
       {value(DT_RELACOUNT, ahead - 1), "accepted"},
       {kind(data, 0, 250),
        bad_at(data, "relocation ", number(data), " has type 250, which shared libraries do not use")},
       {kind(data, 0, 0), bad_at(data, "relocation ", number(data), " does nothing, but is not empty")},
       {[=](Library &l) { l.set(data, Elf64_Rela{}); }, "accepted"},
       {place(data, f), bad_at(data, not_writable(f))},
       {place(data, d.p_vaddr + d.p_filesz - 7), bad_at(data, not_writable(d.p_vaddr + d.p_filesz - 7))},
       {place(data, dynamic.p_vaddr), bad_at(data, "a relocation changes the dynamic section")},
       {place(data, dynamic.p_vaddr - 7), bad_at(data, "a relocation changes the dynamic section")},
       {place(data, dynamic.p_vaddr + dynamic.p_memsz - 1), bad_at(data, "a relocation changes the dynamic section")},
       {kind(relative, 1, type_of(relative)), bad_at(relative, "a relocation of its type must not name a symbol")},
       {kind(data, 0, type_of(data)), bad_at(data, "a relocation of its type must name a symbol")},
       {kind(got, 0, type_of(got)), bad_at(got, "a relocation of its type must name a symbol")},
       {kind(call, 0, type_of(call)), bad_at(call, "a relocation of its type must name a symbol")},
       {kind(variable, good_dynamic().symbol_number("f"), type_of(variable)),
        bad_at(variable, "a relocation is for thread-local variables, but f is none")},
       {kind(call, good_dynamic().symbol_number("shared"), type_of(call)),
        bad_at(call, "a call slot is for shared, which is not a function")},
       {kind(call, good_dynamic().symbol_number("absent"), type_of(got)),
        bad_at(call, "the relocation table of the PLT has one of another kind")},
       {[=](Library &l) { l.set<int64_t>(got + offsetof(Elf64_Rela, r_addend), 8); },
        bad_at(got, "a relocation fills a slot at address ", good_dynamic().get<Elf64_Rela>(got).r_offset,
               " with addend 8")},
       {place(got, good_dynamic().get<Elf64_Rela>(got).r_offset + 4),
        bad_at(got, "a relocation fills a slot at address ", good_dynamic().get<Elf64_Rela>(got).r_offset + 4,
               " with addend 0")},
       {[=](Library &l) { l.set<int64_t>(data + offsetof(Elf64_Rela, r_addend), 8); }, "accepted"},
       {[=](Library &l) { l.set<uint64_t>(l.offset_of(word), static_cast<uint64_t>(addend)); }, "accepted"},
       {[=](Library &l) { l.set<uint64_t>(l.offset_of(word), uint64_t{0}); }, "accepted"},
       {[=](Library &l) { l.set<uint64_t>(l.offset_of(word), static_cast<uint64_t>(addend) + 4); },
        bad_at(relative, "a relocation says address ", addend, ", the word it fills says ", addend + 4)},
       {place(data, good_dynamic().get<Elf64_Rela>(got).r_offset),
        bad_at(good_dynamic().offset_of(good_dynamic().get<Elf64_Rela>(got).r_offset),
               "two relocations change address ", good_dynamic().get<Elf64_Rela>(got).r_offset)}});
}

TEST(ElfRelocations, NeedTheThreadLocalVariablesThatTheyAreFor) {
  Library library("static _Thread_local int own = 3; int f(int x) { return own += x; }", "");
  ASSERT_EQ(library.told(), "accepted");
  const size_t place = library.relocation([](const Elf64_Rela &r) {
    const Relocates kind = relocates(static_cast<uint32_t>(ELF64_R_TYPE(r.r_info)));
    return kind == Relocates::kThreadLocal || kind == Relocates::kThreadLocalPair;
  });
  library.set<uint32_t>(library.segment(PT_TLS), PT_NULL);
  EXPECT_EQ(library.told(), bad_at(place, "a relocation is for thread-local variables, but there are none"));
}

TEST(ElfRelocations, StartWithAnAddressIfPacked) {
  const Library good("static int x; int *a[100]; int *pointers[] = {&x, &x, &x}; int *f(void) { return *pointers; }",
                     "-Wl,-z,pack-relative-relocs -Wl,-z,lazy");
  if (!good.dynamic(DT_RELR)) GTEST_SKIP() << "this linker packs no relocations";
  const size_t table = good.offset_of(good.dynamic_value(DT_RELR));
  const uint64_t size = good.dynamic_value(DT_RELRSZ), first = good.get<uint64_t>(table);
  expect_each(good, {{value(DT_RELRSZ, size - 4),
                      bad_at(good.dynamic(DT_RELRSZ), "the packed relocations have ", size - 4, " bytes")},
                     {value(DT_RELRSZ, 0), bad_at(good.dynamic(DT_RELRSZ), "a relocation table is empty")},
                     {value(DT_RELRENT, 4),
                      bad_at(good.dynamic(DT_RELRENT), "the dynamic section gives tag 37 the value 4, not 8")},
                     {[=](Library &l) { l.set<uint64_t>(table, 3); },
                      bad_at(table, "the packed relocations do not start with an address")},
                     {[=](Library &l) { l.set<uint64_t>(table, first + 1024 * 1024); },
                      bad_at(table, "a relocation changes address ", first + 1024 * 1024,
                             ", which is not in writable data of the file")}});
}

TEST(ElfRelocations, LeaveTheHeadOfTheOffsetTableToTheLoader) {
  const uint64_t head = good_dynamic().dynamic_value(DT_PLTGOT);
  const size_t entry = good_dynamic().dynamic(DT_PLTGOT), at = good_dynamic().offset_of(head);
  const size_t data = of_kind(Relocates::kData, "shared");
  const auto aimed = [=](uint64_t address) {
    return [=](Library &l) { l.set<uint64_t>(data + offsetof(Elf64_Rela, r_offset), address); };
  };
  const std::string changed = bad_at(entry, "a relocation changes the head of the global offset table");
  const std::string filled = bad_at(at + 8, "the global offset table is filled in already");
  const std::string outside = bad_at(entry, "DT_PLTGOT lies outside writable data");
  expect_each(good_dynamic(), {{value(DT_PLTGOT, good_dynamic().address_of("f")), outside},
                               {value(DT_PLTGOT, 1 << 30), outside},
                               {value(DT_PLTGOT, head + 4), outside},
                               {[=](Library &l) { l.set<uint64_t>(at + 8, 1); }, filled},
                               {[=](Library &l) { l.set<uint64_t>(at + 16, 1); }, filled},
                               {aimed(head + 8), changed},
                               {aimed(head + 16), changed}});
}

TEST(ElfCallArrays, HoldRelocatedPointersOfTheLibrary) {
  const uint64_t array = good_dynamic().dynamic_value(DT_INIT_ARRAY),
                 size = good_dynamic().dynamic_value(DT_INIT_ARRAYSZ);
  const size_t entry = good_dynamic().dynamic(DT_INIT_ARRAYSZ), at = good_dynamic().offset_of(array);
  const size_t relocation = good_dynamic().relocation([=](const Elf64_Rela &r) { return r.r_offset == array; });
  const uint64_t type = ELF64_R_TYPE(good_dynamic().get<Elf64_Rela>(of_kind(Relocates::kData)).r_info);
  const auto as_data = [=](const char *symbol, int64_t addend) {
    return [=](Library &l) {
      l.set<uint64_t>(l.dynamic(DT_RELACOUNT) + kValue, 0);
      l.set<uint64_t>(relocation + offsetof(Elf64_Rela, r_info), ELF64_R_INFO(l.symbol_number(symbol), type));
      l.set<int64_t>(relocation + offsetof(Elf64_Rela, r_addend), addend);
    };
  };
  expect_each(good_dynamic(),
              {{value(DT_INIT_ARRAYSZ, size - 4),
                bad_at(entry, "the initialisers take ", size - 4, " bytes at address ", array)},
               {value(DT_INIT_ARRAY, array + 4),
                bad_at(entry, "the initialisers take ", size, " bytes at address ", array + 4)},
               {value(DT_INIT_ARRAYSZ, 0), "accepted"},
               {[=](Library &l) { l.set<uint64_t>(relocation, l.address_of("spare")); },
                bad_at(at, "the initialisers hold an entry 0 without a relocation")},
               {as_data("g", 0), "accepted"},
               {as_data("absent", 0), bad_at(at, "the initialisers hold an entry 0 of another library")},
               {as_data("shared", 0), bad_at(at, "an entry of the initialisers at address ",
                                             good_dynamic().address_of("shared"), " lies outside the code")},
               {as_data("g", 1), bad_at(at, "an entry of the initialisers at address ",
                                        good_dynamic().address_of("g") + 1, " lies inside a function")}});
}

}  // namespace
}  // namespace opd
