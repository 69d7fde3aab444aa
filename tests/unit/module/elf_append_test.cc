// Libraries with data added to them: what is new, what moved, and that all else is as it was.
#include "module/elf/elf_append.h"

#include <algorithm>

#include "module/library_facts.h"
#include "unit/module/elf_bytes.h"

namespace opd {
namespace {

const std::string kAppendSource = R"(
#include <math.h>
#include <stdlib.h>
int shared = 1;
const char old_data[5] = "abcd";
double f(double x) { return exp(x) + shared; }
int g(int x) { return abs(x) + (getenv("HOME") != 0); }
)";

Library appended(const Library &library, const std::vector<AddedData> &added) {
  Library made = library;
  made.bytes = with_data(ElfFile(as_bytes(library.bytes), "calls.so"), added);
  return made;
}
std::string data_of(const Library &library, const std::string &symbol) {
  return std::string(as_text(embedded_in(ElfFile(as_bytes(library.bytes), "calls.so"), symbol)));
}
std::vector<std::string> symbol_names(const Library &library) {
  std::vector<std::string> names;
  const ElfFile file(as_bytes(library.bytes), "calls.so");
  for (const ElfSymbol &symbol : file.symbols()) names.emplace_back(symbol.name);
  return names;
}
uint16_t version_of(const Library &library, const char *symbol) {
  return library.get<uint16_t>(library.offset_of(library.dynamic_value(DT_VERSYM)) + 2 * library.symbol_number(symbol));
}

// Loaders follow the dynamic section, other tools the sections.
void expect_sections_that_fit(const Library &library) {
  const auto header = library.get<Elf64_Ehdr>(0);
  struct Table {
    uint32_t type;
    int64_t tag;
  };
  for (const auto &[type, tag] : {Table{SHT_DYNSYM, DT_SYMTAB},
                                  {SHT_STRTAB, DT_STRTAB},
                                  {SHT_GNU_versym, DT_VERSYM},
                                  {SHT_GNU_HASH, DT_GNU_HASH},
                                  {SHT_HASH, DT_HASH}}) {
    int found = 0;
    if (!library.dynamic(tag)) continue;
    for (size_t i = 0; i < header.e_shnum; ++i) {
      const auto section = library.get<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
      if (section.sh_type != type || !(section.sh_flags & SHF_ALLOC)) continue;
      ++found;
      EXPECT_EQ(section.sh_addr, library.dynamic_value(tag)) << type;
      EXPECT_EQ(section.sh_offset, library.offset_of(section.sh_addr)) << type;
      if (tag == DT_STRTAB) { EXPECT_EQ(section.sh_size, library.dynamic_value(DT_STRSZ)); }
      if (tag == DT_SYMTAB) { EXPECT_EQ(section.sh_size, symbol_names(library).size() * sizeof(Elf64_Sym)); }
      if (tag == DT_VERSYM) { EXPECT_EQ(section.sh_size, symbol_names(library).size() * 2); }
    }
    EXPECT_EQ(found, 1) << type;
  }
}

// Of one bucket: all symbols but the first stand in its chain.
void expect_one_chain(const Library &library) {
  const size_t at = library.offset_of(library.dynamic_value(DT_HASH)), count = symbol_names(library).size();
  EXPECT_EQ(library.get<uint32_t>(at), 1u);
  EXPECT_EQ(library.get<uint32_t>(at + 4), count);
  std::vector<uint32_t> chain;
  for (uint32_t i = library.get<uint32_t>(at + 8); i && chain.size() < count;
       i = library.get<uint32_t>(at + 12 + 4 * i))
    chain.push_back(i);
  std::sort(chain.begin(), chain.end());
  ASSERT_EQ(chain.size(), count - 1);
  for (uint32_t i = 1; i < count; ++i) EXPECT_EQ(chain[i - 1], i);
}

TEST(AddedData, IsFoundByItsNameAndMovesNothingElse) {
  const std::string first(100, 'x'), second = "other";
  for (const std::string style : {"gnu", "sysv", "both"}) {
    const Library good(kAppendSource, "-lm -Wl,--hash-style=" + style);
    const Library made = appended(good, {{"__new_data", first}, {"old_data", second}});
    EXPECT_EQ(made.told(), "accepted") << style;
    EXPECT_EQ(data_of(made, "__new_data"), first);
    EXPECT_EQ(data_of(made, "old_data"), second) << "in place of what it was";
    EXPECT_EQ(data_of(good, "old_data"), std::string("abcd\0", 5));
    auto names = symbol_names(good);
    names.emplace_back("__new_data");
    EXPECT_EQ(symbol_names(made), names);
    for (const char *name : {"f", "g", "shared", "exp", "getenv"})
      EXPECT_EQ(version_of(made, name), version_of(good, name)) << name;
    EXPECT_EQ(version_of(made, "__new_data"), VER_NDX_GLOBAL);
    for (const char *name : {"__new_data", "old_data"}) {
      const auto symbol = made.get<Elf64_Sym>(made.symbol(name));
      EXPECT_EQ(symbol.st_value % 64, 0u) << name;
      EXPECT_EQ(symbol.st_info, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT)) << name;
    }
    expect_sections_that_fit(made);
    if (style != "gnu") expect_one_chain(made);
    if (style != "sysv") {
      const size_t table = made.offset_of(made.dynamic_value(DT_GNU_HASH));
      const auto old_table = good.offset_of(good.dynamic_value(DT_GNU_HASH));
      EXPECT_EQ(made.get<uint32_t>(table), 1u) << "bucket";
      EXPECT_EQ(made.get<uint32_t>(table + 4), good.get<uint32_t>(old_table + 4)) << "the first hashed symbol";
      EXPECT_EQ(made.get<uint64_t>(table + 16), UINT64_MAX) << "the filter";
    }
    // The rest of the file: the loaded segments are as they were but for the dynamic section's values.
    const auto d = good.get<Elf64_Phdr>(good.segment(PT_DYNAMIC));
    for (const auto &s : good.segments())
      if (s.p_type == PT_LOAD && !(s.p_flags & PF_W))
        for (uint64_t at = std::max<uint64_t>(s.p_offset, sizeof(Elf64_Ehdr)); at < s.p_offset + s.p_filesz; ++at)
          if (made.bytes[at] != good.bytes[at]) {
            ADD_FAILURE() << style << ": byte " << at;
            break;
          }
    for (size_t at = d.p_offset; at < d.p_offset + d.p_filesz; at += sizeof(Elf64_Dyn)) {
      const auto before = good.get<Elf64_Dyn>(at), after = made.get<Elf64_Dyn>(at);
      EXPECT_EQ(before.d_tag, after.d_tag);
      const bool moves = before.d_tag == DT_STRTAB || before.d_tag == DT_STRSZ || before.d_tag == DT_SYMTAB ||
                         before.d_tag == DT_VERSYM || before.d_tag == DT_HASH || before.d_tag == DT_GNU_HASH;
      EXPECT_EQ(before.d_un.d_val != after.d_un.d_val, moves) << before.d_tag;
    }
  }
}

TEST(AddedData, LiesInOneMoreSegmentBehindTheOthers) {
  const Library good(kAppendSource, "-lm");
  const Library made = appended(good, {{"__new_data", std::string(5000, 'x')}});
  const auto before = good.get<Elf64_Ehdr>(0), header = made.get<Elf64_Ehdr>(0);
  EXPECT_EQ(header.e_phnum, before.e_phnum + 1);
  EXPECT_EQ(header.e_phoff % 4096, 0u);
  EXPECT_GE(header.e_phoff, good.bytes.size());
  EXPECT_LT(header.e_phoff, good.bytes.size() + 4096);
  auto same = header;
  same.e_phnum = before.e_phnum, same.e_phoff = before.e_phoff;
  EXPECT_EQ(std::memcmp(&same, &before, sizeof same), 0);
  const auto old = good.segments(), all = made.segments();
  size_t place = 0;
  while (place < old.size() && std::memcmp(&old[place], &all[place], sizeof(Elf64_Phdr)) == 0) ++place;
  for (size_t i = place; i < old.size(); ++i) EXPECT_EQ(std::memcmp(&old[i], &all[i + 1], sizeof(Elf64_Phdr)), 0) << i;
  const Elf64_Phdr &added = all[place];
  EXPECT_EQ(added.p_type, uint32_t{PT_LOAD});
  EXPECT_EQ(old[place - 1].p_type, uint32_t{PT_LOAD}) << "the last of those that are loaded";
  EXPECT_EQ(added.p_flags, uint32_t{PF_R});
  EXPECT_EQ(added.p_offset, header.e_phoff);
  EXPECT_EQ(added.p_filesz, made.bytes.size() - added.p_offset);
  EXPECT_EQ(added.p_memsz, added.p_filesz);
  EXPECT_EQ(added.p_align, 65536u) << "the largest pages that there are";
  EXPECT_EQ(added.p_vaddr % 65536, added.p_offset % 65536);
  EXPECT_EQ(added.p_paddr, added.p_vaddr);
  EXPECT_GE(added.p_vaddr, old[place - 1].p_vaddr + old[place - 1].p_memsz);
  // Once more, with the data replaced and without any.
  const Library again = appended(made, {{"__new_data", "short"}});
  EXPECT_EQ(data_of(again, "__new_data"), "short");
  EXPECT_EQ(symbol_names(again), symbol_names(made));
  EXPECT_EQ(symbol_names(appended(good, {})), symbol_names(good));
}

// Programs have a program header for their program headers, and so may libraries.
TEST(AddedData, TakesTheProgramHeadersWithIt) {
  Library library(kAppendSource, "-lm");
  const auto header = library.get<Elf64_Ehdr>(0);
  const uint64_t size = header.e_phnum * sizeof(Elf64_Phdr);
  library.set(library.segment(PT_GNU_EH_FRAME),
              Elf64_Phdr{PT_PHDR, PF_R, header.e_phoff, header.e_phoff, header.e_phoff, size, size, 8});
  ASSERT_EQ(library.told(), "accepted");
  const Library made = appended(library, {{"__new_data", "x"}});
  const auto own = made.get<Elf64_Phdr>(made.segment(PT_PHDR)),
             added = made.get<Elf64_Phdr>(made.segment(PT_LOAD, 0, PF_R));
  const uint64_t offset = made.get<Elf64_Ehdr>(0).e_phoff;
  EXPECT_EQ(own.p_offset, offset);
  EXPECT_EQ(made.offset_of(own.p_vaddr), offset);
  EXPECT_EQ(own.p_paddr, own.p_vaddr);
  EXPECT_EQ(own.p_filesz, (header.e_phnum + 1) * sizeof(Elf64_Phdr));
  EXPECT_EQ(own.p_memsz, own.p_filesz);
  EXPECT_EQ(added.p_offset, 0u) << "the first segment is the one of before";
}

TEST(AnotherRunPath, ChangesNothingElse) {
  for (const char *flags : {"-Wl,-rpath,/old", "-Wl,--disable-new-dtags,-rpath,/old"}) {
    const Library good(kAppendSource, std::string("-lm -Wl,-soname,named.so ") + flags);
    Library made = good;
    const std::string path = "/somewhere/much/longer:" + std::string(300, 'd');
    made.bytes = with_run_path(ElfFile(as_bytes(good.bytes), "calls.so"), path);
    const ElfFile before(as_bytes(good.bytes), "calls.so"), file(as_bytes(made.bytes), "calls.so");
    EXPECT_EQ(before.run_path(), "/old");
    EXPECT_EQ(file.run_path(), path);
    EXPECT_EQ(made.dynamic_value(DT_STRSZ), good.dynamic_value(DT_STRSZ) + path.size() + 1);
    EXPECT_TRUE(std::equal(file.needed().begin(), file.needed().end(), before.needed().begin(), before.needed().end()));
    EXPECT_EQ(symbol_names(made), symbol_names(good));
    expect_sections_that_fit(made);
  }
}

}  // namespace
}  // namespace opd
