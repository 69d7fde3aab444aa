// The programs and libraries that are mapped into the process, so that addresses keep a meaning after they are gone.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace opd {

struct LoadedObject {
  uint64_t begin, end;   // of its addresses
  uint64_t base;         // an address in the process less that in the file
  std::string path;      // its name for the dynamic loader
  std::string build_id;  // in hexadecimal; "": it has none
};

std::vector<LoadedObject> loaded_objects();  // by rising begin

}  // namespace opd
