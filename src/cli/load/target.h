// A call's function and arguments. The function belongs to the VM program, or is a plain packed function of the module
// tree. The arguments come from -i and --params. Missing ones are made to fit the checks of the program and its
// kernels.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
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

  const Function &function() const { return function_; }  // use it for calls without options: it costs the least
  const BoundsCheck *bounds_check() const { return bounds_check_.get(); }  // null without --check-bounds

  // Calls the function. `options` apply to VM programs only; a plain function has no deadline of its own.
  Value call(const std::vector<opd_value> &args, const opd_call_options &options) const;

 private:
  void bind_program(const Program &program, const Args &args);

  std::string name_;
  DLDevice device_;
  Vm vm_;
  Function function_;
  std::vector<Param> params_;
  std::unique_ptr<BoundsCheck> bounds_check_;
};

// Values of sizes that the program leaves open, in the order given.
using Sizes = std::vector<std::pair<std::string, int64_t>>;

// The rows of --sweep; a single row without sizes if it is absent. Fails with Exit::usage.
std::vector<Sizes> sweep_of(const Args &args);
std::string sizes_text(const Sizes &sizes);  // "n=8, m=4"

class Arguments {
 public:
  // Fails with Exit::usage, naming the parameter and a fitting argument. `sizes` are added to those of --dim.
  // `is_there`: the program is on another machine.
  Arguments(const Program &program, const Target &target, const Args &args, const Sizes &sizes = {},
            bool is_there = false);

  // Returns borrowed views of the arguments in their order.
  const std::vector<opd_value> &views() const { return views_; }

 private:
  std::vector<Value> owned_;
  std::vector<opd_value> views_;
};

// Completes the parameters of a program's function as far as possible. `given` holds a value for each known parameter,
// and OPD_NONE for the others.
std::vector<Param> probe_params(const Program &program, const Target &target, const std::vector<opd_value> &given);

}  // namespace opd::cli
