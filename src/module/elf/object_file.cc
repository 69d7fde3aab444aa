#include "module/elf/object_file.h"

#include <algorithm>

namespace opd {
namespace {

constexpr uint64_t kMaxSections = 1 << 20;

// A number of an archive's header: decimal digits, then spaces.
uint64_t decimal(ByteReader &in, std::string_view field) {
  uint64_t value = 0;
  for (const char c : field.substr(0, field.find(' '))) {
    if (c < '0' || c > '9') in.bad("a member's header", "has other than decimal digits in a number");
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  return value;
}

}  // namespace

ObjectFile::ObjectFile(Bytes bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {
  read_sections();
  for (const auto &section : sections_)
    if (section.sh_type == SHT_SYMTAB) read_symbols(section);
}

void ObjectFile::read_sections() {
  const auto header = read<Elf64_Ehdr>(0, "the ELF header");
  if (header.e_shoff == 0) return;
  uint64_t count = header.e_shnum;
  if (count == 0) count = read<Elf64_Shdr>(header.e_shoff, "the section header table").sh_size;
  if (count > kMaxSections || header.e_shentsize != sizeof(Elf64_Shdr)) bad(header.e_shoff, "the section header table");
  for (uint64_t i = 0; i < count; ++i)
    sections_.push_back(read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr), "the section header table"));
}

void ObjectFile::read_symbols(const Elf64_Shdr &table) {
  if (table.sh_link >= sections_.size()) bad(table.sh_offset, "the string table of the symbols");
  const std::string_view strings = as_text(bytes_of(sections_[table.sh_link]));
  const Bytes entries = bytes_of(table);
  for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= entries.size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym raw;
    std::memcpy(&raw, entries.data() + at, sizeof raw);
    if (raw.st_name >= std::max<size_t>(strings.size(), 1)) bad(table.sh_offset + at, "the name of a symbol");
    ObjectSymbol symbol;
    symbol.name = strings.substr(std::min<size_t>(raw.st_name, strings.size()));
    symbol.name = symbol.name.substr(0, symbol.name.find('\0'));
    symbol.value = raw.st_value, symbol.size = raw.st_size, symbol.section = raw.st_shndx;
    symbol.is_defined = raw.st_shndx != SHN_UNDEF && raw.st_shndx < sections_.size();
    const auto visibility = ELF64_ST_VISIBILITY(raw.st_other), type = ELF64_ST_TYPE(raw.st_info);
    symbol.is_global = symbol.is_defined && ELF64_ST_BIND(raw.st_info) != STB_LOCAL && visibility != STV_HIDDEN &&
                       visibility != STV_INTERNAL;
    symbol.is_code = symbol.is_defined && sections_[raw.st_shndx].sh_flags & SHF_EXECINSTR &&
                     (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
    symbols_.push_back(symbol);
  }
}

Bytes ObjectFile::contents(const ObjectSymbol &symbol) const {
  const Bytes section = bytes_of(sections_.at(symbol.section));
  if (symbol.size > section.size() || symbol.value > section.size() - symbol.size)
    bad(sections_[symbol.section].sh_offset, concat("the data of ", symbol.name));
  return section.subspan(symbol.value, symbol.size);
}

uint64_t ObjectFile::code_bytes() const {
  uint64_t sum = 0;
  for (const auto &section : sections_)
    if (section.sh_flags & SHF_EXECINSTR) sum += bytes_of(section).size();
  return sum;
}

std::vector<std::pair<std::string, Bytes>> read_archive(Bytes archive, const std::string &name) {
  const std::string what = name + ": archive";
  ByteReader in(archive, what.c_str());
  if (as_text(in.take(kArchiveStart.size(), "its start")) != kArchiveStart) in.bad("its start", "is of another format");
  std::vector<std::pair<std::string, Bytes>> members;
  while (!in.at_end()) {
    const std::string_view header = as_text(in.take(60, "a member's header"));
    if (!header.ends_with("`\n")) in.bad("a member's header", "has a wrong end");
    const uint64_t size = decimal(in, header.substr(48, 10));
    const Bytes content = in.take(size, "a member");
    if (size % 2 && !in.at_end()) in.take(1, "padding");
    if (!as_text(content).starts_with(ELFMAG)) continue;  // an index, or a table of long names
    const std::string_view member = header.substr(0, 16);
    members.emplace_back(member.substr(0, std::min(member.find_last_not_of("/ ") + 1, member.size())), content);
  }
  return members;
}

}  // namespace opd
