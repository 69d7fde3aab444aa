// Tables of numbers in a saved KV state: first their count, then the numbers.
#pragma once
#include <span>
#include <vector>

#include "base/bytes.h"

namespace opd {

template <class T>
void write_numbers(ByteWriter &out, std::span<const T> numbers) {
  out.write(static_cast<uint64_t>(numbers.size()));
  out.write_bytes(numbers.data(), numbers.size_bytes());
}
template <class T>
void write_numbers(ByteWriter &out, const std::vector<T> &numbers) {
  write_numbers(out, std::span(numbers));
}

template <class T>
std::vector<T> read_numbers(ByteReader &from, const char *field) {
  std::vector<T> numbers(from.read_count(sizeof(T), field));
  for (T &number : numbers) number = from.read<T>(field);
  return numbers;
}

}  // namespace opd
