// A checked view of the bytes of an ELF shared object. dlopen() trusts a file: if it is cut short or damaged, the
// process crashes there (SIGBUS, SIGSEGV, a failed assertion). So everything that dlopen() reads is checked first.
#pragma once
#include <elf.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "module/elf/elf_machine.h"

#ifndef DT_RELR  // missing in <elf.h> before glibc 2.36
#define DT_RELRSZ 35
#define DT_RELR 36
#define DT_RELRENT 37
#endif

namespace opd {

struct AddressRange {  // virtual addresses in the file, before the load address is added
  uint64_t begin = 0, end = 0;
  bool contains(uint64_t address) const { return address >= begin && address < end; }
};

struct ElfSymbol {
  std::string_view name;
  uint64_t value = 0, size = 0;
  uint64_t entry = 0;  // offset of the symbol's entry in the file
  uint16_t section = 0;
  uint8_t binding = 0, type = 0, visibility = 0;

  bool is_defined() const { return section != SHN_UNDEF; }
  bool is_needed() const { return !is_defined() && binding != STB_WEAK && !name.empty(); }
};

struct ElfRelocation {
  uint64_t address;
  int64_t addend;
  uint32_t symbol;
  Relocates kind;
};

uint32_t gnu_hash(std::string_view name);  // hash of a symbol's name in hash tables

class ElfFile {
 public:
  // Throws OPD_BAD_FORMAT with the offset, or OPD_UNSUPPORTED. `bytes` must outlive the view.
  // Files of other machines can only be inspected.
  enum class Use { kLoad, kInspect };
  ElfFile(Bytes bytes, std::string name, Use use = Use::kLoad);

  const std::string &name() const { return name_; }
  uint16_t machine() const { return header_.e_machine; }
  Bytes bytes() const { return bytes_; }
  std::span<const ElfSymbol> symbols() const { return symbols_; }              // entry 0 is empty
  std::span<const ElfRelocation> relocations() const { return relocations_; }  // sorted by address
  std::span<const std::string_view> needed() const { return needed_; }         // names of the linked libraries
  std::span<const uint64_t> needed_entries() const {
    return needed_entries_;
  }  // file offsets of the libraries' DT_NEEDED entries
  std::string_view run_path() const { return run_path_; }
  bool binds_now() const { return binds_now_; }
  AddressRange relro() const { return relro_; }            // read-only once relocated
  std::vector<AddressRange> code() const;                  // the executable segments
  std::vector<AddressRange> constants() const;             // the read-only parts of memory that come from the file
  uint64_t memory_bytes() const;                           // total size of all segments in memory
  uint64_t soname_entry() const { return soname_entry_; }  // file offset of DT_SONAME; 0: none
  // What the loader calls once the library is bound: the address of a function (0: none), then an array of functions.
  uint64_t initialiser() const { return dynamic_value(DT_INIT); }
  AddressRange initialisers() const {
    return {dynamic_value(DT_INIT_ARRAY), dynamic_value(DT_INIT_ARRAY) + dynamic_value(DT_INIT_ARRAYSZ)};
  }
  std::vector<uint64_t> initialiser_entries() const;   // file offsets of the entries that name them
  uint32_t needed_isa() const { return needed_isa_; }  // GNU_PROPERTY_X86_ISA_1_NEEDED; 0: unknown
  // The names of local symbols with this prefix, which must not be empty. They come from the symbol table for
  // debuggers; there are none if the file is stripped. Loaders do not read that table, so damage there is not an error.
  std::vector<std::string_view> local_names(std::string_view prefix) const;

  // The bytes of an address range; empty unless all of it comes from the file.
  Bytes contents(uint64_t address, uint64_t size) const;
  uint64_t address_of(uint64_t offset) const;  // memory address of a byte of the file, which must be part of a segment
  // Whether the range lies in one segment with all of `flags` (PF_R, PF_W, PF_X).
  bool lies_in(uint64_t address, uint64_t size, uint32_t flags) const;
  // Whether the loader writes any part of the range: relocated words, the dynamic section, RELRO.
  bool is_loaders(uint64_t address, uint64_t size) const;

  template <class... Parts>
  [[noreturn]] void bad(uint64_t offset, const Parts &...parts) const {
    fail(OPD_BAD_FORMAT, name_, ": ", parts..., " (at offset ", offset, ")");
  }

 private:
  friend class ElfAppender;  // makes a copy with more data

  struct Dynamic {
    int64_t tag;
    uint64_t value, entry;
  };
  struct HashedSymbols {  // a GNU hash table contains all symbols from `first` on, which are the defined ones
    uint32_t first = 0, count = 0;
  };

  // The evidence that is required for an address to be that of a function. The linker's own functions have no unwind
  // information, so they need less evidence.
  enum class Evidence { kNone, kSection, kFunction };

  // elf_file.cc: header, sections and segments
  void read_header(Use use);
  void read_sections();
  void read_segments();
  void add_loaded(const Elf64_Phdr &segment, uint64_t offset);
  void check_segment(const Elf64_Phdr &segment, uint64_t offset);
  void check_relro(const Elf64_Phdr &segment, uint64_t offset);

  // the dynamic section
  void read_dynamic(const Elf64_Phdr &segment);
  void check_dynamic() const;
  const Dynamic *dynamic(int64_t tag) const;
  uint64_t dynamic_value(int64_t tag, uint64_t otherwise = 0) const {
    const auto *entry = dynamic(tag);
    return entry ? entry->value : otherwise;
  }
  uint64_t table(int64_t tag, uint64_t size, const char *what) const;  // file offset of a table
  template <class T>
  T read_part(int64_t tag, uint64_t offset, const char *what) const {  // reads a part of the table's segment
    const uint64_t first = table(tag, sizeof(T), what);
    const Bytes there = contents(dynamic_value(tag) + (offset - first), sizeof(T));
    if (there.data() != bytes_.data() + offset) bad(offset, what, " lies outside the segment of the first");
    return read<T>(offset, what);
  }

  // elf_symbols.cc: names
  void read_strings();
  void read_symbols();
  ElfSymbol read_symbol(uint64_t index) const;
  void check_symbol(const ElfSymbol &symbol, uint64_t index) const;
  uint32_t read_gnu_hash();
  void check_gnu_hash() const;
  uint32_t check_sysv_hash() const;
  void check_versions() const;
  std::vector<bool> read_versions_needed(std::vector<bool> known) const;
  std::vector<bool> read_versions_defined(std::vector<bool> known) const;
  void check_repeated_names() const;

  // elf_relocations.cc: relocations
  void read_relocations();
  void read_relocation_table(const char *what, int64_t table, int64_t size, bool of_plt);
  void read_packed_relocations();
  void check_relocation(const ElfRelocation &relocation, uint64_t offset, bool of_plt) const;
  void check_slots_once();

  // the parts that the loader calls and obeys
  void check_calls() const;
  void check_indirect_functions() const;
  bool is_indirect_for_debuggers(uint64_t address) const;
  void check_call_array(const char *what, int64_t table, int64_t size) const;
  void check_entry_point(const char *what, uint64_t address, uint64_t offset, Evidence wanted) const;
  AddressRange unwound_function(uint64_t address) const;
  void read_properties(const Elf64_Phdr &segment);

  template <class T>
  T read(uint64_t offset, const char *what) const {
    if (sizeof(T) > bytes_.size() || offset > bytes_.size() - sizeof(T))
      bad(offset, what, " lies past the end of the file");
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  uint64_t offset_of(uint64_t address) const;  // file offset; the address must have been checked
  std::string_view string_at(uint64_t index, uint64_t offset, const char *what) const;

  Bytes bytes_;
  std::string name_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> loaded_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Dynamic> dynamic_;
  AddressRange dynamic_range_, relro_, span_, thread_local_, unwind_;
  std::string_view strings_, run_path_;
  std::vector<std::string_view> needed_;
  std::vector<uint64_t> needed_entries_;
  std::vector<ElfSymbol> symbols_;
  HashedSymbols hashed_;
  std::vector<ElfRelocation> relocations_;
  std::vector<uint64_t> relocated_;  // addresses of 8-byte words, ascending
  uint64_t symbol_table_ = 0, soname_entry_ = 0;
  uint32_t needed_isa_ = 0;
  bool binds_now_ = false;
};

}  // namespace opd
