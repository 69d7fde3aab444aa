/** @file vm.hpp  VMs: calls, cancels and profiles them. */
#ifndef OPDYNO_VM_HPP_
#define OPDYNO_VM_HPP_

#include <opdyno/compare.h>
#include <opdyno/replay.h>
#include <opdyno/vm.h>

#include <opdyno/module.hpp>
#include <opdyno/report.hpp>
#include <opdyno/tensor.hpp>
#include <opdyno/trace.hpp>

namespace opdyno {

/** Ends calls from outside. */
class CancelToken : public Handle<opd_cancel_token> {
 public:
  using Handle::Handle;
  static CancelToken create() { return made<CancelToken>(opd_cancel_token_create); }
  void cancel() const { opd_cancel_token_cancel(get()); }
  void reset() const { opd_cancel_token_reset(get()); }
  /** Returns the running operator; NULL if there is none. */
  const char *current_operator() const { return opd_cancel_token_current_operator(get()); }
  /** Makes this the default token of the calling thread. A token without a handle removes the default. */
  void set_default() const { check(opd_cancel_token_set_default(get())); }
};

/** Receives the metrics of a collector. Valid until the collector's stop() returns. */
class Metrics {
 public:
  explicit Metrics(opd_metrics *metrics) : metrics_(metrics) {}
  template <class T>
  void set(const char *name, opd_metric_kind kind, const T &x) const {
    const Converted<T> converted(x);
    check(opd_metrics_set(metrics_, name, kind, &converted.view));
  }

 private:
  opd_metrics *metrics_;
};

/** A collector, which measures something around calls. */
class Collector : public Handle<opd_collector> {
 public:
  using Handle::Handle;
  static Collector builtin(opd_collector_kind kind, const opd_counter_options *options = nullptr) {
    return made<Collector>(opd_collector_create_builtin, kind, options);
  }
  static std::vector<std::string> list_events(opd_collector_kind kind) {
    return made<Array>(opd_collector_list_events, kind).strings();
  }
  /** Makes a collector from an object with `void *start(DLDevice)` and `void stop(void *state, const Metrics &)`, which
   * have the meaning that opd_collector_table gives them. Exceptions become errors. */
  template <class T>
  static Collector of(const char *name, T object) {
    auto kept = std::make_unique<T>(std::move(object));
    auto table = sized<opd_collector_table>();
    table.start = [](void *self, DLDevice device, void **out_state) {
      return guarded([&] { *out_state = static_cast<T *>(self)->start(device); });
    };
    table.stop = [](void *self, void *state, opd_metrics *metrics) {
      return guarded([&] { static_cast<T *>(self)->stop(state, Metrics(metrics)); });
    };
    table.user_data = kept.get();
    table.deleter = delete_as<T>;
    auto collector = made<Collector>(opd_collector_create, name, &table);
    kept.release();
    return collector;
  }
};

inline std::vector<opd_collector *> handles_of(const std::vector<Collector> &collectors) {
  std::vector<opd_collector *> handles;
  for (const Collector &collector : collectors) handles.push_back(collector.get());
  return handles;
}

/** Returns a function that measures one call of @p function: opd_function_profile(). */
inline Function profiled(const Function &function, DLDevice device, const std::vector<Collector> &collectors,
                         int32_t warmup_iters = 0) {
  auto handles = handles_of(collectors);
  return made<Function>(opd_function_profile, function.get(), device, handles.data(), count_of(handles.size()),
                        warmup_iters);
}

/** The results of a recording. */
struct Profile {
  Report report;
  Trace trace;
};

class Vm : public Handle<opd_vm> {
 public:
  using Handle::Handle;
  explicit Vm(const Module &module, const opd_vm_options *options = nullptr) {
    check(opd_vm_create(module.get(), options, out()));
  }
  template <class... Args>
  Value call(const char *name, const Args &...args) const {
    return Function::with_views([&](const opd_value *views, int32_t count,
                                    opd_value *out) { check(opd_vm_call(get(), name, views, count, nullptr, out)); },
                                args...);
  }
  Value call_with(const opd_call_options &options, const char *name, const Views &args) const {
    Value result;
    check(opd_vm_call(get(), name, args.data(), count(args), &options, result.out()));
    return result;
  }
  Function function(const char *name) const { return made<Function>(opd_vm_get_function, get(), name); }
  /** Calls a closure that a function of the program returned. */
  Value invoke_closure(const Function &closure, const Views &args, const opd_call_options *options = nullptr) const {
    Value result;
    check(opd_vm_invoke_closure(get(), closure.get(), args.data(), count(args), options, result.out()));
    return result;
  }
  /** Saves a function with its arguments under a name. */
  void save_function(const char *name, const char *saved_name, const Views &args, bool include_return = true,
                     const opd_call_options *options = nullptr) const {
    check(opd_vm_save_function(get(), name, saved_name, args.data(), count(args), options, include_return));
  }

  void set_input(const char *name, const Views &args, const opd_call_options *options = nullptr) const {
    check(opd_vm_set_input(get(), name, args.data(), count(args), options));
  }
  void invoke_stateful(const char *name, const opd_call_options *options = nullptr) const {
    check(opd_vm_invoke_stateful(get(), name, options));
  }
  /** Returns the result, or the item of nested tuples at @p path. */
  Value outputs(const char *name, const std::vector<int64_t> &path = {}) const {
    Value result;
    check(opd_vm_get_outputs(get(), name, path.data(), count_of(path.size()), result.out()));
    return result;
  }

  /** A function without a handle removes the instrument. */
  void set_instrument(const Function &instrument) const { check(opd_vm_set_instrument(get(), instrument.get())); }
  bool has_function(const char *name) const { return opd_vm_has_function(get(), name) != 0; }
  std::vector<std::string> functions() const { return made<Array>(opd_vm_list_functions, get()).strings(); }
  /** Returns the names of a function's parameters. */
  std::vector<std::string> params(const char *name) const {
    return made<Array>(opd_vm_list_params, get(), name).strings();
  }
  void trim() const { check(opd_vm_trim(get())); }

  Profile profile(const char *name, const Views &args, const opd_profile_options *options = nullptr,
                  const opd_call_options *call = nullptr) const {
    Profile result;
    check(
        opd_vm_profile(get(), name, args.data(), count(args), call, options, result.report.out(), result.trace.out()));
    return result;
  }
  /** Records the next call in a file. */
  void record_next_call(const std::string &path, const opd_record_options *options = nullptr) const {
    check(opd_vm_record_next_call(get(), path.c_str(), options));
  }
  /** Throws unless that call was recorded. */
  void end_recording() const { check(opd_vm_record_next_call(get(), nullptr, nullptr)); }
  void profile_start(const opd_profile_options *options = nullptr) const {
    check(opd_vm_profile_start(get(), options));
  }
  Profile profile_stop() const {
    Profile result;
    check(opd_vm_profile_stop(get(), result.report.out(), result.trace.out()));
    return result;
  }

 private:
  static int32_t count(const Views &args) { return count_of(args.size()); }
};

/** The result of a comparison of two programs. */
struct Comparison {
  Report report; /**< The operators of both programs. Its configuration has the verdict. */
  Report times;  /**< As Report::diff() gives it. Without a handle if a program failed or nothing was measured. */
};

/** Runs a function of two programs on the same arguments, and compares the values of their operators. */
inline Comparison compare(const Vm &a, const Vm &b, const char *function, const Views &args,
                          const opd_compare_options *options = nullptr, bool with_times = true) {
  Comparison found;
  check(opd_compare(a.get(), b.get(), function, args.data(), count_of(args.size()), options, found.report.out(),
                    with_times ? found.times.out() : nullptr));
  return found;
}

/** The outcome of a replayed call. */
struct Replayed {
  Module module;  /**< The program. Without a handle if the recording has only hashes. */
  Report report;  /**< Its configuration has the verdict. */
  Report profile; /**< Without a handle if it is not wanted or the call did not return. */
};

/** Makes a recorded call again. */
inline Replayed replay(const std::string &path, const opd_replay_options *options = nullptr,
                       bool with_profile = false) {
  Replayed made;
  check(opd_replay(path.c_str(), options, made.module.out(), made.report.out(),
                   with_profile ? made.profile.out() : nullptr));
  return made;
}

}  // namespace opdyno
#endif
