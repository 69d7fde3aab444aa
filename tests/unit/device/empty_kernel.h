// A kernel in SPIR-V that does nothing, word by word after the specification, and the bytes of a program with it.
#pragma once
#include <array>
#include <cstdint>
#include <string>

namespace opd {

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

struct EmptyKernel {
  std::array<uint32_t, 3> block = {4, 1, 1};
  uint32_t version = 0x10300, capability = 1;  // 1: Shader, which each kernel has

  std::string spirv() const {
    const uint32_t words[] = {0x07230203,
                              version,
                              0,
                              10,
                              0,  // header
                              2u << 16 | 17,
                              1,  // capability Shader
                              2u << 16 | 17,
                              capability,  // and another one
                              3u << 16 | 14,
                              0,
                              1,  // memory model
                              5u << 16 | 15,
                              5,
                              1,
                              0x6C616373,
                              0x65,  // entry point "scale"
                              6u << 16 | 16,
                              1,
                              17,
                              block[0],
                              block[1],
                              block[2],
                              2u << 16 | 19,
                              2,  // void
                              3u << 16 | 33,
                              3,
                              2,  // void()
                              5u << 16 | 54,
                              2,
                              1,
                              0,
                              3,  // a function,
                              2u << 16 | 248,
                              4,
                              1u << 16 | 253,
                              1u << 16 | 56};  // its label and end
    return {reinterpret_cast<const char *>(words), sizeof words};
  }
  // As TVM writes it; `has_uniform`: its scalars are in a buffer.
  std::string program(bool has_uniform = false) const {
    const std::string code = spirv();
    return raw(uint64_t{1}) + raw(uint64_t{5}) + "scale" + raw(uint32_t{has_uniform}) + raw(uint64_t{code.size() / 4}) +
           code;
  }
};

}  // namespace opd
