// A captured call as data: the contents of its blocks, read and written.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replay/blocks.h"
#include "replay/kept_value.h"
#include "replay/program_blocks.h"
#include "vm/any_vm.h"

namespace opd {

struct CaptureOptions {
  bool with_program = true, with_outputs = false, with_operators = false, with_paths = false;
};

// The process that the call ran in.
struct CapturedProcess {
  std::string opdyno, architecture, features;  // features: of the processor, separated by spaces
  int32_t threads = 0;                         // of parallel kernels
  std::vector<std::pair<std::string, std::string>> environment;
  std::string host;  // the machine's name; "" unless it was asked for

  static CapturedProcess of_this(bool with_paths);
  std::string write() const;
  static CapturedProcess read(Bytes content, const char *name);
};

struct KeptCall {
  std::string function;
  VmSettings vm;
  int64_t timeout_ns = 0;
  uint64_t num_args = 0;
  std::vector<std::string> names;  // of the arguments, or none; "" for positional ones
  std::vector<std::string> host_functions;
  bool has_operators = false;
  bool is_observed = false;  // by an instrument, so that the memory it allocates is filled

  std::string write() const;
  static KeptCall read(Bytes content, const char *name);
};

struct KeptError {
  opd_code code = OPD_OK;
  std::string kind, message;
  // Of the error that was the first cause: the texts around it depend on where in a program it was raised.
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
    std::vector<Bytes> written;  // of each of its tensors after the call, if the call changed one
  };
  std::string function;
  std::vector<Argument> args;
  std::optional<KeptError> error;
  KeptValue result;

  static KeptHostCall read(Bytes content, const char *name);
};
// The arguments of a host function's call: hashes before the call. Its changes follow from those.
struct OpenHostCall {
  std::string function;
  std::vector<ContentsHash> hashes;

  OpenHostCall(const std::string &name, Args args);
  // `values`: has written the arguments of the whole call, and the results of such calls before.
  std::string write_return(Args args, const View &result, ValueWriter &values) const;
  std::string write_failure(const Error &error) const;
};

struct KeptOperator {
  std::string name;
  ContentsHash hash;  // of what its arguments and its result hold afterwards

  std::string write() const;
  static KeptOperator read(Bytes content, const char *name);
};

struct KeptEnd {
  std::optional<KeptError> error;
  KeptValue result;
  bool has_outputs = false;  // the elements of the result

  static KeptEnd read(Bytes content, const char *name);
};
std::string write_end(const Error *error, const View &result, bool with_outputs);

struct CapturedCall {
  std::string bytes;  // of the file; the rest points into them
  std::string name;   // of the file, for messages
  CapturedProcess process;
  std::vector<KeptModule> modules;
  KeptCall call;
  std::vector<KeptValue> args;
  std::vector<KeptHostCall> host_calls;
  std::vector<KeptOperator> operators;
  std::optional<KeptEnd> end;  // none: the call did not end
  Bytes process_block;         // for copies
  std::vector<Bytes> module_blocks;

  bool has_program() const { return modules.back().has_bytes; }
  static std::unique_ptr<CapturedCall> read(std::string bytes, std::string name);  // throws
};

}  // namespace opd
