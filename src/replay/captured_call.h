// A captured call as data: reads and writes the contents of its blocks.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/sha256.h"
#include "module/module.h"
#include "replay/capture_file.h"
#include "replay/kept_value.h"
#include "vm/any_vm.h"

namespace opd {

// The modules of a program in a capture, each with its bytes or only their SHA-256.
struct KeptModule {
  enum Form : uint8_t {
    kLibrary,        // a shared library's file
    kSerialized,     // serialized, as libraries embed modules of its kind
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

struct CaptureOptions {
  bool with_program = true, with_outputs = false, with_operators = false, with_paths = false;
};

// The process that the call ran in.
struct CapturedProcess {
  std::string opdyno, architecture, features;  // features: features of the processor, separated by spaces
  int32_t threads = 0;                         // number of threads for parallel kernels
  std::vector<std::pair<std::string, std::string>> environment;
  std::string host;  // the machine's name; "" unless requested

  static CapturedProcess of_this(bool with_paths);
  std::string write() const;
  static CapturedProcess read(Bytes content, const char *name);
};

struct KeptCall {
  std::string function;
  VmSettings vm;
  int64_t timeout_ns = 0;
  uint64_t num_args = 0;
  std::vector<std::string> names;  // names of the arguments, or empty; "" for positional ones
  std::vector<std::string> host_functions;
  bool has_operators = false;
  bool is_observed = false;  // an instrument observes it, so the memory it allocates is filled

  std::string write() const;
  static KeptCall read(Bytes content, const char *name);
};

struct KeptError {
  opd_code code = OPD_OK;
  std::string kind, message;
  // The first cause of the error. Errors around it have messages that depend on the place in the program.
  opd_code root_code = OPD_OK;
  std::string root_kind, root_message;

  static KeptError of(const Error &error);
  bool is_same(const KeptError &other) const {
    return root_code == other.root_code && root_message == other.root_message;
  }
  void write(ByteWriter &out) const;
  static KeptError read(ByteReader &from);
};

struct KeptHostCall {
  struct Argument {
    ContentsHash hash;
    std::vector<Bytes> written;  // contents of its tensors after the call, if the call changed one
  };
  std::string function;
  std::vector<Argument> args;
  std::optional<KeptError> error;
  KeptValue result;

  static KeptHostCall read(Bytes content, const char *name);
};
// A running call of a host function. The hashes of the arguments before the call show which of them it changes.
struct OpenHostCall {
  std::string function;
  std::vector<ContentsHash> hashes;

  OpenHostCall(const std::string &name, Args args);
  // `values`: the writer that wrote the arguments of the whole call and the results of earlier host calls.
  std::string write_return(Args args, const View &result, ValueWriter &values) const;
  std::string write_failure(const Error &error) const;
};

struct KeptOperator {
  std::string name;
  ContentsHash hash;  // hash of the contents of its arguments and its result afterwards

  std::string write() const;
  static KeptOperator read(Bytes content, const char *name);
};

struct KeptEnd {
  std::optional<KeptError> error;
  KeptValue result;
  bool has_outputs = false;  // the result's elements were kept

  static KeptEnd read(Bytes content, const char *name);
};
std::string write_end(const Error *error, const View &result, bool with_outputs);

struct CapturedCall {
  std::string bytes;  // bytes of the file; the other members point into them
  std::string name;   // name of the file, for messages
  CapturedProcess process;
  std::vector<KeptModule> modules;
  KeptCall call;
  std::vector<KeptValue> args;
  std::vector<KeptHostCall> host_calls;
  std::vector<KeptOperator> operators;
  std::optional<KeptEnd> end;  // empty: the call did not end
  Bytes process_block;         // block of the process, for copies of the file
  std::vector<Bytes> module_blocks;

  bool has_program() const { return modules.back().has_bytes; }
  static std::unique_ptr<CapturedCall> read(std::string bytes, std::string name);  // throws
};

}  // namespace opd
