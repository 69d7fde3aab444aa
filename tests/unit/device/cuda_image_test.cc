// Code that CUDA's driver is given by an address alone: nothing in it may point beyond its bytes. The files here are
// made word by word after the formats.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/error.h"
#include "device/cuda/cuda_compile.h"

namespace opd::cuda {
namespace {

std::string image_refusal(const char *format, const std::string &code) {
  try {
    EXPECT_EQ(checked_image({format, code, "m.so"}), code);
  } catch (const Exception &e) {
    EXPECT_EQ(e.error()->code, OPD_BAD_FORMAT) << e.what();
    const std::string begin = std::string("m.so: the ") + format + " for CUDA: ";
    EXPECT_EQ(e.error()->message.rfind(begin, 0), 0u) << e.what();
    return e.error()->message.substr(begin.size());
  }
  return "";
}

TEST(Ptx, IsTextThatMayEndWithANul) {
  for (const char *text : {".version 8.0", " .version 8.0", "\t.version 8.0", "\r\n.version 8.0", "~"})
    EXPECT_EQ(image_refusal("ptx", text), "");
  EXPECT_EQ(image_refusal("ptx", std::string(".version\0", 9)), "");
  EXPECT_EQ(image_refusal("ptx", std::string(".version\0\0", 10)), "byte 8 is NUL, but PTX is text");
  EXPECT_EQ(image_refusal("ptx", std::string(".v\0n", 4)), "byte 2 is NUL, but PTX is text");
  for (const char *text : {"\x08", "\x0E", "\x1F", "\x7F", "\x80"})
    EXPECT_EQ(image_refusal("ptx", text), "byte 0 is not a character, but PTX is text");
  EXPECT_EQ(image_refusal("ptx", ""), "there is no PTX");
}

// An ELF file of a header, sections and segments, with some bytes after them.
struct Cubin {
  Elf64_Ehdr header{};
  std::vector<Elf64_Shdr> sections;
  std::vector<Elf64_Phdr> segments;
  static constexpr size_t kMore = 100;

  Cubin() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64, header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_machine = 190;
    sections.resize(2), segments.resize(2);
    header.e_shentsize = sizeof(Elf64_Shdr), header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_shnum = 2, header.e_phnum = 2;
    header.e_shoff = sizeof header, header.e_phoff = sizeof header + 2 * sizeof(Elf64_Shdr);
    sections[1].sh_type = SHT_PROGBITS;
  }
  static size_t size() { return sizeof(Elf64_Ehdr) + 2 * (sizeof(Elf64_Shdr) + sizeof(Elf64_Phdr)) + kMore; }
  std::string bytes() const {
    std::string all(size(), '\0');
    std::memcpy(all.data(), &header, sizeof header);
    std::memcpy(all.data() + sizeof header, sections.data(), 2 * sizeof(Elf64_Shdr));
    std::memcpy(all.data() + sizeof header + 2 * sizeof(Elf64_Shdr), segments.data(), 2 * sizeof(Elf64_Phdr));
    return all;
  }
};
std::string cubin(const std::function<void(Cubin &)> &change) {
  Cubin made;
  change(made);
  return image_refusal("cubin", made.bytes());
}

TEST(Cubin, IsALittleEndianElfFileOf64Bits) {
  EXPECT_EQ(cubin([](Cubin &) {}), "");
  const std::string none = "a cubin is a little-endian ELF file of 64 bits, and this is none";
  EXPECT_EQ(cubin([](Cubin &c) { c.header.e_ident[3] = 'G'; }), none);
  EXPECT_EQ(cubin([](Cubin &c) { c.header.e_ident[EI_CLASS] = ELFCLASS32; }), none);
  EXPECT_EQ(cubin([](Cubin &c) { c.header.e_ident[EI_DATA] = ELFDATA2MSB; }), none);
  EXPECT_EQ(cubin([](Cubin &c) { c.header.e_machine = EM_X86_64; }),
            "the ELF file is for machine 62; a cubin is for 190");
}

TEST(Cubin, HasTablesOfTheirSizes) {
  EXPECT_EQ(cubin([](Cubin &c) { c.header.e_shentsize = 63; }), "a section's header has 63 bytes, but must have 64");
  EXPECT_EQ(cubin([](Cubin &c) { c.header.e_phentsize = 57; }), "a segment's header has 57 bytes, but must have 56");
  EXPECT_EQ(cubin([](Cubin &c) { c.header.e_shnum = 0; }), "there is a table of sections of no entry");
  EXPECT_EQ(cubin([](Cubin &c) { c.header.e_shnum = 0, c.header.e_shoff = 0, c.header.e_shentsize = 1; }), "");
  EXPECT_EQ(cubin([](Cubin &c) { c.header.e_phnum = 0, c.header.e_phentsize = 1; }), "");
}

// At the end of the file, and one byte beyond.
TEST(Cubin, HasNothingBeyondItsEnd) {
  const size_t all = Cubin::size();
  const auto beyond = [all](const std::string &part, size_t bytes, size_t offset) {
    return part + " has " + std::to_string(bytes) + " bytes at offset " + std::to_string(offset) + ", but there are " +
           std::to_string(all);
  };
  // A table at the very end is one of zeros.
  EXPECT_EQ(cubin([all](Cubin &c) { c.header.e_phoff = all - 112; }), "");
  EXPECT_EQ(cubin([all](Cubin &c) { c.header.e_phoff = all - 111; }),
            beyond("the table of segments 0", 112, all - 111));
  EXPECT_EQ(cubin([all](Cubin &c) { c.header.e_shoff = all - 64, c.header.e_shnum = 1; }), "");
  EXPECT_EQ(cubin([all](Cubin &c) { c.header.e_shoff = all - 63, c.header.e_shnum = 1; }),
            beyond("the table of sections 0", 64, all - 63));
  const auto section = [](uint32_t type, size_t offset, size_t bytes) {
    return cubin([=](Cubin &c) {
      c.sections[1].sh_type = type, c.sections[1].sh_offset = offset, c.sections[1].sh_size = bytes;
    });
  };
  EXPECT_EQ(section(SHT_PROGBITS, all - 5, 5), "");
  EXPECT_EQ(section(SHT_PROGBITS, all, 0), "");
  EXPECT_EQ(section(SHT_PROGBITS, all - 5, 6), beyond("section 1", 6, all - 5));
  EXPECT_EQ(section(SHT_PROGBITS, all + 1, 0), beyond("section 1", 0, all + 1));
  EXPECT_EQ(section(SHT_NOBITS, all - 5, 6), "") << "it has no bytes in the file";
  EXPECT_EQ(section(SHT_NULL, all - 5, 6), "");
  const auto segment = [](size_t offset, size_t bytes) {
    return cubin([=](Cubin &c) { c.segments[1].p_offset = offset, c.segments[1].p_filesz = bytes; });
  };
  EXPECT_EQ(segment(all - 5, 5), "");
  EXPECT_EQ(segment(all - 5, 6), beyond("segment 1", 6, all - 5));
}

template <class T>
std::string raw_bytes(T value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}
std::string fatbin(uint16_t header_bytes, const std::string &contents, uint32_t magic = 0xBA55ED50) {
  return raw_bytes(magic) + raw_bytes(uint16_t{1}) + raw_bytes(header_bytes) + raw_bytes(uint64_t{contents.size()}) +
         std::string(header_bytes > 16 ? header_bytes - 16u : 0, '?') + contents;
}
std::string fatbin_entry(uint32_t header_bytes, uint64_t bytes, const std::string &rest) {
  return raw_bytes(uint32_t{0x01010002}) + raw_bytes(header_bytes) + raw_bytes(bytes) + rest;
}

TEST(Fatbin, HasEntriesOneAfterTheOther) {
  EXPECT_EQ(image_refusal("fatbin", fatbin(16, "")), "");
  EXPECT_EQ(image_refusal("fatbin", fatbin(16, fatbin_entry(16, 4, "four"))), "");
  EXPECT_EQ(image_refusal("fatbin", fatbin(24, fatbin_entry(20, 4, "headfour") + fatbin_entry(16, 0, ""))), "");
  EXPECT_EQ(image_refusal("fatbin", fatbin(24, fatbin_entry(20, 4, "headfour") + fatbin_entry(16, 4, "")) + "tail"),
            "entry 1 has 4 bytes at offset 64, but there are 64")
      << "what follows the contents is none of theirs";
  EXPECT_EQ(image_refusal("fatbin", fatbin(16, fatbin_entry(20, 4, "headfou"))),
            "entry 0 has 4 bytes at offset 36, but there are 39");
  EXPECT_EQ(image_refusal("fatbin", fatbin(16, fatbin_entry(16, 4, "four") + fatbin_entry(15, 1, "1"))),
            "the header of entry 1 has 15 bytes, but must have 16");
  EXPECT_EQ(image_refusal("fatbin", fatbin(16, "", 0xBA55ED51)),
            "a fatbin begins with 3126193488, but this with 3126193489");
}

TEST(CodeForCuda, HasOneOfTheFormatsThatAreRead) {
  try {
    checked_image({"hsaco", "x", "m.so"});
    ADD_FAILURE() << "accepted";
  } catch (const Exception &e) {
    EXPECT_EQ(e.error()->code, OPD_UNSUPPORTED);
    EXPECT_EQ(e.error()->message,
              "the CUDA code in m.so has the format \"hsaco\"; this build reads \"cuda\", which is source, \"ptx\", "
              "\"cubin\" and \"fatbin\"");
  }
}

}  // namespace
}  // namespace opd::cuda
