#include "replay/host_functions.h"

#include <algorithm>

#include "device/device.h"
#include "vm/builtins/builtins.h"

namespace opd {
namespace {

// Returns true for the name of a function of this library that is not a builtin of programs.
bool is_of_library(std::string_view name) { return name.starts_with("ffi.") || name.starts_with("__tvm_"); }

struct PlaybackModule final : Module {
  std::shared_ptr<Playback> playback;
  explicit PlaybackModule(std::shared_ptr<Playback> p) : playback(std::move(p)) {}

  const char *kind() const override { return "opdyno.playback"; }
  Ref<Function> find(std::string_view name) override {
    if (!playback->offers(name)) return nullptr;
    return make_function(
        [playback = playback, name = std::string(name)](Args args) { return playback->play(name, args); });
  }
  std::vector<std::string> list() override { return {}; }
  bool names_known() const override { return false; }
  int32_t properties() const override { return OPD_MODULE_RUNNABLE; }
};

bool write_elements(const DLTensor &tensor, Bytes elements) {
  if (bytes_of(tensor) != elements.size()) return false;
  Ref<Tensor> captured = make_tensor(dims_of(tensor), tensor.dtype, kHost);
  if (!elements.empty()) copy_from_bytes(captured->dl, elements.data(), elements.size());
  copy_tensor(captured->dl, tensor);
  return true;
}

// Repeats the function's writes. Returns false if the tensors do not match those that it wrote.
bool write_changes(std::span<const View> tensors, const std::vector<Bytes> &written) {
  if (written.empty()) return true;
  if (written.size() != tensors.size()) return false;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!write_elements(*try_dltensor(tensors[i]), written[i])) return false;
  return true;
}

}  // namespace

std::vector<std::string> host_functions_of(const Vm &vm) {
  std::vector<std::string> names;
  for (const FunctionInfo &info : vm.executable().functions) {
    if (info.kind != FunctionKind::kPacked || is_of_library(info.name)) continue;
    const auto imports = vm.module()->imports();
    const bool is_of_program = std::ranges::any_of(imports, [&info](const Ref<Module> &import) {
      return static_cast<bool>(import->find_with_imports(info.name));
    });
    if (is_of_program) continue;
    const Ref<Function> function = find_function(info.name);
    if (info.name == kCallPyFunc || (function && !is_builtin(info.name, *function))) names.push_back(info.name);
  }
  std::ranges::sort(names);
  return names;
}

ValueWriter::NameOf names_in(const Vm &vm, const std::vector<std::string> &host_functions) {
  return [&](const Function &function) {
    std::string name = vm.name_of(function);
    return std::ranges::count(host_functions, name) ? std::string() : name;
  };
}

std::vector<Value> Playback::make_args(Vm &vm) {
  maker_.emplace(&vm, move_);
  std::vector<Value> args;
  for (size_t i = 0; i < capture_.args.size(); ++i) try {
      args.push_back(maker_->make(capture_.args[i]));
    } catch (const Exception &e) {
      fail(e.error()->code, capture_.name, ": argument ", i, " of ", capture_.call.function, ": ", e.what());
    }
  args_made_ = maker_->mark();
  return args;
}

Value Playback::play(const std::string &name, Args args) {
  const auto &calls = capture_.host_calls;
  if (next_ == calls.size() || calls[next_].function != name) {
    const bool is_end = next_ == calls.size();
    note(concat(label(name), is_end ? " was not recorded" : " takes the place of ",
                is_end ? "" : calls[next_].function));
    fail(OPD_FAILED_PRECONDITION, problem_);
  }
  const KeptHostCall &call = calls[next_];
  if (args.size() != call.args.size())
    note(concat(label(name), " gets ", counted(args.size(), "argument"), " instead of ", call.args.size()));
  std::vector<View> given;
  for (size_t i = 0; i < std::min(args.size(), call.args.size()); ++i) {
    const KeptHostCall::Argument &captured = call.args[i];
    const std::vector<View> tensors = tensors_in(args[i]);
    given.insert(given.end(), tensors.begin(), tensors.end());
    const bool is_same =
        is_as_captured(captured.hash, move_, [&](DeviceMove move) { return hash_of_value(args[i], move); });
    if (!write_changes(tensors, captured.written) || !is_same) note(concat(label(name), " gets another argument ", i));
  }
  ++next_;
  if (call.error) {
    const KeptError &error = *call.error;
    raised_ = name;
    throw Exception(make_error(error.root_code, error.root_message, error.root_kind));
  }
  if (!maker_) fail(OPD_FAILED_PRECONDITION, label(name), " comes before the recorded call");
  return maker_->make(call.result, given);
}

void Playback::check_end() {
  const auto &calls = capture_.host_calls;
  if (next_ < calls.size())
    note(concat(counted(calls.size() - next_, "call"), " of functions of the host did not happen, of ",
                calls[next_].function, " first"));
}

Ref<Module> make_playback_module(std::shared_ptr<Playback> playback) {
  return make_object<PlaybackModule>(std::move(playback));
}

}  // namespace opd
