/** @file trace.hpp  Traces: writes them for other tools, merges them, makes reports. */
#ifndef OPDYNO_TRACE_HPP_
#define OPDYNO_TRACE_HPP_

#include <opdyno/trace.h>

#include <opdyno/report.hpp>

namespace opdyno {

/** Recorded calls, runs and ranges on a time line. */
class Trace : public Handle<opd_trace> {
 public:
  using Handle::Handle;
  using Options = opd_trace_write_options;
  /** Reads the file of a recording. */
  static Trace load(const char *path) { return made<Trace>(opd_trace_load, path); }
  /** Joins traces of several processes on one time line. */
  static Trace merge(const std::vector<Trace> &traces, const opd_trace_merge_options *options = nullptr) {
    std::vector<const opd_trace *> all;
    for (const Trace &trace : traces) all.push_back(trace.get());
    return made<Trace>(opd_trace_merge, all.data(), count_of(all.size()), options);
  }
  uint64_t size() const { return opd_trace_call_count(get()); } /**< Number of calls. */
  uint64_t dropped() const { return opd_trace_dropped_count(get()); }
  std::string write(opd_trace_format format, const Options *options = nullptr) const {
    return text_of(opd_trace_write, get(), format, options);
  }
  std::string chrome() const { return write(OPD_TRACE_CHROME); }
  std::string table(const Options *options = nullptr) const { return write(OPD_TRACE_TABLE, options); }
  void save(const char *path, opd_trace_format format, const Options *options = nullptr) const {
    check(opd_trace_save(get(), path, format, options));
  }
  Report report(opd_trace_view view, const Options *options = nullptr) const {
    return made<Report>(opd_trace_to_report, get(), view, options);
  }
  Report averages(const Options *options = nullptr) const { return report(OPD_TRACE_KEY_AVERAGES, options); }
};

}  // namespace opdyno

#endif
