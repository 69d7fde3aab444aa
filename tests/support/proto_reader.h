// Messages of protocol buffers, read without a schema.
#pragma once
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace opd {

class ProtoMessage {
 public:
  explicit ProtoMessage(std::string_view rest) {
    while (!rest.empty()) {
      const uint64_t tag = take(rest);
      Field field{static_cast<uint32_t>(tag >> 3), 0, {}};
      const size_t size = tag % 8 == 1 ? 8 : tag % 8 == 2 ? take(rest) : 0;
      if (tag % 8 > 2 || size > rest.size()) throw std::runtime_error("no protocol buffer");
      if (tag % 8 == 0) field.value = take(rest);
      else field.bytes = rest.substr(0, size), rest.remove_prefix(size);
      if (tag % 8 == 1) std::memcpy(&field.value, field.bytes.data(), 8);
      fields_.push_back(std::move(field));
    }
  }

  bool has(uint32_t number) const { return find(number) != nullptr; }
  uint64_t number(uint32_t number) const { return has(number) ? find(number)->value : 0; }
  std::string text(uint32_t number) const { return has(number) ? find(number)->bytes : ""; }
  ProtoMessage message(uint32_t number) const { return ProtoMessage(text(number)); }
  std::vector<std::string> texts(uint32_t number) const {
    std::vector<std::string> found;
    for (const Field &field : fields_)
      if (field.number == number) found.push_back(field.bytes);
    return found;
  }
  std::vector<ProtoMessage> messages(uint32_t number) const {
    std::vector<ProtoMessage> found;
    for (const std::string &bytes : texts(number)) found.emplace_back(bytes);
    return found;
  }
  std::vector<uint64_t> varints(uint32_t number) const {  // packed
    std::vector<uint64_t> found;
    const std::string bytes = text(number);
    for (std::string_view rest = bytes; !rest.empty();) found.push_back(take(rest));
    return found;
  }

 private:
  struct Field {
    uint32_t number;
    uint64_t value;
    std::string bytes;
  };
  static uint64_t take(std::string_view &rest) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      if (rest.empty()) throw std::runtime_error("no protocol buffer");
      const auto byte = static_cast<uint8_t>(rest[0]);
      rest.remove_prefix(1);
      value |= uint64_t{byte} % 128 << shift;
      if (byte < 128) return value;
    }
  }
  const Field *find(uint32_t number) const {
    for (const Field &field : fields_)
      if (field.number == number) return &field;
    return nullptr;
  }
  std::vector<Field> fields_;
};

}  // namespace opd
