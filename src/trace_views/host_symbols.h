// Names of a stack's frames: functions of languages, and native functions. File and line come from libdw if it has
// them; otherwise the dynamic loader supplies the name.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/loaded_objects.h"

namespace opd {

struct HostSymbol {
  std::string function;  // "": unknown
  std::string file;      // source file, or if unknown, the program or library
  uint32_t line = 0;     // 0: unknown
};

struct HostFrame : HostSymbol {
  uint64_t offset = 0;                   // native functions: offset in the program or library
  const LoadedObject *object = nullptr;  // null: a function of a language, or an address outside of all objects

  std::string text() const;  // "file.py(12): function", or "libfile.so(+0x1234): function"
};

// Files are read when an address is looked up for the first time in the process; this takes some 50 ms.
class HostSymbols {
 public:
  explicit HostSymbols(std::span<const LoadedObject> objects);  // sorted by begin
  ~HostSymbols();
  HostFrame frame_of(uint64_t word);  // `word`: see trace/model/stacks.h

 private:
  struct Files;
  HostFrame native_frame(uint64_t address);
  HostSymbol symbol_of(const LoadedObject &object, uint64_t address);

  const std::span<const LoadedObject> objects_;
  std::unique_ptr<Files> files_;  // null: nothing was looked up yet
};

}  // namespace opd
