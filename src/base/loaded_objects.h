// The programs and libraries that are mapped into the process. A snapshot of them explains addresses even after an
// unload.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace opd {

struct LoadedObject {
  uint64_t begin, end;   // range of addresses
  uint64_t base;         // address in the process minus address in the file
  std::string path;      // the dynamic loader's name for it
  std::string build_id;  // in hexadecimal; "": none
};

std::vector<LoadedObject> loaded_objects();  // sorted by `begin`

}  // namespace opd
