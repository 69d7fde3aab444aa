// The differences between processors in ELF files: the machine number, and the meaning of each relocation type.
#pragma once
#include <elf.h>

#include <cstdint>
#include <utility>

namespace opd {

enum class Relocates : uint8_t {
  kUnknown,
  kNothing,
  kRelative,         // the load address plus the addend
  kCall,             // a jump slot of the PLT
  kGot,              // an entry of the global offset table
  kData,             // a pointer in data
  kThreadLocal,      // 8 bytes: location of a thread-local variable
  kThreadLocalPair,  // 16 bytes with the same purpose
  kIndirect,         // the result of a resolver function
};

#if defined(__x86_64__)
inline constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
inline constexpr uint16_t kMachine = EM_AARCH64;
#else
inline constexpr uint16_t kMachine = EM_NONE;  // shared libraries are refused
#endif

struct RelocationType {
  uint16_t machine;
  uint32_t type;
  Relocates meaning;
};
inline constexpr RelocationType kRelocationTypes[] = {
    {EM_X86_64, R_X86_64_NONE, Relocates::kNothing},
    {EM_X86_64, R_X86_64_RELATIVE, Relocates::kRelative},
    {EM_X86_64, R_X86_64_JUMP_SLOT, Relocates::kCall},
    {EM_X86_64, R_X86_64_GLOB_DAT, Relocates::kGot},
    {EM_X86_64, R_X86_64_64, Relocates::kData},
    {EM_X86_64, R_X86_64_DTPMOD64, Relocates::kThreadLocal},
    {EM_X86_64, R_X86_64_DTPOFF64, Relocates::kThreadLocal},
    {EM_X86_64, R_X86_64_TPOFF64, Relocates::kThreadLocal},
    {EM_X86_64, R_X86_64_TLSDESC, Relocates::kThreadLocalPair},
    {EM_X86_64, R_X86_64_IRELATIVE, Relocates::kIndirect},
    {EM_AARCH64, R_AARCH64_NONE, Relocates::kNothing},
    {EM_AARCH64, R_AARCH64_RELATIVE, Relocates::kRelative},
    {EM_AARCH64, R_AARCH64_JUMP_SLOT, Relocates::kCall},
    {EM_AARCH64, R_AARCH64_GLOB_DAT, Relocates::kGot},
    {EM_AARCH64, R_AARCH64_ABS64, Relocates::kData},
    {EM_AARCH64, R_AARCH64_TLS_DTPMOD, Relocates::kThreadLocal},
    {EM_AARCH64, R_AARCH64_TLS_DTPREL, Relocates::kThreadLocal},
    {EM_AARCH64, R_AARCH64_TLS_TPREL, Relocates::kThreadLocal},
    {EM_AARCH64, R_AARCH64_TLSDESC, Relocates::kThreadLocalPair},
    {EM_AARCH64, R_AARCH64_IRELATIVE, Relocates::kIndirect},
};

constexpr bool is_readable_machine(uint16_t machine) { return machine == EM_X86_64 || machine == EM_AARCH64; }

constexpr Relocates relocates(uint32_t type, uint16_t machine = kMachine) {
  for (const RelocationType &known : kRelocationTypes)
    if (known.machine == machine && known.type == type) return known.meaning;
  return Relocates::kUnknown;
}

// "x86-64", for messages.
constexpr const char *machine_name(uint16_t machine) {
  constexpr std::pair<uint16_t, const char *> kNames[] = {
      {EM_X86_64, "x86-64"}, {EM_AARCH64, "AArch64"}, {EM_386, "x86"},    {EM_ARM, "ARM"},
      {EM_RISCV, "RISC-V"},  {EM_PPC64, "POWER"},     {EM_S390, "S/390"},
  };
  for (const auto &[number, name] : kNames)
    if (number == machine) return name;
  return "an unknown processor";
}

}  // namespace opd
