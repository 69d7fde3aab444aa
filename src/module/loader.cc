#include "module/loader.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"
#include "module/artefact.h"
#include "module/blob_reader.h"
#include "module/kept_images.h"
#include "module/library_module.h"
#include "module/source_module.h"

namespace opd {
namespace {

constexpr size_t kShownBytes = 8;  // by which formats are told

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
  for (const uint8_t byte : bytes.first(std::min(kShownBytes, bytes.size()))) {
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
  return loader(bytes, name, nullptr);
}

Format format_for(Bytes start, const std::string &name, const ModuleOptions &options) {
  if (start.empty()) fail(OPD_BAD_FORMAT, name, " is empty");
  return options.format.empty() ? format_of(start, name) : format_named(options.format);
}

Ref<Module> load_other(Format format, Bytes bytes, const std::string &path, const std::string &name,
                       const ModuleOptions &options) {
  if (format == Format::kExecutable) return load_executable(bytes, name);
  return load_source(std::string(as_text(bytes)), path, options);
}

}  // namespace

Ref<Module> load_shared_library(const std::shared_ptr<LibraryImage> &image, const std::string &path,
                                const ModuleOptions &options) {
  Ref<LibraryModule> library = LibraryModule::make(image, path, options);
  const Bytes embedded = embedded_in(image->file());
  if (!embedded.data()) return library;
  return make_embedded_modules(embedded, std::move(library), image->name(), image->derived());
}

Ref<Module> load_source(const std::string &text, const std::string &path, const ModuleOptions &options) {
  return SourceModule::make(text, path, options);
}

Ref<Module> load_module(const std::string &path, const ModuleOptions &options) {
  struct stat info {};
  if (::stat(path.c_str(), &info)) fail_errno("cannot load", path, errno);
  if (S_ISDIR(info.st_mode)) fail(OPD_INVALID_ARGUMENT, "cannot load ", path, ": it is a folder");
  const InputFile file(path);
  const std::string start = file.read(kShownBytes);
  const Format format = format_for(as_bytes(start), path, options);
  if (format != Format::kSharedLibrary) return load_other(format, as_bytes(file.read()), path, path, options);
  std::shared_ptr<LibraryImage> image;
  if (options.copy == OPD_COPY_ALWAYS) image = take_kept_image(path, FileState(file.state()));
  if (!image) image = std::make_shared<LibraryImage>(file);
  return load_shared_library(image, path, options);
}

Ref<Module> load_module_bytes(Bytes bytes, const std::string &given_name, const ModuleOptions &options) {
  const std::string name = given_name.empty() ? "memory" : given_name;
  const Format format = format_for(bytes, name, options);
  if (format != Format::kSharedLibrary) return load_other(format, bytes, "", name, options);
  return load_shared_library(std::make_shared<LibraryImage>(bytes, name), "", options);
}

}  // namespace opd
