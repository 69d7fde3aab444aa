#include "replay/replay.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

#include "base/file.h"
#include "module/kinds/code_module.h"
#include "module/kinds/device_module.h"
#include "program/builder.h"
#include "replay/capture_file.h"
#include "replay/operator_observer.h"
#include "vm/executable_module.h"

namespace opd {
namespace {

// Makes a program that makes one call with its own arguments and returns None. A VM cannot be passed as an argument;
// the program has its own.
Ref<Executable> program_of(const ObservedCall &call) {
  Builder builder;
  std::vector<std::string> params;
  std::vector<Operand> operands;
  for (const View &arg : call.args) {
    if (arg.type == OPD_POINTER) {
      operands.push_back(Operand::make(Operand::kRegister, kVmRegister));
      continue;
    }
    operands.push_back(Operand::make(Operand::kRegister, static_cast<int64_t>(params.size())));
    params.push_back(concat("arg", params.size()));
  }
  const auto result = static_cast<int64_t>(params.size());
  builder.begin_function("main", params);
  builder.emit_call(call.name, operands, kVoidRegister);
  builder.emit_call("vm.builtin.null_value", {}, result);
  builder.emit_ret(result);
  builder.end_function();
  return builder.get();
}

}  // namespace

// Reduces a capture to one operator. Each call is written before it runs and replaces the one before it. So if a call
// ended the process by a crash or an exit, the file has that call.
class Minimiser {
 public:
  // Uses the given program; null: that of the capture.
  Minimiser(const std::string &path, const CapturedCall &capture, Module *program) : path_(path), file_(path) {
    file_.add(BlockKind::kAbout, as_text(capture.process_block));
    std::vector<std::string> blocks;
    if (program) write_program(*program, true, false, [&](std::string_view block) { blocks.emplace_back(block); });
    else
      for (const Bytes block : capture.module_blocks) blocks.emplace_back(as_text(block));
    std::vector<KeptModule> modules;
    for (size_t i = 0; i < blocks.size(); ++i) {
      modules.push_back(read_module(as_bytes(blocks[i]), modules, capture.name.c_str()));
      if (i + 1 < blocks.size()) file_.add(BlockKind::kModule, blocks[i]);
    }
    imports_ = modules.back().imports;
    before_call_ = file_.mark();
  }

  // replaces the call before it
  void keep(const ObservedCall &call, const KeptCall &whole, Vm &vm) {
    file_.return_to(before_call_);
    file_.add(BlockKind::kModule, write_program_module(program_of(call)->write(), imports_));
    KeptCall cut;
    cut.function = "main";
    cut.vm = vm.settings();
    cut.has_operators = cut.is_observed = true;
    // The smaller program has the kernels, but no function of the original program.
    const auto name_of = [names = names_in(vm, whole.host_functions), &vm](const Function &function) {
      std::string name = names(function);
      return vm.executable().find(name) ? std::string() : name;
    };
    ValueWriter values(Keeping::kArguments, name_of);
    std::vector<std::string> args;
    for (const View &arg : call.args)
      if (arg.type != OPD_POINTER) args.push_back(values.write(arg));
    cut.num_args = args.size();
    file_.add(BlockKind::kCall, cut.write());
    for (const std::string &arg : args) file_.add(BlockKind::kValue, arg);
    file_.add(BlockKind::kReady, {});
    file_.place();
    kept_ = call.name;
  }

  const std::string &kept() const { return kept_; }
  // Writes how the last kept call ended; the file keeps this call.
  void finish(const Error &error) { file_.add(BlockKind::kEnd, write_end(&error, opd_none(), false)); }
  void finish(const KeptOperator &captured) {
    file_.add(BlockKind::kOperator, captured.write());
    file_.add(BlockKind::kEnd, write_end(nullptr, opd_none(), false));
  }

  void remove() { file_.remove(); }

 private:
  std::string path_;
  CaptureFile file_;
  CaptureFile::Mark before_call_;
  std::vector<uint64_t> imports_;  // module numbers of the program's imports
  std::string kept_;
};

// Compares operators with the captured ones, and passes calls to the minimiser.
class ReplayObserver final : public OperatorObserver {
 public:
  ReplayObserver(Replay &replay, Minimiser *minimiser)
      : OperatorObserver(*replay.vm_, replay.capture_->call.host_functions, replay.options_.instrument),
        replay_(replay),
        minimiser_(minimiser) {}

  bool is_open() const { return is_open_; }  // the last call that began has not ended

 private:
  void begin(const ObservedCall &call) override {
    is_open_ = !call.is_host;
    // A captured hash includes the capture's device, so a capture made on another device cannot have it.
    const bool is_found = replay_.operator_difference_ && !replay_.move_.moves();
    if (is_open_ && minimiser_ && !is_found) minimiser_->keep(call, replay_.capture_->call, vm());
  }

  void end(const ObservedCall &call, const View &result) override {
    is_open_ = false;
    const CapturedCall &capture = *replay_.capture_;
    if (!call.is_operator || !capture.call.has_operators) return;
    const size_t number = replay_.num_operators_++;
    if (replay_.operator_difference_ || number >= capture.operators.size()) return;
    const KeptOperator &captured = capture.operators[number];
    const bool is_same =
        captured.name == call.name &&
        is_as_captured(captured.hash, replay_.move_, [&](DeviceMove move) { return hash_of_call(call, result, move); });
    if (!is_same) replay_.operator_difference_ = {call.name, captured.name, number};
  }

  Replay &replay_;
  Minimiser *const minimiser_;
  bool is_open_ = false;
};

namespace {

void add_to_code(Module &program, const Ref<Module> &playback) {
  for (const auto &module : modules_of(program))
    if (dynamic_cast<CodeModule *>(module.get())) module->add_import(playback);
}

// If a kernel gets tensors of another kind of device than its own, it may read invalid addresses.
void check_kernels(Module &program, DeviceMove move) {
  const DLDeviceType from = move.from.device_type, to = move.to.device_type;
  if (from == to) return;
  const auto &functions = executable_of(program)->functions;
  const bool has_kernels = std::ranges::any_of(functions, [&](const FunctionInfo &info) {
    return info.kind == FunctionKind::kTir ||
           (info.kind == FunctionKind::kPacked && program.implements_with_imports(info.name));
  });
  std::set<DLDeviceType> kinds;
  for (const auto &module : modules_of(program))
    if (auto *const device = dynamic_cast<DeviceModule *>(module.get())) kinds.insert(device->device_type());
  if (!has_kernels || (to == kDLCPU ? !kinds.contains(from) : kinds.contains(to))) return;
  std::string names = kinds.empty() ? "the CPU" : "";
  for (const DLDeviceType kind : kinds) names += concat(names.empty() ? "" : " and ", device_kind_name(kind));
  fail(OPD_UNSUPPORTED, "the program has no kernels for ", device_name(move.to), ": its kernels are for ", names,
       "; give a build of it for that device");
}

}  // namespace

Replay::Replay(const std::string &path, ReplayOptions options)
    : options_(std::move(options)), capture_(CapturedCall::read(read_file(path), path)), module_(options_.module) {
  if (module_) executable_of(*module_);  // throws for other kinds of modules
  try {
    if (!module_ && capture_->has_program()) module_ = load_program(capture_->modules, path);
    if (!options_.runs) return;
    if (!module_)
      fail(OPD_FAILED_PRECONDITION, path, " has only hashes of its program: give the module that was recorded");
    prepare();
  } catch (const Exception &e) {
    if (e.error()->code != OPD_INVALID_ARGUMENT) throw;
    fail(OPD_BAD_FORMAT, path, ": ", e.what());  // the file's contents are invalid
  }
  run();
}

VmSettings Replay::moved_settings() {
  VmSettings settings = capture_->call.vm;
  if (!options_.device || settings.devices.empty()) return settings;
  device_backend(*options_.device);  // throws if the device is absent
  move_ = {settings.devices.front().device, *options_.device};
  for (VmDevice &device : settings.devices) device.device = move_.now(device.device);
  return settings;
}

void Replay::prepare() {
  const KeptCall &call = capture_->call;
  const VmSettings settings = moved_settings();
  check_kernels(*module_, move_);
  playback_ = std::make_shared<Playback>(*capture_, move_);
  Ref<Module> root = module_;
  if (!call.host_functions.empty()) {
    // Plays a copy: the returned program looks up its functions in the process.
    root = copy_program(*module_, capture_->name);
    const Ref<Module> playback = make_playback_module(playback_);
    add_to_code(*root, playback);
    root->add_import(playback);
  }
  vm_ = Vm::make(root, settings);
  args_ = playback_->make_args(*vm_);
  for (const std::string &name : call.names) names_.push_back(name.empty() ? nullptr : name.c_str());
}

CallSettings Replay::settings() const {
  CallSettings settings;
  settings.names = names_;
  settings.timeout_ns = options_.timeout_ns;
  settings.cancel = options_.cancel;
  return settings;
}

void Replay::run() {
  const KeptCall &call = capture_->call;
  std::optional<Minimiser> minimiser;
  if (!options_.minimise.empty()) minimiser.emplace(options_.minimise, *capture_, options_.module.get());
  ReplayObserver observer(*this, minimiser ? &*minimiser : nullptr);
  const bool is_observed = call.is_observed || options_.instrument || minimiser;
  const Ref<Function> instrument = is_observed ? observer.make_instrument() : nullptr;
  CallSettings how = settings();
  how.instrument = instrument.get();
  Value result;
  try {
    failure_ = vm_->run_named(call.function, views_of(args_), how, result);
  } catch (const Exception &e) { failure_ = e.error(); }
  const auto is_end = [](opd_code code) { return code == OPD_CANCELLED || code == OPD_DEADLINE_EXCEEDED; };
  const bool was_ended = capture_->end && capture_->end->error && is_end(capture_->end->error->code);
  if (failure_ && is_end(failure_->code) && !was_ended) {
    if (minimiser) minimiser->remove();
    throw Exception(failure_);
  }
  playback_->check_end();
  if (!failure_) {
    ValueWriter values(capture_->end && capture_->end->has_outputs ? Keeping::kElements : Keeping::kHashes);
    result_bytes_ = values.write(result);
    ByteReader from(as_bytes(result_bytes_), "the result");
    result_ = read_value(from);
    compare_results();
  }
  if (!minimiser) return;
  if (operator_difference_ && !move_.moves()) {
    minimiser->finish(capture_->operators[operator_difference_->number]);
  } else if (failure_ && observer.is_open()) {
    minimiser->finish(*failure_);
  } else {
    minimiser->remove();
    if (failure_ && !playback_->raised().empty())
      fail(OPD_FAILED_PRECONDITION, "nothing can be minimised: ", call.function, " fails in ", playback_->raised(),
           ", a function of the host");
    if (failure_)
      fail(OPD_FAILED_PRECONDITION, "nothing can be minimised: ", call.function,
           " fails, but not within an operator: ", failure_->message);
    fail(OPD_FAILED_PRECONDITION, "nothing can be minimised: no operator of ", call.function,
         " fails or differs from the recorded one",
         call.has_operators ? "" : "; whether one differs is known only of recordings with hashes of operators");
  }
  minimised_ = minimiser->kept();
}

void Replay::compare_results() {
  if (!capture_->end || capture_->end->error) return;
  captured_leaves_ = leaves_of(capture_->end->result, "out");
  leaves_ = leaves_of(result_, "out");
  std::unordered_map<std::string_view, const KeptLeaf *> unmatched;
  for (const KeptLeaf &now : leaves_) unmatched.emplace(now.name, &now);
  for (const KeptLeaf &captured : captured_leaves_) {
    const auto now = unmatched.find(captured.name);
    if (now == unmatched.end()) compared_.push_back({&captured, nullptr, LeafState::kOnlyCaptured, {}, false});
    else compare_leaf(captured, *now->second), unmatched.erase(now);
  }
  for (const KeptLeaf &now : leaves_)
    if (unmatched.contains(now.name)) compared_.push_back({nullptr, &now, LeafState::kOnlyNow, {}, false});
}

void Replay::compare_leaf(const KeptLeaf &captured, const KeptLeaf &now) {
  const bool is_moved = captured.tensor && now.tensor && captured.tensor->type() == now.tensor->type() &&
                        same(move_.now(captured.tensor->device), now.tensor->device);
  const bool is_alike = is_moved || captured.shown == now.shown;
  ComparedLeaf compared{&captured, &now, LeafState::kDiffers, {}, !is_alike};
  const bool is_equal = is_alike && (!captured.tensor || captured.tensor->hash == now.tensor->hash);
  if (is_equal) compared.state = LeafState::kEqual;
  const bool has_elements = is_alike && captured.tensor && captured.tensor->has_elements;
  if (!is_equal && has_elements) {
    compared.difference = compare_elements(as_text(captured.tensor->elements).data(), captured.tensor->dtype,
                                           as_text(now.tensor->elements).data(), now.tensor->dtype,
                                           count_of(captured.tensor->dims), options_.tolerances);
    if (compared.difference->agrees()) compared.state = LeafState::kAgrees;
  }
  compared_.push_back(std::move(compared));
}

bool Replay::runs_other_program() const {
  if (!options_.module) return false;
  const std::vector<Sha256> hashes = hashes_of(*module_);
  const auto &captured = capture_->modules;
  return !std::ranges::equal(hashes, captured,
                             [](const Sha256 &hash, const KeptModule &module) { return hash == module.hash; });
}

Ref<Report> Replay::profile(const VmProfileOptions &how) {
  if (!options_.runs || failure_) return nullptr;
  return profile_runs(
             *vm_, how,
             [this] {
               playback_->rewind();
               Value result;
               if (Ref<Error> error = vm_->run_named(capture_->call.function, views_of(args_), settings(), result))
                 throw Exception(std::move(error));
             })
      .report;
}

}  // namespace opd
