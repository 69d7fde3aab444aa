// Implements SpanChannel: passes a session's spans through shared memory to the server.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "cli/serve/session.h"

namespace opd::cli {

namespace {

template <size_t size>
void copy_text(std::array<char, size> &to, const char *text) {
  const std::string_view given = text ? text : "";
  const size_t count = std::min(given.size(), size - 1);
  std::memcpy(to.data(), given.data(), count);
  to[count] = '\0';
}

SharedSpan shared_form(const opd_telemetry_value &span) {
  SharedSpan made{};
  copy_text(made.traceparent, span.traceparent), copy_text(made.parent, span.parent_span);
  copy_text(made.name, span.name), copy_text(made.error, span.error);
  copy_text(made.kind, span.num_label_names > 0 ? span.label_values[0] : "");
  made.begin_ns = span.begin_ns, made.end_ns = span.end_ns;
  made.span_kind = span.span_kind, made.has_failed = span.error ? 1 : 0;
  return made;
}

SharedSpan ended_texts(SharedSpan span) {
  for (char *const last :
       {&span.traceparent.back(), &span.parent.back(), &span.name.back(), &span.kind.back(), &span.error.back()})
    *last = '\0';
  return span;
}

// Read the span's number, and whether its trace is kept, from "00-<32 digits>-<16 digits>-<2 digits>".
std::string_view span_number(const SharedSpan &span) { return std::string_view(span.traceparent.data() + 36, 16); }
bool is_kept(const SharedSpan &span) {
  const char digit = span.traceparent[54];
  return (digit <= '9' ? digit - '0' : digit - 'a' + 10) & 1;
}

}  // namespace

// Returns null if too many spans are open.
SharedSpan *SpanChannel::place_of(const SharedSpan &span) noexcept {
  for (SharedSpan &open : open_)
    if (open.begin_ns && span_number(open) == span_number(span)) return &open;
  const auto free = std::ranges::find(open_, 0, &SharedSpan::begin_ns);
  return free == open_.end() ? nullptr : &*free;
}

void SpanChannel::note(const opd_telemetry_value &value) noexcept {
  const SharedSpan span = shared_form(value);
  SharedSpan *const place = place_of(span);
  if (place) *place = value.end_ns ? SharedSpan{} : span;
  if (!value.end_ns || !is_kept(span)) return;
  const uint64_t written = written_.load(std::memory_order_relaxed);
  if (written - taken_.load(std::memory_order_acquire) >= room)
    return void(dropped_.fetch_add(1, std::memory_order_relaxed));
  ended_[written % room] = span;
  written_.store(written + 1, std::memory_order_release);
}

void SpanChannel::take(uint64_t &taken, const Receiver &receive) {
  const uint64_t written = written_.load(std::memory_order_acquire);
  const uint64_t count = std::min<uint64_t>(written - taken, room);
  for (uint64_t i = written - count; i != written; ++i) receive(ended_texts(ended_[i % room]));
  taken = written;
  taken_.store(written, std::memory_order_release);
}

// The open call comes before its session, as if the call had ended first.
void SpanChannel::take_open(const Receiver &receive) const {
  for (auto open = open_.rbegin(); open != open_.rend(); ++open)
    if (open->begin_ns) receive(ended_texts(*open));
}

}  // namespace opd::cli
