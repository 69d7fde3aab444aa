#include "trace/model/trace_context.h"

#include "base/bytes.h"
#include "base/text.h"

namespace opd {
namespace {

int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

// The recommendation permits lower-case digits only.
template <size_t kSize>
bool read_hex(std::string_view text, std::array<uint8_t, kSize> &out) {
  if (text.size() != 2 * kSize) return false;
  for (size_t i = 0; i < kSize; ++i) {
    const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return true;
}

}  // namespace

// The form is "00-<32 digits>-<16 digits>-<2 digits>". A later version may add parts after another dash.
std::optional<TraceContext> TraceContext::parse(std::string_view text) {
  constexpr size_t kSize = 55;
  if (text.size() < kSize || text[2] != '-' || text[35] != '-' || text[52] != '-') return {};
  TraceContext made{};
  std::array<uint8_t, 1> version{}, flags{};
  if (!read_hex(text.substr(0, 2), version) || !read_hex(text.substr(3, 32), made.trace) ||
      !read_hex(text.substr(36, 16), made.span) || !read_hex(text.substr(53, 2), flags))
    return {};
  made.flags = flags[0];
  if (version[0] == 0xFF || (version[0] == 0 && text.size() != kSize)) return {};
  if (text.size() > kSize && text[kSize] != '-') return {};
  if (!made.is_any() || made.span == std::array<uint8_t, 8>{}) return {};
  return made;
}

std::string TraceContext::to_text() const { return concat("00-", hex(trace), "-", hex(span), "-", hex({&flags, 1})); }

}  // namespace opd
