// What the tests of recordings in files share.
#pragma once
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "support/paths.h"
#include "support/report_test.h"

namespace opdyno_test {

// A directory that goes with the object.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = test_scratch("/recordings.XXXXXX");
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("no directory " + pattern);
    path_ = pattern;
  }
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }
  std::string file(const std::string &name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string bytes_of(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream content;
  content << in.rdbuf();
  return content.str();
}
inline void write_bytes(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

struct RecordingOptions : opd_profiler_options {
  explicit RecordingOptions(const char *path = nullptr) {
    opd_profiler_options_init(this);
    file = path;
  }
};

constexpr size_t kBlock = 64 << 10;  // of a file of a recording, and of memory for events

inline opdyno::Trace record(const opd_profiler_options &options, const std::function<void()> &body) {
  const opdyno::Profiler profiler(&options);
  profiler.start();
  body();
  return profiler.stop();
}

// Marks of the name "N" for each N in [first, first + count).
inline void add_marks(size_t first, size_t count) {
  for (size_t i = first; i < first + count; ++i) opd_range_mark(opdyno::range_name(std::to_string(i).c_str()));
}
// One name, which costs no memory for names.
inline void add_equal_marks(size_t count) {
  const uint32_t name = opdyno::range_name("mark");
  for (size_t i = 0; i < count; ++i) opd_range_mark(name);
}

inline size_t num_spans(const opdyno::Trace &trace) {
  return opd_report_call_count(trace.report(OPD_TRACE_EVENTS).get());
}
inline std::vector<std::string> names_of(const opdyno::Trace &trace) {
  const opdyno::Report report = trace.report(OPD_TRACE_EVENTS);
  std::vector<std::string> names;
  for (int32_t i = 0; i < opd_report_call_count(report.get()); ++i)
    names.push_back(text_value(call_value(report, i, "Name")));
  return names;
}

}  // namespace opdyno_test
