// Reads the ELF header, the sections and the segments of a file, and its dynamic section.
#include "module/elf/elf_file.h"

#include <algorithm>
#include <bit>

namespace opd {
namespace {

constexpr size_t kMaxSegments = 256;
constexpr uint64_t kMaxSpan = uint64_t{1} << 36;  // maximum address range of a library

bool fits(uint64_t start, uint64_t size, uint64_t limit) { return size <= limit && start <= limit - size; }

}  // namespace

ElfFile::ElfFile(Bytes bytes, std::string name, Use use) : bytes_(bytes), name_(std::move(name)) {
  read_header(use);
  read_sections();
  read_segments();
  read_strings();
  read_symbols();
  read_relocations();
  check_versions();
  check_calls();
}

void ElfFile::read_header(Use use) {
  if (bytes_.size() < SELFMAG || std::memcmp(bytes_.data(), ELFMAG, SELFMAG)) bad(0, "this is not an ELF file");
  header_ = read<Elf64_Ehdr>(0, "the ELF header");
  const uint8_t *ident = header_.e_ident;
  if (ident[EI_CLASS] == ELFCLASS32)
    fail(OPD_UNSUPPORTED, name_, " is a 32-bit library; 64-bit libraries can be loaded");
  if (ident[EI_CLASS] != ELFCLASS64) bad(EI_CLASS, "the ELF class is ", int{ident[EI_CLASS]}, ", which is none");
  if (ident[EI_DATA] == ELFDATA2MSB)
    fail(OPD_UNSUPPORTED, name_, " is a big-endian library; little-endian ones can be loaded");
  if (ident[EI_DATA] != ELFDATA2LSB) bad(EI_DATA, "the ELF data encoding is ", int{ident[EI_DATA]}, ", which is none");
  if (ident[EI_VERSION] != EV_CURRENT || header_.e_version != EV_CURRENT) bad(EI_VERSION, "the ELF version is not 1");
  if (header_.e_type == ET_REL)
    fail(OPD_UNSUPPORTED, name_, " is an object file; link it to a shared library first (cc -shared -o x.so x.o)");
  if (header_.e_type == ET_EXEC) fail(OPD_UNSUPPORTED, name_, " is a program, not a shared library");
  if (header_.e_type != ET_DYN)
    bad(offsetof(Elf64_Ehdr, e_type), "ELF type ", header_.e_type, " is not a shared library");
  if (header_.e_machine != kMachine && !(use == Use::kInspect && is_readable_machine(header_.e_machine)))
    fail(OPD_UNSUPPORTED, name_, " is made for ", machine_name(header_.e_machine), " (ELF machine ", header_.e_machine,
         "); this process runs on ", machine_name(kMachine), ": export it for this target");
  if (header_.e_phentsize != sizeof(Elf64_Phdr))
    bad(offsetof(Elf64_Ehdr, e_phentsize), "program headers of ", header_.e_phentsize, " bytes");
}

// The loader does not need sections. Their table is usually at the end of the file, so reading it shows whether the
// file is complete.
void ElfFile::read_sections() {
  if (header_.e_shoff == 0) return;
  uint64_t count = header_.e_shnum;
  if (header_.e_shentsize != sizeof(Elf64_Shdr))
    bad(offsetof(Elf64_Ehdr, e_shentsize), "section headers of ", header_.e_shentsize, " bytes");
  if (count == 0) count = read<Elf64_Shdr>(header_.e_shoff, "the section header table").sh_size;
  if (count > bytes_.size() / sizeof(Elf64_Shdr) || !fits(header_.e_shoff, count * sizeof(Elf64_Shdr), bytes_.size()))
    bad(header_.e_shoff, "the file is cut short: ", count, " section headers do not fit into ", bytes_.size(),
        " bytes");
  sections_.resize(count);
  if (count) std::memcpy(sections_.data(), bytes_.data() + header_.e_shoff, count * sizeof(Elf64_Shdr));
  for (size_t i = 0; i < count; ++i)
    if (const auto &s = sections_[i];
        s.sh_type != SHT_NOBITS && s.sh_type != SHT_NULL && !fits(s.sh_offset, s.sh_size, bytes_.size()))
      bad(header_.e_shoff + i * sizeof s, "the file is cut short: section ", i, " takes bytes ", s.sh_offset, " to ",
          s.sh_offset + s.sh_size, " of ", bytes_.size());
}

void ElfFile::read_segments() {
  const size_t count = header_.e_phnum;
  if (count == 0 || count > kMaxSegments) bad(offsetof(Elf64_Ehdr, e_phnum), count, " program headers");
  std::vector<Elf64_Phdr> all(count);
  const auto place = [&](size_t i) { return header_.e_phoff + i * sizeof(Elf64_Phdr); };
  if (!fits(header_.e_phoff, count * sizeof(Elf64_Phdr), bytes_.size()))
    bad(header_.e_phoff, "the program headers lie past the end of the file");
  for (size_t i = 0; i < count; ++i) {
    all[i] = read<Elf64_Phdr>(place(i), "a program header");
    if (all[i].p_type == PT_LOAD && all[i].p_memsz) add_loaded(all[i], place(i));
  }
  if (loaded_.empty()) bad(header_.e_phoff, "no segment is to be loaded");
  span_ = {loaded_.front().p_vaddr, loaded_.back().p_vaddr + loaded_.back().p_memsz};

  const Elf64_Phdr *dynamic = nullptr, *stack = nullptr, *relro = nullptr;
  const auto once = [&](const Elf64_Phdr *&seen, size_t i) {
    if (seen) bad(place(i), "a second program header of type ", all[i].p_type);
    seen = &all[i];
  };
  for (size_t i = 0; i < count; ++i) {
    check_segment(all[i], place(i));
    if (all[i].p_type == PT_DYNAMIC) once(dynamic, i);
    if (all[i].p_type == PT_GNU_STACK) once(stack, i);
    if (all[i].p_type == PT_GNU_RELRO) once(relro, i), check_relro(all[i], place(i));
  }
  if (!stack || stack->p_flags & PF_X)  // the loader would make the stacks of the whole process executable
    fail(OPD_UNSUPPORTED, name_, " asks for an executable stack; link it with -z noexecstack");
  if (!dynamic) bad(header_.e_phoff, "there is no dynamic section, so this is not a shared library");
  read_dynamic(*dynamic);
  for (const auto &segment : all)
    if (segment.p_type == PT_NOTE || segment.p_type == PT_GNU_PROPERTY) read_properties(segment);
}

void ElfFile::add_loaded(const Elf64_Phdr &s, uint64_t offset) {
  if (s.p_filesz > s.p_memsz)
    bad(offset, "a segment has ", s.p_filesz, " bytes in the file, but ", s.p_memsz, " in memory");
  if (!fits(s.p_offset, s.p_filesz, bytes_.size()))
    bad(offset, "the file is cut short: a segment takes bytes ", s.p_offset, " to ", s.p_offset + s.p_filesz, " of ",
        bytes_.size());
  if (!std::has_single_bit(s.p_align) || (s.p_vaddr - s.p_offset) % s.p_align)
    bad(offset, "a segment is not aligned as it says");
  if (!fits(s.p_vaddr, s.p_memsz, kMaxSpan))
    bad(offset, "a segment lies at address ", s.p_vaddr, " and takes ", s.p_memsz, " bytes");
  if (!(s.p_flags & PF_R)) bad(offset, "a segment cannot be read");
  if (s.p_filesz < s.p_memsz && !(s.p_flags & PF_W)) bad(offset, "a segment has zeroed memory that cannot be written");
  if (!loaded_.empty()) {
    const auto &before = loaded_.back();
    if (s.p_vaddr < before.p_vaddr + before.p_memsz) bad(offset, "segments overlap or are out of order");
    if (s.p_filesz && before.p_filesz && s.p_offset < before.p_offset + before.p_filesz)
      bad(offset, "segments share bytes of the file");
  }
  loaded_.push_back(s);
}

// Checks the program headers other than PT_LOAD, to the extent that the loader uses them.
void ElfFile::check_segment(const Elf64_Phdr &s, uint64_t offset) {
  const auto in_file = [&] {
    const Bytes there = contents(s.p_vaddr, s.p_filesz);
    return s.p_filesz && there.size() == s.p_filesz && fits(s.p_offset, s.p_filesz, bytes_.size()) &&
           there.data() == bytes_.data() + s.p_offset;
  };
  switch (s.p_type) {
    case PT_PHDR:
      if (!in_file() || s.p_offset != header_.e_phoff || s.p_filesz < header_.e_phnum * sizeof(Elf64_Phdr))
        bad(offset, "PT_PHDR does not place the program headers");
      break;
    case PT_TLS:
      if (s.p_filesz > s.p_memsz || s.p_memsz > kMaxSpan || (s.p_filesz && !in_file()) || s.p_align > 65536 ||
          !std::has_single_bit(s.p_align) || thread_local_.end)
        bad(offset, "the segment of thread-local variables is malformed");
      thread_local_ = {0, s.p_memsz};
      break;
    case PT_NOTE:
    case PT_GNU_PROPERTY:
    case PT_INTERP:
    case PT_GNU_EH_FRAME:
    case PT_DYNAMIC:
      if (!in_file() || s.p_filesz != s.p_memsz)
        bad(offset, "program header of type ", s.p_type, " lies outside the segments");
      if (s.p_type == PT_GNU_EH_FRAME) unwind_ = {s.p_vaddr, s.p_vaddr + s.p_memsz};
      if (s.p_type == PT_DYNAMIC && s.p_flags & PF_W && !lies_in(s.p_vaddr, s.p_memsz, PF_W))
        bad(offset, "the dynamic section is said to be writable, but its segment is not");
      break;
    default:
      break;
  }
}

// The loader makes these pages read-only, so the library must not write to them later. They must be the front of a
// writable segment, or all of it. In the latter case they may be rounded up to a page. mold lets them begin with the
// zeroed variables of threads, which lie before the segment but have no memory there.
void ElfFile::check_relro(const Elf64_Phdr &s, uint64_t offset) {
  if (s.p_memsz == 0) return;
  const auto is_front = [&](const Elf64_Phdr &segment) {
    if (s.p_vaddr / 4096 != segment.p_vaddr / 4096 || !(segment.p_flags & PF_W)) return false;
    const uint64_t ahead = segment.p_vaddr - s.p_vaddr;  // huge if they begin within the segment
    if (s.p_memsz <= ahead) return false;
    const uint64_t bytes = s.p_memsz - ahead;
    if (bytes <= segment.p_filesz || bytes == segment.p_memsz) return true;
    const uint64_t excess = bytes - segment.p_memsz, end = s.p_vaddr + s.p_memsz;
    return segment.p_filesz == segment.p_memsz && excess < 65536 && end % 4096 == 0;
  };
  if (std::ranges::none_of(loaded_, is_front))
    bad(offset, "the part that becomes read-only is not the front of a writable segment");
  relro_ = {s.p_vaddr, s.p_vaddr + s.p_memsz};
}

Bytes ElfFile::contents(uint64_t address, uint64_t size) const {
  for (const auto &s : loaded_)
    if (address >= s.p_vaddr && fits(address - s.p_vaddr, size, s.p_filesz))
      return bytes_.subspan(s.p_offset + (address - s.p_vaddr), size);
  return {};
}

bool ElfFile::lies_in(uint64_t address, uint64_t size, uint32_t flags) const {
  return std::ranges::any_of(loaded_, [&](const Elf64_Phdr &s) {
    return (s.p_flags & flags) == flags && address >= s.p_vaddr && fits(address - s.p_vaddr, size, s.p_memsz);
  });
}

std::vector<AddressRange> ElfFile::code() const {
  std::vector<AddressRange> ranges;
  for (const auto &s : loaded_)
    if (s.p_flags & PF_X) ranges.push_back({s.p_vaddr, s.p_vaddr + s.p_memsz});
  return ranges;
}

std::vector<AddressRange> ElfFile::constants() const {
  std::vector<AddressRange> ranges;
  for (const auto &s : loaded_)
    if ((s.p_flags & (PF_R | PF_W)) == PF_R) ranges.push_back({s.p_vaddr, s.p_vaddr + std::min(s.p_filesz, s.p_memsz)});
  return ranges;
}

uint64_t ElfFile::memory_bytes() const {
  uint64_t sum = 0;  // segments do not overlap, so it cannot exceed the span
  for (const auto &s : loaded_) sum += s.p_memsz;
  return sum;
}

uint64_t ElfFile::offset_of(uint64_t address) const {
  return static_cast<uint64_t>(contents(address, 1).data() - bytes_.data());
}

uint64_t ElfFile::address_of(uint64_t offset) const {
  for (const auto &s : loaded_)
    if (offset >= s.p_offset && offset - s.p_offset < s.p_filesz) return s.p_vaddr + (offset - s.p_offset);
  fail(OPD_INTERNAL, name_, ": byte ", offset, " is not loaded");
}

// ---- the dynamic section, which locates everything else that the loader reads

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

std::vector<uint64_t> ElfFile::initialiser_entries() const {
  std::vector<uint64_t> entries;
  for (const int64_t tag : {DT_INIT, DT_INIT_ARRAY, DT_INIT_ARRAYSZ})
    if (const auto *entry = dynamic(tag)) entries.push_back(entry->entry);
  return entries;
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
  const auto found = std::ranges::find(dynamic_, tag, &Dynamic::tag);
  return found == dynamic_.end() ? nullptr : &*found;
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
