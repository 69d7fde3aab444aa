// Any bytes as a shared library: refused, or a view of which everything that loading uses lies within the bytes.
// Nothing is given to dlopen(): what passes could run.
#include <cstdlib>

#include "module/blob_reader.h"
#include "module/elf/elf_append.h"
#include "module/image/artifact.h"
#include "tvmffi/tvmffi.h"

namespace {

using namespace opd;

void must(bool holds) {
  if (!holds) std::abort();
}

bool lies_within(const ElfFile &file, uint64_t offset, uint64_t size) {
  return offset <= file.bytes().size() && size <= file.bytes().size() - offset;
}

uint8_t sum(Bytes bytes) {
  uint8_t total = 0;
  for (const uint8_t byte : bytes) total = static_cast<uint8_t>(total + byte);
  return total;
}

// What LibraryModule takes from a symbol, and what is written over its entry.
void use(const ElfFile &file, const ElfSymbol &symbol) {
  must(lies_within(file, symbol.entry, sizeof(Elf64_Sym)));
  const uint64_t name = static_cast<uint64_t>(symbol.name.data() - as_text(file.bytes()).data());
  must(lies_within(file, name, symbol.name.size() + 1));
  if (!symbol.name.empty()) file.address_of(name);
  const Bytes content = file.contents(symbol.value, symbol.size);
  must(content.empty() || content.size() == symbol.size);
  [[maybe_unused]] const volatile uint8_t total = sum(content);
  if (symbol.is_defined() && symbol.name == kBlobSymbol) read_embedded_modules(content, file.name());
}

void use(const ElfFile &file) {
  must(!file.symbols().empty() && (file.soname_entry() == 0 || lies_within(file, file.soname_entry(), 8)));
  for (const auto &symbol : file.symbols()) use(file, symbol);
  uint64_t before = 0;
  for (const auto &r : file.relocations()) {
    must(r.address >= before && r.symbol < file.symbols().size());
    must(file.contents(r.address, 8).size() == 8 && file.is_loaders(r.address, 8));
    before = r.address;
  }
  for (const auto &range : file.code()) must(range.begin < range.end);
  for (const auto &library : file.needed()) must(!library.empty());
  tvm_release(file);
  require_loadable(file);
  const std::string more = with_data(file, {{kBlobSymbol, "more"}});  // checks what it made
  const ElfFile with_more(as_bytes(more), "more.so");
  for (const auto &symbol : with_more.symbols())
    must(symbol.name != kBlobSymbol || !symbol.is_defined() || symbol.size == 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  register_tvmffi_symbols();
  try {
    use(ElfFile({data, size}, "any.so"));
  } catch (const Exception &e) {
    const opd_code code = e.error()->code;
    must(*e.what() && (code == OPD_BAD_FORMAT || code == OPD_UNSUPPORTED));
  }
  return 0;
}
