// Checks the parts of an ELF file that the loader calls or obeys: initialisers and finalisers, the head of the global
// offset table, property notes.
#include <algorithm>

#include "module/elf/elf_file.h"

namespace opd {

// Checks the functions that run at load and unload.
void ElfFile::check_calls() const {
  for (const int64_t tag : {DT_INIT, DT_FINI})
    if (const auto *entry = dynamic(tag))
      check_entry_point(tag == DT_INIT ? "DT_INIT" : "DT_FINI", entry->value, entry->entry, Evidence::kSection);
  check_indirect_functions();
  check_call_array("the first initialisers", DT_PREINIT_ARRAY,
                   DT_PREINIT_ARRAYSZ);  // meant for programs, but called for all files
  check_call_array("the initialisers", DT_INIT_ARRAY, DT_INIT_ARRAYSZ);
  check_call_array("the finalisers", DT_FINI_ARRAY, DT_FINI_ARRAYSZ);
  const auto *got = dynamic(DT_PLTGOT);
  if (!got || !dynamic(DT_JMPREL)) return;
  const Bytes reserved = contents(got->value, 24);  // the loader writes words 1 and 2, and trusts word 1 if it is set
  uint64_t words[3] = {};
  if (reserved.empty() || !lies_in(got->value, 24, PF_W) || got->value % 8)
    bad(got->entry, "DT_PLTGOT lies outside writable data");
  std::memcpy(words, reserved.data(), sizeof words);
  if (words[1] || words[2]) bad(offset_of(got->value) + 8, "the global offset table is filled in already");
  const auto next = std::lower_bound(relocated_.begin(), relocated_.end(), got->value + 1);
  if (next != relocated_.end() && *next < got->value + 24)
    bad(got->entry, "a relocation changes the head of the global offset table");
}

// To resolve an indirect function, the loader calls its symbol. One changed bit makes any function indirect, so there
// must be other evidence: the ABI in the header, which ld -s and lld do not set; a relocation of that kind; a second
// such symbol; or the symbol table for debuggers.
void ElfFile::check_indirect_functions() const {
  std::vector<const ElfSymbol *> found;
  for (const ElfSymbol &symbol : symbols_)
    if (symbol.type == STT_GNU_IFUNC && symbol.is_defined()) found.push_back(&symbol);
  if (found.size() == 1 && header_.e_ident[EI_OSABI] != ELFOSABI_GNU &&
      std::none_of(relocations_.begin(), relocations_.end(),
                   [](const auto &r) { return r.kind == Relocates::kIndirect; }) &&
      !is_indirect_for_debuggers(found[0]->value))
    bad(found[0]->entry, "symbol ", found[0]->name,
        " is an indirect function, but nothing else in the file says that it ",
        "has such; if it is whole, link it without -s, and strip it afterwards with GNU strip, if at all");
  for (const ElfSymbol *symbol : found)
    check_entry_point("an indirect function", symbol->value, symbol->entry, Evidence::kFunction);
}

bool ElfFile::is_indirect_for_debuggers(uint64_t address) const {
  for (const auto &section : sections_) {
    if (section.sh_type != SHT_SYMTAB) continue;
    for (uint64_t at = 0; at < section.sh_size / sizeof(Elf64_Sym); ++at) {
      const auto symbol = read<Elf64_Sym>(section.sh_offset + at * sizeof(Elf64_Sym), "a symbol");
      if (symbol.st_value == address && ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC) return true;
    }
  }
  return false;
}

void ElfFile::check_call_array(const char *what, int64_t address, int64_t size) const {
  const uint64_t bytes = dynamic_value(size);
  if (bytes == 0) return;
  const uint64_t first = table(address, bytes, what), start = dynamic_value(address);
  if (bytes % 8 || start % 8) bad(dynamic(size)->entry, what, " take ", bytes, " bytes at address ", start);
  const std::string entry = concat("an entry of ", what);
  auto word = std::lower_bound(relocated_.begin(), relocated_.end(), start);
  for (uint64_t i = 0; i < bytes / 8; ++i, ++word) {
    const uint64_t slot = start + 8 * i, offset = first + 8 * i;
    if (word == relocated_.end() || *word != slot) bad(offset, what, " hold an entry ", i, " without a relocation");
    uint64_t target = read<uint64_t>(offset, what);
    const auto found = std::lower_bound(relocations_.begin(), relocations_.end(), slot,
                                        [](const ElfRelocation &r, uint64_t address) { return r.address < address; });
    if (found != relocations_.end() && found->address == slot) {  // else packed: the word is the target
      if (found->kind != Relocates::kRelative && found->kind != Relocates::kData)
        bad(offset, what, " hold an entry ", i, " that is a slot of the linker's");
      const ElfSymbol &symbol = symbols_[found->symbol];
      if (found->symbol && !symbol.is_defined()) bad(offset, what, " hold an entry ", i, " of another library");
      target = static_cast<uint64_t>(found->addend) + (found->symbol ? symbol.value : 0);
    }
    check_entry_point(entry.c_str(), target, offset, Evidence::kNone);
  }
}

void ElfFile::check_entry_point(const char *what, uint64_t address, uint64_t offset, Evidence wanted) const {
  if (!lies_in(address, 1, PF_X)) bad(offset, what, " at address ", address, " lies outside the code");
#if defined(__aarch64__)
  if (address % 4) bad(offset, what, " at address ", address, " is not aligned");
#endif
  const auto [begin, end] = unwound_function(address);
  if (address > begin && address < end) bad(offset, what, " at address ", address, " lies inside a function");
  if (wanted == Evidence::kFunction && end == 0 && unwind_.end)
    bad(offset, what, " at address ", address, " is no function");
  if (sections_.empty()) return;
  const auto around = std::find_if(sections_.begin(), sections_.end(), [&](const Elf64_Shdr &section) {
    return section.sh_flags & SHF_EXECINSTR && address >= section.sh_addr &&
           address - section.sh_addr < section.sh_size;
  });
  if (around == sections_.end() || around->sh_entsize != 0)  // an entry size means a PLT
    bad(offset, what, " at address ", address, " lies in no section of functions");
  const auto is_symbol = [&](const ElfSymbol &symbol) { return symbol.is_defined() && symbol.value == address; };
  // The start of some function is not sufficient evidence: one changed bit can turn the address into another
  // function's.
  if (wanted == Evidence::kSection && around->sh_addr != address &&
      std::none_of(symbols_.begin(), symbols_.end(), is_symbol))
    bad(offset, what, " at address ", address, " is not the start of a section or an exported function");
}

// The function around an address, from the unwinder's search table. {0, 0} if there is none, or the table has another
// form.
AddressRange ElfFile::unwound_function(uint64_t address) const {
  const Bytes table = contents(unwind_.begin, unwind_.end - unwind_.begin);
  constexpr uint8_t kUsualForm[] = {1, 0x1b, 0x03, 0x3b};  // a sorted table of 4-byte offsets from its start
  const auto word = [](Bytes bytes, uint64_t at) {
    int32_t value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  };
  if (table.size() < 12 || std::memcmp(table.data(), kUsualForm, sizeof kUsualForm)) return {};
  const uint64_t count = static_cast<uint32_t>(word(table, 8));
  if (count > (table.size() - 12) / 8) return {};
  const auto start_of = [&](uint64_t i) {
    return unwind_.begin + static_cast<uint64_t>(int64_t{word(table, 12 + 8 * i)});
  };
  uint64_t low = 0, high = count;  // entries before `low` start at or before the address
  while (low < high) {
    const uint64_t middle = (low + high) / 2;
    if (start_of(middle) <= address) low = middle + 1;
    else high = middle;
  }
  if (low == 0) return {};
  const uint64_t record = unwind_.begin + static_cast<uint64_t>(int64_t{word(table, 12 + 8 * (low - 1) + 4)});
  const Bytes fde = contents(record, 16);  // length, common part, start relative to here, size
  if (fde.empty() || record + 8 + static_cast<uint64_t>(int64_t{word(fde, 8)}) != start_of(low - 1)) return {};
  const uint64_t begin = start_of(low - 1), end = begin + static_cast<uint32_t>(word(fde, 12));
  return address < end ? AddressRange{begin, end} : AddressRange{};
}

void ElfFile::read_properties(const Elf64_Phdr &segment) {
#if defined(__x86_64__)
  constexpr uint32_t kIsaNeeded = 0xc0008002;  // GNU_PROPERTY_X86_ISA_1_NEEDED
  if (segment.p_align != 8) return;            // property notes have this alignment
  const Bytes note = bytes_.subspan(segment.p_offset, segment.p_filesz);
  uint32_t head[3];  // sizes of name and content, type
  for (size_t at = 0; note.size() - at >= 16;) {
    std::memcpy(head, note.data() + at, sizeof head);
    const uint64_t name = (uint64_t{head[0]} + 7) / 8 * 8 == 8 ? 4 : uint64_t{head[0]};
    const uint64_t content = at + 12 + (name + 3) / 4 * 4;
    if (content > note.size() || head[1] > note.size() - content) return;
    if (head[2] == NT_GNU_PROPERTY_TYPE_0 && std::memcmp(note.data() + at + 12, "GNU", 4) == 0)
      for (uint64_t p = content; p + 8 <= content + head[1];) {
        uint32_t property[3] = {};  // type, size, value
        std::memcpy(property, note.data() + p, 8);
        if (property[1] > content + head[1] - p - 8) return;
        if (property[1] == 4) std::memcpy(property + 2, note.data() + p + 8, 4);
        if (property[0] == kIsaNeeded) needed_isa_ |= property[2];
        p += 8 + (uint64_t{property[1]} + 7) / 8 * 8;
      }
    at = (content + head[1] + 7) / 8 * 8;
    if (at > note.size()) return;
  }
#else
  (void)segment;
#endif
}

}  // namespace opd
