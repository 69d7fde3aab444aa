/** @file profiler.hpp  Profilers of the whole process, ranges and marks, and the call stacks of languages. */
#ifndef OPDYNO_PROFILER_HPP_
#define OPDYNO_PROFILER_HPP_

#include <opdyno/profiler.h>

#include <opdyno/trace.hpp>

namespace opdyno {

/** Records the whole process between start() and stop(). */
class Profiler : public Handle<opd_profiler> {
 public:
  using Handle::Handle;
  explicit Profiler(const opd_profiler_options *options = nullptr) { check(opd_profiler_create(options, out())); }
  void start() const { check(opd_profiler_start(get())); }
  void set_action(opd_profiler_action action) const { check(opd_profiler_set_action(get(), action)); }
  /** Returns the trace of a cycle that ends with the step; else an empty one. */
  Trace step() const { return made<Trace>(opd_profiler_step, get()); }
  /** Returns the trace; an empty one if the schedule was not recording. */
  Trace stop() const { return made<Trace>(opd_profiler_stop, get()); }
  /** Returns the events recorded so far. */
  Trace snapshot() const { return made<Trace>(opd_profiler_snapshot, get()); }
  /** Sets the triggers at which the profiler dumps its events to a file, from the next start() on. */
  void set_dumps(const opd_profiler_dump_options &options) const { check(opd_profiler_set_dumps(get(), &options)); }
  void dump(const char *reason = nullptr) const { check(opd_profiler_dump(get(), reason)); }
  uint64_t dump_count() const { return opd_profiler_dump_count(get()); }
};

/** Returns a number for the name of ranges. */
inline uint32_t range_name(const char *name) { return opd_range_name(name); }

/** Whether a profiler, or a tool, records ranges now. */
inline bool range_is_recorded() { return opd_range_is_recorded() != 0; }

/** A range of the program, from the construction to the end of the object. For frequent ranges, keep the number of the
 * name. */
class Range {
 public:
  explicit Range(uint32_t name) : range_(opd_range_begin(name)) {}
  explicit Range(const char *name) : range_(0), is_pushed_(true) { opd_range_push(name); }
  Range(const Range &) = delete;
  Range &operator=(const Range &) = delete;
  ~Range() {
    if (is_pushed_) opd_range_pop();
    else if (range_) opd_range_end(range_);
  }

 private:
  const uint64_t range_;
  const bool is_pushed_ = false;
};

/** Whether a profiler records stacks now. */
inline bool stack_is_recorded() { return opd_stack_is_recorded() != 0; }

/** Sets the functions of a language that run on the calling thread, as long as the object lives. */
class LanguageStack {
 public:
  LanguageStack(const opd_stack_frame *frames, int32_t num_frames) { opd_stack_push(frames, num_frames); }
  LanguageStack(const LanguageStack &) = delete;
  LanguageStack &operator=(const LanguageStack &) = delete;
  ~LanguageStack() { opd_stack_pop(); }
};

/** Marks a moment on the calling thread. */
inline void mark(uint32_t name) { opd_range_mark(name); }
inline void mark(const char *name) { opd_range_mark(range_name(name)); }

/** Whether a tool receives ranges and marks through Intel's ITT API. */
inline bool itt_is_available() { return opd_itt_is_available() != 0; }

}  // namespace opdyno

#endif
