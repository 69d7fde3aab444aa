// MOD and --import loaded into one module tree, and what its VM program says about its functions.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "args.h"
#include "dim.h"
#include "face.h"

namespace opd::cli {

// What a VM function checks a parameter against; fields that it does not check are missing.
struct Param {
  std::string name;
  std::string kind;  // tensor, shape, tuple, int, float, string, function, any
  std::optional<std::string> dtype;
  std::optional<std::vector<Dim>> dims;
  std::optional<std::string> symbol;  // of an int that names a size
};

struct FunctionInfo {
  std::string name;
  std::vector<Param> params;
};

struct Program {
  Module root;                          // as loaded
  Module vm_module;                     // the module of the tree that holds a VM program; NULL if none does
  Executable executable;                // its program
  std::vector<FunctionInfo> functions;  // of the program, without the packed ones

  const FunctionInfo *find(std::string_view name) const;
};

// MOD: a shared library, VM executable, VM assembly or C source. Fails with Exit::refused. Modules that are read for
// inspection run no code: their functions are listed, and cannot be had.
enum class Loading { inspect_only, whole };
Program load_program(const std::string &path, const Args &args, Loading loading = Loading::whole);

// The program of a file that holds one. Nothing else of the file is loaded.
Executable load_executable(const std::string &path);

}  // namespace opd::cli
