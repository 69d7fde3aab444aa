#include "module/loader.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"
#include "module/artefact.h"
#include "module/blob_reader.h"
#include "module/library_module.h"
#include "module/source_module.h"

namespace opd {
namespace {

enum class Format { kSharedLibrary, kExecutable, kSource };

constexpr const char *kExecutableKind = "relax.VMExecutable";

struct Foreign {
  std::string_view start;
  const char *what;
};
constexpr Foreign kForeign[] = {
    {"!<arch>\n", "a static library; link it to a shared one (cc -shared -Wl,--whole-archive)"},
    {"MZ", "a Windows library; export the model for this system"},
    {"\xCF\xFA\xED\xFE", "a macOS library; export the model for this system"},
    {"\xCA\xFE\xBA\xBE", "a macOS library; export the model for this system"},
    {"PK\x03\x04", "a zip archive"},
    {"\x1F\x8B", "a gzip archive"},
};

std::string first_bytes(Bytes bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const uint8_t byte : bytes.first(std::min<size_t>(8, bytes.size()))) {
    if (!out.empty()) out += ' ';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string kind_by_magic(Bytes bytes) {
  uint64_t magic;
  if (bytes.size() < sizeof magic) return {};
  std::memcpy(&magic, bytes.data(), sizeof magic);
  return module_kind_of_magic(magic);
}

Format format_named(const std::string &format) {
  if (format == "so" || format == "dso" || format == "dll" || format == "dylib") return Format::kSharedLibrary;
  if (format == "vmexec") return Format::kExecutable;
  require(format == "c", "\"", format, "\" is not a format of modules; there are so, vmexec and c");
  return Format::kSource;
}

Format format_of(Bytes bytes, const std::string &name) {
  if (as_text(bytes).starts_with(ELFMAG)) return Format::kSharedLibrary;
  if (!kind_by_magic(bytes).empty()) return Format::kExecutable;
  if (name.ends_with(".c")) return Format::kSource;
  for (const auto &[start, what] : kForeign)
    if (as_text(bytes).starts_with(start)) fail(OPD_UNSUPPORTED, name, " is ", what);
  fail(OPD_BAD_FORMAT, name, " starts with the bytes ", first_bytes(bytes),
       " at offset 0, which no known module does: a shared ",
       "library starts with 7f 45 4c 46, a VM executable with 1d or 1e 15 14 42 2f de 25 d2; a C source is known by "
       "its suffix .c");
}

Ref<Module> load_executable(Bytes bytes, const std::string &name) {
  std::string kind = kind_by_magic(bytes);
  if (kind.empty()) kind = kExecutableKind;  // whose reader says what is wrong
  const auto loader = find_module_kind(kind);
  if (!loader) fail(OPD_UNSUPPORTED, name, " is of kind ", kind, ", which this build of opdyno cannot load");
  return loader(bytes, name);
}

Ref<Module> load(Bytes bytes, const std::string &path, const std::string &name, const ModuleOptions &options) {
  if (bytes.empty()) fail(OPD_BAD_FORMAT, name, " is empty");
  switch (options.format.empty() ? format_of(bytes, name) : format_named(options.format)) {
    case Format::kSharedLibrary:
      return load_shared_library(bytes, path, name, options);
    case Format::kExecutable:
      return load_executable(bytes, name);
    case Format::kSource:
      return load_source(std::string(as_text(bytes)), path, options);
  }
  fail(OPD_INTERNAL, "a format without a loader");
}

}  // namespace

Ref<Module> load_shared_library(Bytes bytes, const std::string &path, const std::string &name,
                                const ModuleOptions &options) {
  const ElfFile file(bytes, name);
  Ref<LibraryModule> library = LibraryModule::make(file, path, options);
  const Bytes embedded = library->embedded();
  return embedded.data() ? make_embedded_modules(embedded, library, name) : Ref<Module>(std::move(library));
}

Ref<Module> load_source(const std::string &text, const std::string &path, const ModuleOptions &options) {
  return SourceModule::make(text, path, options);
}

Ref<Module> load_module(const std::string &path, const ModuleOptions &options) {
  struct stat info {};
  if (::stat(path.c_str(), &info)) fail_errno("cannot load", path, errno);
  if (S_ISDIR(info.st_mode)) fail(OPD_INVALID_ARGUMENT, "cannot load ", path, ": it is a folder");
  const std::string content = read_file(path);
  return load(as_bytes(content), path, path, options);
}

Ref<Module> load_module_bytes(Bytes bytes, const std::string &name, const ModuleOptions &options) {
  return load(bytes, "", name.empty() ? "memory" : name, options);
}

}  // namespace opd
