// Reads the symbols of object files (.o) and of archives (.a), as a linker would. Nothing is linked.
#pragma once
#include <elf.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace opd {

constexpr std::string_view kArchiveStart = "!<arch>\n";

struct ObjectSymbol {
  std::string_view name;
  uint64_t value = 0, size = 0;  // `value` is an offset in its section
  uint32_t section = 0;
  bool is_defined = false;  // defined in `section`
  bool is_global = false;   // defined, and visible to other objects
  bool is_code = false;
};

class ObjectFile {
 public:
  // Throws OPD_BAD_FORMAT with the offset. `bytes` must outlive the object and its results.
  ObjectFile(Bytes bytes, std::string name);

  std::span<const ObjectSymbol> symbols() const { return symbols_; }
  Bytes contents(const ObjectSymbol &symbol) const;  // content of a defined symbol; throws if it is not in the file
  uint64_t code_bytes() const;                       // total size of all code sections

 private:
  void read_sections();
  void read_symbols(const Elf64_Shdr &table);
  Bytes bytes_of(const Elf64_Shdr &section) const {
    if (section.sh_type == SHT_NOBITS) return {};
    if (section.sh_size > bytes_.size() || section.sh_offset > bytes_.size() - section.sh_size)
      bad(section.sh_offset, "a section");
    return bytes_.subspan(section.sh_offset, section.sh_size);
  }
  template <class T>
  T read(uint64_t offset, const char *what) const {
    if (sizeof(T) > bytes_.size() || offset > bytes_.size() - sizeof(T)) bad(offset, what);
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  [[noreturn]] void bad(uint64_t offset, std::string_view what) const {
    fail(OPD_BAD_FORMAT, name_, ": ", what, " lies past the end of the file (at offset ", offset, ")");
  }

  Bytes bytes_;
  std::string name_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<ObjectSymbol> symbols_;
};

// The object files of an archive with their names. Other members are skipped.
std::vector<std::pair<std::string, Bytes>> read_archive(Bytes archive, const std::string &name);

}  // namespace opd
