#include "replay/captured_call.h"

#include <opdyno/base.h>
#include <unistd.h>

#include <cstdlib>

#include "device/cpu/thread_pool.h"

namespace opd {
namespace {

#if defined(__x86_64__)
constexpr std::string_view kArchitecture = "x86_64";
#elif defined(__aarch64__)
constexpr std::string_view kArchitecture = "aarch64";
#else
constexpr std::string_view kArchitecture = "unknown";
#endif

// Variables that change the results or the execution of programs. Variables with paths or addresses are left out,
// because files are passed on to others.
constexpr const char *kVariables[] = {"OPDYNO_NUM_THREADS",       "TVM_NUM_THREADS",         "OMP_NUM_THREADS",
                                      "OPDYNO_KEPT_LIBRARIES_MB", "OPDYNO_KEPT_PROGRAMS_MB", "OPDYNO_BACKTRACE"};

// The processor's features that change results. Kernels with fused multiply-add or wider vectors round sums
// differently. So results may differ although neither is wrong, and a replay reports that the features differ.
std::string processor_features() {
  std::string out;
#if defined(__x86_64__)
  const auto add = [&out](const char *name, bool has) { out += has ? concat(out.empty() ? "" : " ", name) : ""; };
  add("sse4.2", __builtin_cpu_supports("sse4.2"));
  add("avx", __builtin_cpu_supports("avx"));
  add("avx2", __builtin_cpu_supports("avx2"));
  add("fma", __builtin_cpu_supports("fma"));
  add("avx512f", __builtin_cpu_supports("avx512f"));
  add("avx512bw", __builtin_cpu_supports("avx512bw"));
  add("avx512vl", __builtin_cpu_supports("avx512vl"));
#endif
  return out;
}

std::string host_name() {
  char name[256] = "";
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

// The length of each text is stored in eight bytes. So a count that exceeds the remaining bytes is refused before
// anything is allocated for it.
std::vector<std::string> read_strings(ByteReader &from, const char *field) {
  std::vector<std::string> out;
  const uint64_t count = from.read_count(sizeof(uint64_t), field);
  for (uint64_t i = 0; i < count; ++i) out.emplace_back(from.read_string(field));
  return out;
}

void write_strings(ByteWriter &out, const std::vector<std::string> &texts) {
  out.write<uint64_t>(texts.size());
  for (const std::string &text : texts) out.write_string(text);
}

// A byte other than 0 and 1 is damage. Reading it as a bool would be undefined behaviour.
bool read_flag(ByteReader &from, const char *field) {
  const auto flag = from.read<uint8_t>(field);
  if (flag > 1) from.bad(field, concat("must be 0 or 1, but is ", flag));
  return flag != 0;
}

// A version that appends a field has another kCaptureVersion, so remaining bytes are damage.
void require_end(const ByteReader &from) {
  if (!from.at_end()) from.bad("block", concat("has ", from.remaining(), " bytes too many"));
}

}  // namespace

CapturedProcess CapturedProcess::of_this(bool with_paths) {
  CapturedProcess process;
  process.opdyno = concat(OPD_VERSION_MAJOR, ".", OPD_VERSION_MINOR, ".", OPD_VERSION_PATCH);
  process.architecture = kArchitecture, process.features = processor_features(), process.threads = thread_count();
  for (const char *name : kVariables)
    if (const char *value = std::getenv(name)) process.environment.emplace_back(name, value);
  // The host's name is kept only on request, because files are passed on to others.
  if (with_paths) process.host = host_name();
  return process;
}

std::string CapturedProcess::write() const {
  ByteWriter out;
  // Fields have neither names nor numbers: their order is the format. The same holds for the other write(). read() uses
  // the same order.
  for (const std::string *text : {&opdyno, &architecture, &features, &host}) out.write_string(*text);
  out.write(threads);
  out.write<uint64_t>(environment.size());
  for (const auto &[name, value] : environment) out.write_string(name), out.write_string(value);
  return out.take();
}

CapturedProcess CapturedProcess::read(Bytes content, const char *name) {
  ByteReader from(content, name);
  CapturedProcess process;
  for (std::string *text : {&process.opdyno, &process.architecture, &process.features, &process.host})
    *text = from.read_string("text");
  process.threads = from.read<int32_t>("threads");
  const uint64_t count = from.read_count(2 * sizeof(uint64_t), "number of variables");
  for (uint64_t i = 0; i < count; ++i) {
    std::string variable(from.read_string("variable"));
    process.environment.emplace_back(std::move(variable), from.read_string("value"));
  }
  require_end(from);
  return process;
}

std::string KeptCall::write() const {
  ByteWriter out;
  out.write_string(function);
  out.write<uint64_t>(vm.devices.size());
  for (const VmDevice &device : vm.devices) out.write(device.device), out.write<int32_t>(device.allocator);
  out.write(vm.memory_limit_bytes);
  out.write(vm.max_depth);
  out.write(timeout_ns);
  out.write(num_args);
  write_strings(out, names);
  write_strings(out, host_functions);
  out.write<uint8_t>(has_operators), out.write<uint8_t>(is_observed);
  return out.take();
}

KeptCall KeptCall::read(Bytes content, const char *name) {
  ByteReader from(content, name);
  KeptCall call;
  call.function = from.read_string("function");
  // VmSettings begin with one device, which is not from the file.
  call.vm.devices.clear();
  const uint64_t count = from.read_count(sizeof(DLDevice) + sizeof(int32_t), "number of devices");
  for (uint64_t i = 0; i < count; ++i) {
    // Vm::make() refuses an unknown kind of allocator. Replay reports that as damage.
    const auto device = from.read<DLDevice>("device");
    call.vm.devices.push_back({device, static_cast<opd_allocator_kind>(from.read<int32_t>("allocator"))});
  }
  call.vm.memory_limit_bytes = from.read<uint64_t>("memory limit");
  call.vm.max_depth = from.read<int32_t>("depth");
  call.timeout_ns = from.read<int64_t>("timeout");
  call.num_args = from.read<uint64_t>("number of arguments");
  call.names = read_strings(from, "names");
  // A call reads one name for each argument without checking their number.
  if (!call.names.empty() && call.names.size() != call.num_args) from.bad("names", "must be one for each argument");
  call.host_functions = read_strings(from, "functions of the host");
  call.has_operators = read_flag(from, "flag"), call.is_observed = read_flag(from, "flag");
  require_end(from);
  return call;
}

// Causes may come from another library, and their chain may be a cycle.
KeptError KeptError::of(const Error &error) {
  constexpr int kMostCauses = 100;
  const Error *root = &error;
  for (int i = 0; i < kMostCauses && root->cause && root->cause->type_index == Error::type(); ++i)
    root = static_cast<const Error *>(root->cause);
  return {error.code, error.kind, error.message, root->code, root->kind, root->message};
}

void KeptError::write(ByteWriter &out) const {
  out.write<int32_t>(code), out.write_string(kind), out.write_string(message);
  out.write<int32_t>(root_code), out.write_string(root_kind), out.write_string(root_message);
}

KeptError KeptError::read(ByteReader &from) {
  // Kinds and messages may be any text. The code is checked, because it becomes the opd_code of a raised error, where
  // OPD_OK would mean success.
  KeptError error;
  const auto read_code = [&] {
    const auto code = from.read<int32_t>("code");
    // Larger than the known codes, because a newer version may have written the file.
    constexpr int32_t kMostCodes = 256;
    if (code <= OPD_OK || code > kMostCodes) from.bad("code", "is not an error code");
    return static_cast<opd_code>(code);
  };
  error.code = read_code(), error.kind = from.read_string("kind"), error.message = from.read_string("message");
  error.root_code = read_code();
  error.root_kind = from.read_string("kind"), error.root_message = from.read_string("message");
  return error;
}

// Keeps hashes instead of copies, because most functions write into few of their arguments. Changed arguments are
// written afterwards.
OpenHostCall::OpenHostCall(const std::string &name, Args args) : function(name) {
  for (const View &arg : args) hashes.push_back(hash_of_value(arg));
}

std::string OpenHostCall::write_return(Args args, const View &result, ValueWriter &values) const {
  ByteWriter out;
  out.write_string(function);
  out.write<uint64_t>(args.size());
  // The order must be that of Playback::play(), because the result refers to these tensors by number.
  std::vector<View> given;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::vector<View> tensors = tensors_in(args[i]);
    given.insert(given.end(), tensors.begin(), tensors.end());
    const bool is_written = hash_of_value(args[i]) != hashes[i];
    out.write(hashes[i]);
    // If one tensor of an argument has changed, all are kept, because the hash covers the whole argument.
    out.write<uint64_t>(is_written ? tensors.size() : 0);
    if (!is_written) continue;
    for (const View &tensor : tensors) {
      Ref<Tensor> copy;
      out.write_string(host_bytes(*try_dltensor(tensor), copy));
    }
  }
  out.write<uint8_t>(false);
  // Uses the writer of the whole call, so that a result may be one of the call's arguments or an earlier result.
  const std::string bytes = values.write(result, given);
  out.write_bytes(bytes.data(), bytes.size());
  return out.take();
}

// Writes of the function before it failed are not kept.
std::string OpenHostCall::write_failure(const Error &error) const {
  ByteWriter out;
  out.write_string(function);
  out.write<uint64_t>(hashes.size());
  for (const ContentsHash &hash : hashes) out.write(hash), out.write<uint64_t>(0);
  out.write<uint8_t>(true);
  KeptError::of(error).write(out);
  return out.take();
}

// Elements are not compared with a shape here: the arguments' tensors are known only in the replay, where
// write_elements() checks the sizes.
KeptHostCall KeptHostCall::read(Bytes content, const char *name) {
  ByteReader from(content, name);
  KeptHostCall call;
  call.function = from.read_string("function");
  const uint64_t count = from.read_count(sizeof(ContentsHash) + sizeof(uint64_t), "number of arguments");
  for (uint64_t i = 0; i < count; ++i) {
    Argument &arg = call.args.emplace_back();
    arg.hash = from.read<ContentsHash>("hash");
    const uint64_t written = from.read_count(sizeof(uint64_t), "number of tensors");
    for (uint64_t j = 0; j < written; ++j) arg.written.push_back(as_bytes(from.read_string("elements")));
  }
  if (read_flag(from, "flag")) call.error = KeptError::read(from);
  else call.result = read_value(from);
  require_end(from);
  return call;
}

std::string KeptOperator::write() const {
  ByteWriter out;
  out.write_string(name);
  out.write(hash);
  return out.take();
}

KeptOperator KeptOperator::read(Bytes content, const char *name) {
  ByteReader from(content, name);
  KeptOperator kept;
  kept.name = from.read_string("name");
  kept.hash = from.read<ContentsHash>("hash");
  require_end(from);
  return kept;
}

std::string write_end(const Error *error, const View &result, bool with_outputs) {
  ByteWriter out;
  out.write<uint8_t>(error != nullptr);
  out.write<uint8_t>(with_outputs);
  // A call that fails has no result to keep, whatever was requested.
  if (error) return KeptError::of(*error).write(out), out.take();
  // Results are compared between processes, so their tensors are not written as numbers of arguments, which
  // Keeping::kArguments would do.
  const std::string bytes = ValueWriter(with_outputs ? Keeping::kElements : Keeping::kHashes).write(result);
  out.write_bytes(bytes.data(), bytes.size());
  return out.take();
}

KeptEnd KeptEnd::read(Bytes content, const char *name) {
  ByteReader from(content, name);
  KeptEnd end;
  const bool has_failed = read_flag(from, "flag");
  end.has_outputs = read_flag(from, "flag");
  if (has_failed) end.error = KeptError::read(from);
  else end.result = read_value(from);
  require_end(from);
  return end;
}

std::unique_ptr<CapturedCall> CapturedCall::read(std::string bytes, std::string name) {
  auto capture = std::make_unique<CapturedCall>();
  // Set the bytes first, because everything that is read points into them. From now on the capture must not move: a
  // short string stores its characters in itself.
  capture->bytes = std::move(bytes), capture->name = std::move(name);
  const char *const what = capture->name.c_str();
  BlockReader blocks(as_bytes(capture->bytes), what);
  const auto wrong = [&](const Block &block, const char *problem) {
    fail(OPD_BAD_FORMAT, what, ": the block of kind ", static_cast<uint32_t>(block.kind), " at offset ", block.offset,
         " ", problem);
  };
  bool has_process = false, has_call = false, is_ready = false;
  while (const std::optional<Block> block = blocks.next()) {
    // The order is part of the format: the blocks before the call, kReady, the blocks during it, its end.
    if (capture->end) wrong(*block, "follows the end of the call");
    const bool is_before = block->kind <= BlockKind::kReady;
    if (is_before == is_ready) wrong(*block, is_ready ? "follows the beginning of the call" : "precedes its beginning");
    switch (block->kind) {
      case BlockKind::kAbout:
        capture->process = CapturedProcess::read(block->content, what), has_process = true;
        capture->process_block = block->content;
        break;
      case BlockKind::kModule:
        // A module may only refer to modules before it, so imports have no cycle.
        capture->modules.push_back(read_module(block->content, capture->modules, what));
        capture->module_blocks.push_back(block->content);
        break;
      case BlockKind::kCall:
        capture->call = KeptCall::read(block->content, what), has_call = true;
        break;
      case BlockKind::kValue: {
        ByteReader from(block->content, what, block->offset);
        capture->args.push_back(read_value(from));
        require_end(from);
        break;
      }
      case BlockKind::kReady:
        is_ready = true;
        break;
      case BlockKind::kHostCall:
        capture->host_calls.push_back(KeptHostCall::read(block->content, what));
        break;
      case BlockKind::kOperator:
        capture->operators.push_back(KeptOperator::read(block->content, what));
        break;
      case BlockKind::kEnd:
        capture->end = KeptEnd::read(block->content, what);
        break;
      default:
        wrong(*block, "is unknown");
    }
  }
  // A process that crashed may have been writing its last block, so a cut block is allowed in a file without an end.
  // After an end, nothing may follow.
  if (!is_ready || (capture->end && blocks.is_cut()))
    fail(OPD_BAD_FORMAT, what, " is truncated after ", capture->bytes.size(), " bytes: ",
         is_ready ? "a block after the call's end is incomplete" : "the parts before the call are incomplete");
  // Later code need not check whether a part exists: has_program(), for example, reads the last module.
  if (!has_process || !has_call || capture->modules.empty() || capture->args.size() != capture->call.num_args)
    fail(OPD_BAD_FORMAT, what, " lacks a part of the call: the process, a module, the function or an argument");
  return capture;
}

}  // namespace opd
