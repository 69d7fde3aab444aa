// One prepared call: module, function, arguments, and the time it may take. Shared by run, bench and profile.
#include "runner.h"

#include "failure.h"
#include "text.h"

namespace opd::cli {

Runner::Runner(const Args &args, const Sizes &sizes) {
  const std::vector<std::string> &words = args.words();
  if (const auto timeout = args.duration_ns("timeout")) timeout_ = std::chrono::nanoseconds(*timeout);
  if (args.has("threads"))
    check(opd_threads_set_count(static_cast<int32_t>(args.integer("threads", 0, 1, 1024))), Exit::usage,
          "option '--threads'");
  progress_.stage(cat("loading ", words[0]));
  program_ = load_program(words[0], args);
  target_ = std::make_unique<Target>(program_, words.size() > 1 ? std::optional(words[1]) : std::nullopt, args);
  resize(args, sizes);
  check(opd_cancel_create(token_.out()), Exit::failed);
}

void Runner::resize(const Args &args, const Sizes &sizes) {
  progress_.stage(cat("making inputs of ", target_->name()));
  arguments_.reset();  // before the new ones take memory
  arguments_ = std::make_unique<Arguments>(*target_, args, sizes);
}

void Runner::start() {
  if (timeout_)
    watchdog_ = std::make_unique<Watchdog>(*timeout_, target_->is_program() ? token_.get() : nullptr, target_->name());
  progress_.stage(cat("running ", target_->name()), [token = token_.get()] {
    const char *running = opd_cancel_current_operator(token);
    return running ? cat(": ", running) : std::string();
  });
}

Value Runner::call() { return target_->call(arguments(), call_options()); }

Function Runner::function() const {
  if (!watchdog_ || !target_->is_program()) return target_->function();
  const auto call = [](void *self, const opd_value *args, int32_t num_args, opd_value *out_result) {
    const Runner &runner = *static_cast<const Runner *>(self);
    const opd_call_options options = runner.call_options();
    return opd_vm_call(runner.target().vm().get(), runner.target().name().c_str(), args, num_args, &options,
                       out_result);
  };
  Function function;
  check(opd_function_create(call, const_cast<Runner *>(this), nullptr, function.out()), Exit::failed);
  return function;
}

opd_call_options Runner::call_options() const {
  opd_call_options options;
  opd_call_options_init(&options);
  options.cancel = token_.get();
  if (watchdog_) options.timeout_ns = watchdog_->remaining().count();
  return options;
}

}  // namespace opd::cli
