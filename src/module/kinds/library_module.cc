#include "module/kinds/library_module.h"

#include <algorithm>

#include "base/cache_directory.h"
#include "module/image/artifact.h"
#include "module/kernel_args.h"

namespace opd {
namespace {

template <class Functions>
std::vector<std::string> offered_names(const Functions &functions) {
  std::vector<std::string> names;
  for (const auto &function : functions)
    if (!is_special_name(function.name)) names.emplace_back(function.name);
  return names;
}

template <class Functions>
void describe_functions(JsonWriter &json, const Functions &functions) {
  json.key("function_bytes").begin_object();
  for (const auto &function : functions)
    if (!is_special_name(function.name)) json.key(function.name).value(function.bytes);
  json.end_object();
}

const char *place_of(const ElfFile &file, const ElfLibrary &library, std::string_view name) {
  // The file's string table is part of a segment. So the text is also in memory while the library is mapped.
  const Bytes bytes = file.bytes();
  const uint64_t offset = static_cast<uint64_t>(reinterpret_cast<const uint8_t *>(name.data()) - bytes.data());
  return library.base() + file.address_of(offset);
}

// Whether the code is C++ with tvm-ffi's headers, which raises error objects. Kernels compiled by TVM raise errors as
// text.
bool raises_error_objects(const ElfFile &file) {
  return std::ranges::any_of(file.symbols(),
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

std::vector<std::string> LibraryModule::list() { return offered_names(functions_); }

std::string LibraryModule::library_bytes() const { return original_ ? original_() : fail_from_memory(); }

LibraryModule::Original LibraryModule::original_in_cache(std::string path, std::string name) {
  return [path = std::move(path), name = std::move(name)] {
    auto kept = read_sealed(path);
    if (!kept)
      fail(OPD_NOT_FOUND, "the library that was made from ", name, " is no longer in the cache directory (", path,
           "); load the module again");
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
  describe_functions(json, functions_);
  describe_called(json, called_functions());
  json.key("signatures").begin_object();
  const KernelSignatures signatures = kernel_signatures(constants_);
  for (const OwnFunction &function : functions_)
    if (const auto found = signatures.find(function.name); found != signatures.end())
      json.key(function.name).value(found->second);
  json.end_object();
}

// ---- a library that was only inspected

namespace {

class UnloadedLibrary final : public Module {
 public:
  UnloadedLibrary(LibraryFacts facts, std::string file, LibraryBytes bytes)
      : facts_(std::move(facts)), file_(std::move(file)), bytes_(std::move(bytes)) {}

  const char *kind() const override { return "library"; }
  const char *format() const override { return "so"; }
  int32_t properties() const override { return OPD_MODULE_SERIALIZABLE; }
  std::string file() const override { return file_; }
  std::vector<std::string> list() override { return offered_names(facts_.functions); }
  bool implements(std::string_view name) override {
    const std::string with_prefix = concat(facts_.prefix, name);
    return std::ranges::any_of(
        facts_.functions, [&](const auto &function) { return function.name == name || function.name == with_prefix; });
  }
  Ref<Function> find(std::string_view name) override {
    if (implements(name)) fail_not_loaded(concat("function \"", name, "\""), file_);
    return nullptr;
  }
  void *symbol(const char *name) override { fail_not_loaded(concat("C symbol \"", name, "\""), file_); }
  void describe(JsonWriter &json) override {
    json.key("tvm_release").value(facts_.release).key("loaded").value(false);
    if (!facts_.is_compiled) json.key("compiled").value(false);
    if (!facts_.not_loadable.empty()) json.key("not_loadable").value(facts_.not_loadable);
    facts_.sizes.describe(json);
    describe_functions(json, facts_.functions);
    describe_called(json, {facts_.called.begin(), facts_.called.end()});
  }
  bool is_linked_library() const override { return true; }
  std::string library_bytes() const override { return bytes_(); }

 private:
  LibraryFacts facts_;
  std::string file_;
  LibraryBytes bytes_;
};

}  // namespace

Ref<Module> make_unloaded_library(LibraryFacts facts, std::string file, LibraryBytes bytes) {
  return make_object<UnloadedLibrary>(std::move(facts), std::move(file), std::move(bytes));
}

void fail_not_loaded(std::string_view what, const std::string &file) {
  fail(OPD_FAILED_PRECONDITION, what, " of ", file.empty() ? "a module" : file,
       " cannot be had: it was read for inspection only, and its code was not loaded; load it without inspect_only");
}

}  // namespace opd
