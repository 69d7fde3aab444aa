// Reads and checks relocations: the words that the loader changes in memory.
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
    bad(offset, "a call slot is for ", symbol.name, ", which is no function");
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

// No word may be filled twice, and no symbol may have two slots: in the undamaged file, one of them belonged to another
// symbol.
void ElfFile::check_slots_once() {
  auto &words = relocated_;
  if (!std::is_sorted(words.begin(), words.end())) std::sort(words.begin(), words.end());
  std::sort(relocations_.begin(), relocations_.end(),
            [](const auto &a, const auto &b) { return a.address < b.address; });
  for (size_t i = 1; i < words.size(); ++i)
    if (words[i] - words[i - 1] < 8) bad(offset_of(words[i]), "two relocations change address ", words[i]);
  std::vector<uint8_t> slots(symbols_.size());
  for (const auto &r : relocations_) {
    const uint8_t kind = r.kind == Relocates::kGot ? 1 : r.kind == Relocates::kCall ? 2 : 0;
    if (kind && slots[r.symbol] & kind)
      bad(symbols_[r.symbol].entry, "symbol ", symbols_[r.symbol].name, " has two slots of one kind");
    slots[r.symbol] |= kind | 4;
  }
  // The linker's own initialiser and finaliser call the first two symbols if they exist. They test one slot, and on
  // AArch64 call through another. If one slot belonged to another symbol, they would call a function that does not
  // exist. The other two are called only through the tested address.
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

}  // namespace opd
