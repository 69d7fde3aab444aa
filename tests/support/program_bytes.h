// Programs as bytes, written by hand from docs/executable.md, so that they can be wrong.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace opdyno_test {

struct Bytes {
  std::string out;
  template <class T>
  Bytes &put(T v) {
    out.append(reinterpret_cast<const char *>(&v), sizeof v);
    return *this;
  }
  Bytes &text(const std::string &s) {
    put<uint64_t>(s.size()).out += s;
    return *this;
  }
  Bytes &words(const std::vector<int64_t> &numbers) {
    put<uint64_t>(numbers.size());
    for (const int64_t number : numbers) put(number);
    return *this;
  }
  Bytes &function(int32_t kind, const std::string &name, int64_t start, int64_t end, int64_t args, int64_t registers,
                  const std::vector<std::string> &params = {}) {
    put(kind).text(name).put(start).put(end).put(args).put(registers).put<uint64_t>(params.size());
    for (const std::string &param : params) text(param);
    return *this;
  }
};

}  // namespace opdyno_test
