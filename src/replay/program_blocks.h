// The modules of a program in a capture: each with its bytes, or their SHA-256 alone.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/sha256.h"
#include "module/module.h"

namespace opd {

struct KeptModule {
  enum Form : uint8_t {
    kLibrary,        // a shared library's file
    kSerialized,     // as its kind stores it in libraries
    kPartOfLibrary,  // the same, and it lies in the bytes of a library before it
  };
  Form form = kLibrary;
  bool has_bytes = false;
  std::string kind, path;  // `path` is "" unless it was asked for
  Sha256 hash{};
  std::vector<uint64_t> imports;  // numbers of modules before it
  uint64_t tree_size = 1;         // modules in the tree of its imports, one that is imported twice counted twice
  Bytes bytes;
  uint64_t library = 0, offset = 0, size = 0;  // kPartOfLibrary: where its bytes are
};

// Calls `add` with the content of a block for each module of a program, imports first. Throws OPD_UNSUPPORTED for a
// module whose bytes are not known.
void write_program(Module &program, bool with_bytes, bool with_paths, const std::function<void(std::string_view)> &add);
// The block of a VM program alone, with its bytes.
std::string write_program_module(std::string_view bytes, const std::vector<uint64_t> &imports);
KeptModule read_module(Bytes content, const std::vector<KeptModule> &before, const char *name);
std::vector<Sha256> hashes_of(Module &program);

// The modules of a program's tree, each once, imports before what imports them.
std::vector<Ref<Module>> modules_of(Module &program);

// Loads the modules and returns the last one, the program. Runs code of them. `name` stands for their file's.
Ref<Module> load_program(const std::vector<KeptModule> &modules, const std::string &name);
// The program as one that no other code has.
Ref<Module> copy_program(Module &program, const std::string &name);

}  // namespace opd
