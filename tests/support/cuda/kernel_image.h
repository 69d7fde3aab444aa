// The kernels in a module's image, as far as the recording driver needs them: their names and the sizes of their
// parameters, from PTX or from the ELF file that a cubin is.
#pragma once
#include <elf.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <vector>

namespace cuda_driver {

using Kernels = std::map<std::string, std::vector<size_t>>;  // name → sizes of parameters

inline std::optional<Kernels> read_ptx(const std::string &text) {
  if (text.find(".version") == text.npos) return std::nullopt;
  Kernels kernels;
  const std::regex entry(R"(\.entry\s+(\w+)\s*\(([^)]*)\))"), param(R"(\.param\s+\.[a-z](\d+))");
  for (auto found = std::sregex_iterator(text.begin(), text.end(), entry); found != std::sregex_iterator(); ++found) {
    const std::string list = (*found)[2];
    std::vector<size_t> sizes;
    for (auto one = std::sregex_iterator(list.begin(), list.end(), param); one != std::sregex_iterator(); ++one)
      sizes.push_back(std::stoul((*one)[1]) / 8);
    kernels[(*found)[1]] = sizes;
  }
  return kernels;
}

/** The parameters in a section ".nv.info.<kernel>": records of a form, a kind and a size; then as many bytes, if the
 * form is 4. */
inline std::vector<size_t> read_parameters(const char *data, size_t size) {
  constexpr uint8_t kSized = 4, kParameter = 0x17;
  std::map<uint16_t, size_t> by_ordinal;
  for (size_t at = 0; at + 4 <= size;) {
    const auto form = static_cast<uint8_t>(data[at]), kind = static_cast<uint8_t>(data[at + 1]);
    uint16_t bytes = 0;
    std::memcpy(&bytes, data + at + 2, sizeof bytes);
    if (form == kSized && kind == kParameter) {
      uint16_t ordinal = 0;
      uint32_t word = 0;
      std::memcpy(&ordinal, data + at + 8, sizeof ordinal);
      std::memcpy(&word, data + at + 12, sizeof word);
      by_ordinal[ordinal] = word >> 18;
    }
    at += 4 + (form == kSized ? bytes : 0u);
  }
  std::vector<size_t> sizes;
  for (const auto &[ordinal, one] : by_ordinal) sizes.push_back(one);
  return sizes;
}

inline Kernels read_cubin(const char *image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  const auto section = [&](size_t i) {
    Elf64_Shdr one;
    std::memcpy(&one, image + header.e_shoff + i * sizeof one, sizeof one);
    return one;
  };
  const char *const names = image + section(header.e_shstrndx).sh_offset;
  Kernels kernels;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr one = section(i);
    const std::string name = names + one.sh_name, prefix = ".nv.info.";
    if (name.starts_with(".text.")) kernels.try_emplace(name.substr(6));
    if (name.starts_with(prefix))
      kernels[name.substr(prefix.size())] = read_parameters(image + one.sh_offset, one.sh_size);
  }
  return kernels;
}

// Of a fatbin, as NVIDIA's tools write it: the header, then entries of a header and code.
struct Fatbin {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes;
  static constexpr uint32_t kMagic = 0xBA55ED50;
  size_t size() const { return header_bytes + bytes; }
};
struct FatbinEntry {
  enum Kind : uint16_t { kPtx = 1, kCubin = 2 };
  enum : uint64_t { kCompressed = 0x8000 };
  uint16_t kind, version;
  uint32_t header_bytes;
  uint64_t bytes;
  uint32_t unused[3], architecture;  // 90 for 9.0
  uint32_t more[2];
  uint64_t flags;
};

inline bool is_fatbin(const char *image) { return std::memcmp(image, &Fatbin::kMagic, sizeof Fatbin::kMagic) == 0; }
inline std::string fatbin_bytes(const char *image) {
  Fatbin header;
  std::memcpy(&header, image, sizeof header);
  return {image, header.size()};
}

/** The code for the device's architecture, else PTX that can become such code. */
inline std::optional<Kernels> read_fatbin(const std::string &image, int compute_version) {
  Fatbin header;
  std::memcpy(&header, image.data(), sizeof header);
  std::optional<Kernels> from_ptx;
  FatbinEntry entry;
  for (size_t at = header.header_bytes; at < image.size(); at += entry.header_bytes + entry.bytes) {
    std::memcpy(&entry, &image[at], sizeof entry);
    const char *const code = &image[at + entry.header_bytes];
    if (entry.flags & FatbinEntry::kCompressed) continue;
    const auto architecture = static_cast<int>(entry.architecture);
    if (entry.kind == FatbinEntry::kCubin && architecture == compute_version) return read_cubin(code);
    if (entry.kind == FatbinEntry::kPtx && architecture <= compute_version)
      from_ptx = read_ptx(std::string(code, entry.bytes));
  }
  return from_ptx;
}

/** None if the driver would refuse the image. */
inline std::optional<Kernels> read_image(const char *image, int compute_version) {
  if (std::memcmp(image, ELFMAG, SELFMAG) == 0) return read_cubin(image);
  if (is_fatbin(image)) return read_fatbin(fatbin_bytes(image), compute_version);
  return read_ptx(image);
}

}  // namespace cuda_driver
