// Reads and checks relocations: the words that the loader changes in memory. Checks what the loader calls.
#include <algorithm>

#include "module/elf/elf_file.h"

namespace opd {

void ElfFile::read_relocations() {
  const uint64_t rela = dynamic_value(DT_RELA), plt = dynamic_value(DT_JMPREL);
  const uint64_t rela_size = dynamic_value(DT_RELASZ), plt_size = dynamic_value(DT_PLTRELSZ);
  if (rela_size && plt_size && rela < plt + plt_size && plt < rela + rela_size)
    bad(dynamic(DT_JMPREL)->entry, "the relocation tables overlap");
  relocations_.reserve((rela_size + plt_size) / sizeof(Elf64_Rela));
  read_relocation_table("the relocation table", DT_RELA, DT_RELASZ, false);
  read_relocation_table("the relocation table of the PLT", DT_JMPREL, DT_PLTRELSZ, true);
  read_packed_relocations();
  check_slots_once();
}

void ElfFile::read_relocation_table(const char *what, int64_t address, int64_t size, bool of_plt) {
  const uint64_t count = dynamic_value(size) / sizeof(Elf64_Rela);
  if (count == 0) return;
  const uint64_t first = table(address, count * sizeof(Elf64_Rela), what);
  const uint64_t relative = of_plt ? 0 : dynamic_value(DT_RELACOUNT);  // number at the start; the loader asserts it
  if (relative > count) bad(dynamic(DT_RELACOUNT)->entry, "DT_RELACOUNT is ", relative, " of ", count, " relocations");
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t place = first + i * sizeof(Elf64_Rela);
    const auto raw = read<Elf64_Rela>(place, what);
    const auto type = static_cast<uint32_t>(ELF64_R_TYPE(raw.r_info));
    const ElfRelocation relocation{raw.r_offset, raw.r_addend, static_cast<uint32_t>(ELF64_R_SYM(raw.r_info)),
                                   relocates(type, machine())};
    if (relocation.kind == Relocates::kUnknown)
      bad(place, "relocation ", i, " has type ", type, ", which shared libraries do not use");
    if (i < relative && relocation.kind != Relocates::kRelative)
      bad(place, "relocation ", i, " is not relative, but DT_RELACOUNT is ", relative);
    if (relocation.kind == Relocates::kNothing) {
      if (raw.r_offset || raw.r_info || raw.r_addend) bad(place, "relocation ", i, " does nothing, but is not empty");
      continue;
    }
    check_relocation(relocation, place, of_plt);
    relocations_.push_back(relocation);
    relocated_.push_back(relocation.address);
    if (relocation.kind == Relocates::kThreadLocalPair) relocated_.push_back(relocation.address + 8);
  }
}

void ElfFile::check_relocation(const ElfRelocation &r, uint64_t offset, bool of_plt) const {
  const uint64_t size = r.kind == Relocates::kThreadLocalPair ? 16 : 8;
  const Bytes there = contents(r.address, size);
  if (there.empty() || !lies_in(r.address, size, PF_W))
    bad(offset, "a relocation changes address ", r.address, ", which is not in writable data of the file");
  if (r.address < dynamic_range_.end && r.address + size > dynamic_range_.begin)
    bad(offset, "a relocation changes the dynamic section");
  const ElfSymbol &symbol = symbols_[r.symbol];
  const bool named = r.kind == Relocates::kCall || r.kind == Relocates::kGot || r.kind == Relocates::kData;
  if (named != (r.symbol != 0) && r.kind != Relocates::kThreadLocal && r.kind != Relocates::kThreadLocalPair)
    bad(offset, "a relocation of its type must ", named ? "" : "not ", "name a symbol");
  const bool thread_local_kind = r.kind == Relocates::kThreadLocal || r.kind == Relocates::kThreadLocalPair;
  if (thread_local_kind && (r.symbol == 0 || symbol.is_defined()) && thread_local_.end == 0)
    bad(offset, "a relocation is for thread-local variables, but there are none");
  if (thread_local_kind && r.symbol && symbol.type != STT_TLS && symbol.type != STT_NOTYPE)
    bad(offset, "a relocation is for thread-local variables, but ", symbol.name, " is none");
  if (r.kind == Relocates::kCall && symbol.type != STT_FUNC && symbol.type != STT_NOTYPE &&
      symbol.type != STT_GNU_IFUNC)
    bad(offset, "a call slot is for ", symbol.name, ", which is not a function");
  if (of_plt && r.kind != Relocates::kCall && r.kind != Relocates::kIndirect && r.kind != Relocates::kThreadLocalPair)
    bad(offset, "the relocation table of the PLT has one of another kind");
  if (named && r.kind != Relocates::kData && (r.address % 8 || r.addend))
    bad(offset, "a relocation fills a slot at address ", r.address, " with addend ", r.addend);
  if (r.kind == Relocates::kRelative) {
    // Linkers leave the word empty or write the relocation's value; a difference is damage.
    uint64_t word;
    std::memcpy(&word, there.data(), 8);
    if (word && word != static_cast<uint64_t>(r.addend))
      bad(offset, "a relocation says address ", r.addend, ", the word it fills says ", word);
  }
  if (r.kind == Relocates::kIndirect)
    check_entry_point("the function of a relocation", static_cast<uint64_t>(r.addend), offset, Evidence::kFunction);
}

// DT_RELR: an address, then bitmaps of the 63 words that follow. The loader adds the load address to each marked word.
void ElfFile::read_packed_relocations() {
  const uint64_t size = dynamic_value(DT_RELRSZ);
  if (size == 0) return;
  if (size % 8) bad(dynamic(DT_RELRSZ)->entry, "the packed relocations have ", size, " bytes");
  const uint64_t first = table(DT_RELR, size, "the packed relocations");
  uint64_t address = 0;
  const auto add = [&](uint64_t at, uint64_t offset) {
    check_relocation({at, 0, 0, Relocates::kNothing}, offset, false);
    relocated_.push_back(at);
  };
  for (uint64_t place = first; place < first + size; place += 8) {
    const auto word = read<uint64_t>(place, "the packed relocations");
    if (!(word & 1)) {
      add(word, place);
      address = word + 8;
      continue;
    }
    if (address == 0) bad(place, "the packed relocations do not start with an address");
    for (unsigned bit = 1; bit < 64; ++bit)
      if (word >> bit & 1) add(address + (bit - 1) * 8, place);
    address += 63 * 8;
  }
}

// No word may be filled twice, and no symbol may have two slots of one kind. Otherwise the file is damaged, and one of
// the two belonged to another symbol.
void ElfFile::check_slots_once() {
  auto &words = relocated_;
  if (!std::ranges::is_sorted(words)) std::ranges::sort(words);
  std::ranges::sort(relocations_, {}, &ElfRelocation::address);
  for (size_t i = 1; i < words.size(); ++i)
    if (words[i] - words[i - 1] < 8) bad(offset_of(words[i]), "two relocations change address ", words[i]);
  std::vector<uint8_t> slots(symbols_.size());
  for (const auto &r : relocations_) {
    const uint8_t kind = r.kind == Relocates::kGot ? 1 : r.kind == Relocates::kCall ? 2 : 0;
    if (kind && slots[r.symbol] & kind)
      bad(symbols_[r.symbol].entry, "symbol ", symbols_[r.symbol].name, " has two slots of one kind");
    slots[r.symbol] |= kind | 4;
  }
  // The linker's own initialiser calls the first symbol if it exists, and its finaliser calls the second. They test one
  // slot, and on AArch64 call through another. If one slot belonged to another symbol, they would call a function that
  // does not exist. The two _ITM_ symbols are called only through the tested address.
  for (size_t i = 1; i < slots.size(); ++i) {
    const ElfSymbol &s = symbols_[i];
    if (s.name == "__gmon_start__" || s.name == "__cxa_finalize") {
      if (!slots[i] && !s.is_defined()) bad(s.entry, "symbol ", s.name, " has no slot");
      if ((slots[i] & 3) == 2 && s.binding == STB_WEAK) bad(s.entry, "symbol ", s.name, " has a call slot only");
    }
    if (slots[i] & 2 && (s.name == "_ITM_registerTMCloneTable" || s.name == "_ITM_deregisterTMCloneTable"))
      bad(s.entry, "symbol ", s.name, " has a call slot");
  }
}

bool ElfFile::is_loaders(uint64_t address, uint64_t size) const {
  if (address < dynamic_range_.end && address + size > dynamic_range_.begin) return true;
  if (address < relro_.end && address + size > relro_.begin) return true;
  if (const auto *got = dynamic(DT_PLTGOT); got && address < got->value + 24 && address + size > got->value)
    return true;
  const auto next = std::lower_bound(relocated_.begin(), relocated_.end(), address >= 7 ? address - 7 : 0);
  return next != relocated_.end() && *next < address + size;
}

// ---- the parts of the file that the loader calls or obeys
//
// These are initialisers and finalisers, the head of the global offset table, and property notes.

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
      std::ranges::none_of(relocations_, [](const auto &r) { return r.kind == Relocates::kIndirect; }) &&
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
    bad(offset, what, " at address ", address, " is not a function");
  if (sections_.empty()) return;
  const auto around = std::ranges::find_if(sections_, [&](const Elf64_Shdr &section) {
    return section.sh_flags & SHF_EXECINSTR && address >= section.sh_addr &&
           address - section.sh_addr < section.sh_size;
  });
  if (around == sections_.end() || around->sh_entsize != 0)  // an entry size means a PLT
    bad(offset, what, " at address ", address, " lies in no section of functions");
  const auto is_symbol = [&](const ElfSymbol &symbol) { return symbol.is_defined() && symbol.value == address; };
  // The start of some function is not sufficient evidence: one changed bit can turn the address into another
  // function's.
  if (wanted == Evidence::kSection && around->sh_addr != address && std::ranges::none_of(symbols_, is_symbol))
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
