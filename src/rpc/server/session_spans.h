// OpenTelemetry spans of a session and of each function call in it. The client may send its trace context, which is
// checked. Used by the serving thread.
#pragma once
#include <opdyno/telemetry.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/bytes.h"
#include "base/random_bytes.h"
#include "rpc/wire/progress.h"
#include "trace/model/trace.h"
#include "trace/model/trace_context.h"

namespace opd::rpc {

class SessionSpans {
 public:
  using Note = void (*)(void *user_data, const opd_telemetry_value *span);
  // null: there are no spans
  SessionSpans(Note note, void *user_data, const Progress &progress)
      : note_(note), user_data_(user_data), progress_(progress) {}

  bool are_wanted() const { return note_ != nullptr; }

  void begin_session() {
    if (!note_) return;
    last_number_ = draw_unique<uint64_t>();
    draw_unique_bytes(session_.own.trace.data(), session_.own.trace.size());
    session_.own.trace[0] |= 1;  // no trace has the number 0
    session_.own.span = next_number();
    session_.own.flags = 1;
    session_.name = "rpc session", session_.kind = "session";
    session_.begin_ns = unix_ns();
    note(session_, 0, nullptr);
  }

  void end_session(const char *error) const { end(session_, error); }  // null: no error
  // Sets the client's trace context: a value of the header `traceparent`, or "": none. Any other text is counted as bad
  // and treated as "".
  void set_client_context(std::string_view traceparent) {
    const std::optional<TraceContext> said = TraceContext::parse(traceparent);
    if (!said && !traceparent.empty()) progress_.add(&opd_rpc_progress::num_bad_traceparents, 1);
    client_ = said.value_or(TraceContext{});
    const bool has_parent = session_.parent != std::array<uint8_t, 8>{};
    if (!note_ || has_parent || !client_.is_any()) return;
    session_.own.trace = client_.trace, session_.own.flags = client_.flags;
    session_.parent = client_.span;
    note(session_, 0, nullptr);
  }

  // Calls of functions without a name have no spans. This leaves out internal calls of opdyno's clients.
  void set_name(uint64_t function, std::string_view name) { names_[function] = name.substr(0, kMostName); }
  void forget(uint64_t function) { names_.erase(function); }
  // null: it has none
  const std::string *name_of(uint64_t function) const {
    const auto found = names_.find(function);
    return found == names_.end() ? nullptr : &found->second;
  }

  // The session's span is the call's parent. If the client has set another context since the session began, that
  // context is the parent.
  void begin_call(const std::string &name) {
    const bool is_of_session =
        !client_.is_any() || (client_.trace == session_.own.trace && client_.span == session_.parent);
    call_.own = is_of_session ? session_.own : client_;
    call_.parent = call_.own.span;
    call_.own.span = next_number();
    call_.name = name, call_.kind = "call";
    call_.begin_ns = unix_ns();
    note(call_, 0, nullptr);
  }

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
  std::array<uint8_t, 8> next_number() {
    if (++last_number_ == 0) ++last_number_;  // no span has the number 0
    std::array<uint8_t, 8> number;
    std::memcpy(number.data(), &last_number_, sizeof last_number_);
    return number;
  }

  // The end is never before the start, even if the clock was set back.
  void end(const Span &span, const char *error) const {
    if (note_) note(span, std::max(span.begin_ns, unix_ns()), error);
  }

  void note(const Span &span, int64_t end_ns, const char *error) const {
    constexpr int32_t kServer = 2;
    static constexpr const char *kLabel = "opdyno.kind";
    const std::string own = span.own.to_text(), parent = hex(span.parent);
    opd_telemetry_value value;
    opd_telemetry_value_init(&value);
    value.kind = OPD_TELEMETRY_SPAN;
    value.name = span.name.c_str();
    value.label_names = &kLabel, value.label_values = &span.kind, value.num_label_names = 1;
    value.traceparent = own.c_str();
    value.parent_span = span.parent != std::array<uint8_t, 8>{} ? parent.c_str() : nullptr;
    value.error = error;
    value.begin_ns = span.begin_ns, value.end_ns = end_ns;
    value.span_kind = kServer;
    note_(user_data_, &value);
  }

  const Note note_;
  void *const user_data_;
  const Progress progress_;
  uint64_t last_number_ = 0;  // number of the last span
  Span session_, call_;
  TraceContext client_{};  // the client's trace context now
  std::unordered_map<uint64_t, std::string> names_;
};

}  // namespace opd::rpc
