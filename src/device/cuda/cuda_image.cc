// Checks compiled code for CUDA before the driver gets it.
#include <elf.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "device/cuda/cuda_compile.h"

namespace opd::cuda {
namespace {

// PTX is text that ends with a NUL. The driver identifies other formats by their first bytes, none of which is ASCII.
void check_ptx(std::string_view code, const char *what) {
  const auto bad = [&](size_t at, std::string_view problem) {
    fail(OPD_BAD_FORMAT, what, ": byte ", at, " ", problem, ", but PTX is text");
  };
  if (code.empty()) fail(OPD_BAD_FORMAT, what, ": there is no PTX");
  const auto first = static_cast<unsigned char>(code[0]);
  if (first >= 127 || (first < ' ' && (first < '\t' || first > '\r'))) bad(0, "is no character");
  if (const size_t nul = code.find('\0'); nul < code.size() - 1) bad(nul, "is NUL");
}

void check_range(uint64_t offset, uint64_t size, size_t all, const char *what, const char *part, uint64_t index) {
  if (offset > all || size > all - offset)
    fail(OPD_BAD_FORMAT, what, ": ", part, " ", index, " has ", size, " bytes at offset ", offset, ", but there are ",
         all);
}

// Checks that every part in the file's tables lies within the file.
void check_cubin(std::string_view code, const char *what) {
  constexpr uint16_t kMachine = 190;  // EM_CUDA
  ByteReader reader(as_bytes(code), what);
  const auto header = reader.read<Elf64_Ehdr>("the ELF header");
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB)
    fail(OPD_BAD_FORMAT, what, ": a cubin is a little-endian ELF file of 64 bits, and this is none");
  if (header.e_machine != kMachine)
    fail(OPD_BAD_FORMAT, what, ": the ELF file is for machine ", header.e_machine, "; a cubin is for ", kMachine);
  if (header.e_shnum && header.e_shentsize != sizeof(Elf64_Shdr))
    fail(OPD_BAD_FORMAT, what, ": a section's header has ", header.e_shentsize, " bytes, but must have ",
         sizeof(Elf64_Shdr));
  if (header.e_phnum && header.e_phentsize != sizeof(Elf64_Phdr))
    fail(OPD_BAD_FORMAT, what, ": a segment's header has ", header.e_phentsize, " bytes, but must have ",
         sizeof(Elf64_Phdr));
  if (header.e_shoff && !header.e_shnum) fail(OPD_BAD_FORMAT, what, ": there is a table of sections of no entry");
  check_range(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr), code.size(), what, "the table of sections",
              0);
  check_range(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr), code.size(), what, "the table of segments",
              0);
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, code.data() + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL)
      check_range(section.sh_offset, section.sh_size, code.size(), what, "section", i);
  }
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, code.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    check_range(segment.p_offset, segment.p_filesz, code.size(), what, "segment", i);
  }
}

// Checks a container of code for several architectures. A descriptor of a container in a program's data has the same
// use, but holds an address. It is not accepted.
void check_fatbin(std::string_view code, const char *what) {
  constexpr uint32_t kMagic = 0xBA55ED50;
  ByteReader reader(as_bytes(code), what);
  const auto magic = reader.read<uint32_t>("the mark of a fatbin");
  if (magic != kMagic)
    fail(OPD_BAD_FORMAT, what, ": a fatbin begins with ", uint64_t{kMagic}, ", but this with ", uint64_t{magic});
  reader.read<uint16_t>("the version");
  const auto header_bytes = reader.read<uint16_t>("the size of the header");
  const auto bytes = reader.read<uint64_t>("the size of the contents");
  check_range(header_bytes, bytes, code.size(), what, "the contents", 0);
  reader.take(header_bytes - std::min<uint64_t>(header_bytes, reader.offset()), "the rest of the header");
  const uint64_t end = header_bytes + bytes;
  for (uint64_t entry = 0; reader.offset() < end; ++entry) {  // an entry: two marks and two sizes, then the code
    const size_t begin = reader.offset();
    reader.read<uint32_t>("the kind of an entry");
    const auto entry_header = reader.read<uint32_t>("the size of an entry's header");
    const auto entry_bytes = reader.read<uint64_t>("the size of an entry");
    const uint64_t so_far = reader.offset() - begin;
    if (entry_header < so_far)
      fail(OPD_BAD_FORMAT, what, ": the header of entry ", entry, " has ", entry_header, " bytes, but must have ",
           so_far);
    check_range(begin + entry_header, entry_bytes, end, what, "entry", entry);
    reader.take(entry_header - so_far + entry_bytes, "an entry");
  }
}

}  // namespace

std::string checked_image(const DeviceCode &code) {
  const std::string what = concat(code.origin, ": the ", code.format, " for CUDA");
  if (code.format == "ptx") check_ptx(code.code, what.c_str());
  else if (code.format == "cubin") check_cubin(code.code, what.c_str());
  else if (code.format == "fatbin") check_fatbin(code.code, what.c_str());
  else
    fail(OPD_UNSUPPORTED, "the code for CUDA in ", code.origin, " has the format \"", code.format,
         "\"; this build reads \"cuda\", which is source, \"ptx\", \"cubin\" and \"fatbin\"");
  return std::string(code.code);
}

}  // namespace opd::cuda
