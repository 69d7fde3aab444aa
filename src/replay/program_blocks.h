// The modules of a program in a capture, each with its bytes or only their SHA-256.
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
    kSerialized,     // in the form that its kind has in libraries
    kPartOfLibrary,  // serialized bytes that are a part of an earlier library's bytes
  };
  Form form = kLibrary;
  bool has_bytes = false;
  std::string kind, path;  // `path` is "" unless requested
  Sha256 hash{};
  std::vector<uint64_t> imports;  // numbers of earlier modules
  uint64_t tree_size = 1;         // number of modules in its import tree; a module imported twice counts twice
  Bytes bytes;
  uint64_t library = 0, offset = 0, size = 0;  // kPartOfLibrary: the position of its bytes
};

// Calls `add` with a block's content for each module of a program, imports first. Throws OPD_UNSUPPORTED for a module
// with unknown bytes.
void write_program(Module &program, bool with_bytes, bool with_paths, const std::function<void(std::string_view)> &add);
// Returns the block of a VM program alone, with its bytes.
std::string write_program_module(std::string_view bytes, const std::vector<uint64_t> &imports);
KeptModule read_module(Bytes content, const std::vector<KeptModule> &before, const char *name);
std::vector<Sha256> hashes_of(Module &program);

// The modules of a program's tree, each once; imports come before their importers.
std::vector<Ref<Module>> modules_of(Module &program);

// Loads the modules and returns the last one, the program. Runs their code. `name` is used as their file's name.
Ref<Module> load_program(const std::vector<KeptModule> &modules, const std::string &name);
// Copies the program, so that no other code uses the copy.
Ref<Module> copy_program(Module &program, const std::string &name);

}  // namespace opd
