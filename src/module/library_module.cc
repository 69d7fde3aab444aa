#include "module/library_module.h"

#include <algorithm>

#include "module/artefact.h"
#include "module/kernel_args.h"
#include "module/symbol_table.h"

namespace opd {
namespace {

const char *place_of(const ElfFile &file, const ElfLibrary &library, std::string_view name) {
  // The file's string table is part of a segment: the same text lies in memory for as long as the library is mapped.
  const Bytes bytes = file.bytes();
  const uint64_t offset = static_cast<uint64_t>(reinterpret_cast<const uint8_t *>(name.data()) - bytes.data());
  return library.base() + file.address_of(offset);
}

// Kernels that TVM compiled raise errors by text.
bool raises_error_objects(const ElfFile &file) {
  return std::any_of(file.symbols().begin(), file.symbols().end(),
                     [](const ElfSymbol &s) { return s.is_needed() && s.name == "TVMFFIErrorSetRaised"; });
}

}  // namespace

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

LibraryModule::LibraryModule(const std::shared_ptr<LibraryImage> &image, const std::string &mapped, std::string file,
                             const ModuleOptions &options)
    : CodeModule(file.empty() ? "from memory" : file),
      file_(std::move(file)),
      release_(tvm_release(image->file())),
      library_(image, mapped, options),
      call_hooks_(library_.slots_of_own_functions(image->file(), kFunctionPrefix)),
      checks_arguments_(raises_error_objects(image->file())) {
  const ElfFile &elf = image->file();
  for (const ElfSymbol &symbol : elf.symbols()) {
    if (!symbol.is_defined() || !symbol.name.starts_with(kFunctionPrefix)) continue;
    if (symbol.type != STT_FUNC && !(symbol.type == STT_NOTYPE && elf.lies_in(symbol.value, 1, PF_X))) continue;
    functions_.push_back(
        {{place_of(elf, library_, symbol.name) + kFunctionPrefix.size(), symbol.name.size() - kFunctionPrefix.size()},
         symbol.size});
  }
  sizes_ = {elf.bytes().size(), elf.memory_bytes(), 0, embedded_in(elf, kBlobSymbol).size()};
  for (const AddressRange &range : elf.code()) sizes_.code += range.end - range.begin;
}

Ref<LibraryModule> LibraryModule::make(const std::shared_ptr<LibraryImage> &image, const std::string &mapped,
                                       const std::string &file, const ModuleOptions &options) {
  if (!image->is_prepared()) require_loadable(image->file());
  auto module = make_object<LibraryModule>(image, mapped, file, options);
  module->fill_slots(image->file());
  return module;
}

void LibraryModule::fill_slots(const ElfFile &file) {
  for (const ElfSymbol &symbol : file.symbols()) {
    if (!symbol.is_defined()) continue;
    auto **slot = reinterpret_cast<void **>(library_.base() + symbol.value);
    void *value = nullptr;
    if (is_context_slot(symbol)) value = provided_symbol(symbol.name.substr(2));
    if (symbol.name == kContextSymbol) context_ = slot, value = context();
    if (value) __atomic_store_n(slot, value, __ATOMIC_RELEASE);
  }
}

LibraryModule::~LibraryModule() {
  // Functions that the library made itself may keep its code mapped for longer; they find no imports then, rather than
  // us.
  if (context_) __atomic_store_n(context_, nullptr, __ATOMIC_RELEASE);
}

Ref<Function> LibraryModule::find(std::string_view name) {
  const std::string symbol = concat(kFunctionPrefix, name);
  if (symbol.find('\0') != std::string::npos) return nullptr;
  void *code = library_.own_function(symbol.c_str());
  if (!code) return nullptr;
  const auto function = reinterpret_cast<SafeCall>(code);
  if (checks_arguments_) return make_object<TypedFunction>(function, Ref<Object>::share(this));
  return make_object<KernelFunction>(function, Ref<Object>::share(this), std::string(name));
}

std::vector<std::string> LibraryModule::list() {
  std::vector<std::string> names;
  for (const OwnFunction &function : functions_)
    if (!is_special_name(function.name)) names.emplace_back(function.name);
  return names;
}

std::string LibraryModule::original() const {
  if (!original_)
    fail(OPD_UNSUPPORTED,
         "a library that was loaded from memory cannot be exported: its bytes are not kept; load it "
         "from its file");
  return original_();
}

void LibraryModule::describe(JsonWriter &json) {
  json.key("tvm_release").value(release_).key("private_copy").value(library_.is_copy());
  json.key("size_bytes").value(sizes_.file).key("memory_bytes").value(sizes_.memory);
  json.key("code_bytes").value(sizes_.code).key("embedded_bytes").value(sizes_.embedded);
  json.key("function_bytes").begin_object();
  for (const OwnFunction &function : functions_)
    if (!is_special_name(function.name)) json.key(function.name).value(function.bytes);
  json.end_object();
}

}  // namespace opd
