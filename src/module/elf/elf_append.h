// Adds data to a linked shared library, as symbols in one more segment at its end.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "module/elf/elf_file.h"

namespace opd {

struct AddedData {
  std::string_view symbol;  // if it is already defined, it will refer to the new data
  std::string_view content;
};

// Returns the library's bytes with the data. Code, relocations and section contents stay as they are; the symbol tables
// are rewritten at the end. Cost: a copy of the file. The new hash table has one bucket, so the lookup of a symbol
// visits all symbols.
std::string with_data(const ElfFile &file, const std::vector<AddedData> &added);

// Returns the library's bytes with another run path, the list of directories where the loader looks for needed
// libraries. The library must have a run path.
std::string with_run_path(const ElfFile &file, const std::string &run_path);

}  // namespace opd
