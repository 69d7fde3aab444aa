// The bytes of a shared library, for tests that change some of them.
#pragma once
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "module/elf/elf_file.h"
#include "support/c_artifact.h"

namespace opd {

// A library whose bytes a test changes.
struct Library {
  std::string bytes;

  Library(const std::string &source, const std::string &flags)
      : bytes(opdyno_test::read_bytes(opdyno_test::build_library("calls", source, flags))) {}

  template <class T>
  T get(size_t at) const {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  }
  template <class T>
  void set(size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }

  std::vector<Elf64_Phdr> segments() const {
    const auto header = get<Elf64_Ehdr>(0);
    std::vector<Elf64_Phdr> all;
    for (size_t i = 0; i < header.e_phnum; ++i) all.push_back(get<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr)));
    return all;
  }
  size_t offset_of(uint64_t address) const {
    for (const auto &s : segments())
      if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
        return address - s.p_vaddr + s.p_offset;
    throw std::out_of_range("no such address");
  }
  size_t dynamic(int64_t tag) const {  // where the entry lies
    for (const auto &s : segments())
      for (size_t at = s.p_offset; s.p_type == PT_DYNAMIC && at < s.p_offset + s.p_filesz; at += sizeof(Elf64_Dyn))
        if (get<Elf64_Dyn>(at).d_tag == tag) return at;
    return 0;
  }
  uint64_t dynamic_value(int64_t tag) const { return get<Elf64_Dyn>(dynamic(tag)).d_un.d_val; }
  uint64_t address_of(std::string_view name) const {
    const ElfFile file(as_bytes(bytes), "calls.so");
    for (const auto &symbol : file.symbols())
      if (symbol.name == name) return symbol.value;
    throw std::out_of_range("no such symbol");
  }

  // Makes the last entry of an array, its word and its relocation, name another address.
  void aim(int64_t array, int64_t size, uint64_t target) {
    const uint64_t slot = dynamic_value(array) + dynamic_value(size) - 8;
    set(offset_of(slot), target);
    aim_relocation([&](const Elf64_Rela &r) { return r.r_offset == slot; }, target);
  }
  template <class Wanted>
  void aim_relocation(Wanted wanted, uint64_t target) {
    if (!dynamic(DT_RELA)) return;
    for (const auto &[table, size] : {std::pair{DT_RELA, DT_RELASZ}, {DT_JMPREL, DT_PLTRELSZ}})
      for (uint64_t i = 0; dynamic(table) && i < dynamic_value(size); i += sizeof(Elf64_Rela)) {
        const size_t at = offset_of(dynamic_value(table)) + i;
        if (wanted(get<Elf64_Rela>(at))) set(at + offsetof(Elf64_Rela, r_addend), target);
      }
  }
  // Where the n-th program header of a type, or of a segment with these flags, lies; 0 if there is none.
  size_t segment(uint32_t type, size_t n = 0, uint32_t flags = 0) const {
    const auto all = segments();
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].p_type == type && (!flags || all[i].p_flags == flags) && n-- == 0)
        return get<Elf64_Ehdr>(0).e_phoff + i * sizeof(Elf64_Phdr);
    return 0;
  }
  // Where the entry of a dynamic symbol lies; an undefined one if the library does not define it.
  size_t symbol(std::string_view name) const {
    const ElfFile file(as_bytes(bytes), "calls.so");
    for (const auto &symbol : file.symbols())
      if (symbol.name == name) return symbol.entry;
    throw std::out_of_range("no such symbol");
  }
  // The number of a dynamic symbol.
  uint64_t symbol_number(std::string_view name) const {
    return (symbol(name) - offset_of(dynamic_value(DT_SYMTAB))) / sizeof(Elf64_Sym);
  }
  // Where the first relocation that `wanted` holds for lies.
  template <class Wanted>
  size_t relocation(Wanted wanted) const {
    for (const auto &[table, size] : {std::pair{DT_RELA, DT_RELASZ}, {DT_JMPREL, DT_PLTRELSZ}})
      for (uint64_t i = 0; dynamic(table) && i < dynamic_value(size); i += sizeof(Elf64_Rela)) {
        const size_t at = offset_of(dynamic_value(table)) + i;
        if (wanted(get<Elf64_Rela>(at))) return at;
      }
    throw std::out_of_range("no such relocation");
  }

  // The message of the refusal, after "unsupported: " if the file is whole but of a kind that is not read.
  std::string told() const {
    try {
      ElfFile(as_bytes(bytes), "calls.so");
    } catch (const Exception &e) {
      if (e.error()->code == OPD_UNSUPPORTED) return std::string("unsupported: ") + e.what();
      EXPECT_EQ(e.error()->code, OPD_BAD_FORMAT) << e.what();
      return e.what();
    }
    return "accepted";
  }
  std::string refusal() const {
    try {
      ElfFile(as_bytes(bytes), "calls.so");
    } catch (const Exception &e) {
      EXPECT_EQ(e.error()->code, OPD_BAD_FORMAT) << e.what();
      return e.what();
    }
    return "accepted";
  }
};

// A change of a good library, and what is told of it.
struct ElfChange {
  std::function<void(Library &)> apply;
  std::string told;
};
template <class... Parts>
std::string bad_at(size_t offset, const Parts &...parts) {
  return concat("calls.so: ", parts..., " (at offset ", offset, ")");
}
inline void expect_each(const Library &good, const std::vector<ElfChange> &changes) {
  ASSERT_EQ(good.told(), "accepted");
  for (size_t i = 0; i < changes.size(); ++i) {
    Library library = good;
    changes[i].apply(library);
    EXPECT_EQ(library.told(), changes[i].told) << "change " << i;
  }
}

}  // namespace opd
