// The differences between processors in ELF files: the machine number, and the meaning of each relocation type.
#pragma once
#include <elf.h>

#include <cstdint>

namespace opd {

enum class Relocates : uint8_t {
  kUnknown,
  kNothing,
  kRelative,         // the load address plus the addend
  kCall,             // a jump slot of the PLT
  kGot,              // an entry of the global offset table
  kData,             // a pointer in data
  kThreadLocal,      // 8 bytes that place a thread-local variable
  kThreadLocalPair,  // 16 such bytes
  kIndirect,         // the result of a resolver function
};

#if defined(__x86_64__)
inline constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
inline constexpr uint16_t kMachine = EM_AARCH64;
#else
inline constexpr uint16_t kMachine = EM_NONE;  // shared libraries are refused
#endif

constexpr Relocates relocates_on_x86_64(uint32_t type) {
  switch (type) {
    case R_X86_64_NONE:
      return Relocates::kNothing;
    case R_X86_64_RELATIVE:
      return Relocates::kRelative;
    case R_X86_64_JUMP_SLOT:
      return Relocates::kCall;
    case R_X86_64_GLOB_DAT:
      return Relocates::kGot;
    case R_X86_64_64:
      return Relocates::kData;
    case R_X86_64_DTPMOD64:
    case R_X86_64_DTPOFF64:
    case R_X86_64_TPOFF64:
      return Relocates::kThreadLocal;
    case R_X86_64_TLSDESC:
      return Relocates::kThreadLocalPair;
    case R_X86_64_IRELATIVE:
      return Relocates::kIndirect;
    default:
      return Relocates::kUnknown;
  }
}

constexpr Relocates relocates_on_aarch64(uint32_t type) {
  switch (type) {
    case R_AARCH64_NONE:
      return Relocates::kNothing;
    case R_AARCH64_RELATIVE:
      return Relocates::kRelative;
    case R_AARCH64_JUMP_SLOT:
      return Relocates::kCall;
    case R_AARCH64_GLOB_DAT:
      return Relocates::kGot;
    case R_AARCH64_ABS64:
      return Relocates::kData;
    case R_AARCH64_TLS_DTPMOD:
    case R_AARCH64_TLS_DTPREL:
    case R_AARCH64_TLS_TPREL:
      return Relocates::kThreadLocal;
    case R_AARCH64_TLSDESC:
      return Relocates::kThreadLocalPair;
    case R_AARCH64_IRELATIVE:
      return Relocates::kIndirect;
    default:
      return Relocates::kUnknown;
  }
}

constexpr bool is_readable_machine(uint16_t machine) { return machine == EM_X86_64 || machine == EM_AARCH64; }

constexpr Relocates relocates(uint32_t type, uint16_t machine = kMachine) {
  if (machine == EM_X86_64) return relocates_on_x86_64(type);
  return machine == EM_AARCH64 ? relocates_on_aarch64(type) : Relocates::kUnknown;
}

// "x86-64", for messages.
constexpr const char *machine_name(uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "AArch64";
    case EM_386:
      return "x86";
    case EM_ARM:
      return "ARM";
    case EM_RISCV:
      return "RISC-V";
    case EM_PPC64:
      return "POWER";
    case EM_S390:
      return "S/390";
    default:
      return "an unknown processor";
  }
}

}  // namespace opd
