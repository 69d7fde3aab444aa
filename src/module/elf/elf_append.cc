#include "module/elf/elf_append.h"

#include <algorithm>

namespace opd {
namespace {

constexpr uint64_t kPage = 4096, kLargestPage = 65536;

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

template <class T>
std::string_view raw(const T &value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

}  // namespace

// Makes a copy of the file with one more segment at its end: program headers, then data, then the symbol tables. The
// old tables stay in the file, but nothing refers to them any more.
class ElfAppender {
 public:
  explicit ElfAppender(const ElfFile &file)
      : file_(file), out_(as_text(file.bytes())), begin_(round_up(out_.size(), kPage)) {
    // The loader requires that address and file offset are equal modulo the page size. Here this is true for the
    // largest page size. The address lies beyond the last segment's page of that size, so no page belongs to both.
    address_ = round_up(file.span_.end, kLargestPage) + begin_ % kLargestPage;
    // The old place of the program headers has no room for one more: sections follow it.
    segment_.resize((file.header_.e_phnum + size_t{1}) * sizeof(Elf64_Phdr));  // the program headers come first
  }

  std::string append(const std::vector<AddedData> &added) {
    copy_tables();
    for (const auto &data : added) define(data);
    place_tables();
    return finish();
  }

  // The string table cannot grow in place, so all of it moves.
  std::string replace_run_path(const std::string &run_path) {
    strings_ = file_.strings_;
    const uint64_t place = strings_.size();
    strings_.append(run_path).push_back('\0');
    place_strings();
    for (const int64_t tag : {DT_RUNPATH, DT_RPATH})
      if (const auto *entry = file_.dynamic(tag)) overwrite(entry->entry + 8, place);
    return finish();
  }

 private:
  uint64_t place(std::string_view bytes, uint64_t alignment) {
    // The segment begins at a page, so an aligned place in it has an aligned address.
    segment_.resize(round_up(segment_.size(), alignment));
    segment_ += bytes;
    return address_ + segment_.size() - bytes.size();
  }

  template <class T>
  void overwrite(uint64_t offset, const T &value) {
    out_.replace(offset, sizeof value, raw(value));
  }

  void copy_tables() {
    // New names go behind the old ones, so every index into the table stays right.
    strings_ = file_.strings_;
    symbols_.resize(file_.symbols_.size());
    versions_.resize(symbols_.size());
    for (size_t i = 0; i < symbols_.size(); ++i)
      symbols_[i] = file_.read<Elf64_Sym>(file_.symbol_table_ + i * sizeof(Elf64_Sym), "a symbol");
    if (!file_.dynamic(DT_VERSYM)) return;
    const uint64_t table = file_.table(DT_VERSYM, versions_.size() * 2, "the version table");
    for (size_t i = 0; i < versions_.size(); ++i) versions_[i] = file_.read<uint16_t>(table + 2 * i, "a version");
  }

  void define(const AddedData &data) {
    // Only a defined symbol can be redirected: an undefined one precedes the symbols of GNU's hash table, so a lookup
    // would not find it. Code that reaches the old data without the symbol keeps using it.
    const auto is_it = [&](const ElfSymbol &symbol) { return symbol.is_defined() && symbol.name == data.symbol; };
    const auto known = std::ranges::find_if(file_.symbols_, is_it);
    Elf64_Sym symbol{};
    auto *entry = &symbol;
    if (known == file_.symbols_.end()) {
      symbol.st_name = static_cast<uint32_t>(strings_.size());
      strings_.append(data.symbol).push_back('\0');
    } else {
      entry = &symbols_[static_cast<size_t>(known - file_.symbols_.begin())];
    }
    entry->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
    entry->st_shndx = 1;  // any section: loaders only ask whether there is one
    entry->st_value = place(data.content, 64);
    entry->st_size = data.content.size();
    if (entry != &symbol) return;
    symbols_.push_back(symbol);
    // No version: a lookup by name alone finds the symbol.
    versions_.push_back(VER_NDX_GLOBAL);
  }

  void place_tables() {
    const auto bytes_of = [](const auto &list) {
      return std::string_view(reinterpret_cast<const char *>(list.data()), list.size() * sizeof list[0]);
    };
    move_table(DT_SYMTAB, SHT_DYNSYM, bytes_of(symbols_));
    place_strings();
    if (file_.dynamic(DT_VERSYM)) move_table(DT_VERSYM, SHT_GNU_versym, bytes_of(versions_));
    if (file_.dynamic(DT_GNU_HASH)) move_table(DT_GNU_HASH, SHT_GNU_HASH, gnu_hash_table());
    if (file_.dynamic(DT_HASH)) move_table(DT_HASH, SHT_HASH, sysv_hash_table());
  }

  void place_strings() {
    move_table(DT_STRTAB, SHT_STRTAB, strings_);
    overwrite(file_.dynamic(DT_STRSZ)->entry + 8, uint64_t{strings_.size()});
  }

  std::string finish() {
    out_.resize(begin_);
    out_ += segment_;
    write_headers();
    return std::move(out_);
  }

  // The loader ignores section headers; they are updated for tools such as readelf.
  void move_table(int64_t tag, uint32_t section_type, std::string_view bytes) {
    const uint64_t address = place(bytes, 8), before = file_.dynamic_value(tag);
    overwrite(file_.dynamic(tag)->entry + 8, address);
    for (size_t i = 0; i < file_.sections_.size(); ++i) {
      Elf64_Shdr section = file_.sections_[i];
      if (section.sh_type != section_type || section.sh_addr != before || !(section.sh_flags & SHF_ALLOC)) continue;
      section.sh_addr = address;
      section.sh_offset = begin_ + (address - address_);
      section.sh_size = bytes.size();
      overwrite(file_.header_.e_shoff + i * sizeof section, section);
    }
  }

  // There is one bucket. More would need another order of the symbols, but relocations refer to symbols by index.
  std::string gnu_hash_table() const {
    const auto count = static_cast<uint32_t>(symbols_.size());
    const uint32_t first = file_.hashed_.count ? file_.hashed_.first : static_cast<uint32_t>(file_.symbols_.size());
    ByteWriter out;
    // Number of buckets, first symbol in the table, number of words in the filter, shift of the filter.
    for (const uint32_t word : {1u, first, 1u, 0u}) out.write(word);
    out.write(~uint64_t{0});  // a filter that accepts every name
    out.write(first < count ? first : 0);
    for (uint32_t i = first; i < count; ++i) {
      // The lowest bit of a hash marks the end of the chain.
      const uint32_t hash = gnu_hash(strings_.c_str() + symbols_[i].st_name);
      out.write(i + 1 < count ? hash & ~1u : hash | 1u);
    }
    return out.take();
  }

  std::string sysv_hash_table() const {
    ByteWriter out;
    const auto count = static_cast<uint32_t>(symbols_.size());
    // The second word is the number of symbols, which tools read from here. So all symbols are in the one chain.
    for (const uint32_t word : {1u, count, count > 1 ? 1u : 0u, 0u}) out.write(word);
    for (uint32_t i = 1; i < count; ++i) out.write(i + 1 < count ? i + 1 : 0u);
    return out.take();
  }

  void write_headers() {
    std::vector<Elf64_Phdr> all;
    const size_t count = file_.header_.e_phnum;
    for (size_t i = 0; i < count; ++i)
      all.push_back(file_.read<Elf64_Phdr>(file_.header_.e_phoff + i * sizeof(Elf64_Phdr), "a program header"));
    const uint64_t size = (count + 1) * sizeof(Elf64_Phdr);
    // PT_PHDR must lie in a loaded segment and have the new address of the headers.
    for (auto &header : all) {
      if (header.p_type != PT_PHDR) continue;
      header.p_offset = begin_;
      header.p_vaddr = header.p_paddr = address_;
      header.p_filesz = header.p_memsz = size;
    }
    // The loader computes a library's extent from its first and last PT_LOAD, so they must be in ascending order. This
    // one has the highest address.
    const auto last =
        std::find_if(all.rbegin(), all.rend(), [](const auto &header) { return header.p_type == PT_LOAD; });
    all.insert(last.base(),
               {PT_LOAD, PF_R, begin_, address_, address_, segment_.size(), segment_.size(), kLargestPage});
    for (size_t i = 0; i < all.size(); ++i) overwrite(begin_ + i * sizeof all[i], all[i]);
    Elf64_Ehdr header = file_.header_;
    header.e_phoff = begin_;
    header.e_phnum = static_cast<uint16_t>(all.size());
    overwrite(0, header);
  }

  const ElfFile &file_;
  std::string out_, segment_, strings_;
  uint64_t begin_, address_;  // position of the new segment
  std::vector<Elf64_Sym> symbols_;
  std::vector<uint16_t> versions_;
};

// Checks the result like every library before a load, because dlopen() trusts its input.
std::string with_run_path(const ElfFile &file, const std::string &run_path) {
  std::string out = ElfAppender(file).replace_run_path(run_path);
  const ElfFile checked(as_bytes(out), file.name());
  return out;
}

std::string with_data(const ElfFile &file, const std::vector<AddedData> &added) {
  std::string out = ElfAppender(file).append(added);
  const ElfFile checked(as_bytes(out), file.name());  // the same check as above
  return out;
}

}  // namespace opd
