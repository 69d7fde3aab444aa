// Reads and checks the declarations of a SPIR-V kernel before a driver gets it. Drivers assume that SPIR-V is valid,
// and crash otherwise. These are checked: the header, the sizes of instructions, the kernel's entry point, and
// everything that must match the kernel's layout (capabilities, buffers and scalars). The instructions of functions are
// not checked.
// Source: SPIR-V Specification, Version 1.6.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace opd::vk {

struct ShaderFacts {
  uint32_t version = 0;                // SPIR-V version: 0x10500 for 1.5
  std::vector<uint32_t> capabilities;  // required capabilities
  std::array<uint32_t, 3> block{};     // threads per block; zeros if the constants have another form
  std::vector<uint32_t> storage;       // binding numbers of tensors
  std::vector<uint32_t> uniform;       // binding numbers of blocks of scalars
  bool has_push_constants = false;
  uint32_t last_push_offset = 0;  // offset of the last member
};

// Throws OPD_BAD_FORMAT, or OPD_NOT_FOUND if no entry point has the name. `what` names the code in messages.
ShaderFacts read_shader(std::span<const uint32_t> words, const std::string &entry, const std::string &what);

}  // namespace opd::vk
