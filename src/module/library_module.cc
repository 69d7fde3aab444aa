#include "module/library_module.h"

#include <algorithm>

#include "module/artefact.h"
#include "module/symbol_table.h"

namespace opd {
namespace {

// Functions that describe others; not part of what the library offers to call.
bool is_about_another(std::string_view name) { return name.starts_with("_metadata_") || name.starts_with("_doc_"); }

const char *place_of(const ElfFile &file, const ElfLibrary &library, std::string_view name) {
  // The file's string table is part of a segment: the same text lies in memory for as long as the library is mapped.
  const Bytes bytes = file.bytes();
  const uint64_t offset = static_cast<uint64_t>(reinterpret_cast<const uint8_t *>(name.data()) - bytes.data());
  return library.base() + file.address_of(offset);
}

}  // namespace

Bytes embedded_in(const ElfFile &file) {
  Bytes found;
  for (const ElfSymbol &symbol : file.symbols()) {
    if (!symbol.is_defined() || symbol.name != kBlobSymbol) continue;
    found = file.contents(symbol.value, symbol.size);
    if (found.empty())
      file.bad(symbol.entry, symbol.name, " at address ", symbol.value, " with ", symbol.size,
               " bytes is not data of the file");
  }
  return found;
}

LibraryModule::LibraryModule(const std::shared_ptr<LibraryImage> &image, const std::string &mapped, std::string file,
                             const ModuleOptions &options)
    : file_(std::move(file)),
      release_(tvm_release(image->file())),
      library_(image, mapped, options),
      call_hooks_(library_.slots_of_own_functions(image->file(), kFunctionPrefix)) {
  const ElfFile &elf = image->file();
  for (const ElfSymbol &symbol : elf.symbols()) {
    if (!symbol.is_defined() || !symbol.name.starts_with(kFunctionPrefix)) continue;
    if (symbol.type != STT_FUNC && !(symbol.type == STT_NOTYPE && elf.lies_in(symbol.value, 1, PF_X))) continue;
    functions_.push_back(
        {place_of(elf, library_, symbol.name) + kFunctionPrefix.size(), symbol.name.size() - kFunctionPrefix.size()});
  }
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
    if (symbol.name == kContextSymbol) context_ = slot, value = static_cast<Object *>(this);
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
  return make_object<KernelFunction>(reinterpret_cast<SafeCall>(code), Ref<Object>::share(this), std::string(name));
}

std::vector<std::string> LibraryModule::list() {
  std::vector<std::string> names;
  for (const std::string_view name : functions_)
    if (!is_about_another(name)) names.emplace_back(name);
  return names;
}

void LibraryModule::describe(JsonWriter &json) {
  json.key("tvm_release").value(release_).key("private_copy").value(library_.is_copy());
}

Function *LibraryModule::look_up(std::string_view name) {
  {
    std::scoped_lock lock(looked_up_guard_);
    if (const auto found = looked_up_.find(name); found != looked_up_.end()) return found->second.get();
  }
  Ref<Function> function;
  for (const auto &module : imports())
    if (!function) function = module->find_with_imports(name);
  if (!function) function = find_function(name);
  if (!function)
    fail_as("RuntimeError", OPD_NOT_FOUND, "the library ", file_.empty() ? "from memory" : file_,
            " calls the function \"", name, "\", which neither its imported modules nor the global registry have.",
            suggestion(name, function_names()));
  std::scoped_lock lock(looked_up_guard_);  // the first of two threads wins: its function stays where it was given
  return looked_up_.try_emplace(std::string(name), std::move(function)).first->second.get();
}

std::string LibraryModule::looked_up_name(const Function &function) {
  std::scoped_lock lock(looked_up_guard_);
  for (const auto &[name, known] : looked_up_)
    if (known.get() == &function) return name;
  return {};
}

LibraryModule &library_of_context(void *context) {
  auto *object = static_cast<Object *>(context);
  require(object && object->type_index == OPD_MODULE,
          "a library's context is not a module; was the library loaded by something else too?");
  auto *library = dynamic_cast<LibraryModule *>(static_cast<Module *>(object));
  require(library, "a library's context is a module of another kind");
  return *library;
}

int KernelFunction::run(void *self, const View *args, int32_t num_args, View *result) {
  const auto *kernel = static_cast<KernelFunction *>(self);
  if (check_kernel_args(args, num_args)) [[likely]]
    return kernel->raw(nullptr, args, num_args, result);
  try {
    return kernel->run_converted(args, num_args, result);
  } catch (...) {
    set_raised(current_error());
    return -1;
  }
}

int KernelFunction::run_converted(const View *args, int32_t num_args, View *result) const {
  std::vector<View> converted(args, args + num_args);
  for (int32_t i = 0; i < num_args; ++i) {
    const View &arg = args[i];
    if (check_kernel_args(&arg, 1)) continue;
    if (!is_text(arg))
      fail_as("TypeError", OPD_INVALID_ARGUMENT, "argument ", i, " of compiled function ", name, " is of type ",
              type_key(arg.type), "; compiled functions take tensors, numbers, pointers and strings");
    const std::string_view text =
        as_text(arg, "argument");  // a 0 follows it: in the object, or in the unused bytes of the value
    if (text.find('\0') != std::string_view::npos || text.data()[text.size()] != '\0')
      fail_as("ValueError", OPD_INVALID_ARGUMENT, "argument ", i, " of compiled function ", name,
              " is a string with a 0 byte in it");
    converted[static_cast<size_t>(i)] = opd_cstring(text.data());
  }
  return raw(nullptr, converted.data(), num_args, result);
}

}  // namespace opd
