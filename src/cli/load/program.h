// Loads MOD and --import into one module tree, and describes the functions of its VM program.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/load/machine.h"
#include "cli/support/args.h"
#include "cli/support/face.h"
#include "cli/tensors/element.h"

namespace opd::cli {

inline constexpr std::string_view builtin_prefix = "vm.builtin.";
inline bool is_of_cache(std::string_view name) {  // a function of KV caches or of the states of recurrent networks
  return name.starts_with("vm.builtin.attention_kv_cache_") || name.starts_with("vm.builtin.rnn_state_");
}

// The checks of a VM function for a parameter; fields without a check are missing.
struct Param {
  std::string name;
  std::string kind;  // tensor, shape, tuple, int, float, string, function, any
  std::optional<std::string> dtype;
  std::optional<std::vector<Dim>> dims;
  std::optional<std::string> symbol;  // name of the size, for an int

  bool is_whole() const { return symbol || (dims && (dtype || kind == "shape")); }  // tells how to make an argument
};

struct FunctionInfo {
  std::string name;
  std::vector<Param> params;
};

struct Program {
  Module root;                          // as loaded, maybe on another machine
  Module vm_module;                     // the module with the VM program; NULL if there is none
  Executable executable;                // the VM program
  std::vector<FunctionInfo> functions;  // the program's functions, without packed ones

  const FunctionInfo *find(std::string_view name) const;
};

// MOD: a shared library, VM executable, VM assembly or C source. Fails with Exit::refused. With inspect_only, no code
// of the modules runs: their functions are listed, but cannot be called.
enum class Loading { inspect_only, whole };
Program load_program(const std::string &path, const Args &args, Loading loading = Loading::whole);
// Loads the program on another machine. Its checks of parameters are read here, from the file.
Program load_program(const std::string &path, const Args &args, Machine &machine);

// Describes a module of kind "relax.VMExecutable".
Program program_of(const Module &module);

// The VM program of a file. Nothing else of the file is loaded.
Executable load_executable(const std::string &path);

}  // namespace opd::cli
