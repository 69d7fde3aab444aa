// VMs of a session, and their profiles, whose times are converted to this machine's clock.
#include <filesystem>
#include <map>
#include <mutex>

#include "base/cache_directory.h"
#include "base/file.h"
#include "device/device.h"
#include "profiler/vm_profile.h"
#include "rpc/client/client_session.h"
#include "rpc/wire/remote_profile_options.h"
#include "trace/file/event_file.h"
#include "vm/vm.h"

namespace opd::rpc {
namespace {

// ---- profiles of programs on another machine: the server makes them with its collectors, and the client converts
// their times to its own clock

// The server's Unix time minus this machine's. The time is requested several times. For the shortest round trip, the
// server's clock is assumed to have been read in the middle, so the error is at most half of the round trip.
struct ClockOffset {
  int64_t ns = 0, error_ns = INT64_MAX;
};
ClockOffset clock_offset(ClientSession &session) {
  constexpr int kQuestions = 15;
  ClockOffset best;
  for (int i = 0; i < kQuestions; ++i) {
    const int64_t before = unix_ns();
    const int64_t there = as_int(session.call(kClockFunction, {}), "the time of the server");
    const int64_t after = unix_ns(), error = (after - before) / 2 + 1;
    if (error < best.error_ns) best = {there - (before + after) / 2, error};
  }
  return best;
}

Ref<Trace> read_trace(std::string_view bytes) {
  const BuildDirectory directory(std::filesystem::temp_directory_path().string());
  const std::string file = directory.file("trace");
  write_scratch_file(file, bytes);
  return read_event_file(file);
}

// Converts the server's trace to this machine's clock. The server's address becomes the label of its process.
Ref<Trace> on_this_clock(ClientSession &session, const Trace &trace) {
  TraceMergeOptions how;
  how.labels = {session.address()};
  const std::string &clock = trace.parts.processes[0].clock_name;
  if (clock.empty() || clock != TraceProcess::of_this().clock_name) {  // else both have the same clock
    const ClockOffset offset = clock_offset(session);
    how.shifts_ns = {-offset.ns};
    how.clock_errors_ns = {offset.error_ns};
  }
  const Trace *const traces[] = {&trace};
  return merge_traces(traces, how);
}

VmProfile profile_in(const Value &found, ClientSession &session, bool wants_trace) {
  ByteReader bytes(as_bytes(bytes_in(found, "a profile")), "a profile of the server");
  VmProfile profile;
  profile.report = Report::from_json(bytes.read_string("report"));
  if (wants_trace) profile.trace = on_this_clock(session, *read_trace(as_text(bytes.take(bytes.remaining(), "trace"))));
  return profile;
}

// A VM of a session. The program and its state are on the server.
class RemoteVm final : public AnyVm, public ProfilesThere {
 public:
  // "opdyno.RemoteVm"
  static int32_t type() { return registered_type<"opdyno.RemoteVm">(); }

  RemoteVm(Ref<RemoteModule> vm, DLDevice device) : vm_(std::move(vm)), device_(device) {}
  Vm *here() override { return nullptr; }
  const ProfilesThere *there() const override { return this; }

  Ref<Error> run_named(std::string_view name, Args args, const CallSettings &settings, Value &result) override {
    std::vector<Value> owned;
    result = call(*get(name), on_device(in_order(name, args, settings), owned, false), settings);
    if (!settings.outputs.empty()) store_outputs(result, settings.outputs, name);
    return nullptr;
  }

  Ref<Function> function(std::string_view name) override { return get(name); }
  Value invoke_closure(Function &closure, Args args, const CallSettings &settings) override {
    const Value itself(Ref<Function>::share(&closure));
    return call_with("invoke_closure", {itself.view()}, "the closure", args, settings);
  }

  void save_function(std::string_view name, std::string_view saved_name, Args args, const CallSettings &settings,
                     bool include_return) override {
    const Value of(name), saved(saved_name);
    call_with("save_function", {of.view(), saved.view(), opd_int(include_return)}, name, args, settings);
    Ref<RemoteFunction> before;  // destroyed after the lock is released
    const std::scoped_lock lock(guard_);
    if (const auto found = functions_.find(saved_name); found != functions_.end()) {
      before = std::move(found->second);
      functions_.erase(found);
    }
  }

  void set_input(std::string_view name, Args args, const CallSettings &settings) override {
    std::vector<Value> owned;
    const Value of(name);
    std::vector<View> given = on_device(in_order(name, args, settings), owned, true);
    given.insert(given.begin(), of.view());
    call(*get("set_input"), given, settings);
  }

  void invoke_stateful(std::string_view name, const CallSettings &settings) override {
    const Value of(name);
    call(*get("invoke_stateful"), {&of.view(), 1}, settings);
  }

  Value output(std::string_view name, std::span<const int64_t> path) const override {
    std::vector<Value> args{Value(name)};
    args.insert(args.end(), path.begin(), path.end());
    return call(*get("get_output"), {&args.front().view(), args.size()}, {});
  }

  // a function of the session
  void set_instrument(Ref<Function> instrument) override {
    const Value itself(std::move(instrument));
    call(*get("set_instrument"), {&itself.view(), 1}, {});
  }

  bool has_function(std::string_view name) const override { return find(name).get(); }
  std::vector<std::string> function_list() const override { return vm_->list(); }
  std::vector<std::string> param_list(std::string_view function) const override {
    const Value of(function);
    const int64_t count = as_int(call(*get("get_function_arity"), {&of.view(), 1}, {}), "the number of parameters");
    constexpr int64_t kMost = 1 << 16;
    if (count < 0 || count > kMost) fail(OPD_BAD_FORMAT, "a function of the server has ", count, " parameters");
    std::vector<std::string> names;
    for (int64_t i = 0; i < count; ++i) {
      const View args[] = {of.view(), opd_int(i)};
      const Value name = call(*get("get_function_param_name"), args, {});
      names.emplace_back(as_text(name, "the name of a parameter"));
    }
    return names;
  }

  void trim() override {}  // the server keeps its memory itself

  // ---- profiles: their times are converted to this machine's clock. They throw OPD_UNSUPPORTED with TVM's servers.
  VmProfile profile_named(std::string_view name, Args args, const CallSettings &settings,
                          const VmProfileOptions &options, bool wants_trace) const override {
    ClientSession &session = profiling_server();
    const Value written(write_profile_options({std::string(name), options, wants_trace}));
    return profile_in(call_with(kProfileFunction, {written.view()}, name, args, settings), session, wants_trace);
  }

  void start_profile(const VmProfileOptions &options) const override {
    profiling_server();
    const Value written(write_profile_options({"", options, true}));
    call_with(kProfileStart, {written.view()}, "", {}, {});
  }

  VmProfile stop_profile(bool wants_trace) const override {
    ClientSession &session = profiling_server();
    return profile_in(call_with(kProfileStop, {opd_int(wants_trace)}, "", {}, {}), session, wants_trace);
  }

 private:
  // Calls a function of the VM's module. Its arguments are `first`, then the arguments of the program's function
  // `name`.
  Value call_with(const char *function, std::vector<View> first, std::string_view name, Args args,
                  const CallSettings &settings) const {
    std::vector<Value> owned;
    const std::vector<View> rest = on_device(in_order(name, args, settings), owned, false);
    first.insert(first.end(), rest.begin(), rest.end());
    return call(*get(function), first, settings);
  }

  ClientSession &profiling_server() const {
    ClientSession &session = *vm_->session;
    if (session.version().empty())
      fail(OPD_UNSUPPORTED, "the server at ", session.address(),
           " is TVM's, which makes no profiles; opdyno serve does");
    return session;
  }

  // These functions look up functions of the program, saved functions and the VM's own. find() may return null.
  Ref<RemoteFunction> find(std::string_view name) const {
    {
      const std::scoped_lock lock(guard_);
      if (const auto found = functions_.find(name); found != functions_.end()) return found->second;
    }
    const Ref<Function> found = vm_->find(name);
    if (!found) return nullptr;
    Ref<RemoteFunction> function = try_remote(*found);
    Ref<RemoteFunction> before;  // destroyed after the lock is released
    const std::scoped_lock lock(guard_);
    before = std::exchange(functions_[std::string(name)], function);
    return function;
  }

  Ref<RemoteFunction> get(std::string_view name) const {
    Ref<RemoteFunction> found = find(name);
    if (!found)
      fail_as("AttributeError", OPD_NOT_FOUND, "the program on ", vm_->session->address(), " has no function ", name);
    return found;
  }

  Value call(const RemoteFunction &function, Args args, const CallSettings &settings) const {
    return vm_->session->call(function.number, function.name, args,
                              {std::chrono::nanoseconds(settings.timeout_ns), settings.cancel});
  }

  std::vector<View> in_order(std::string_view name, Args args, const CallSettings &settings) const {
    if (settings.names.empty()) return {args.begin(), args.end()};
    FunctionInfo function{FunctionKind::kPacked, std::string(name), 0, 0, 0, 0, param_list(name)};
    function.num_args = static_cast<int64_t>(function.param_names.size());
    return arguments_in_order(function, args, settings.names);
  }

  // Copies borrowed host memory to the device. With `all`, tensors of other devices are copied, too.
  std::vector<View> on_device(Args args, std::vector<Value> &owned, bool all) const {
    std::vector<View> given;
    for (const View &arg : args) {
      const DLTensor *const tensor = try_dltensor(arg);
      const bool is_there = tensor && tensor->device.device_type / kDevicesOfSession == vm_->session->index() + 1;
      if (!tensor || is_there || (arg.type == OPD_TENSOR && !all)) given.push_back(arg);
      else given.push_back(owned.emplace_back(copied_to(device_, *tensor)).view());
    }
    return given;
  }

  const Ref<RemoteModule> vm_;
  const DLDevice device_;  // in this process's numbering
  mutable ForkMutex guard_{LockRank::kRemote};
  mutable std::map<std::string, Ref<RemoteFunction>, std::less<>> functions_;
};

}  // namespace

Ref<AnyVm> make_vm(Ref<RemoteModule> program, const VmSettings &settings) {
  const VmSettings usual;
  if (settings.memory_limit_bytes != usual.memory_limit_bytes || settings.max_depth != usual.max_depth)
    fail(OPD_UNSUPPORTED,
         "a VM on another machine has the limits of its server; memory_limit_bytes and max_depth are "
         "for programs of this process");
  const std::shared_ptr<ClientSession> &session = program->session;
  const Ref<Function> loader = program->find("vm_load_executable");
  if (!loader) fail(OPD_INVALID_ARGUMENT, "the module on ", session->address(), " has no program of a VM");
  const Value made = opd::call(*loader, {});
  const Ref<RemoteModule> vm = try_remote(as<Module>(made, "the result of vm_load_executable"));
  if (!vm) fail(OPD_BAD_FORMAT, "vm_load_executable returned no module");
  std::vector<View> devices;
  const auto add = [&](DLDevice device, int64_t allocator) {
    devices.insert(devices.end(), {opd_int(device.device_type), opd_int(device.device_id), opd_int(allocator)});
  };
  std::vector<VmDevice> wanted = settings.devices;
  if (wanted.size() == 1 && same(wanted[0].device, kHost))
    wanted[0].device = session->here(kHost);  // same as no device
  for (const VmDevice &device : wanted) add(session->there(device.device), device.allocator);
  if (session->there(wanted.back().device).device_type != kDLCPU) add(kHost, OPD_ALLOCATOR_POOLED);
  const Ref<Function> initialize = vm->find("vm_initialization");
  if (!initialize) fail(OPD_BAD_FORMAT, "the VM on ", session->address(), " cannot be given devices");
  opd::call(*initialize, devices);
  return make_object<RemoteVm>(vm, wanted.front().device);
}

}  // namespace opd::rpc
