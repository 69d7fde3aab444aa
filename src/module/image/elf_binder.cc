#include "module/image/elf_binder.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <new>

#include "base/cache_directory.h"
#include "base/environment.h"
#include "base/fork_mutex.h"
#include "module/elf/elf_append.h"
#include "module/image/artifact.h"

namespace opd {
namespace {

// This lock is held from the check whether a file is mapped until it is mapped. Mapping runs foreign constructors.
ForkMutex &in_place_guard() {
  static auto *guard = new ForkMutex(LockRank::kInPlace);
  return *guard;
}

struct Program {
  int count = 0;
  char *none = nullptr;
  char **arguments = &none;
};
constinit Program program;
#if defined(__GLIBC__)  // other C libraries call initialisers without arguments
// Not a [[gnu::constructor]]: GCC may call several of these from one function, without arguments.
[[gnu::section(".init_array"), gnu::used]] void (*note_arguments)(int, char **, char **) =
    [](int count, char **arguments, char **) { program.count = count, program.arguments = arguments; };
#endif

// Maps a library. If memory cannot be allocated, the loader's message may not say so, but errno does.
void *map_library(const std::string &path, int flags) {
  const LoaderCall call;
  errno = 0;
  void *handle = ::dlopen(path.c_str(), flags);
  if (!handle && errno == ENOMEM) throw std::bad_alloc();
  return handle;
}

void unmap_library(void *handle) {
  const LoaderCall call;
  ::dlclose(handle);
}

std::string loader_error(const std::string &name, const std::string &shown) {
  const char *text = ::dlerror();
  std::string message = text ? text : "unknown reason";
  for (size_t at = 0; (at = message.find(name, at)) != std::string::npos; at += shown.size())
    message.replace(at, name.size(), shown);
  return message;
}

bool is_mapped(const std::string &path) {
  void *handle = map_library(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle) unmap_library(handle);
  return handle != nullptr;
}

// Adds a directory to a name without a slash, for which dlopen() would search other directories.
std::string with_directory(const std::string &path) { return path.find('/') == std::string::npos ? "./" + path : path; }

template <class T>
std::string bytes_of(const T &value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

// In the copy, opdyno's symbols are absolute and hidden. glibc then uses their values before any initialiser runs, and
// looks for no other definition. For other loaders the symbols are weak, so that they may be missing; patch() fills
// their slots.
Elf64_Sym bound(Elf64_Sym symbol, void *address) {
#if defined(__GLIBC__)
  symbol.st_shndx = SHN_ABS;
  symbol.st_value = reinterpret_cast<uintptr_t>(address);
  symbol.st_other = static_cast<uint8_t>((symbol.st_other & ~3) | STV_HIDDEN);
#else
  (void)address;
#endif
  symbol.st_info = static_cast<uint8_t>(ELF64_ST_INFO(STB_WEAK, ELF64_ST_TYPE(symbol.st_info)));
  return symbol;
}

// Whether the library is tvm-ffi's, or opdyno's replacement of it.
bool is_our_part(std::string_view library) {
  return library.starts_with("libtvm_ffi.so") || library.starts_with("libopdyno_tvmffi.so");
}

std::vector<LibraryCopy::Edit> edits_of(const ElfFile &file) {
  std::vector<LibraryCopy::Edit> edits;
  for (const ElfSymbol &symbol : file.symbols()) {
    void *address = symbol.is_defined() ? nullptr : provided_symbol(symbol.name);
    // All copies would share a unique symbol, and it keeps a library mapped forever.
    const bool is_unique = symbol.is_defined() && symbol.binding == STB_GNU_UNIQUE;
    if (!address && !is_unique) continue;
    Elf64_Sym entry;
    std::memcpy(&entry, file.bytes().data() + symbol.entry, sizeof entry);
    if (address) entry = bound(entry, address);
    else entry.st_info = static_cast<uint8_t>(ELF64_ST_INFO(STB_WEAK, symbol.type));
    edits.push_back({symbol.entry, bytes_of(entry)});
  }
  // Without a soname, the copy is never found by that name.
  constexpr int64_t kNoTag = 0x6000000d;  // a tag that loaders ignore
  if (file.soname_entry()) edits.push_back({file.soname_entry(), bytes_of(kNoTag)});
  // An exception of an initialiser would pass through dlopen(), whose lock would then be taken for ever. So the loader
  // finds none, and initialise() calls them.
  for (const uint64_t entry : file.initialiser_entries()) edits.push_back({entry, bytes_of(kNoTag)});
  // Drops the dependency on a library that opdyno replaces: a second tvm-ffi could not handle opdyno's objects.
  for (size_t i = 0; i < file.needed().size(); ++i)
    if (is_our_part(file.needed()[i])) edits.push_back({file.needed_entries()[i], bytes_of(kNoTag)});
  return edits;
}

// Sets a run path in the copy. The copy lies elsewhere, so with $ORIGIN it would not find libraries beside the
// original. The copy's run path contains the original directory instead.
void add_run_path(std::vector<LibraryCopy::Edit> &edits, const ElfFile &file, const std::string &path) {
  std::string run_path(file.run_path());
  if (path.empty() || run_path.find('$') == std::string::npos) return;
  const std::string origin = std::filesystem::absolute(path).parent_path().string();
  if (origin.find_first_of(":$") != std::string::npos) return;  // a run path cannot contain these characters
  for (const std::string_view token : {"${ORIGIN}", "$ORIGIN"})
    for (size_t at = 0; (at = run_path.find(token, at)) != std::string::npos; at += origin.size())
      run_path.replace(at, token.size(), origin);
  if (run_path == file.run_path()) return;
  const std::string changed = with_run_path(file, run_path);
  const std::string_view before = as_text(file.bytes());
  for (size_t at = 0; at < before.size(); at += 8)
    if (before.substr(at, 8) != std::string_view(changed).substr(at, std::min<size_t>(8, before.size() - at)))
      edits.insert(edits.begin(), {at, changed.substr(at, std::min<size_t>(8, before.size() - at))});
  edits.insert(edits.begin(), {before.size(), changed.substr(before.size())});
}

std::vector<std::string> directories_for_copies(const ModuleOptions &options) {
  return {cache_directory(options.cache_dir), temporary_directory()};
}

}  // namespace

ElfLibrary::ElfLibrary(const std::shared_ptr<LibraryImage> &image, const std::string &path,
                       const ModuleOptions &options)
    : code_(image->file().code()) {
  const ElfFile &file = image->file();
  try {
    open(image, path, options);
    link_map *map = nullptr;
    if (::dlinfo(handle_, RTLD_DI_LINKMAP, &map)) fail(OPD_INTERNAL, loader_error("", ""));
    base_ = reinterpret_cast<char *>(map->l_addr);
    patch(file);
    if (image_) initialise(file);
  } catch (...) {
    close();
    throw;
  }
}

ElfLibrary::~ElfLibrary() { close(); }

void ElfLibrary::open(const std::shared_ptr<LibraryImage> &image, const std::string &path,
                      const ModuleOptions &options) {
  if (image->is_prepared()) return open_copy(image, path, options);
  const ElfFile &file = image->file();
  const bool plain = !uses_tvm_names(file);  // it has no slots to fill, and a second libc would not work
  if (plain && !path.empty()) return open_in_place(file, path, RTLD_NOW);
  if (path.empty() || options.copy == OPD_COPY_ALWAYS) return open_copy(image, path, options);
  std::scoped_lock lock(in_place_guard());
  const bool shared = is_mapped(with_directory(path));
  if (options.copy == OPD_COPY_WHEN_SHARED) {
    if (shared) return open_copy(image, path, options);
    try {
      return open_in_place(file, path, RTLD_LAZY);
    } catch (const Exception &) {
      close();
      return open_copy(image, path, options);  // it may bind all symbols at load, so it needs a copy
    }
  }
  if (shared)
    fail(OPD_FAILED_PRECONDITION, path,
         " is mapped in this process already; loaded without a copy it would change under its other user");
  for (const ElfSymbol &symbol : file.symbols())
    if (symbol.is_needed() && symbol.name == "TVMFFIEnvModRegisterSystemLibSymbol")
      fail(OPD_UNSUPPORTED, path, " calls ", symbol.name, " while it is being loaded, which needs a copy");
  open_in_place(file, path, RTLD_LAZY);
}

void ElfLibrary::open_in_place(const ElfFile &file, const std::string &path, int flags) {
  // RTLD_LAZY if TVM's functions are undefined until patch() fills their slots.
  handle_ = map_library(with_directory(path), flags | RTLD_LOCAL);
  if (!handle_)
    fail(OPD_UNSUPPORTED, path, " cannot be loaded", flags == RTLD_LAZY ? " without a copy: " : ": ",
         loader_error(with_directory(path), path));
  if (flags == RTLD_LAZY) require_resolved(file);
}

void ElfLibrary::open_copy(const std::shared_ptr<LibraryImage> &image, const std::string &path,
                           const ModuleOptions &options) {
  const ElfFile &file = image->file();
  if (!image->is_prepared()) {
    auto edits = edits_of(file);
    add_run_path(edits, file, path);
    image->prepare(edits, [&] { return directories_for_copies(options); });
  }
  // RTLD_NOW, so that missing symbols are reported here and not in a call.
  handle_ = map_library(image->path(), RTLD_NOW | RTLD_LOCAL);
  image->copy().loaded();
  if (!handle_) fail(OPD_UNSUPPORTED, file.name(), " cannot be loaded: ", loader_error(image->path(), file.name()));
  image_ = image;
}

void ElfLibrary::require_resolved(const ElfFile &file) const {
  for (const ElfSymbol &symbol : file.symbols()) {
    if (!symbol.is_needed() || provided_symbol(symbol.name)) continue;
    const std::string name(symbol.name);
    if (!::dlsym(handle_, name.c_str()) && !::dlsym(RTLD_DEFAULT, name.c_str()))
      fail(OPD_UNSUPPORTED, file.name(), " cannot be loaded: undefined symbol: ", name);
  }
}

// Binds the remaining symbols: opdyno's functions, and the library's references to its own TVM names.
void ElfLibrary::patch(const ElfFile &file) {
  const auto symbols = file.symbols();
  for (const ElfRelocation &r : file.relocations()) {
    if (r.kind != Relocates::kCall && r.kind != Relocates::kGot && r.kind != Relocates::kData) continue;
    const ElfSymbol &symbol = symbols[r.symbol];
    uintptr_t target = 0;
    if (!symbol.is_defined()) target = reinterpret_cast<uintptr_t>(provided_symbol(symbol.name));
    else if (is_own_tvm_name(symbol)) target = reinterpret_cast<uintptr_t>(base_) + symbol.value;
    if (target) write_slot(file, r.address, reinterpret_cast<void *>(target + static_cast<uint64_t>(r.addend)));
  }
}

void ElfLibrary::initialise(const ElfFile &file) const {
  const LoaderCall call;
  try {
    // The arguments are those that glibc's loader passes.
    const auto run = [](void *initialiser) {
      reinterpret_cast<void (*)(int, char **, char **)>(initialiser)(program.count, program.arguments, environ);
    };
    if (const uint64_t first = file.initialiser()) run(base_ + first);
    for (uint64_t slot = file.initialisers().begin; slot < file.initialisers().end; slot += sizeof(void *))
      run(*reinterpret_cast<void **>(base_ + slot));
  } catch (const std::exception &e) {
    fail(OPD_UNSUPPORTED, file.name(), " cannot be loaded: an initialiser threw an exception: ", e.what());
  } catch (const abi::__forced_unwind &) {
    throw;  // the thread ends
  } catch (...) {
    fail(OPD_UNSUPPORTED, file.name(), " cannot be loaded: an initialiser threw an exception of an unknown type");
  }
}

void ElfLibrary::write_slot(const ElfFile &file, uint64_t address, void *value) {
  void **slot = reinterpret_cast<void **>(base_ + address);
  if (__atomic_load_n(slot, __ATOMIC_RELAXED) == value) return;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto page_of = [&](uint64_t byte) { return reinterpret_cast<uintptr_t>(base_ + byte) & ~(page - 1); };
  // The first and the last byte may lie in two pages. The loader may have protected only the first page.
  const uint64_t last = address + sizeof(void *) - 1;
  const auto protect = [&](int protection) {
    for (const uint64_t byte : {address, last}) {
      if (byte == last && page_of(last) == page_of(address)) break;
      if (is_read_only(file, byte) && ::mprotect(reinterpret_cast<void *>(page_of(byte)), page, protection))
        fail_errno("cannot bind the symbols of", file.name(), errno);
    }
  };
  protect(PROT_READ | PROT_WRITE);
  __atomic_store_n(slot, value, __ATOMIC_RELEASE);
  protect(PROT_READ);
}

bool ElfLibrary::is_read_only(const ElfFile &file, uint64_t address) const {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto base = reinterpret_cast<uintptr_t>(base_), place = base + address;
  // The loader protects whole pages, and rounds both ends down.
  return place >= ((base + file.relro().begin) & ~(page - 1)) && place < ((base + file.relro().end) & ~(page - 1));
}

std::vector<CallHooks::Slot> ElfLibrary::slots_of_own_functions(const ElfFile &file, std::string_view prefix) const {
  std::vector<CallHooks::Slot> slots;
  for (const ElfRelocation &r : file.relocations()) {
    if (r.kind != Relocates::kCall && r.kind != Relocates::kGot) continue;
    const ElfSymbol &symbol = file.symbols()[r.symbol];
    if (!symbol.is_defined() || symbol.type != STT_FUNC || !symbol.name.starts_with(prefix)) continue;
    slots.push_back({reinterpret_cast<void **>(base_ + r.address), std::string(symbol.name.substr(prefix.size())),
                     is_read_only(file, r.address)});
  }
  return slots;
}

void *ElfLibrary::symbol(const char *name) const { return ::dlsym(handle_, name); }

void *ElfLibrary::own_function(const char *name) const {
  void *address = symbol(name);
  const uint64_t place = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(base_);
  return address && std::ranges::any_of(code_, [&](const AddressRange &r) { return r.contains(place); }) ? address
                                                                                                         : nullptr;
}

void ElfLibrary::close() noexcept {
  if (handle_) unmap_library(handle_);
  // If dlclose() left the copy mapped, its descriptor must stay open: see LibraryCopy::keep_forever().
  if (image_ && image_->copy().is_mapped(base_)) image_->copy().keep_forever();
  else if (image_) keep_image(std::move(image_));
  image_ = nullptr;
  handle_ = nullptr;
}

}  // namespace opd
