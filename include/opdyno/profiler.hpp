/** @file profiler.hpp  The C++ face of profiler.h. */
#ifndef OPDYNO_PROFILER_HPP_
#define OPDYNO_PROFILER_HPP_

#include <opdyno/profiler.h>

#include <opdyno/vm.hpp>

namespace opdyno {

/** Records the whole process between start() and stop(). */
class Profiler : public Handle<opd_profiler> {
 public:
  using Handle::Handle;
  explicit Profiler(const opd_profiler_options *options = nullptr) { check(opd_profiler_create(options, out())); }
  void start() const { check(opd_profiler_start(get())); }
  Trace stop() const { return made<Trace>(opd_profiler_stop, get()); }
};

/** A number for the name of ranges. */
inline uint32_t range_name(const char *name) { return opd_range_name(name); }

/** A range of the program, from here to the end of the object. A name is only looked up if a profiler records. */
class Range {
 public:
  explicit Range(uint32_t name) : begin_(opd_range_begin()), name_(name) {}
  explicit Range(const char *name) : Range(uint32_t{0}) {
    if (begin_) name_ = opd_range_name(name);
  }
  Range(const Range &) = delete;
  Range &operator=(const Range &) = delete;
  ~Range() {
    if (begin_) opd_range_end(begin_, name_);
  }

 private:
  const uint64_t begin_;
  uint32_t name_;
};

}  // namespace opdyno

#endif
