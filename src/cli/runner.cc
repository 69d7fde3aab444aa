// One prepared call: module, function, arguments, and the time it may take. Shared by run, bench and profile.
#include "runner.h"

#include "failure.h"
#include "text.h"

namespace opd::cli {

Runner::Runner(const Args &args) {
  const std::vector<std::string> &words = args.words();
  if (const auto timeout = args.duration_ns("timeout")) timeout_ = std::chrono::nanoseconds(*timeout);
  if (args.has("threads"))
    check(opd_threads_set_count(static_cast<int32_t>(args.integer("threads", 0, 1, 1024))), Exit::usage,
          "option '--threads'");
  progress_.stage(cat("loading ", words[0]));
  program_ = load_program(words[0], args);
  target_ = std::make_unique<Target>(program_, words.size() > 1 ? std::optional(words[1]) : std::nullopt, args);
  progress_.stage(cat("making inputs of ", target_->name()));
  arguments_ = std::make_unique<Arguments>(*target_, args);
  check(opd_cancel_create(token_.out()), Exit::failed);
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

opd_call_options Runner::call_options() const {
  opd_call_options options;
  opd_call_options_init(&options);
  options.cancel = token_.get();
  if (watchdog_) options.timeout_ns = watchdog_->remaining().count();
  return options;
}

}  // namespace opd::cli
