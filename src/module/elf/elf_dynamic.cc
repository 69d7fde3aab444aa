// Reads the dynamic section, which locates everything else that the loader reads.
#include <algorithm>

#include "module/elf/elf_file.h"

namespace opd {
namespace {

// Tags that may occur only once. If one is repeated, the loader uses the last, but dynamic() finds the first.
bool is_single(int64_t tag) {
  if (tag == DT_NEEDED || tag == DT_NULL || tag == DT_AUXILIARY || tag == DT_FILTER) return false;
  return tag < 64 || (tag >= 0x6ffffd00 && tag <= 0x6fffffff);
}

}  // namespace

void ElfFile::read_dynamic(const Elf64_Phdr &segment) {
  dynamic_range_ = {segment.p_vaddr, segment.p_vaddr + segment.p_memsz};
  if (segment.p_vaddr % 8) bad(segment.p_offset, "the dynamic section is not aligned");
  bool ended = false;
  for (uint64_t i = 0; i < segment.p_filesz / sizeof(Elf64_Dyn) && !ended; ++i) {
    const uint64_t place = segment.p_offset + i * sizeof(Elf64_Dyn);
    const auto entry = read<Elf64_Dyn>(place, "the dynamic section");
    ended = entry.d_tag == DT_NULL;
    if (ended) break;
    if (is_single(entry.d_tag) && dynamic(entry.d_tag))
      bad(place, "the dynamic section has tag ", entry.d_tag, " twice");
    dynamic_.push_back({entry.d_tag, entry.d_un.d_val, place});
  }
  if (!ended) bad(segment.p_offset, "the dynamic section has no end");
  check_dynamic();
  binds_now_ = dynamic(DT_BIND_NOW) || dynamic_value(DT_FLAGS) & DF_BIND_NOW || dynamic_value(DT_FLAGS_1) & DF_1_NOW;
  if (const auto *soname = dynamic(DT_SONAME)) soname_entry_ = soname->entry;
  if (dynamic_value(DT_FLAGS_1) & DF_1_PIE) fail(OPD_UNSUPPORTED, name_, " is a program, not a shared library");
}

// Checks that tags occur together where needed, and the sizes that the loader assumes.
void ElfFile::check_dynamic() const {
  struct Rule {
    int64_t tag, needs;
  };
  constexpr Rule kRules[] = {
      {DT_RELA, DT_RELASZ},
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
      {DT_RELACOUNT, DT_RELA},
  };
  const uint64_t start = offset_of(dynamic_range_.begin);
  for (const auto &rule : kRules)
    if (const auto *entry = dynamic(rule.tag); entry && !dynamic(rule.needs))
      bad(entry->entry, "the dynamic section has tag ", rule.tag, ", but not ", rule.needs);
  for (const int64_t tag : {DT_STRTAB, DT_STRSZ, DT_SYMTAB, DT_SYMENT})
    if (!dynamic(tag)) bad(start, "the dynamic section has no tag ", tag);
  if (!dynamic(DT_HASH) && !dynamic(DT_GNU_HASH)) bad(start, "the dynamic section has no hash table");
  struct Size {
    int64_t tag;
    uint64_t value;
  };
  for (const auto &[tag, value] : {Size{DT_SYMENT, sizeof(Elf64_Sym)}, Size{DT_RELAENT, sizeof(Elf64_Rela)},
                                   Size{DT_RELRENT, sizeof(uint64_t)}, Size{DT_PLTREL, DT_RELA}})
    if (const auto *entry = dynamic(tag); entry && entry->value != value)
      bad(entry->entry, "the dynamic section gives tag ", tag, " the value ", entry->value, ", not ", value);
  for (const int64_t tag : {DT_RELASZ, DT_PLTRELSZ, DT_RELRSZ})
    if (const auto *entry = dynamic(tag); entry && entry->value == 0) bad(entry->entry, "a relocation table is empty");
  if (dynamic(DT_TEXTREL) || dynamic_value(DT_FLAGS) & DF_TEXTREL)
    fail(OPD_UNSUPPORTED, name_, " changes its own code when it is loaded; compile it with -fPIC");
  for (const int64_t tag : {DT_REL, DT_RELSZ, DT_RELENT})
    if (const auto *entry = dynamic(tag)) bad(entry->entry, "the dynamic section has relocations of 32-bit form");
}

const ElfFile::Dynamic *ElfFile::dynamic(int64_t tag) const {
  const auto found =
      std::find_if(dynamic_.begin(), dynamic_.end(), [&](const Dynamic &entry) { return entry.tag == tag; });
  return found == dynamic_.end() ? nullptr : &*found;
}

uint64_t ElfFile::dynamic_value(int64_t tag, uint64_t otherwise) const {
  const auto *entry = dynamic(tag);
  return entry ? entry->value : otherwise;
}

uint64_t ElfFile::table(int64_t tag, uint64_t size, const char *what) const {
  const auto *entry = dynamic(tag);
  const Bytes there = contents(entry->value, size);
  if (size == 0) return 0;
  if (there.empty())
    bad(entry->entry, what, " at address ", entry->value, " with ", size, " bytes lies outside the file's segments");
  return static_cast<uint64_t>(there.data() - bytes_.data());
}

}  // namespace opd
