// MOD and --import loaded into one module tree, and what its VM program says about its functions.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "args.h"
#include "dim.h"
#include "handle.h"

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

// MOD: a shared library, VM executable, VM assembly or C source. Fails with Exit::refused.
Program load_program(const std::string &path, const Args &args);

// The program of a file that holds one, without loading what it imports where that can be had.
Executable load_executable(const std::string &path);

// A value's worth of module, for walking import trees.
std::vector<Module> imports_of(const Module &module);

}  // namespace opd::cli
