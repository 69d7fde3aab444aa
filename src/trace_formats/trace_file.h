// Saves traces in any format as files, compressed with gzip if their names say so.
#pragma once
#include <opdyno/trace.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/byte_sink.h"
#include "trace/model/trace.h"

namespace opd {

// Compresses with gzip and passes the result to another sink.
class GzipSink final : public ByteSink {
 public:
  explicit GzipSink(ByteSink &out);
  ~GzipSink();
  void finish();  // call it after the last byte

 private:
  struct State;
  void put(const void *data, size_t size) override;
  void run(const void *data, size_t size, int flush);

  ByteSink &out_;
  const std::unique_ptr<State> state_;
};

// Writes bytes to another sink as base64 (RFC 4648, with padding).
class Base64Sink final : public ByteSink {
 public:
  explicit Base64Sink(ByteSink &out) : out_(out) {}
  void finish() {  // call it after the last byte
    if (held_ == 0) return;
    const size_t digits = held_ + 1;
    while (held_ < 3) group_[held_++] = 0;
    char text[4];
    encode(group_, text);
    for (size_t i = digits; i < 4; ++i) text[i] = '=';
    out_.write(text, 4);
    held_ = 0;
  }

 private:
  static void encode(const uint8_t *bytes, char *text) {
    constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint32_t bits = static_cast<uint32_t>(bytes[0]) << 16 | static_cast<uint32_t>(bytes[1]) << 8 | bytes[2];
    for (int i = 0; i < 4; ++i) text[i] = kDigits[bits >> (18 - 6 * i) & 63];
  }

  void put(const void *data, size_t size) override {
    const auto *at = static_cast<const uint8_t *>(data), *const end = at + size;
    text_.resize((held_ + size) / 3 * 4);
    char *to = text_.data();
    for (; held_ != 0 && at < end; held_ %= 3) {
      group_[held_++] = *at++;
      if (held_ == 3) encode(group_, to), to += 4;
    }
    for (; end - at >= 3; at += 3, to += 4) encode(at, to);
    while (at < end) group_[held_++] = *at++;
    out_.write(text_.data(), text_.size());
  }

  ByteSink &out_;
  uint8_t group_[3] = {};  // bytes of an incomplete group
  size_t held_ = 0;        // number of these bytes
  std::vector<char> text_;
};

// Writes a trace with the format's default options.
using WriteTrace = void (*)(const Trace &trace, opd_trace_format form, ByteSink &out);

// Whether the format needs a trace with memory.
constexpr bool is_memory_timeline(opd_trace_format form) {
  return form == OPD_TRACE_MEMORY_TIMELINE || form == OPD_TRACE_MEMORY_TIMELINE_RAW ||
         form == OPD_TRACE_MEMORY_TIMELINE_HTML;
}

// Writes the file atomically. If the path ends in ".gz" and the format is not compressed already, the file is
// compressed with gzip.
void save_trace_file(const std::string &path, opd_trace_format form, const std::function<void(ByteSink &)> &write);

}  // namespace opd
