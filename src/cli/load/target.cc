// The function to call: one of the VM program, or a plain packed function of the module tree.
#include "cli/load/target.h"

#include "cli/load/devices.h"
#include "cli/support/failure.h"
#include "cli/support/text.h"

namespace opd::cli {

DLDevice device_option(const Args &args, std::string_view option) {
  DLDevice device = {kDLCPU, 0};
  const std::optional<std::string> text = args.value(option);
  if (!text) return device;
  device = attempt(Exit::usage, cat("option '--", option, "'"), [&] { return opdyno::device_of(*text); });
  const Value absence =
      attempt(Exit::failed, cat("device ", *text), [&] { return opdyno::device_attr(device, OPD_ATTR_ABSENCE); });
  if (absence.type() == OPD_NONE) return device;
  std::vector<std::string> present;
  for (const DLDevice other : devices()) present.push_back(opdyno::to_string(other));
  throw Failure(
      Exit::failed,
      cat("there is no device ", *text, " here: ", absence.string(), "; this machine has ", join(present, ", ")),
      OPD_UNSUPPORTED, "doctor");
}

namespace {

std::vector<std::string> names_of(const std::vector<FunctionInfo> &functions) {
  std::vector<std::string> names;
  for (const FunctionInfo &function : functions) names.push_back(function.name);
  return names;
}

// FN, or the default: main, or the only function.
std::string choose(const std::optional<std::string> &function, const std::vector<std::string> &names) {
  if (function) return *function;
  for (const std::string &name : names)
    if (name == "main") return name;
  if (names.size() == 1) return names[0];
  if (names.empty()) return "main";  // the library explains why there is none
  fail_usage(cat("the module has no function main; name one of its functions after it: ", join(names, ", ")));
}

}  // namespace

Target::Target(const Program &program, const std::optional<std::string> &function, const Args &args,
               const Machine *machine)
    : device_(machine ? machine->device(args) : device_option(args)) {
  if (args.has("check-bounds")) {
    if (device_.device_type != kDLCPU) fail_usage("option '--check-bounds' checks kernels of the CPU only");
    bounds_check_ = std::make_unique<BoundsCheck>(program);
  }
  if (!program.vm_module || (function && !program.find(*function))) {
    bind_plain(program, function);
  } else {
    name_ = choose(function, names_of(program.functions));
    params_ = program.find(name_)->params;
    bind_program(program, args);
  }
}

void Target::bind_program(const Program &program, const Args &args) {
  const auto kind = args.choice("allocator", {"pooled", "naive"}) == 0 ? OPD_ALLOCATOR_POOLED : OPD_ALLOCATOR_NAIVE;
  auto options = opdyno::defaults(opd_vm_options_init);
  options.num_devices = 1;
  options.devices = &device_;
  options.allocators = &kind;
  options.memory_limit_bytes = args.bytes("memory-limit").value_or(0);
  vm_ = attempt(Exit::refused, "", [&] { return Vm(program.vm_module, &options); });
  function_ = attempt(Exit::usage, "", [&] { return vm_.function(name_.c_str()); });
}

void Target::bind_plain(const Program &program, const std::optional<std::string> &function) {
  name_ = choose(function, program.root.functions());
  if (program.vm_module && !program.root.has_function(name_.c_str())) {
    const std::vector<std::string> names = names_of(program.functions);
    fail_usage(cat("the program has no function '", name_, "'.", suggest(name_, names), " It has ", join(names, ", ")));
  }
  function_ = attempt(Exit::usage, "", [&] { return program.root.function(name_.c_str()); });
}

Value Target::call(const std::vector<opd_value> &args, const opd_call_options &options) const {
  if (bounds_check_) return checked_call(args, options);
  return vm_ ? vm_.call_with(options, name_.c_str(), args) : function_.call(args);
}

Value Target::checked_call(const std::vector<opd_value> &args, const opd_call_options &options) const {
  if (!vm_) {
    bounds_check_->check(function_, name_, args);
    return function_.call(args);
  }
  // The instrument is set only now, because the search for the shapes of inputs has its own one.
  vm_.set_instrument(bounds_check_->instrument());
  try {
    return vm_.call_with(options, name_.c_str(), args);
  } catch (const opdyno::Error &) {
    if (bounds_check_->finding()) throw Failure(Exit::mismatch, *bounds_check_->finding());
    throw;
  }
}

}  // namespace opd::cli
