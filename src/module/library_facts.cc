#include "module/library_facts.h"

#include <map>
#include <set>

#include "module/c_source_text.h"
#include "module/elf/object_file.h"
#include "module/image/artifact.h"

namespace opd {
namespace {

void add_functions(LibraryFacts &facts, const ObjectFile &object) {
  for (const ObjectSymbol &symbol : object.symbols())
    if (symbol.is_global && symbol.is_code && symbol.name.starts_with(kFunctionPrefix))
      facts.functions.push_back({std::string(symbol.name.substr(kFunctionPrefix.size())), symbol.size});
}

}  // namespace

LibrarySizes sizes_of(const ElfFile &file) {
  LibrarySizes sizes{file.bytes().size(), file.memory_bytes(), 0, embedded_by_tvm(file).size()};
  for (const AddressRange &range : file.code()) sizes.code += range.end - range.begin;
  return sizes;
}

bool is_offered_function(const ElfFile &file, const ElfSymbol &symbol) {
  if (!symbol.is_defined() || !symbol.name.starts_with(kFunctionPrefix)) return false;
  return symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC ||
         (symbol.type == STT_NOTYPE && file.lies_in(symbol.value, 1, PF_X));
}

Bytes embedded_in(const ElfFile &file, std::string_view name) {
  Bytes found;
  for (const ElfSymbol &symbol : file.symbols()) {
    if (!symbol.is_defined() || symbol.name != name) continue;
    found = file.contents(symbol.value, symbol.size);
    if (found.empty())
      file.bad(symbol.entry, symbol.name, " at address ", symbol.value, " with ", symbol.size,
               " bytes is not data of the file");
  }
  return found;
}

Bytes embedded_by_tvm(const ElfFile &file) {
  const Bytes bytes = embedded_in(file, kBlobSymbol);
  return bytes.data() ? bytes : embedded_in(file, concat(system_prefix(file), kBlobSymbol));
}

std::vector<AddressRange> constants_without_embedded(const ElfFile &file) {
  AddressRange embedded;
  for (const ElfSymbol &symbol : file.symbols())
    if (symbol.is_defined() && symbol.name.ends_with(kBlobSymbol))
      embedded = {symbol.value, symbol.value + symbol.size};
  std::vector<AddressRange> ranges;
  const auto add = [&](uint64_t begin, uint64_t end) {
    if (begin < end) ranges.push_back({begin, end});
  };
  for (const AddressRange &range : file.constants()) {
    const bool holds = range.contains(embedded.begin) && embedded.end <= range.end;
    add(range.begin, holds ? embedded.begin : range.end);
    if (holds) add(embedded.end, range.end);
  }
  return ranges;
}

void describe_called(JsonWriter &json, const std::vector<std::string_view> &names) {
  const std::set<std::string_view> sorted(names.begin(), names.end());
  if (sorted.empty()) return;
  json.key("calls").begin_array();
  for (const std::string_view name : sorted) json.value(name);
  json.end_array();
}

std::vector<std::string_view> functions_with_places(const ElfFile &file) {
  std::vector<std::string_view> names = file.local_names(kPlacePrefix);
  for (std::string_view &name : names) name.remove_prefix(kPlacePrefix.size());
  return names;
}

void add_called_builtins(Bytes constants, std::vector<std::string_view> &names) {
  constexpr std::string_view kStart("\0vm.builtin.", 12);
  const std::string_view all = as_text(constants);
  for (size_t at = 0; (at = all.find(kStart, at)) != std::string_view::npos;) {
    const std::string_view rest = all.substr(++at);
    const std::string_view name = rest.substr(0, rest.find('\0'));
    const bool is_name = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") == std::string_view::npos;
    if (is_name && name.size() < rest.size()) names.push_back(name);
  }
}

KernelSignatures kernel_signatures(std::span<const Bytes> constants) {
  constexpr std::string_view kTensor = ": Tensor(";  // every kernel takes at least one tensor
  KernelSignatures signatures;
  for (const Bytes bytes : constants) {
    const std::string_view all = as_text(bytes);
    size_t end = 0;
    for (size_t at; (at = all.find(kTensor, end)) != std::string_view::npos;) {
      const size_t zero = all.rfind('\0', at);
      const size_t begin = zero == std::string_view::npos || zero < end ? end : zero + 1;
      end = std::min(all.find('\0', at), all.size());
      const std::string_view text = all.substr(begin, end - begin);
      if (text.ends_with(')')) signatures.try_emplace(text.substr(0, text.find('(')), text);
    }
  }
  return signatures;
}

LibraryFacts facts_of(const ElfFile &file) {
  LibraryFacts facts;
  try {
    if (file.machine() != kMachine)
      fail(OPD_UNSUPPORTED, file.name(), " is made for ", machine_name(file.machine()), "; this process runs on ",
           machine_name(kMachine));
    require_loadable(file);
  } catch (const Exception &e) {
    if (e.error()->code != OPD_UNSUPPORTED) throw;
    facts.not_loadable = e.what();
  }
  facts.release = tvm_release(file);
  facts.prefix = system_prefix(file);
  facts.sizes = sizes_of(file);
  for (const ElfSymbol &symbol : file.symbols())
    if (is_offered_function(file, symbol))
      facts.functions.push_back({std::string(symbol.name.substr(kFunctionPrefix.size())), symbol.size});
  std::vector<std::string_view> called = functions_with_places(file);
  for (const AddressRange &range : constants_without_embedded(file))
    add_called_builtins(file.contents(range.begin, range.end - range.begin), called);
  facts.called.assign(called.begin(), called.end());
  return facts;
}

ObjectFacts facts_of(const std::vector<LinkInput> &inputs, const std::string &origin) {
  ObjectFacts facts;
  std::vector<std::string_view> names;
  std::map<std::string, std::string, std::less<>> blobs;  // keys are symbol names
  const auto read = [&](Bytes bytes, const std::string &shown) {
    const ObjectFile object(bytes, shown);
    add_functions(facts.library, object);
    for (const ObjectSymbol &symbol : object.symbols()) {
      names.push_back(symbol.name);
      if (symbol.is_global && symbol.name.ends_with(kBlobSymbol))
        blobs[std::string(symbol.name)] = as_text(object.contents(symbol));
      if (symbol.is_global && symbol.name == kOwnBlobSymbol) facts.own = as_text(object.contents(symbol));
    }
    facts.library.sizes.code += object.code_bytes();
  };
  for (const auto &input : inputs) {
    const std::string shown = input.name == origin ? origin : concat(origin, ": ", input.name);
    facts.library.sizes.file += input.content.size();
    if (input.name.ends_with(".c")) {
      facts.library.is_compiled = false;
      for (auto &name : functions_named_in(input.content)) facts.library.functions.push_back({std::move(name), 0});
      if (auto bytes = bytes_written_in(input.content, kBlobSymbol); !bytes.empty())
        blobs[std::string(kBlobSymbol)] = std::move(bytes);
    } else if (input.name.ends_with(".a")) {
      for (const auto &[name, bytes] : read_archive(as_bytes(input.content), shown))
        read(bytes, concat(shown, ": ", name));
    } else {
      read(as_bytes(input.content), shown);
    }
  }
  facts.library.release = tvm_release(names);
  facts.library.prefix = system_prefix(names);
  for (const std::string &name : {std::string(kBlobSymbol), concat(facts.library.prefix, kBlobSymbol)})
    if (facts.embedded.empty()) facts.embedded = blobs[name];
  facts.library.sizes.embedded = facts.embedded.size();
  return facts;
}

}  // namespace opd
