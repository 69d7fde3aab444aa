#include "cli/load/target.h"

#include <algorithm>

#include "cli/load/devices.h"
#include "cli/support/failure.h"
#include "cli/support/text.h"
#include "cli/tensors/tensor_make.h"

namespace opd::cli {

namespace {

class Builder {
 public:
  Builder(const Program &program, const Target &target, const Args &args, const Sizes &sizes, bool is_there)
      : program_(program), target_(target), args_(args), is_there_(is_there), slots_(target.params().size()) {
    maker_.seed = static_cast<uint64_t>(args.integer("seed", 0, 0, INT64_MAX));
    maker_.device = target.device();
    for (const std::string &text : args.all("dim")) add_dim(text);
    for (const auto &[name, size] : sizes) add_dim("--sweep", name, size);
  }

  std::vector<Value> build(const Args &args) {
    std::vector<InputSpec> positional;
    for (const std::string &text : args.all("input")) {
      InputSpec spec = parse_input(text);
      if (spec.name.empty()) positional.push_back(std::move(spec));
      else place_named(spec);
    }
    for (const std::string &path : args.all("params")) bind_params(path);
    place_positional(positional);
    if (target_.is_program()) guess_rest();
    check_dims();
    std::vector<Value> values;
    for (std::optional<Value> &slot : slots_) values.push_back(std::move(slot).value_or(Value()));
    return values;
  }

 private:
  void add_dim(const std::string &text) {
    const size_t equals = text.find('=');
    const std::optional<int64_t> size =
        equals == std::string::npos ? std::nullopt : read_int(std::string_view(text).substr(equals + 1));
    if (!size || *size < 0 || equals == 0)
      fail_usage(cat("option '--dim' takes a name and a size as n=4, not '", text, "'"));
    add_dim("--dim", text.substr(0, equals), *size);
  }

  void add_dim(std::string_view option, const std::string &name, int64_t size) {
    for (const auto &[other, given] : given_dims_)
      if (given == name && (other != option || dims_[name] != size))
        fail_usage(cat("the size of ", name, " is given twice, by ", other, " and ", option));
    dims_[name] = size;
    given_dims_.emplace_back(option, name);
  }

  // Learns a size from an argument; it must not contradict an option.
  void learn_dim(const Param &param, const std::string &name, int64_t size) {
    if (const auto [known, is_new] = dims_.emplace(name, size); is_new || known->second == size) return;
    for (const auto &[option, given] : given_dims_)
      if (given == name)
        fail_usage(cat("option '", option, "' says ", name, "=", dims_[name], ", but parameter ", param.name, " of ",
                       target_.name(), " is given an argument with ", name, "=", size));
  }

  std::string param_list() const { return target_.params().empty() ? "none" : join(names_of(target_.params()), ", "); }

  void fill(size_t index, Value value) {
    slots_[index] = std::move(value);
    if (index < target_.params().size()) learn_dims(target_.params()[index], slots_[index]->view());
  }

  // Learns the sizes that a parameter names from its given argument.
  void learn_dims(const Param &param, const opd_value &value) {
    if (value.type == OPD_INT && param.symbol) learn_dim(param, *param.symbol, value.u.int64);
    if (!param.dims || (value.type != OPD_TENSOR && value.type != OPD_SHAPE)) return;
    const std::vector<int64_t> sizes = value.type == OPD_TENSOR ? Tensor::of(value).shape() : Shape::of(value).dims();
    for (size_t i = 0; i < sizes.size() && sizes.size() == param.dims->size(); ++i)
      if (const auto *name = std::get_if<std::string>(&(*param.dims)[i])) learn_dim(param, *name, sizes[i]);
  }

  void place_named(const InputSpec &spec) {
    const std::vector<Param> &params = target_.params();
    if (!target_.is_program())
      fail_usage(cat("input '", spec.text, "': ", target_.name(),
                     " is a plain function, whose parameters have no names; leave out '", spec.name, ":'"));
    for (size_t i = 0; i < params.size(); ++i) {
      if (params[i].name != spec.name) continue;
      if (slots_[i]) fail_usage(cat("parameter ", spec.name, " of ", target_.name(), " is given twice"));
      return fill(i, make(spec, i));
    }
    fail_usage(cat("input '", spec.text, "': ", target_.name(), " has no parameter '", spec.name, "'.",
                   suggest(spec.name, names_of(params)), " Its parameters: ", param_list()));
  }

  void bind_params(const std::string &path) {
    const Params params = Params::load(path);
    bool is_used = false;
    for (size_t i = 0; i < target_.params().size(); ++i) {
      const std::string &name = target_.params()[i].name;
      for (size_t j = 0; j < params.size(); ++j) {
        if (name != params.name(j) || slots_[i]) continue;
        Tensor tensor = attempt(Exit::failed, path, [&] { return params.get_tensor(name.c_str()); });
        fill(i, Value::of(maker_.to_device(std::move(tensor))));
        is_used = true;
      }
    }
    if (!is_used)
      fail_usage(cat(path, " has no tensor with the name of a parameter of ", target_.name(), " (", param_list(), ")"));
  }

  void place_positional(const std::vector<InputSpec> &specs) {
    if (!target_.is_program()) slots_.resize(specs.size());
    size_t next = 0;
    for (const InputSpec &spec : specs) {
      while (next < slots_.size() && slots_[next]) ++next;
      if (next == slots_.size())
        fail_usage(cat("input '", spec.text, "': ", target_.name(),
                       " has no parameter left for it. Its parameters: ", param_list()));
      fill(next, make(spec, next));
    }
  }

  void guess_rest() {
    const std::vector<Param> params = whole_params();
    for (size_t i = 0; i < slots_.size(); ++i)  // given arguments determine the open sizes of the others
      if (slots_[i]) learn_dims(params[i], slots_[i]->view());
    for (size_t i = 0; i < slots_.size(); ++i)
      if (!slots_[i]) fill(i, guess(params[i], i));
  }

  // Returns the parameters. If the program does not describe a needed one, probes for it.
  std::vector<Param> whole_params() const {
    const std::vector<Param> &params = target_.params();
    bool is_whole = true;
    for (size_t i = 0; i < slots_.size(); ++i) is_whole &= slots_[i] || params[i].is_whole();
    if (is_whole) return params;
    const auto given_in = [](const std::optional<Value> &slot) { return slot ? slot->view() : opd_none(); };
    const std::vector<opd_value> given = mapped(slots_, given_in);
    return is_there_ ? probe_here(given) : probe_params(program_, target_, given);
  }

  // An instrument cannot run on another machine, so the program is probed on this one, if it can be loaded here.
  std::vector<Param> probe_here(std::vector<opd_value> given) const {
    std::vector<Tensor> copies;
    for (opd_value &value : given)
      if (value.type == OPD_TENSOR) value = opdyno::arg(copies.emplace_back(to_cpu(Tensor::of(value))));
    const Args args = args_.without({"device", "on"});
    try {
      const Program here = load_program(args.words()[0], args);
      return probe_params(here, Target(here, target_.name(), args), given);
    } catch (const Failure &) { return target_.params(); }
  }

  Value guess(const Param &param, size_t index) {
    const std::string where = cat("parameter ", param.name, " of ", target_.name());
    if (param.symbol) return Value::of(resolve({*param.symbol}, where)[0]);
    if (param.kind == "shape" && param.dims) return make_shape(resolve(*param.dims, where), where);
    if (!param.dims || !param.dtype)
      fail_usage(cat(where, ": neither the program nor its kernels tell its whole shape and dtype; pass it, as in -i ",
                     param.name, ":", example_of(param)));
    const DLDataType dtype = attempt(Exit::failed, where, [&] { return opdyno::dtype_of(*param.dtype); });
    return Value::of(maker_.make(resolve(*param.dims, where), dtype, Fill(), where, index));
  }

  static std::string example_of(const Param &param) {
    if (param.kind == "shape") return "'shape(2,3)'";
    if (param.kind == "tuple") return "'tuple(2x3xf32;2x3xf32)'";
    if (param.kind == "string") return "str=text";
    if (param.kind == "float") return "f64=0.5";
    if (param.kind == "int") return param.dtype == "bool" ? "bool=true" : "i64=7";
    std::string sizes = "2x3";
    if (param.dims) {
      sizes = param.dims->empty() ? "0d" : "";
      for (const Dim &dim : *param.dims)
        sizes += cat(sizes.empty() ? "" : "x", std::visit([](const auto &size) { return cat(size); }, dim));
    }
    return cat(sizes, "x", param.dtype.value_or("f32"));
  }

  std::vector<int64_t> resolve(const std::vector<Dim> &dims, const std::string &where) {
    std::vector<int64_t> sizes;
    for (const Dim &dim : dims) {
      if (const auto *name = std::get_if<std::string>(&dim)) {
        used_dims_.push_back(*name);
        const auto found = dims_.find(*name);
        if (found == dims_.end())
          fail_usage(cat(where, " has the shape ", dims_text(dims), "; pass the size of ", *name, ", as in --dim ",
                         *name, "=4"));
        sizes.push_back(found->second);
      } else {
        sizes.push_back(std::get<int64_t>(dim));
      }
    }
    return sizes;
  }

  Value make(const InputSpec &spec, size_t index) {
    using Kind = InputSpec::Kind;
    const std::string what = cat("input '", spec.text, "'");
    if (spec.kind == Kind::plain) return spec.value;
    if (spec.kind == Kind::shape) return make_shape(spec.shape, what);
    if (spec.kind == Kind::tuple) return make_tuple(spec, index);
    if (!spec.dims) return Value::of(maker_.to_device(maker_.read(spec.fill.file, what)));
    return Value::of(maker_.make(resolve(*spec.dims, what), *spec.dtype, spec.fill, what, index));
  }

  static Value make_shape(const std::vector<int64_t> &sizes, const std::string &what) {
    return attempt(Exit::failed, what, [&] { return Value::of(Shape(sizes)); });
  }

  Value make_tuple(const InputSpec &spec, size_t index) {
    std::vector<Value> items;
    for (size_t i = 0; i < spec.items.size(); ++i) items.push_back(make(spec.items[i], (index + 1) * 1000 + i));
    return Value::of(Array(views_of(items)));
  }

  // A --dim that no parameter uses is most likely misspelt.
  void check_dims() const {
    std::vector<std::string> names = used_dims_;
    for (const Param &param : target_.params()) {
      if (param.symbol) names.push_back(*param.symbol);
      for (const Dim &dim : param.dims.value_or(std::vector<Dim>()))
        if (const auto *name = std::get_if<std::string>(&dim)) names.push_back(*name);
    }
    for (const auto &[option, given] : given_dims_)
      if (std::find(names.begin(), names.end(), given) == names.end())
        fail_usage(cat("option '", option, "': no size is called '", given, "' here.", suggest(given, names)));
  }

  const Program &program_;
  const Target &target_;
  const Args &args_;
  const bool is_there_;
  TensorMaker maker_;
  DimValues dims_;
  std::vector<std::pair<std::string_view, std::string>> given_dims_;  // the option and the name
  std::vector<std::string> used_dims_;
  std::vector<std::optional<Value>> slots_;  // empty: no input is given
};

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

DLDevice device_option(const Args &args, std::string_view option) {
  DLDevice device = {kDLCPU, 0};
  const std::optional<std::string> text = args.value(option);
  if (!text) return device;
  device = attempt(Exit::usage, cat("option '--", option, "'"), [&] { return opdyno::device_of(*text); });
  const Value absence =
      attempt(Exit::failed, cat("device ", *text), [&] { return opdyno::device_attr(device, OPD_ATTR_ABSENCE); });
  if (absence.type() == OPD_NONE) return warn_of_cpu_number(device), device;
  const auto present = mapped(devices(), [](DLDevice other) { return opdyno::to_string(other); });
  throw Failure(
      Exit::failed,
      cat("there is no device ", *text, " here: ", absence.string(), "; this machine has ", join(present, ", ")),
      OPD_UNSUPPORTED, "doctor");
}

Target::Target(const Program &program, const std::optional<std::string> &function, const Args &args,
               const Machine *machine)
    : device_(machine ? machine->device(args) : device_option(args)) {
  if (args.has("check-bounds")) {
    if (device_.device_type != kDLCPU) fail_usage("option '--check-bounds' checks kernels of the CPU only");
    bounds_check_ = std::make_unique<BoundsCheck>(program);
  }
  if (program.vm_module && program.functions.empty() && !function)
    throw Failure(Exit::refused, "the program has no functions");
  if (!program.vm_module || (function && !program.find(*function))) {
    name_ = choose(function, program.root.functions());
    if (program.vm_module && !program.root.has_function(name_.c_str())) {
      const std::vector<std::string> names = names_of(program.functions);
      fail_usage(cat("the program has no function '", name_, "'.", suggest(name_, names), " It has ",
                     names.empty() ? "none" : join(names, ", ")));
    }
    function_ = attempt(Exit::usage, "", [&] { return program.root.function(name_.c_str()); });
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

Value Target::call(const std::vector<opd_value> &args, const opd_call_options &options) const {
  if (bounds_check_ && !vm_) bounds_check_->check(function_, name_, args);
  if (!vm_) return function_.call(args);
  // The instrument is set after the search for the shapes of inputs, because that search sets its own instrument.
  if (bounds_check_) vm_.set_instrument(bounds_check_->instrument());
  try {
    return vm_.call_with(options, name_.c_str(), args);
  } catch (const opdyno::Error &) {
    if (bounds_check_ && bounds_check_->finding()) throw Failure(Exit::mismatch, *bounds_check_->finding());
    throw;
  }
}

Arguments::Arguments(const Program &program, const Target &target, const Args &args, const Sizes &sizes, bool is_there)
    : owned_(Builder(program, target, args, sizes, is_there).build(args)), views_(views_of(owned_)) {}

}  // namespace opd::cli
