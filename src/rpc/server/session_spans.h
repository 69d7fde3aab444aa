// OpenTelemetry spans of a session and of each function call in it. The client may send its trace context, which is
// checked. Used by the serving thread.
#pragma once
#include <opdyno/telemetry.h>

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>

#include "rpc/wire/progress.h"
#include "trace/model/trace_context.h"

namespace opd::rpc {

class SessionSpans {
 public:
  using Note = void (*)(void *user_data, const opd_telemetry_value *span);
  SessionSpans(Note note, void *user_data, const Progress &progress);  // null: there are no spans

  bool are_wanted() const { return note_ != nullptr; }

  void begin_session();
  void end_session(const char *error) const { end(session_, error); }  // null: no error
  // Sets the client's trace context: a value of the header `traceparent`, or "": none. Any other text is counted as bad
  // and treated as "".
  void set_client_context(std::string_view traceparent);

  // Calls of functions without a name have no spans. This leaves out internal calls of opdyno's clients.
  void set_name(uint64_t function, std::string_view name) { names_[function] = name.substr(0, kMostName); }
  void forget(uint64_t function) { names_.erase(function); }
  const std::string *name_of(uint64_t function) const;  // null: it has none
  void begin_call(const std::string &name);
  void end_call(const char *error) const { end(call_, error); }

 private:
  static constexpr size_t kMostName = 128;  // bytes, since names come from the client
  struct Span {
    TraceContext own{};
    std::array<uint8_t, 8> parent{};  // zeros: none
    std::string name = {};
    const char *kind = nullptr;
    int64_t begin_ns = 0;
  };
  std::array<uint8_t, 8> next_number();
  void end(const Span &span, const char *error) const;
  void note(const Span &span, int64_t end_ns, const char *error) const;

  const Note note_;
  void *const user_data_;
  const Progress progress_;
  uint64_t last_number_ = 0;  // number of the last span
  Span session_, call_;
  TraceContext client_{};  // the client's trace context now
  std::unordered_map<uint64_t, std::string> names_;
};

}  // namespace opd::rpc
