// Facts from an artifact's symbols, and the words of its memory that the loader writes.
#include "module/image/artifact.h"

#include "support/refusal.h"
#include "tvmffi/tvmffi.h"
#include "unit/module/elf_bytes.h"

namespace opd {
namespace {

using Views = std::vector<std::string_view>;

TEST(Artifact, HasThePrefixOfASystemLibraryIfItIsTheOnlyOne) {
  const std::pair<Views, const char *> cases[] = {
      {{}, ""},
      {{"__tvm_ffi__library_ctx", "__tvm_ffi__library_bin"}, ""},
      {{"one___tvm_ffi__library_ctx"}, "one_"},
      {{"one___tvm_ffi__library_bin", "f"}, "one_"},
      {{"one___tvm_ffi__library_bin", "__tvm_ffi__library_ctx", "one___tvm_ffi__library_ctx"}, "one_"},
      {{"one___tvm_ffi__library_ctx", "two___tvm_ffi__library_ctx"}, ""},
      {{"one___tvm_ffi__library_ctx", "two___tvm_ffi__library_bin"}, ""},
      {{"one___tvm_ffi__library_ctx_", "__opdyno_library_bin"}, ""}};
  for (const auto &[names, prefix] : cases) EXPECT_EQ(system_prefix(names), prefix) << (names.empty() ? "" : names[0]);
}

TEST(TvmRelease, IsFoundFromSymbolNames) {
  const std::pair<Views, const char *> cases[] = {
      {{}, ""},
      {{"f", "TVMFFIFunctionCall"}, ""},
      {{"__tvm_module_ctx", "__TVMFFIHandleInitOnce"}, "0.20 or older"},
      {{"__tvm_dev_mblob"}, "0.20 or older"},
      {{"__tvm_main__"}, "0.20 or older"},
      {{"__TVMFuncCall"}, "0.20 or older"},
      {{"TVMFuncCall"}, "0.20 or older"},
      {{"__TVMAPISetLastError"}, "0.20 or older"},
      {{"TVMAPISetLastError"}, "0.20 or older"},
      {{"__tvm_ffi_library_bin", "TVMBackendGetFuncFromEnv"}, "0.21"},
      {{"__tvm_ffi_library_ctx"}, "0.21"},
      {{"__TVMFFIEnvModLookupFromImports", "TVMBackendGetFuncFromEnv"}, "0.26 or newer"},
      {{"TVMFFIEnvModLookupFromImports"}, "0.26 or newer"},
      {{"__TVMFFIHandleInitOnce"}, "0.26 or newer"},
      {{"TVMBackendGetFuncFromEnv", "TVMFFIErrorSetRaisedFromCStrParts"}, "0.24 or 0.25"},
      {{"__TVMBackendGetFuncFromEnv", "TVMFFIErrorSetRaisedFromCStrParts"}, "0.24 or 0.25"},
      {{"TVMBackendGetFuncFromEnv", "__TVMFFIErrorSetRaisedFromCStr"}, "0.22 or 0.23"},
      {{"TVMBackendGetFuncFromEnv"}, "0.25 or older"},
      {{"TVMFFIErrorSetRaisedFromCStrParts"}, "0.24 or newer"},
      {{"__TVMFFIErrorSetRaisedFromCStr"}, "0.22 or 0.23"}};
  for (const auto &[names, release] : cases) EXPECT_EQ(tvm_release(names), release) << (names.empty() ? "" : names[0]);
}

TEST(Artifact, UsesTvmsNamesIfItHasOneOfThem) {
  const auto uses = [](const std::string &source) {
    return uses_tvm_names(ElfFile(as_bytes(Library(source, "").bytes), "calls.so"));
  };
  EXPECT_TRUE(uses("int __tvm_ffi_f(void) { return 1; }"));
  EXPECT_TRUE(uses("void *__TVMAny;"));
  EXPECT_TRUE(uses("void *mine___tvm_ffi__library_ctx;"));
  EXPECT_TRUE(uses("void TVMAny(void); void f(void) { TVMAny(); }"));
  EXPECT_TRUE(uses("void __TVMAny(void); void f(void) { __TVMAny(); }"));
  EXPECT_FALSE(uses("void TVMAny(void) {} void tvm_ffi(void) {} void *mine___tvm_ffi__library_ctx_;"));
  EXPECT_FALSE(uses("void __tvm_ffi_f(void); void f(void) { __tvm_ffi_f(); }")) << "its own names are for others";
}

// Slots of pointers that are too small, not aligned, not writable, and that the loader writes itself.
TEST(Artifact, SaysWhichSlotCannotHoldAPointer) {
  register_tvmffi_symbols();
  const auto told = [](const std::string &slot, const std::string &source) {
    const Library library(source, "");
    const ElfFile file(as_bytes(library.bytes), "calls.so");
    const auto symbol = library.get<Elf64_Sym>(library.symbol(slot));
    const std::string expected = bad_at(library.symbol(slot), slot, " at address ", symbol.st_value, " with ",
                                        symbol.st_size, " bytes is not a place for a pointer");
    const std::string found = refusal(OPD_BAD_FORMAT, [&] { require_loadable(file); });
    EXPECT_TRUE(found == expected || found == "accepted") << found;
    return found != "accepted";
  };
  const auto placed = [](const std::string &section, const std::string &name, const std::string &size,
                         const std::string &before = "") {
    return "__asm__(\".section " + section + "\\n.balign 8\\n" + before + ".globl " + name + "\\n.type " + name +
           ", %object\\n.size " + name + ", " + size + "\\n" + name + ": .quad 0, 0\\n.text\\n\");";
  };
  for (const std::string name : {"__TVMFFIFunctionCall", "__tvm_ffi__library_ctx", "one___tvm_ffi__library_ctx"}) {
    EXPECT_FALSE(told(name, "void *" + name + ";"));
    EXPECT_FALSE(told(name, placed(".data", name, "8")));
    EXPECT_TRUE(told(name, placed(".data", name, "7")));
    EXPECT_TRUE(told(name, placed(".data", name, "16")));
    EXPECT_TRUE(told(name, placed(".data", name, "8", ".long 0\\n")));
    EXPECT_TRUE(told(name, placed(".rodata", name, "8")));
    EXPECT_TRUE(told(name, "int x; void *" + name + " = &x;"));
  }
}

TEST(ElfFile, IdentifiesTheBytesThatTheLoaderWrites) {
  const std::string source = R"(
#include <math.h>
int shared = 1;
static _Thread_local int own = 3;
char apart[64] = "text";
int *pointer = &shared;
int *relative[2] = {0, &shared};
double f(double x) { return exp(x) + ++own; }
)";
  for (const char *flags : {"-lm -Wl,-z,norelro,-z,lazy", "-lm -Wl,-z,relro,-z,now"}) {
    const Library library(source, flags);
    const ElfFile file(as_bytes(library.bytes), "calls.so");
    std::vector<AddressRange> written;
    uint64_t begin = UINT64_MAX, end = 0;
    for (const auto &s : library.segments()) {
      if (s.p_type == PT_DYNAMIC || s.p_type == PT_GNU_RELRO) written.push_back({s.p_vaddr, s.p_vaddr + s.p_memsz});
      if (s.p_type == PT_LOAD && s.p_flags & PF_W) begin = std::min(begin, s.p_vaddr), end = s.p_vaddr + s.p_memsz;
    }
    if (library.dynamic(DT_PLTGOT)) {
      const uint64_t table = library.dynamic_value(DT_PLTGOT);
      written.push_back({table, table + 24});
    }
    for (const auto &[table, size] : {std::pair{DT_RELA, DT_RELASZ}, {DT_JMPREL, DT_PLTRELSZ}})
      for (uint64_t i = 0; library.dynamic(table) && i < library.dynamic_value(size); i += sizeof(Elf64_Rela)) {
        const auto r = library.get<Elf64_Rela>(library.offset_of(library.dynamic_value(table)) + i);
        const auto kind = relocates(static_cast<uint32_t>(ELF64_R_TYPE(r.r_info)));
        written.push_back({r.r_offset, r.r_offset + (kind == Relocates::kThreadLocalPair ? 16 : 8)});
      }
    ASSERT_GT(written.size(), 4u);
    size_t number = 0;
    for (uint64_t address = begin - 32; address < end + 32; ++address)
      for (const uint64_t size : {1, 8, 24}) {
        const bool expected = std::any_of(written.begin(), written.end(), [&](const AddressRange &range) {
          return address < range.end && address + size > range.begin;
        });
        number += expected;
        if (file.is_loaders(address, size) != expected)
          ADD_FAILURE() << flags << ": " << size << " bytes at " << address << " are " << (expected ? "" : "not ")
                        << "the loader's";
      }
    EXPECT_GT(number, 100u);
    EXPECT_FALSE(file.is_loaders(library.address_of("apart") + 8, 48)) << flags;
    EXPECT_FALSE(file.is_loaders(0, 8));
  }
}

#if defined(__x86_64__)
// The note of the properties, as the x86-64 ABI has it: sizes of name and content, type 5, "GNU"; then for each
// property its type, its size and its value in units of eight bytes.
TEST(Artifact, HasTheLevelOfTheProcessorThatItsPropertiesName) {
  const auto isa = [](const Library &library) { return ElfFile(as_bytes(library.bytes), "calls.so").needed_isa(); };
  const std::string source = "int level(void) { return 4; }";
  EXPECT_EQ(isa(Library(source, "-fcf-protection=full")), 0u);
  EXPECT_EQ(isa(Library(source, "-Wl,-z,x86-64-v2")) & 14, 2u);
  EXPECT_EQ(isa(Library(source, "-Wl,-z,x86-64-v3")) & 14, 4u);
  const Library good(source, "-Wl,-z,x86-64-v4");
  EXPECT_EQ(isa(good) & 14, 8u);
  const size_t note = good.get<Elf64_Phdr>(good.segment(PT_GNU_PROPERTY)).p_offset;
  ASSERT_EQ(good.get<uint32_t>(note), 4u);
  const uint32_t size = good.get<uint32_t>(note + 4);
  size_t property = note + 16;
  while (good.get<uint32_t>(property) != 0xc0008002) {  // GNU_PROPERTY_X86_ISA_1_NEEDED
    property += 8 + (good.get<uint32_t>(property + 4) + 7) / 8 * 8;
    ASSERT_LT(property, note + 16 + size);
  }
  ASSERT_EQ(good.get<uint32_t>(property + 4), 4u);
  const auto with = [&](size_t at, uint32_t value) {
    Library library = good;
    library.set<uint32_t>(at, value);
    for (const uint32_t type : {PT_NOTE, PT_GNU_PROPERTY})  // the same bytes are given by both
      EXPECT_NE(library.segment(type), 0u);
    return isa(library);
  };
  EXPECT_EQ(with(property + 8, 2) & 14, 2u);
  EXPECT_EQ(with(property, 0xc0008001), 0u) << "levels that are used are not needed";
  EXPECT_EQ(with(note + 8, 4), 0u) << "a note of another type";
  EXPECT_EQ(with(note + 12, 0x00564e47), 0u) << "a note of GNV";
  EXPECT_EQ(with(note + 4, 0x10000000), 0u) << "it would leave its segment";
  EXPECT_EQ(with(note, 0x10000000), 0u);
  EXPECT_EQ(with(property + 4, 0x10000000), 0u);
  EXPECT_EQ(with(property + 4, 0), 0u) << "without a value";
  Library moved = good;
  for (const uint32_t type : {PT_NOTE, PT_GNU_PROPERTY})
    for (size_t i = 0; moved.segment(type, i); ++i)
      moved.set<uint64_t>(moved.segment(type, i) + offsetof(Elf64_Phdr, p_align), 4);
  EXPECT_EQ(isa(moved), 0u) << "properties are aligned to eight bytes";
}
#endif

}  // namespace
}  // namespace opd
