// Names of a stack's frames: functions of languages, and native ones with file and line as far as libdw, or else the
// dynamic loader, has them.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/loaded_objects.h"

namespace opd {

struct HostSymbol {
  std::string function;  // "": not known
  std::string file;      // of the source; or, if that is not known, of the program or library
  uint32_t line = 0;     // 0: not known
};

struct HostFrame : HostSymbol {
  uint64_t offset = 0;                   // native ones: in the program or library
  const LoadedObject *object = nullptr;  // null: a function of a language, or an address of no object

  std::string text() const;  // "file.py(12): function", or "libfile.so(+0x1234): function"
};

// Files are read when an address is asked for whose symbol the process has not had before: some 50 ms then.
class HostSymbols {
 public:
  explicit HostSymbols(std::span<const LoadedObject> objects);  // by rising begin
  ~HostSymbols();
  HostFrame frame_of(uint64_t word);  // a word of trace/model/stacks.h

 private:
  struct Files;
  HostFrame native_frame(uint64_t address);
  HostSymbol symbol_of(const LoadedObject &object, uint64_t address);

  const std::span<const LoadedObject> objects_;
  std::unique_ptr<Files> files_;  // null: nothing was searched yet
};

}  // namespace opd
