// Determines a program's parameters if its instructions do not describe them.
//
// TVM checks only the parameters that a model calls its inputs (`num_input`), and compiled functions have no
// instructions to read checks from. But each kernel's error messages contain its signature. So the function is called
// with stand-ins for unknown arguments, and an instrument records which checks and kernels get them. All kernels are
// skipped: nothing is computed, so the content of the stand-ins does not matter.
#include <algorithm>
#include <map>
#include <set>

#include "cli/load/annotations.h"
#include "cli/load/target.h"
#include "cli/support/failure.h"
#include "cli/support/json.h"
#include "cli/tensors/tensor_make.h"

namespace opd::cli {

namespace {

constexpr int kMaxRounds = 16;         // some parameters are seen only after others were corrected
constexpr int64_t kMaxCalls = 200000;  // per round: loops over skipped results may not end
constexpr int64_t kTimeoutNs = 10'000'000'000;

class ParamProbe {
 public:
  ParamProbe(const Program &program, const Target &target, const std::vector<opd_value> &given)
      : program_(program), target_(target), given_(given), params_(target.params()) {
    read_signatures(parse_json(program.root.json(), "the module").get());
  }

  std::vector<Param> run() {
    for (int round = 0; round < kMaxRounds && !is_complete(); ++round)
      if (!run_once()) break;
    name_slots();
    return params_;
  }

 private:
  bool is_complete() const {
    for (size_t i = 0; i < params_.size(); ++i)
      if (given_[i].type == OPD_NONE && !params_[i].is_whole()) return false;
    return true;
  }

  // Makes one call. Returns false if it found nothing new.
  bool run_once() {
    make_arguments();
    learned_ = must_end_ = false;
    calls_ = 0;
    const Vm &vm = target_.vm();
    vm.set_instrument(
        Function::of([this](const opd_value *args, int32_t count) { return static_cast<int>(see(args, count)); }));
    auto options = opdyno::defaults(opd_call_options_init);
    options.timeout_ns = kTimeoutNs;
    try {
      vm.call_with(options, target_.name().c_str(), arguments_);
    } catch (const opdyno::Error &) {}  // expected: a stand-in did not fit
    vm.set_instrument({});
    return learned_;
  }

  // ---- stand-ins

  void make_arguments() {
    owned_.clear();
    arguments_ = given_;
    for (size_t i = 0; i < params_.size(); ++i) {
      if (arguments_[i].type != OPD_NONE) continue;
      owned_.push_back(stand_in(params_[i]));
      arguments_[i] = owned_.back().view();
    }
  }

  Value stand_in(const Param &param) const {
    if (param.symbol || param.kind == "int") return Value::of(1);
    std::vector<int64_t> sizes;
    if (param.dims)
      for (const Dim &dim : *param.dims) {
        const auto *size = std::get_if<int64_t>(&dim);
        sizes.push_back(size ? *size : 1);
      }
    if (param.kind == "shape") return Value::of(Shape(sizes));
    return Value::of(Tensor(sizes, param.dtype.value_or("float32").c_str(), target_.device()));
  }

  // The parameter that `value` stands in for, or is a view of.
  Param *param_of(const opd_value &value) {
    for (size_t i = 0; i < params_.size(); ++i) {
      const opd_value &argument = arguments_[i];
      if (given_[i].type != OPD_NONE || argument.type != value.type || argument.type < OPD_STRING) continue;
      if (argument.u.object == value.u.object || (value.type == OPD_TENSOR && data_at(argument) == data_at(value)))
        return &params_[i];
    }
    return nullptr;
  }
  static const void *data_at(const opd_value &tensor) { return Tensor::of(tensor).view().data; }

  // ---- the instrument's arguments: function, name, before, result, arguments …

  opd_instrument_action see(const opd_value *shown, int32_t count) {
    if (!shown[2].u.int64) return OPD_INSTRUMENT_NO_OP;
    if (++calls_ > kMaxCalls) throw std::runtime_error("the probe made too many calls");
    const std::string name = shown[1].u.cstring;
    const std::vector<opd_value> args(shown + 4, shown + count);
    bool skips = false;
    if (program_.find(name)) return OPD_INSTRUMENT_NO_OP;
    if (!name.starts_with(builtin_prefix)) {
      see_kernel(name, args);
      skips = true;
    } else {
      const std::string_view builtin = std::string_view(name).substr(builtin_prefix.size());
      if (builtin.starts_with("check_") || builtin.starts_with("match_")) {
        skips = see_check(builtin, args);
      } else if (builtin == "reshape" && args.size() == 2 && args[1].type == OPD_SHAPE) {
        see_reshape(args);
      } else {
        skips =
            builtin == "print" || builtin == "assert_op" || builtin == "invoke_debug_func" || builtin == "call_py_func";
      }
      // A skipped check did not store its sizes, and the following instructions would read them. So the round ends
      // here.
      if (must_end_ && !builtin.starts_with("check_") && !builtin.starts_with("match_") &&
          builtin != "alloc_shape_heap")
        throw std::runtime_error("a check was skipped");
    }
    return skips ? OPD_INSTRUMENT_SKIP_RUN : OPD_INSTRUMENT_NO_OP;
  }

  // Reads the signatures of all libraries in the module tree.
  void read_signatures(const cJSON *module) {
    for (const cJSON *item : json_items(json_member(module, "signatures")))
      if (cJSON_IsString(item)) signatures_.try_emplace(item->string, read_kernel_signature(item->valuestring));
    for (const cJSON *item : json_items(json_member(module, "imports"))) read_signatures(item);
  }

  void see_kernel(const std::string &name, const std::vector<opd_value> &args) {
    const auto found = signatures_.find(name);
    if (found == signatures_.end()) return;
    const KernelSignature &signature = found->second;
    for (size_t i = 0; i < args.size() && i < signature.size(); ++i) {
      const auto &wanted = signature[i];
      Param *param = wanted ? param_of(args[i]) : nullptr;
      if (!param) continue;
      param->kind = "tensor";
      learn(param->dtype, wanted->dtype);
      if (!is_view(args[i])) learn(param->dims, wanted->dims);
    }
  }
  bool is_view(const opd_value &value) const {
    return std::ranges::none_of(arguments_,
                                [&](const opd_value &argument) { return argument.u.object == value.u.object; });
  }

  // The parameter may have any shape with that many elements; the program's result shape is one of them.
  void see_reshape(const std::vector<opd_value> &args) {
    Param *param = param_of(args[0]);
    if (!param || param->dims || is_view(args[0])) return;
    const std::vector<int64_t> sizes = Shape::of(args[1]).dims();
    learn(param->dims, std::vector<Dim>(sizes.begin(), sizes.end()));
  }

  // Returns true if the check must be skipped, because it revealed something.
  bool see_check(std::string_view builtin, const std::vector<opd_value> &args) {
    Param *param = args.empty() ? nullptr : param_of(args[0]);
    if (!param) return false;
    const bool before = std::exchange(learned_, false);
    learn_check(builtin, args, *param);
    const bool skips = learned_;
    learned_ |= before;
    must_end_ |= skips;
    return skips;
  }

  // docs/builtins.md describes the arguments.
  void learn_check(std::string_view builtin, const std::vector<opd_value> &args, Param &param) {
    const auto integer = [&](size_t i) { return i < args.size() && args[i].type == OPD_INT ? args[i].u.int64 : -1; };
    const auto dtype = [&](size_t i) {
      if (i < args.size() && args[i].type == OPD_DTYPE) learn(param.dtype, opdyno::to_string(args[i].u.dtype));
    };
    const auto become = [&](const char *kind) {
      if (param.kind != kind) param.kind = kind, learned_ = true;
    };
    if (builtin == "check_tensor_info") {
      become("tensor");
      dtype(args.size() == 4 ? 2 : 1);
      if (integer(1) == 0) learn(param.dims, std::vector<Dim>());  // all sizes are known
    } else if (builtin == "check_shape_info") {
      become("shape");
    } else if (builtin == "check_prim_value_info") {
      dtype(1);
      become(param.dtype && param.dtype->find("float") != std::string::npos ? "float" : "int");
    } else if (builtin == "match_shape") {
      std::vector<Dim> dims;
      for (int64_t i = 0; i < integer(2); ++i) {
        const auto code = static_cast<size_t>(3 + 2 * i);
        if (integer(code) < 0 || integer(code + 1) < 0) return;
        dims.push_back(integer(code) == 0 ? Dim(integer(code + 1)) : Dim(slot_name(integer(code + 1))));
      }
      learn(param.dims, dims);
    } else if (builtin == "match_prim_value" && integer(2) > 0 && integer(3) >= 0) {
      become("int");
      learn(param.symbol, slot_name(integer(3)));
    }
  }

  template <class T, class U>
  void learn(std::optional<T> &known, const U &value) {
    if (known) return;
    known = value;
    learned_ = true;
  }

  // ---- sizes that the program leaves open, by slot of the shape heap; named as in `inspect`

  static constexpr std::string_view kSlot = "slot ";
  static std::string slot_name(int64_t slot) { return cat(kSlot, slot); }

  void name_slots() {
    std::set<int64_t> slots;
    const auto each = [&](const auto &visit) {
      for (Param &param : params_) {
        if (param.symbol && param.symbol->starts_with(kSlot)) visit(*param.symbol);
        if (!param.dims) continue;
        for (Dim &dim : *param.dims)
          if (auto *name = std::get_if<std::string>(&dim); name && name->starts_with(kSlot)) visit(*name);
      }
    };
    const auto slot_of = [](const std::string &name) { return *read_int(std::string_view(name).substr(kSlot.size())); };
    each([&](const std::string &name) { slots.insert(slot_of(name)); });
    each([&](std::string &name) {
      const auto place = std::distance(slots.begin(), slots.find(slot_of(name)));
      name = slots.size() == 1 ? "n" : cat("n", place);
    });
  }

  const Program &program_;
  const Target &target_;
  const std::vector<opd_value> given_;
  std::vector<Param> params_;
  std::vector<Value> owned_;
  std::vector<opd_value> arguments_;
  std::map<std::string, KernelSignature> signatures_;
  bool learned_ = false;   // something new in this round
  bool must_end_ = false;  // this round skipped a check that stores sizes
  int64_t calls_ = 0;
};

}  // namespace

std::vector<Param> probe_params(const Program &program, const Target &target, const std::vector<opd_value> &given) {
  return ParamProbe(program, target, given).run();
}

}  // namespace opd::cli
