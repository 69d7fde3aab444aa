// The function to call: one of the VM program, or a plain packed function of the module tree.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "cli/load/bounds_check.h"
#include "cli/load/program.h"
#include "cli/support/args.h"

namespace opd::cli {

// The device of --device, or of another option; the CPU without one. Fails if the device does not exist.
DLDevice device_option(const Args &args, std::string_view option = "device");

class Target {
 public:
  // `function` is FN; nullopt selects main, else the only function. Fails with Exit::usage if it cannot be found, with
  // Exit::refused if the program cannot be bound. `machine`: the machine that has the program; null: this one.
  Target(const Program &program, const std::optional<std::string> &function, const Args &args,
         const Machine *machine = nullptr);

  const std::string &name() const { return name_; }
  bool is_program() const { return static_cast<bool>(vm_); }
  const Vm &vm() const { return vm_; }
  DLDevice device() const { return device_; }
  const std::vector<Param> &params() const { return params_; }  // parameters of a VM program's function

  const Function &function() const { return function_; }  // for calls without options, at the least cost
  const BoundsCheck *bounds_check() const { return bounds_check_.get(); }  // null without --check-bounds

  // Calls the function. `options` apply to VM programs only; a plain function has no deadline of its own.
  Value call(const std::vector<opd_value> &args, const opd_call_options &options) const;

 private:
  void bind_program(const Program &program, const Args &args);
  void bind_plain(const Program &program, const std::optional<std::string> &function);
  Value checked_call(const std::vector<opd_value> &args, const opd_call_options &options) const;

  std::string name_;
  DLDevice device_;
  Vm vm_;
  Function function_;
  std::vector<Param> params_;
  std::unique_ptr<BoundsCheck> bounds_check_;
};

}  // namespace opd::cli
