// The ELF header, the sections and the segments: what is told of each field that cannot be right.
#include "unit/module/elf_bytes.h"

namespace opd {
namespace {

// Its parts: code, constants, writable data, zeroed memory, thread-local variables.
const std::string kHeaderSource = R"(
#include <math.h>
_Thread_local int counter = 3;
int shared = 1;
static int zeroed[64];
double f(double x) { return exp(x) + ++counter + shared + ++zeroed[counter & 63]; }
__attribute__((constructor)) static void start(void) { shared = 2; }
)";
constexpr uint64_t kMostAddresses = uint64_t{1} << 36;

const Library &good_header() {
  static const Library library(kHeaderSource, "-lm");
  return library;
}

// Sets a field of the ELF header, or of the program header that lies at `place`.
#define HEADER(field, value) [=](Library &l) { l.set<decltype(Elf64_Ehdr::field)>(offsetof(Elf64_Ehdr, field), value); }
#define SEGMENT(place, field, value) \
  [=](Library &l) { l.set<decltype(Elf64_Phdr::field)>(place + offsetof(Elf64_Phdr, field), value); }

std::function<void(Library &)> byte(size_t at, uint8_t value) {
  return [=](Library &l) { l.set<uint8_t>(at, value); };
}

TEST(ElfHeader, IsCheckedFieldByField) {
  expect_each(
      good_header(),
      {{byte(3, 'G'), bad_at(0, "this is not an ELF file")},
       {[](Library &l) { l.bytes.resize(3); }, bad_at(0, "this is not an ELF file")},
       {[](Library &l) { l.bytes.resize(63); }, bad_at(0, "the ELF header lies past the end of the file")},
       {byte(EI_CLASS, ELFCLASS32), "unsupported: calls.so is a 32-bit library; 64-bit libraries can be loaded"},
       {byte(EI_CLASS, 3), bad_at(4, "the ELF class is 3, which is none")},
       {byte(EI_DATA, ELFDATA2MSB), "unsupported: calls.so is a big-endian library; little-endian ones can be loaded"},
       {byte(EI_DATA, 3), bad_at(5, "the ELF data encoding is 3, which is none")},
       {byte(EI_VERSION, 2), bad_at(6, "the ELF version is not 1")},
       {HEADER(e_version, 2), bad_at(6, "the ELF version is not 1")},
       {HEADER(e_type, ET_REL),
        "unsupported: calls.so is an object file; link it to a shared library first (cc -shared -o x.so x.o)"},
       {HEADER(e_type, ET_EXEC), "unsupported: calls.so is a program, not a shared library"},
       {HEADER(e_type, ET_CORE), bad_at(16, "ELF type 4 is not a shared library")},
       {HEADER(e_phentsize, 32), bad_at(54, "program headers of 32 bytes")},
       {HEADER(e_phnum, 0), bad_at(56, "0 program headers")},
       {HEADER(e_phoff, good_header().bytes.size() - 64),
        bad_at(good_header().bytes.size() - 64, "the program headers lie past the end of the file")},
       {HEADER(e_phoff, UINT64_MAX - 8), bad_at(UINT64_MAX - 8, "the program headers lie past the end of the file")}});
}

// The numbers are those of the ELF specification's list of machines.
TEST(ElfHeader, NamesTheMachineThatTheLibraryIsFor) {
  const std::string here = kMachine == EM_X86_64 ? "x86-64" : "AArch64";
  for (const auto &[machine, name] : {std::pair<uint16_t, const char *>{3, "x86"},
                                      {40, "ARM"},
                                      {243, "RISC-V"},
                                      {21, "POWER"},
                                      {22, "S/390"},
                                      {8, "an unknown processor"},
                                      {kMachine == 62 ? 183 : 62, kMachine == 62 ? "AArch64" : "x86-64"}}) {
    Library library = good_header();
    library.set<uint16_t>(offsetof(Elf64_Ehdr, e_machine), machine);
    EXPECT_EQ(library.told(), concat("unsupported: calls.so is made for ", name, " (ELF machine ", machine,
                                     "); this process runs on ", here, ": export it for this target"));
  }
}

TEST(ElfSections, ShowWhetherTheFileIsWhole) {
  const auto header = good_header().get<Elf64_Ehdr>(0);
  const uint64_t size = good_header().bytes.size(), table = header.e_shoff;
  const auto section = [&](size_t i) { return table + i * sizeof(Elf64_Shdr); };
  const auto set = [](size_t at, auto field, uint64_t value) {
    return [=](Library &l) { l.set<uint64_t>(at + field, value); };
  };
  constexpr size_t kSize = offsetof(Elf64_Shdr, sh_size), kOffset = offsetof(Elf64_Shdr, sh_offset);
  const auto first = good_header().get<Elf64_Shdr>(section(1));
  size_t zeroed = 0;
  for (size_t i = 0; i < header.e_shnum; ++i)
    if (good_header().get<Elf64_Shdr>(section(i)).sh_type == SHT_NOBITS) zeroed = section(i);
  ASSERT_NE(zeroed, 0u);
  expect_each(good_header(),
              {{HEADER(e_shoff, 0), "accepted"},
               {HEADER(e_shentsize, 40), bad_at(58, "section headers of 40 bytes")},
               {HEADER(e_shoff, size - 64), bad_at(size - 64, "the file is cut short: ", header.e_shnum,
                                                   " section headers do not fit into ", size, " bytes")},
               {[=](Library &l) {  // the first header has the number if there are many
                  l.set<uint16_t>(offsetof(Elf64_Ehdr, e_shnum), 0);
                  l.set<uint64_t>(table + kSize, header.e_shnum);
                },
                "accepted"},
               {[=](Library &l) {
                  l.set<uint16_t>(offsetof(Elf64_Ehdr, e_shnum), 0);
                  l.set<uint64_t>(table + kSize, header.e_shnum + uint64_t{1});
                },
                bad_at(table, "the file is cut short: ", header.e_shnum + 1, " section headers do not fit into ", size,
                       " bytes")},
               {[=](Library &l) {
                  l.set<uint16_t>(offsetof(Elf64_Ehdr, e_shnum), 0);
                  l.set<uint64_t>(offsetof(Elf64_Ehdr, e_shoff), size - 63);
                },
                bad_at(size - 63, "the section header table lies past the end of the file")},
               {set(section(1), kSize, size), bad_at(section(1), "the file is cut short: section 1 takes bytes ",
                                                     first.sh_offset, " to ", first.sh_offset + size, " of ", size)},
               {set(section(1), kSize, size - first.sh_offset + 1),
                bad_at(section(1), "the file is cut short: section 1 takes bytes ", first.sh_offset, " to ", size + 1,
                       " of ", size)},
               {set(section(1), kSize, size - first.sh_offset), "accepted"},
               {set(section(1), kOffset, size - first.sh_size), "accepted"},
               {set(zeroed, kSize, size), "accepted"}});
}

TEST(ElfSegments, AreCheckedFieldByFieldIfTheyAreLoaded) {
  const uint64_t size = good_header().bytes.size();
  const size_t code = good_header().segment(PT_LOAD, 0, PF_R | PF_X),
               data = good_header().segment(PT_LOAD, 0, PF_R | PF_W), front = good_header().segment(PT_LOAD);
  ASSERT_TRUE(code && data && front < code);
  const auto c = good_header().get<Elf64_Phdr>(code), d = good_header().get<Elf64_Phdr>(data),
             b = good_header().get<Elf64_Phdr>(front);
  ASSERT_LT(d.p_filesz, d.p_memsz);
  expect_each(
      good_header(),
      {{[](Library &l) {
          for (size_t at; (at = l.segment(PT_LOAD));) l.set<uint32_t>(at, PT_NULL);
        },
        bad_at(64, "no segment is to be loaded")},
       {SEGMENT(data, p_filesz, d.p_memsz + 1),
        bad_at(data, "a segment has ", d.p_memsz + 1, " bytes in the file, but ", d.p_memsz, " in memory")},
       {SEGMENT(data, p_offset, size - d.p_filesz + 1), bad_at(data, "the file is cut short: a segment takes bytes ",
                                                               size - d.p_filesz + 1, " to ", size + 1, " of ", size)},
       {SEGMENT(data, p_align, 3), bad_at(data, "a segment is not aligned as it says")},
       {SEGMENT(data, p_align, 0), bad_at(data, "a segment is not aligned as it says")},
       {SEGMENT(data, p_vaddr, d.p_vaddr + 8), bad_at(data, "a segment is not aligned as it says")},
       {SEGMENT(data, p_vaddr, d.p_vaddr + kMostAddresses),
        bad_at(data, "a segment lies at address ", d.p_vaddr + kMostAddresses, " and takes ", d.p_memsz, " bytes")},
       {SEGMENT(data, p_memsz, kMostAddresses - d.p_vaddr), "accepted"},
       {SEGMENT(data, p_memsz, kMostAddresses - d.p_vaddr + 1),
        bad_at(data, "a segment lies at address ", d.p_vaddr, " and takes ", kMostAddresses - d.p_vaddr + 1, " bytes")},
       {SEGMENT(code, p_flags, PF_X), bad_at(code, "a segment cannot be read")},
       {SEGMENT(data, p_flags, PF_R), bad_at(data, "a segment has zeroed memory that cannot be written")},
       {SEGMENT(code, p_memsz, c.p_filesz + 1), bad_at(code, "a segment has zeroed memory that cannot be written")},
       {[=](Library &l) { l.set(front, c), l.set(code, b); }, bad_at(code, "segments overlap or are out of order")},
       {SEGMENT(code, p_offset, b.p_offset), bad_at(code, "segments share bytes of the file")}});
}

TEST(ElfSegments, AreCheckedIfTheLoaderFollowsThem) {
  const auto header = good_header().get<Elf64_Ehdr>(0);
  const size_t dynamic = good_header().segment(PT_DYNAMIC), unwind = good_header().segment(PT_GNU_EH_FRAME),
               stack = good_header().segment(PT_GNU_STACK), relro = good_header().segment(PT_GNU_RELRO),
               tls = good_header().segment(PT_TLS), data = good_header().segment(PT_LOAD, 0, PF_R | PF_W);
  ASSERT_TRUE(dynamic && unwind && stack && relro && tls && data);
  const auto t = good_header().get<Elf64_Phdr>(tls), u = good_header().get<Elf64_Phdr>(unwind);
  const std::string malformed_tls = bad_at(tls, "the segment of thread-local variables is malformed");
  const std::string no_stack = "unsupported: calls.so asks for an executable stack; link it with -z noexecstack";
  const auto twice = [&](size_t of) { return [=](Library &l) { l.set(unwind, l.get<Elf64_Phdr>(of)); }; };
  const auto second = [&](size_t of) {
    return bad_at(std::max(of, unwind), "a second program header of type ", good_header().get<uint32_t>(of));
  };
  const auto with_table = [=](uint64_t offset, uint64_t address, uint64_t size) {  // a PT_PHDR, which programs have
    return [=](Library &l) {
      Elf64_Phdr own{};
      own.p_type = PT_PHDR, own.p_flags = PF_R;
      own.p_offset = offset, own.p_vaddr = address, own.p_filesz = own.p_memsz = size;
      l.set(unwind, own);
    };
  };
  const uint64_t table = header.e_phnum * sizeof(Elf64_Phdr);
  const std::string not_placed = bad_at(unwind, "PT_PHDR does not place the program headers");
  const std::string outside = bad_at(unwind, "program header of type ", PT_GNU_EH_FRAME, " lies outside the segments");
  expect_each(good_header(),
              {{twice(dynamic), second(dynamic)},
               {twice(stack), second(stack)},
               {twice(relro), second(relro)},
               {SEGMENT(stack, p_type, PT_NULL), no_stack},
               {SEGMENT(stack, p_flags, PF_R | PF_W | PF_X), no_stack},
               {SEGMENT(dynamic, p_type, PT_NULL),
                bad_at(header.e_phoff, "there is no dynamic section, so this is not a shared library")},
               {with_table(64, 64, table), "accepted"},
               {with_table(64, 64, table + 8), "accepted"},
               {with_table(64, 64, table - 1), not_placed},
               {with_table(72, 72, table), not_placed},
               {with_table(64, 72, table), not_placed},
               {with_table(64, 64, 0), not_placed},
               {SEGMENT(tls, p_filesz, t.p_memsz + 1), malformed_tls},
               {SEGMENT(tls, p_memsz, kMostAddresses + 1), malformed_tls},
               {SEGMENT(tls, p_memsz, kMostAddresses), "accepted"},
               {SEGMENT(tls, p_vaddr, t.p_vaddr + 1), malformed_tls},
               {SEGMENT(tls, p_offset, t.p_offset + 1), malformed_tls},
               {SEGMENT(tls, p_align, 3), malformed_tls},
               {SEGMENT(tls, p_align, 65536), "accepted"},
               {SEGMENT(tls, p_align, 131072), malformed_tls},
               {twice(tls), bad_at(std::max(tls, unwind), "the segment of thread-local variables is malformed")},
               {SEGMENT(unwind, p_filesz, u.p_filesz + 1), outside},
               {SEGMENT(unwind, p_memsz, u.p_memsz + 1), outside},
               {SEGMENT(unwind, p_vaddr, u.p_vaddr + 4), outside},
               {SEGMENT(unwind, p_offset, u.p_offset + 4), outside},
               {[=](Library &l) {
                  auto none = u;
                  none.p_filesz = none.p_memsz = 0;
                  l.set(unwind, none);
                },
                outside},
               {[=](Library &l) {
                  auto note = u;
                  note.p_type = PT_NOTE, note.p_memsz += 1;
                  l.set(unwind, note);
                },
                bad_at(unwind, "program header of type 4 lies outside the segments")},
               {[=](Library &l) {
                  auto interpreter = u;
                  interpreter.p_type = PT_INTERP, interpreter.p_vaddr += 1;
                  l.set(unwind, interpreter);
                },
                bad_at(unwind, "program header of type 3 lies outside the segments")},
               {[=](Library &l) {
                  auto segment = l.get<Elf64_Phdr>(data);
                  segment.p_memsz = segment.p_filesz, segment.p_flags = PF_R;
                  l.set(data, segment);
                },
                bad_at(dynamic, "the dynamic section is said to be writable, but its segment is not")}});
}

// What the loader protects is the front of the writable segment, and may be rounded up to a page if it is all of it.
TEST(ElfSegments, RelroMustBeTheFrontOfAWritableSegment) {
  const size_t relro = good_header().segment(PT_GNU_RELRO), data = good_header().segment(PT_LOAD, 0, PF_R | PF_W);
  ASSERT_TRUE(relro && data);
  const auto d = good_header().get<Elf64_Phdr>(data);
  const std::string refused = bad_at(relro, "the part that becomes read-only is not the front of a writable segment");
  const uint64_t end = d.p_vaddr + d.p_filesz, page = (end + 4095) / 4096 * 4096 - d.p_vaddr;
  ASSERT_NE(end % 4096, 0u);
  const auto without_zeroed = [&](uint64_t bytes) {
    return [=](Library &l) {
      l.set<uint64_t>(data + offsetof(Elf64_Phdr, p_memsz), d.p_filesz);
      l.set<uint64_t>(relro + offsetof(Elf64_Phdr, p_memsz), bytes);
    };
  };
  ASSERT_GE(d.p_vaddr % 4096, 8u);
  const auto with_8_ahead = [&](uint64_t bytes) {
    return [=](Library &l) {
      l.set<uint64_t>(relro + offsetof(Elf64_Phdr, p_vaddr), d.p_vaddr - 8);
      l.set<uint64_t>(relro + offsetof(Elf64_Phdr, p_memsz), bytes);
    };
  };
  expect_each(good_header(), {{SEGMENT(relro, p_vaddr, d.p_vaddr + 8), refused},
                              {SEGMENT(relro, p_vaddr, d.p_vaddr - 4096), refused},
                              {with_8_ahead(8), refused},
                              {with_8_ahead(9), "accepted"},
                              {with_8_ahead(d.p_filesz + 8), "accepted"},
                              {with_8_ahead(d.p_filesz + 9), refused},
                              {SEGMENT(relro, p_memsz, d.p_filesz + 1), refused},
                              {SEGMENT(relro, p_memsz, d.p_filesz), "accepted"},
                              {SEGMENT(relro, p_memsz, d.p_memsz), "accepted"},
                              {SEGMENT(relro, p_memsz, 0), "accepted"},
                              {without_zeroed(page), "accepted"},
                              {without_zeroed(page + 1), refused},
                              {without_zeroed(page - 1), refused},
                              {without_zeroed(page + 65536), refused}});
}

TEST(ElfSegments, GiveTheAddressesOfCodeConstantsAndMemory) {
  const ElfFile file(as_bytes(good_header().bytes), "calls.so");
  std::vector<std::pair<uint64_t, uint64_t>> code, constants;
  uint64_t memory = 0;
  for (const auto &s : good_header().segments()) {
    if (s.p_type != PT_LOAD) continue;
    memory += s.p_memsz;
    if (s.p_flags & PF_X) code.emplace_back(s.p_vaddr, s.p_vaddr + s.p_memsz);
    if (!(s.p_flags & PF_W)) constants.emplace_back(s.p_vaddr, s.p_vaddr + s.p_filesz);
    // Each byte of the file is at its address, the last one, too.
    for (const uint64_t at : {uint64_t{0}, s.p_filesz - 1}) {
      EXPECT_EQ(file.address_of(s.p_offset + at), s.p_vaddr + at);
      EXPECT_EQ(file.contents(s.p_vaddr + at, 1).data(), file.bytes().data() + s.p_offset + at);
    }
    EXPECT_EQ(file.contents(s.p_vaddr, s.p_filesz).size(), s.p_filesz);
    EXPECT_TRUE(file.contents(s.p_vaddr, s.p_filesz + 1).empty());
    EXPECT_TRUE(file.contents(s.p_vaddr + s.p_filesz, 1).empty());
    EXPECT_TRUE(file.lies_in(s.p_vaddr, s.p_memsz, s.p_flags));
    EXPECT_FALSE(file.lies_in(s.p_vaddr, s.p_memsz + 1, 0));
    EXPECT_FALSE(file.lies_in(s.p_vaddr, 1, PF_W | PF_X));
  }
  const auto pairs = [](const std::vector<AddressRange> &ranges) {
    std::vector<std::pair<uint64_t, uint64_t>> all;
    for (const auto &range : ranges) all.emplace_back(range.begin, range.end);
    return all;
  };
  EXPECT_EQ(pairs(file.code()), code);
  EXPECT_EQ(pairs(file.constants()), constants);
  EXPECT_EQ(file.memory_bytes(), memory);
  const AddressRange range{10, 20};
  EXPECT_TRUE(range.contains(10) && range.contains(19));
  EXPECT_FALSE(range.contains(9) || range.contains(20));
  try {
    file.address_of(good_header().bytes.size() - 1);  // of the section headers, which are in no segment
    ADD_FAILURE();
  } catch (const Exception &e) {
    EXPECT_EQ(std::string(e.what()), concat("calls.so: byte ", good_header().bytes.size() - 1, " is not loaded"));
  }
}

#undef HEADER
#undef SEGMENT

}  // namespace
}  // namespace opd
