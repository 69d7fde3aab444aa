// What is called: a function of the VM program, or a plain packed function of the module tree.
#include "target.h"

#include "failure.h"
#include "text.h"
#include "value_read.h"

namespace opd::cli {

namespace {

DLDevice read_device(const Args &args) {
  DLDevice device = {kDLCPU, 0};
  const std::optional<std::string> text = args.value("device");
  if (!text) return device;
  check(opd_device_from_string(text->c_str(), &device), Exit::usage, "option '--device'");
  Value exists;
  check(opd_device_get_attr(device, OPD_ATTR_EXIST, exists.out()), Exit::failed, cat("device ", *text));
  if (!exists.view().u.int64)
    throw Failure(Exit::failed, cat("there is no device ", *text, " here; 'opdyno info' lists those that are"));
  return device;
}

std::vector<std::string> names_of(const std::vector<FunctionInfo> &functions) {
  std::vector<std::string> names;
  for (const FunctionInfo &function : functions) names.push_back(function.name);
  return names;
}

std::vector<std::string> plain_names(const Module &module) {
  Handle<opd_array> list;
  check(opd_module_list_functions(module.get(), list.out()), Exit::refused);
  return strings_of(list.get());
}

// FN, or the function that stands out: main, or the only one.
std::string choose(const std::optional<std::string> &function, const std::vector<std::string> &names) {
  if (function) return *function;
  for (const std::string &name : names)
    if (name == "main") return name;
  if (names.size() == 1) return names[0];
  if (names.empty()) fail_usage("the module lists no function; name one after it");
  fail_usage(cat("the module has no function main; name one of its functions after it: ", join(names, ", ")));
}

}  // namespace

Target::Target(const Program &program, const std::optional<std::string> &function, const Args &args)
    : device_(read_device(args)) {
  if (!program.vm_module || (function && !program.find(*function))) {
    bind_plain(program, function);
  } else {
    name_ = choose(function, names_of(program.functions));
    params_ = program.find(name_)->params;
    bind_program(program, args);
  }
}

void Target::bind_program(const Program &program, const Args &args) {
  const std::string allocator = args.value("allocator").value_or("pooled");
  if (allocator != "pooled" && allocator != "naive")
    fail_usage(cat("option '--allocator' takes pooled or naive, not '", allocator, "'"));
  const int32_t kind = allocator == "naive" ? OPD_ALLOCATOR_NAIVE : OPD_ALLOCATOR_POOLED;
  opd_vm_options options;
  opd_vm_options_init(&options);
  options.num_devices = 1;
  options.devices = &device_;
  options.allocators = &kind;
  options.memory_limit_bytes = args.bytes("memory-limit").value_or(0);
  check(opd_vm_create(program.vm_module.get(), &options, vm_.out()), Exit::refused);
  check(opd_vm_function(vm_.get(), name_.c_str(), function_.out()), Exit::usage);
}

void Target::bind_plain(const Program &program, const std::optional<std::string> &function) {
  name_ = choose(function, plain_names(program.root));
  if (program.vm_module && !opd_module_has_function(program.root.get(), name_.c_str(), 1)) {
    const std::vector<std::string> names = names_of(program.functions);
    fail_usage(cat("the program has no function '", name_, "'.", suggest(name_, names), " It has ", join(names, ", ")));
  }
  check(opd_module_get_function(program.root.get(), name_.c_str(), 1, function_.out()), Exit::usage);
}

Value Target::call(const std::vector<opd_value> &args, const opd_call_options &options) const {
  const auto count = static_cast<int32_t>(args.size());
  Value result;
  check(vm_ ? opd_vm_call(vm_.get(), name_.c_str(), args.data(), count, &options, result.out())
            : opd_function_call(function_.get(), args.data(), count, result.out()),
        Exit::failed);
  return result;
}

}  // namespace opd::cli
