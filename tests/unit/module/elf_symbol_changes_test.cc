// Symbols, the hash tables that find them, and their versions: what is told of each that cannot be right.
#include "unit/module/elf_bytes.h"

namespace opd {
namespace {

const std::string kSymbolSource = R"(
#include <math.h>
#include <stdlib.h>
extern int absent(int), missing(int);
_Thread_local int counter = 3;
int shared = 1;
double f(double x) { return exp(x) + ++counter + shared; }
int g(int x) { return absent(x) + missing(x) + abs(x) + (malloc(1) != 0); }
)";

const Library &good_symbols() {
  static const Library library(kSymbolSource, "-lm -Wl,--hash-style=both");
  return library;
}

#define SYMBOL(name, field, value) \
  [=](Library &l) { l.set<decltype(Elf64_Sym::field)>(l.symbol(name) + offsetof(Elf64_Sym, field), value); }

TEST(ElfSymbols, AreCheckedFieldByField) {
  const size_t f = good_symbols().symbol("f"), shared = good_symbols().symbol("shared"),
               absent = good_symbols().symbol("absent"), counter = good_symbols().symbol("counter"),
               table = good_symbols().offset_of(good_symbols().dynamic_value(DT_SYMTAB));
  const auto sections = good_symbols().get<Elf64_Ehdr>(0).e_shnum;
  const auto info = [](int binding, int type) { return static_cast<uint8_t>(ELF64_ST_INFO(binding, type)); };
  const std::string local = bad_at(absent, "symbol absent is undefined, but local or with a value");
  const uint64_t strings = good_symbols().dynamic_value(DT_STRSZ), code = good_symbols().address_of("f");
  uint64_t end = 0;  // of all segments in memory
  for (const auto &s : good_symbols().segments())
    if (s.p_type == PT_LOAD) end = std::max(end, s.p_vaddr + s.p_memsz);
  const auto no_type = [=](uint64_t address) {
    return [=](Library &l) {
      auto symbol = l.get<Elf64_Sym>(shared);
      symbol.st_info = info(STB_GLOBAL, STT_NOTYPE), symbol.st_value = address;
      l.set(shared, symbol);
    };
  };
  expect_each(
      good_symbols(),
      {{[=](Library &l) { l.set<uint8_t>(table + 5, 1); }, bad_at(table, "symbol 0 is not empty")},
       {SYMBOL("f", st_name, strings),
        bad_at(f, "the name of a symbol is string ", strings, " of a table of ", strings, " bytes")},
       {SYMBOL("f", st_info, info(3, STT_FUNC)), bad_at(f, "symbol f has binding 3")},
       {SYMBOL("f", st_info, info(9, STT_FUNC)), bad_at(f, "symbol f has binding 9")},
       {SYMBOL("f", st_info, info(STB_GNU_UNIQUE, STT_FUNC)), "accepted"},
       {SYMBOL("f", st_info, info(STB_WEAK, STT_FUNC)), "accepted"},
       {SYMBOL("absent", st_info, info(STB_LOCAL, STT_NOTYPE)), local},
       {SYMBOL("absent", st_other, STV_HIDDEN), local},
       {SYMBOL("absent", st_value, 8), local},
       {SYMBOL("absent", st_info, info(STB_GLOBAL, STT_GNU_IFUNC)), "accepted"},
       {SYMBOL("shared", st_shndx, SHN_COMMON), bad_at(shared, "symbol shared is common")},
       {SYMBOL("shared", st_shndx, sections),
        bad_at(shared, "symbol shared lies in section ", sections, " of ", sections)},
       {SYMBOL("shared", st_shndx, static_cast<uint16_t>(sections - 1)), "accepted"},
       {[=](Library &l) {
          auto symbol = l.get<Elf64_Sym>(shared);
          symbol.st_shndx = SHN_ABS, symbol.st_value = UINT64_MAX;
          l.set(shared, symbol);
        },
        "accepted"},
       {SYMBOL("f", st_value, good_symbols().address_of("shared")),
        bad_at(f, "function f at address ", good_symbols().address_of("shared"), " lies outside the code")},
       {SYMBOL("f", st_size, uint64_t{1} << 30), bad_at(f, "function f at address ", code, " lies outside the code")},
       {SYMBOL("shared", st_value, uint64_t{1} << 30),
        bad_at(shared, "data shared at address 1073741824 lies outside the segments")},
       {SYMBOL("shared", st_size, uint64_t{1} << 30),
        bad_at(shared, "data shared at address ", good_symbols().address_of("shared"), " lies outside the segments")},
       {SYMBOL("shared", st_value, code), "accepted"},
       {SYMBOL("counter", st_size, 5), bad_at(counter, "thread-local counter lies outside its segment")},
       {SYMBOL("counter", st_value, 1), bad_at(counter, "thread-local counter lies outside its segment")},
       {SYMBOL("counter", st_value, 5), bad_at(counter, "thread-local counter lies outside its segment")},
       {no_type(end + 65536), "accepted"},
       {no_type(end + 65537), bad_at(shared, "symbol shared at address ", end + 65537, " lies outside the segments")},
       {SYMBOL("shared", st_info, info(STB_GLOBAL, STT_SECTION)), "accepted"},
       {SYMBOL("shared", st_info, info(STB_GLOBAL, STT_COMMON)), bad_at(shared, "symbol shared has type 5")},
       {[=](Library &l) { l.set<uint64_t>(l.dynamic(DT_SYMTAB) + 8, l.dynamic_value(DT_SYMTAB) + 4); },
        bad_at(table + 4, "the dynamic symbol table is not aligned")}});
}

TEST(ElfSymbols, AreUndefinedOnceForEachVersion) {
  const auto both_named = [](std::string_view one, std::string_view other) {
    Library library = good_symbols();
    library.set<uint32_t>(library.symbol(one), library.get<uint32_t>(library.symbol(other)));
    return library.told();
  };
  EXPECT_EQ(both_named("absent", "missing"),
            bad_at(std::max(good_symbols().symbol("absent"), good_symbols().symbol("missing")),
                   "there are two undefined symbols missing"));
  EXPECT_EQ(both_named("absent", "exp"), bad_at(std::max(good_symbols().symbol("absent"), good_symbols().symbol("exp")),
                                                "there are two undefined symbols exp"))
      << "one of them has no version";
  EXPECT_EQ(both_named("malloc", "exp"), "accepted") << "their versions differ";
}

// The layout of the table is that of GNU's hash section: four words, the filter, the buckets, the chains.
TEST(ElfHashTables, FindEverySymbolInGnusForm) {
  const size_t at = good_symbols().offset_of(good_symbols().dynamic_value(DT_GNU_HASH)),
               entry = good_symbols().dynamic(DT_GNU_HASH);
  const auto word = [](size_t place, uint32_t value) { return [=](Library &l) { l.set<uint32_t>(place, value); }; };
  const auto buckets = good_symbols().get<uint32_t>(at), first = good_symbols().get<uint32_t>(at + 4),
             filter = good_symbols().get<uint32_t>(at + 8);
  const size_t first_bucket = at + 16 + 8 * filter, chains = first_bucket + 4 * buckets;
  ASSERT_GT(first, 1u);
  const auto odd = [&](uint32_t b, uint32_t f) {
    return bad_at(at, "the hash table has ", b, " buckets and ", f, " filter words");
  };
  uint32_t used = 0;
  while (good_symbols().get<uint32_t>(first_bucket + 4 * used) == 0) ++used;
  const ElfFile file(as_bytes(good_symbols().bytes), "calls.so");
  const ElfSymbol &symbol = file.symbols()[first];
  const std::string misfit =
      bad_at(symbol.entry, "the hash table does not fit symbol ", first, ", \"", symbol.name, "\"");
  expect_each(good_symbols(), {{word(at, 0), odd(0, filter)},
                               {word(at + 8, 3), odd(buckets, 3)},
                               {word(at + 8, 0), odd(buckets, 0)},
                               {word(at + 12, 32), odd(buckets, filter)},
                               {word(first_bucket + 4 * used, 1),
                                bad_at(at, "a bucket of the hash table holds symbol 1, which is before ", first)},
                               {word(chains, good_symbols().get<uint32_t>(chains) ^ 2), misfit},
                               {[=](Library &l) { l.set<uint64_t>(at + 16, 0); }, misfit},
                               {[=](Library &l) { l.set<uint64_t>(entry + 8, l.dynamic_value(DT_GNU_HASH) + 4); },
                                bad_at(at + 4, "the hash table is not aligned")}});
  EXPECT_EQ(gnu_hash(""), 5381u);
  EXPECT_EQ(gnu_hash("a"), 5381u * 33 + 'a');
  EXPECT_EQ(gnu_hash("\xff"), 5381u * 33 + 255);
}

TEST(ElfHashTables, HaveChainsThatEndInSystemVsForm) {
  const size_t at = good_symbols().offset_of(good_symbols().dynamic_value(DT_HASH));
  const auto buckets = good_symbols().get<uint32_t>(at), chains = good_symbols().get<uint32_t>(at + 4);
  uint32_t used = 0;
  while (good_symbols().get<uint32_t>(at + 8 + 4 * used) == 0) ++used;
  const size_t bucket = at + 8 + 4 * used;
  const uint32_t head = good_symbols().get<uint32_t>(bucket);
  const auto word = [](size_t place, uint32_t value) { return [=](Library &l) { l.set<uint32_t>(place, value); }; };
  expect_each(good_symbols(),
              {{word(at, 0), bad_at(at, "the hash table has no buckets")},
               {word(bucket, chains), bad_at(at, "a hash chain is broken at symbol ", chains)},
               {word(at + 8 + 4 * (buckets + head), head), bad_at(at, "a hash chain is broken at symbol ", head)},
               {word(bucket, 0), "accepted"}});
}

TEST(ElfVersions, RequirementsMustBeConsistent) {
  const size_t versions = good_symbols().offset_of(good_symbols().dynamic_value(DT_VERSYM)),
               needs = good_symbols().offset_of(good_symbols().dynamic_value(DT_VERNEED));
  const size_t f = versions + 2 * good_symbols().symbol_number("f");
  ASSERT_GE(good_symbols().dynamic_value(DT_VERNEEDNUM), 2u) << "of libm and of libc";
  const auto first = good_symbols().get<Elf64_Verneed>(needs);
  const size_t strings = good_symbols().offset_of(good_symbols().dynamic_value(DT_STRTAB));
  const auto text = [&](uint64_t at) { return std::string(good_symbols().bytes.c_str() + strings + at); };
  const std::string file = text(first.vn_file);
  const auto f_name = good_symbols().get<uint32_t>(good_symbols().symbol("f"));
  expect_each(good_symbols(),
              {{[=](Library &l) { l.set<uint16_t>(f, 0x7ffe); },
                bad_at(f, "symbol f has version 32766, which is not declared")},
               {[=](Library &l) { l.set<uint16_t>(f, 0x8001); }, "accepted"},  // the highest bit hides a symbol
               {[=](Library &l) { l.set<uint16_t>(needs, 2); }, bad_at(needs, "a version requirement has version 2")},
               {[=](Library &l) { l.set<uint32_t>(needs + offsetof(Elf64_Verneed, vn_file), f_name); },
                bad_at(needs, "a version of library \"f\" is required, but the library is not listed as needed")},
               {[=](Library &l) { l.set<uint16_t>(needs + offsetof(Elf64_Verneed, vn_cnt), 0); },
                bad_at(needs, "library \"", file, "\" has more versions than the 0 stated")},
               {[=](Library &l) { l.set<uint64_t>(l.dynamic(DT_VERNEEDNUM) + 8, 1); },
                bad_at(needs, "there are more version requirements than DT_VERNEEDNUM says")}});
}

TEST(ElfVersions, DefinitionsMustBeConsistent) {
  const std::string script = opdyno_test::write_text("versions.map", "ONE { global: f; }; TWO { global: g; };\n");
  const Library library("int f(void) { return 1; } int g(void) { return 2; }", "-Wl,--version-script=" + script);
  ASSERT_EQ(library.told(), "accepted");
  const size_t place = library.offset_of(library.dynamic_value(DT_VERDEF));
  const auto count = library.dynamic_value(DT_VERDEFNUM);
  ASSERT_EQ(count, 3u) << "the library's own, and two";
  const size_t versions = library.offset_of(library.dynamic_value(DT_VERSYM));
  const size_t g = versions + 2 * library.symbol_number("g");
  size_t last = place;
  while (const auto step = library.get<Elf64_Verdef>(last).vd_next) last += step;
  size_t before = place;
  while (before + library.get<Elf64_Verdef>(before).vd_next != last)
    before += library.get<Elf64_Verdef>(before).vd_next;
  expect_each(
      library,
      {{[=](Library &l) { l.set<uint16_t>(place, 2); }, bad_at(place, "a version definition has version 2")},
       {[=](Library &l) { l.set<uint64_t>(l.dynamic(DT_VERDEFNUM) + 8, count - 1); },
        bad_at(before, "there are more version definitions than DT_VERDEFNUM says")},
       {[=](Library &l) { l.set<uint16_t>(g, 9); }, bad_at(g, "symbol g has version 9, which is not declared")}});
}

#undef SYMBOL

}  // namespace
}  // namespace opd
