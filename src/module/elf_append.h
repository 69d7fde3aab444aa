// Data added to a shared library that is linked already, as symbols in one more segment at its end.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "module/elf_file.h"

namespace opd {

struct AddedData {
  std::string_view symbol;  // a defined one of that name then means the new data
  std::string_view content;
};

// Gives the library's bytes with the data. Code, relocations and section contents stay as they are; what names symbols
// is written anew after them. Cost: a copy of the file; its hash table gets one bucket, so that looking a symbol up
// walks all of them.
std::string with_data(const ElfFile &file, const std::vector<AddedData> &added);

// Gives the library's bytes with another run path, by which the loader finds the libraries that it needs. It must have
// one.
std::string with_run_path(const ElfFile &file, const std::string &run_path);

}  // namespace opd
