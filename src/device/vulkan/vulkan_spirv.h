// The declarations of a kernel in SPIR-V, read and checked before a driver sees it: drivers take SPIR-V for valid, and
// crash if it is not. Checked are the header, that instructions fill the words exactly, the kernel's entry point, and
// the parts that must agree with the kernel's layout: capabilities, buffers and scalars. The instructions of
// functions are not checked.
// Source: SPIR-V Specification, Version 1.6.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace opd::vk {

struct ShaderFacts {
  uint32_t version = 0;                // of SPIR-V: 0x10500 for 1.5
  std::vector<uint32_t> capabilities;  // that it needs
  std::array<uint32_t, 3> block{};     // threads of a block; zeros if they are constants of another form
  std::vector<uint32_t> storage;       // numbers of the bindings that are tensors
  std::vector<uint32_t> uniform;       // and of those that are blocks of scalars
  bool has_push_constants = false;
  uint32_t last_push_offset = 0;  // of a member
};

// Throws OPD_BAD_FORMAT; OPD_NOT_FOUND without an entry point of the name. `what` names the code in messages.
ShaderFacts read_shader(std::span<const uint32_t> words, const std::string &entry, const std::string &what);

}  // namespace opd::vk
