#include "cli/load/runner.h"

#include "cli/support/failure.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

// The kind of devices for which a module of the tree has kernels; "" if there is none.
std::string kind_with_kernels(const Module &module) {
  const std::string kind = module.kind();
  for (const std::string_view known : {"cuda", "opencl", "vulkan", "rocm", "metal", "webgpu"})
    if (kind == known) return kind;
  if (kind == "hip") return "rocm";  // TVM's names for the module and for the device
  for (const Module &import : module.imports())
    if (std::string found = kind_with_kernels(import); !found.empty()) return found;
  return "";
}

}  // namespace

Runner::Runner(const Args &args, const Sizes &sizes) {
  if (const std::optional<MachineSpec> spec = MachineSpec::of(args)) {
    progress_.stage(cat("waiting for ", spec->address.text()));
    machine_.emplace(*spec, args);
    refuse_local_options(args);
  }
  const std::vector<std::string> &words = args.words();
  if (const auto timeout = args.duration_ns("timeout")) timeout_ = std::chrono::nanoseconds(*timeout);
  if (args.has("threads")) opdyno::set_threads_count(static_cast<int32_t>(args.integer("threads", 0, 1, 1024)));
  progress_.stage(cat("loading ", words[0]));
  program_ = machine_ ? load_program(words[0], args, *machine_) : load_program(words[0], args);
  if (!machine_ && !args.has("device"))
    if (const std::string kind = kind_with_kernels(program_.root); !kind.empty())
      set_hint(cat("The library has kernels for ", kind, ", which run with '--device ", kind, ":0'.\n"));
  const std::optional<std::string> function = words.size() > 1 ? std::optional(words[1]) : std::nullopt;
  target_ = std::make_unique<Target>(program_, function, args, machine());
  resize(args, sizes);
  token_ = CancelToken::create();
}

void Runner::resize(const Args &args, const Sizes &sizes) {
  progress_.stage(cat("making inputs of ", target_->name()));
  arguments_.reset();  // frees the old ones before the new ones take memory
  arguments_ = std::make_unique<Arguments>(program_, *target_, args, sizes, machine() != nullptr);
}

void Runner::start() {
  if (timeout_)
    watchdog_ = std::make_unique<Watchdog>(*timeout_, target_->is_program() ? token_ : CancelToken(), target_->name());
  progress_.stage(cat("running ", target_->name()), [token = token_] {
    const char *running = token.current_operator();
    return running ? cat(": ", running) : std::string();
  });
}

Value Runner::call() { return target_->call(arguments(), call_options()); }

Function Runner::function() const {
  if (!watchdog_ || !target_->is_program() || machine_) return target_->function();
  return Function::of([this](const opd_value *args, int32_t num_args) {
    return target_->vm().call_with(call_options(), target_->name().c_str(), {args, args + num_args});
  });
}

}  // namespace opd::cli
