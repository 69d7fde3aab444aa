// Reads and checks names: the string table, symbols, their hash tables, and their versions.
#include <algorithm>
#include <bit>
#include <unordered_map>
#include <unordered_set>

#include "module/elf/elf_file.h"

namespace opd {
namespace {

constexpr uint32_t kNoVersion = 0;  // the versions 0 and 1 mean "local" and "any"
constexpr uint16_t kVersionMask = 0x7fff;

}  // namespace

uint32_t gnu_hash(std::string_view name) {
  uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<uint8_t>(c);
  return hash;
}

void ElfFile::read_strings() {
  const uint64_t size = dynamic_value(DT_STRSZ);
  const uint64_t offset = table(DT_STRTAB, size, "the dynamic string table");
  if (size == 0 || bytes_[offset + size - 1] != 0) bad(offset, "the dynamic string table does not end with a 0");
  strings_ = as_text(bytes_.subspan(offset, size));
  for (const auto &[tag, value, entry] : dynamic_) {
    const bool is_name = tag == DT_NEEDED || tag == DT_SONAME || tag == DT_RPATH || tag == DT_RUNPATH ||
                         tag == DT_AUXILIARY || tag == DT_FILTER || tag == DT_AUDIT || tag == DT_DEPAUDIT ||
                         tag == DT_CONFIG;
    if (!is_name) continue;
    const std::string_view text = string_at(value, entry, "a name in the dynamic section");
    if (tag == DT_NEEDED && text.empty()) bad(entry, "the dynamic section needs a library without a name");
    if (tag == DT_NEEDED) needed_.push_back(text), needed_entries_.push_back(entry);
    if (tag == DT_RUNPATH || (tag == DT_RPATH && run_path_.empty())) run_path_ = text;
  }
}

std::string_view ElfFile::string_at(uint64_t index, uint64_t offset, const char *what) const {
  if (index >= strings_.size()) bad(offset, what, " is string ", index, " of a table of ", strings_.size(), " bytes");
  return strings_.data() + index;  // the table ends with a 0
}

// Reads the symbols. Their number is not stored: it follows from the hash tables and from the relocations.
void ElfFile::read_symbols() {
  uint64_t count = dynamic(DT_GNU_HASH) ? read_gnu_hash() : 0;
  if (dynamic(DT_HASH)) count = std::max<uint64_t>(count, check_sysv_hash());
  for (const auto &[address, size] : {std::pair{DT_RELA, DT_RELASZ}, {DT_JMPREL, DT_PLTRELSZ}}) {
    const uint64_t bytes = dynamic_value(size);
    if (bytes % sizeof(Elf64_Rela)) bad(dynamic(size)->entry, "a relocation table has ", bytes, " bytes");
    const uint64_t first = bytes ? table(address, bytes, "a relocation table") : 0;
    for (uint64_t place = first; place < first + bytes; place += sizeof(Elf64_Rela))
      count = std::max<uint64_t>(count, ELF64_R_SYM(read<Elf64_Rela>(place, "a relocation").r_info) + 1);
  }
  count = std::max<uint64_t>(count, 1);
  symbol_table_ = table(DT_SYMTAB, count * sizeof(Elf64_Sym), "the dynamic symbol table");
  if (symbol_table_ % alignof(Elf64_Sym)) bad(symbol_table_, "the dynamic symbol table is not aligned");
  symbols_.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    symbols_.push_back(read_symbol(i));
    check_symbol(symbols_.back(), i);
  }
  if (dynamic(DT_GNU_HASH)) check_gnu_hash();
}

ElfSymbol ElfFile::read_symbol(uint64_t index) const {
  const uint64_t entry = symbol_table_ + index * sizeof(Elf64_Sym);
  const auto raw = read<Elf64_Sym>(entry, "a symbol");
  constexpr Elf64_Sym kNone{};
  if (index == 0 && std::memcmp(&raw, &kNone, sizeof raw)) bad(entry, "symbol 0 is not empty");
  return {string_at(raw.st_name, entry, "the name of a symbol"),
          raw.st_value,
          raw.st_size,
          entry,
          raw.st_shndx,
          static_cast<uint8_t>(ELF64_ST_BIND(raw.st_info)),
          static_cast<uint8_t>(ELF64_ST_TYPE(raw.st_info)),
          static_cast<uint8_t>(ELF64_ST_VISIBILITY(raw.st_other))};
}

void ElfFile::check_symbol(const ElfSymbol &s, uint64_t index) const {
  if (index == 0) return;
  if (s.binding > STB_WEAK && s.binding != STB_GNU_UNIQUE)
    bad(s.entry, "symbol ", s.name, " has binding ", int{s.binding});
  if (!s.is_defined()) {
    // The loader would bind such a symbol to the start of the library.
    if (s.binding == STB_LOCAL || s.visibility != STV_DEFAULT || s.value)
      bad(s.entry, "symbol ", s.name, " is undefined, but local or with a value");
    return;  // the type may be that of the library which defines the symbol, as mold writes it; the loader ignores it
  }
  if (s.section == SHN_ABS) return;
  if (s.section == SHN_COMMON) bad(s.entry, "symbol ", s.name, " is common");
  if (!sections_.empty() && s.section >= sections_.size() && s.section < SHN_LORESERVE)
    bad(s.entry, "symbol ", s.name, " lies in section ", s.section, " of ", sections_.size());
  switch (s.type) {
    case STT_GNU_IFUNC:
    case STT_FUNC:
      if (!lies_in(s.value, s.size, PF_X))
        bad(s.entry, "function ", s.name, " at address ", s.value, " lies outside the code");
      break;
    case STT_OBJECT:
      if (!lies_in(s.value, s.size, PF_R))
        bad(s.entry, "data ", s.name, " at address ", s.value, " lies outside the segments");
      break;
    case STT_TLS:
      if (s.value > thread_local_.end || s.size > thread_local_.end - s.value)
        bad(s.entry, "thread-local ", s.name, " lies outside its segment");
      break;
    case STT_NOTYPE:
    case STT_SECTION:
      if (s.value > span_.end + 65536)
        bad(s.entry, "symbol ", s.name, " at address ", s.value, " lies outside the segments");
      break;
    default:
      bad(s.entry, "symbol ", s.name, " has type ", int{s.type});
  }
}

// Reads the table to the extent that is needed to count symbols. Returns the number, or 0 if no symbol is hashed.
uint32_t ElfFile::read_gnu_hash() {
  const uint64_t header = table(DT_GNU_HASH, 16, "the hash table");
  if (header % 8) bad(header, "the hash table is not aligned");
  const auto buckets = read<uint32_t>(header, "the hash table"), first = read<uint32_t>(header + 4, "the hash table");
  const auto bloom = read<uint32_t>(header + 8, "the hash table"),
             shift = read<uint32_t>(header + 12, "the hash table");
  if (buckets == 0 || !std::has_single_bit(bloom) || shift >= 32)
    bad(header, "the hash table has ", buckets, " buckets and ", bloom, " filter words");
  const uint64_t fixed = 16 + uint64_t{bloom} * 8 + uint64_t{buckets} * 4;
  table(DT_GNU_HASH, fixed, "the hash table");
  uint32_t last = 0;
  for (uint64_t i = 0; i < buckets; ++i) {
    const auto bucket = read<uint32_t>(header + 16 + uint64_t{bloom} * 8 + i * 4, "the hash table");
    if (bucket && bucket < first)
      bad(header, "a bucket of the hash table holds symbol ", bucket, ", which is before ", first);
    last = std::max(last, bucket);
  }
  if (last == 0) return 0;
  uint64_t chain = header + fixed + (uint64_t{last} - first) * 4;
  while (!(read<uint32_t>(chain, "a hash chain") & 1)) chain += 4;
  hashed_.first = first;
  hashed_.count = static_cast<uint32_t>((chain - header - fixed) / 4 + 1);
  table(DT_GNU_HASH, fixed + uint64_t{hashed_.count} * 4, "the hash table");
  return first + hashed_.count;
}

// The table must find every symbol that it holds; this also detects damaged names.
void ElfFile::check_gnu_hash() const {
  if (hashed_.count == 0) return;
  const uint64_t header = table(DT_GNU_HASH, 16, "the hash table");
  const auto buckets = read<uint32_t>(header, "the hash table"), bloom = read<uint32_t>(header + 8, "the hash table"),
             shift = read<uint32_t>(header + 12, "the hash table");
  const uint64_t bucket_table = header + 16 + uint64_t{bloom} * 8, chains = bucket_table + uint64_t{buckets} * 4;
  uint32_t open_bucket = UINT32_MAX;  // bucket of the chain that is open after symbol i - 1
  for (uint32_t i = hashed_.first; i < hashed_.first + hashed_.count; ++i) {
    const ElfSymbol &symbol = symbols_[i];
    const uint32_t hash = gnu_hash(symbol.name), bucket = hash % buckets;
    const auto stored = read<uint32_t>(chains + uint64_t{i - hashed_.first} * 4, "a hash chain");
    const auto filter = read<uint64_t>(header + 16 + (hash / 64 & (bloom - 1)) * uint64_t{8}, "the hash table");
    const bool starts = read<uint32_t>(bucket_table + uint64_t{bucket} * 4, "the hash table") == i;
    if (!symbol.is_defined() || (stored ^ hash) >> 1 || !(filter >> hash % 64 & 1) ||
        !(filter >> (hash >> shift) % 64 & 1) || starts == (open_bucket != UINT32_MAX) ||
        (!starts && bucket != open_bucket))
      bad(symbol.entry, "the hash table does not fit symbol ", i, ", \"", symbol.name, "\"");
    open_bucket = stored & 1 ? UINT32_MAX : bucket;
  }
}

uint32_t ElfFile::check_sysv_hash() const {
  const uint64_t header = table(DT_HASH, 8, "the hash table");
  const auto buckets = read<uint32_t>(header, "the hash table"), chains = read<uint32_t>(header + 4, "the hash table");
  table(DT_HASH, 8 + (uint64_t{buckets} + chains) * 4, "the hash table");
  if (buckets == 0) bad(header, "the hash table has no buckets");
  std::vector<bool> seen(chains);  // each symbol may be in only one chain, because a cycle would never end
  for (uint64_t b = 0; b < buckets; ++b)
    for (auto i = read<uint32_t>(header + 8 + b * 4, "the hash table"); i != STN_UNDEF;
         i = read<uint32_t>(header + 8 + (uint64_t{buckets} + i) * 4, "a hash chain")) {
      if (i >= chains || seen[i]) bad(header, "a hash chain is broken at symbol ", i);
      seen[i] = true;
    }
  return chains;
}

std::vector<std::string_view> ElfFile::local_names(std::string_view prefix) const {
  std::vector<std::string_view> names;
  for (const Elf64_Shdr &table : sections_) {
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= sections_.size()) continue;
    const Elf64_Shdr &section = sections_[table.sh_link];
    if (section.sh_type != SHT_STRTAB) continue;
    // read_sections() has checked that both lie in the file. Large programs have 100,000 symbols, so the loop is short.
    const std::string_view strings = as_text(bytes_.subspan(section.sh_offset, section.sh_size));
    const uint8_t *entry = bytes_.data() + table.sh_offset;
    for (uint64_t left = table.sh_size / sizeof(Elf64_Sym); left > 0; --left, entry += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, entry, sizeof symbol);
      if (symbol.st_name >= strings.size() || strings[symbol.st_name] != prefix[0]) continue;
      const std::string_view rest = strings.substr(symbol.st_name);
      if (ELF64_ST_BIND(symbol.st_info) != STB_LOCAL || !rest.starts_with(prefix)) continue;
      if (const size_t end = rest.find('\0'); end != std::string_view::npos) names.push_back(rest.substr(0, end));
    }
  }
  return names;
}

void ElfFile::check_versions() const {
  check_repeated_names();
  if (!dynamic(DT_VERSYM)) return;
  const uint64_t offset = table(DT_VERSYM, symbols_.size() * 2, "the version table");
  const auto known = read_versions_defined(read_versions_needed({true, true}));
  for (size_t i = 0; i < symbols_.size(); ++i) {
    const auto version = read<uint16_t>(offset + 2 * i, "a version") & kVersionMask;
    if (static_cast<size_t>(version) >= known.size() || !known[version])
      bad(offset + 2 * i, "symbol ", symbols_[i].name, " has version ", version, ", which is not declared");
  }
}

std::vector<bool> ElfFile::read_versions_needed(std::vector<bool> known) const {
  uint64_t count = dynamic_value(DT_VERNEEDNUM);
  if (count == 0) return known;
  for (uint64_t place = table(DT_VERNEED, sizeof(Elf64_Verneed), "the version requirements");;) {
    const auto need = read_part<Elf64_Verneed>(DT_VERNEED, place, "a version requirement");
    const std::string_view file = string_at(need.vn_file, place, "the library of a version requirement");
    if (need.vn_version != VER_NEED_CURRENT) bad(place, "a version requirement has version ", need.vn_version);
    if (std::ranges::find(needed_, file) == needed_.end())  // the loader asserts it
      bad(place, "a version of library \"", file, "\" is required, but the library is not listed as needed");
    uint32_t versions = need.vn_cnt;
    for (uint64_t at = place + need.vn_aux;; --versions) {
      if (versions == 0) bad(place, "library \"", file, "\" has more versions than the ", need.vn_cnt, " stated");
      const auto aux = read_part<Elf64_Vernaux>(DT_VERNEED, at, "a version requirement");
      string_at(aux.vna_name, at, "the name of a version");
      const size_t index = aux.vna_other & kVersionMask;
      if (index >= known.size()) known.resize(index + 1);
      known[index] = true;
      if (aux.vna_next == 0) break;
      at += aux.vna_next;
    }
    if (need.vn_next == 0) return known;
    if (--count == 0) bad(place, "there are more version requirements than DT_VERNEEDNUM says");
    place += need.vn_next;
  }
}

std::vector<bool> ElfFile::read_versions_defined(std::vector<bool> known) const {
  uint64_t count = dynamic_value(DT_VERDEFNUM);
  if (count == 0) return known;
  for (uint64_t place = table(DT_VERDEF, sizeof(Elf64_Verdef), "the version definitions");;) {
    const auto definition = read_part<Elf64_Verdef>(DT_VERDEF, place, "a version definition");
    if (definition.vd_version != VER_DEF_CURRENT)
      bad(place, "a version definition has version ", definition.vd_version);
    string_at(read_part<Elf64_Verdaux>(DT_VERDEF, place + definition.vd_aux, "a version definition").vda_name, place,
              "the name of a version");
    const size_t index = definition.vd_ndx & kVersionMask;
    if (index >= known.size()) known.resize(index + 1);
    known[index] = true;
    if (definition.vd_next == 0) return known;
    if (--count == 0) bad(place, "there are more version definitions than DT_VERDEFNUM says");
    place += definition.vd_next;
  }
}

// Linkers write each undefined symbol once per version, and never one that the library itself defines without versions.
// Any other repetition is a damaged name: calls of one symbol would reach another.
void ElfFile::check_repeated_names() const {
  const uint64_t versions = dynamic(DT_VERSYM) ? table(DT_VERSYM, symbols_.size() * 2, "the version table") : 0;
  std::unordered_map<std::string_view, uint32_t> seen;
  std::unordered_set<std::string_view> defined;
  for (size_t i = 1; i < symbols_.size(); ++i) {
    const ElfSymbol &symbol = symbols_[i];
    if (symbol.is_defined()) {
      if (symbol.binding != STB_LOCAL && !dynamic(DT_VERDEF)) defined.insert(symbol.name);
      continue;
    }
    const uint32_t version = versions ? read<uint16_t>(versions + 2 * i, "a version") & kVersionMask : kNoVersion;
    const auto [place, fresh] = seen.try_emplace(symbol.name, version);
    if (!fresh && (place->second == version || place->second <= 1 || version <= 1))
      bad(symbol.entry, "there are two undefined symbols ", symbol.name);
  }
  for (const auto &[name, version] : seen)
    if (defined.count(name)) bad(symbol_table_, "symbol ", name, " is both defined and undefined");
}

}  // namespace opd
