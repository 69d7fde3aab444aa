#include "module/kinds/library_module.h"

#include <algorithm>

#include "base/cache_directory.h"
#include "module/image/artifact.h"
#include "module/kernel_args.h"

namespace opd {
namespace {

const char *place_of(const ElfFile &file, const ElfLibrary &library, std::string_view name) {
  // The file's string table is part of a segment. So the text is also in memory while the library is mapped.
  const Bytes bytes = file.bytes();
  const uint64_t offset = static_cast<uint64_t>(reinterpret_cast<const uint8_t *>(name.data()) - bytes.data());
  return library.base() + file.address_of(offset);
}

// Whether the code is C++ with tvm-ffi's headers, which raises error objects. Kernels compiled by TVM raise errors as
// text.
bool raises_error_objects(const ElfFile &file) {
  return std::any_of(file.symbols().begin(), file.symbols().end(),
                     [](const ElfSymbol &s) { return s.is_needed() && s.name == "TVMFFIErrorSetRaised"; });
}

}  // namespace

LibraryModule::LibraryModule(const std::shared_ptr<LibraryImage> &image, const std::string &mapped, std::string file,
                             const ModuleOptions &options)
    : CodeModule(file.empty() ? "from memory" : file),
      file_(std::move(file)),
      release_(tvm_release(image->file())),
      prefix_(system_prefix(image->file())),
      library_(image, mapped, options),
      call_hooks_(library_.slots_of_own_functions(image->file(), kFunctionPrefix)),
      checks_arguments_(raises_error_objects(image->file())) {
  const ElfFile &elf = image->file();
  for (const ElfSymbol &symbol : elf.symbols())
    if (is_offered_function(elf, symbol))
      functions_.push_back(
          {{place_of(elf, library_, symbol.name) + kFunctionPrefix.size(), symbol.name.size() - kFunctionPrefix.size()},
           symbol.size});
  sizes_ = sizes_of(elf);
  for (const AddressRange &range : constants_without_embedded(elf))
    constants_.emplace_back(reinterpret_cast<const uint8_t *>(library_.base() + range.begin), range.end - range.begin);
  for (const std::string_view name : functions_with_places(elf)) with_places_.emplace_back(name);
}

std::vector<std::string_view> LibraryModule::called_functions() const {
  std::vector<std::string_view> names(with_places_.begin(), with_places_.end());
  for (const Bytes bytes : constants_) add_called_builtins(bytes, names);
  return names;
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
    if (symbol.name.ends_with(kContextSymbol)) contexts_.push_back(slot), value = context();
    if (value) __atomic_store_n(slot, value, __ATOMIC_RELEASE);
  }
}

LibraryModule::~LibraryModule() {
  // The library's own function objects may keep its code mapped for longer. They must then find no imports, instead of
  // a destroyed module.
  for (void **slot : contexts_) __atomic_store_n(slot, nullptr, __ATOMIC_RELEASE);
}

Ref<Function> LibraryModule::find(std::string_view name) {
  const std::string symbol = concat(kFunctionPrefix, name);
  if (symbol.find('\0') != std::string::npos) return nullptr;
  void *code = library_.own_function(symbol.c_str());
  // Users name functions of a system library without its prefix. Its own programs use the prefix.
  if (!code && !prefix_.empty()) code = library_.own_function(concat(kFunctionPrefix, prefix_, name).c_str());
  if (!code) return nullptr;
  const auto function = reinterpret_cast<SafeCall>(code);
  if (checks_arguments_) return make_object<TypedFunction>(function, Ref<Object>::share(this), std::string(name));
  return make_object<KernelFunction>(function, Ref<Object>::share(this), std::string(name));
}

std::vector<std::string> LibraryModule::list() {
  std::vector<std::string> names;
  for (const OwnFunction &function : functions_)
    if (!is_special_name(function.name)) names.emplace_back(function.name);
  return names;
}

std::string LibraryModule::library_bytes() const { return original_ ? original_() : fail_from_memory(); }

LibraryModule::Original LibraryModule::original_in_cache(std::string path, std::string name) {
  return [path = std::move(path), name = std::move(name)] {
    auto kept = read_sealed(path);
    if (!kept)
      fail(OPD_NOT_FOUND, "what ", name, " was made to is in the cache directory no more (", path, "); load it anew");
    return std::move(*kept);
  };
}

std::string LibraryModule::fail_from_memory() {
  fail(OPD_UNSUPPORTED,
       "a library that was loaded from memory cannot be exported: its bytes are not kept; load it from its file");
}

void LibraryModule::describe(JsonWriter &json) {
  json.key("tvm_release").value(release_).key("library_copy").value(library_.is_copy());
  sizes_.describe(json);
  json.key("function_bytes").begin_object();
  for (const OwnFunction &function : functions_)
    if (!is_special_name(function.name)) json.key(function.name).value(function.bytes);
  json.end_object();
  describe_called(json, called_functions());
  json.key("signatures").begin_object();
  const KernelSignatures signatures = kernel_signatures(constants_);
  for (const OwnFunction &function : functions_)
    if (const auto found = signatures.find(function.name); found != signatures.end())
      json.key(function.name).value(found->second);
  json.end_object();
}

}  // namespace opd
