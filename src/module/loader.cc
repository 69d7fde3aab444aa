#include "module/loader.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/bytes.h"
#include "base/file.h"
#include "module/allowed_modules.h"
#include "module/blob_reader.h"
#include "module/c_source_text.h"
#include "module/function_names.h"
#include "module/image/library_image.h"
#include "module/kinds/library_module.h"
#include "module/kinds/native_module.h"
#include "module/kinds/source_module.h"
#include "module/tar_file.h"
#include "module/toolchain/compiler.h"
#include "trace/record/library_range.h"
#include "value/tvm_names.h"

namespace opd {
namespace {

constexpr size_t kShownBytes = 8;
constexpr size_t kStartBytes = 512;  // enough for all formats; the mark of tar is at byte 257

enum class Format { kSharedLibrary, kExecutable, kSource, kObject, kArchive, kTar };

struct NamedFormat {
  std::string_view name;
  Format format;
};
// The last three are TVM's other names for shared libraries. It accepts them on every system.
constexpr NamedFormat kFormats[] = {
    {"so", Format::kSharedLibrary},  {"vmexec", Format::kExecutable}, {"c", Format::kSource},
    {"o", Format::kObject},          {"a", Format::kArchive},         {"tar", Format::kTar},
    {"dso", Format::kSharedLibrary}, {"dll", Format::kSharedLibrary}, {"dylib", Format::kSharedLibrary},
};

struct Foreign {
  std::string_view start;
  const char *what;
};
// Formats that are recognised only for an error message. It names the format and, if possible, what to do.
constexpr Foreign kForeign[] = {
    {"!<thin>\n", "an archive that names other files instead of holding them; make one that holds them (ar rc)"},
    {"MZ", "a Windows library; export the model for this system"},
    {"\xCF\xFA\xED\xFE", "a macOS library; export the model for this system"},
    {"\xCA\xFE\xBA\xBE", "a macOS library; export the model for this system"},
    {"PK\x03\x04", "a zip archive"},
};

std::string first_bytes(Bytes bytes) {
  std::string out;
  for (const uint8_t &byte : bytes.first(std::min(kShownBytes, bytes.size())))
    out += concat(out.empty() ? "" : " ", hex({&byte, 1}));
  return out;
}

std::string kind_by_magic(Bytes bytes) {
  uint64_t magic;
  if (bytes.size() < sizeof magic) return {};
  std::memcpy(&magic, bytes.data(), sizeof magic);
  return module_kind_of_magic(magic);
}

Format format_named(const std::string &format) {
  for (const auto &[name, value] : kFormats)
    if (format == name) return value;
  fail(OPD_INVALID_ARGUMENT, "the format of a module must be so, vmexec, c, o, a or tar, but is \"", format, "\"");
}

// Compares single bytes of e_type, because the file may be shorter than an ELF header.
bool is_object(Bytes bytes) { return bytes.size() > 17 && bytes[16] == ET_REL && bytes[17] == 0; }

Format format_of(Bytes bytes, const std::string &name) {
  if (as_text(bytes).starts_with(ELFMAG)) return is_object(bytes) ? Format::kObject : Format::kSharedLibrary;
  if (!kind_by_magic(bytes).empty()) return Format::kExecutable;
  // C sources have no specific first bytes, so the name decides.
  if (name.ends_with(".c")) return Format::kSource;
  if (as_text(bytes).starts_with("!<arch>\n")) return Format::kArchive;
  if (looks_like_tar(bytes)) return Format::kTar;
  for (const auto &[start, what] : kForeign)
    if (as_text(bytes).starts_with(start)) fail(OPD_UNSUPPORTED, name, " is ", what);
  fail(OPD_BAD_FORMAT, name, " starts with the bytes ", first_bytes(bytes),
       " at offset 0, which no known module does: a shared ",
       "library and an object file start with 7f 45 4c 46, a VM executable with 1d or 1e 15 14 42 2f de 25 d2; a C "
       "source is recognized by its suffix .c");
}

Ref<Module> load_executable(Bytes bytes, const std::string &name, const ModuleOptions &options) {
  std::string kind = kind_by_magic(bytes);
  // If there is no known magic, the caller has named the format. The kind's reader then reports the error.
  if (kind.empty()) kind = kExecutableKind;
  const auto loader = find_module_kind(kind);
  if (!loader) fail(OPD_UNSUPPORTED, name, " is of kind ", kind, ", which this build of opdyno cannot load");
  return loader({bytes, name, options});
}

Format format_for(Bytes start, const std::string &name, const ModuleOptions &options) {
  if (start.empty()) fail(OPD_BAD_FORMAT, name, " is empty");
  return options.format.empty() ? format_of(start, name) : format_named(options.format);
}

// A tar archive contains the inputs of a link that the loader has to do.
std::vector<LinkInput> inputs_in_tar(Bytes bytes, const std::string &name) {
  std::vector<LinkInput> inputs;
  for (auto &entry : read_tar(bytes, name)) {
    if (!entry.name.ends_with(".o") && !entry.name.ends_with(".a") && !entry.name.ends_with(".c"))
      fail(OPD_UNSUPPORTED, name, " holds ", entry.name,
           "; only object files (.o), archives of them (.a) and C sources (.c) can be linked");
    inputs.push_back({std::move(entry.name), std::move(entry.content)});
  }
  if (inputs.empty()) fail(OPD_BAD_FORMAT, name, " holds no files");
  return inputs;
}

// `file`: the embedding file.
Ref<Module> load_own_module(std::string_view kind, Bytes bytes, const std::string &file, const std::string &name,
                            ModuleOptions options) {
  if (kind != kNativeKind)
    fail(OPD_UNSUPPORTED, name, " embeds a module of kind ", kind, ", which this version of opdyno does not know");
  NativeTable table = read_native_table(bytes, name);
  if (!table.library.starts_with('/')) {
    // Bytes from memory have no directory for a library beside them.
    if (file.empty())
      fail(OPD_NOT_FOUND, name, " offers C functions of the library ", table.library,
           ", which lies beside the exported file; load that file instead of its bytes");
    table.library = file.substr(0, file.rfind('/') + 1) + table.library;  // npos + 1 is 0
  }
  // Checked here, because the error of load_module() would name neither the export nor a remedy.
  if (::access(table.library.c_str(), F_OK))
    fail(OPD_NOT_FOUND, name, " offers C functions of the library ", table.library,
         ", which is not there; libraries beside an exported file must be moved together with it");
  // The caller named the format of the embedding file, not that of this library.
  options.format.clear();
  options.alone = true;  // otherwise a library that embeds itself would be loaded endlessly
  return make_native_module(load_module(table.library, options), std::move(table.entries), options.inspect_only);
}

// Makes the tree of a library's embedded modules, in which `library` is the library itself. `blob` and `own` are the
// arguments of make_own_modules(). They have no data if there are none.
Ref<Module> load_embedded(Bytes blob, Bytes own, const Ref<Module> &library, const std::string &file,
                          const std::string &name, const ModuleOptions &options, std::vector<Ref<Object>> &derived) {
  if (options.alone) return library;
  if (own.data())
    return make_own_modules(own, blob, library, name, options, derived, [&](std::string_view kind, Bytes bytes) {
      return load_own_module(kind, bytes, file, name, options);
    });
  return blob.data() ? make_embedded_modules(blob, library, name, options, derived) : library;
}

// Loads a shared library with its embedded modules and returns the root of the import tree. `mapped` and `file` are as
// in LibraryModule. `original` returns the library's bytes again.
Ref<Module> load_shared_library(const std::shared_ptr<LibraryImage> &image, const std::string &mapped,
                                const std::string &file, const ModuleOptions &options,
                                LibraryModule::Original original) {
  Ref<LibraryModule> library = LibraryModule::make(image, mapped, file, options);
  library->set_original(std::move(original));
  // Objects made from the embedded bytes stay in the image, for the next load of the same file.
  return load_embedded(embedded_by_tvm(image->file()), embedded_in(image->file(), kOwnBlobSymbol), library, file,
                       image->name(), options, image->derived());
}

// Reads a library without loading it. The bytes are not kept, because an export reads the file again.
Ref<Module> inspect_library(Bytes bytes, const std::string &file, const std::string &name, const ModuleOptions &options,
                            LibraryBytes library_bytes) {
  // Inspected only: no code of the file may run, and it may be for another machine.
  const ElfFile elf(bytes, name, ElfFile::Use::kInspect);
  const auto library = make_unloaded_library(facts_of(elf), file, std::move(library_bytes));
  std::vector<Ref<Object>> derived;
  return load_embedded(embedded_by_tvm(elf), embedded_in(elf, kOwnBlobSymbol), library, file, name, options, derived);
}

// Reads objects without linking them. They are linked only for an export.
Ref<Module> inspect_objects(const std::vector<LinkInput> &inputs, const std::string &file, const std::string &name,
                            const ModuleOptions &options) {
  check_link_inputs(inputs, name);
  ObjectFacts facts = facts_of(inputs, name);
  const auto library = make_unloaded_library(
      std::move(facts.library), file, [inputs, name, options] { return link_objects(inputs, name, options).content; });
  std::vector<Ref<Object>> derived;
  const auto bytes_of = [](const std::string &text) { return text.empty() ? Bytes() : as_bytes(text); };
  return load_embedded(bytes_of(facts.embedded), bytes_of(facts.own), library, file, name, options, derived);
}

// Returns a function that reads the file again. The function fails if the file has changed.
LibraryModule::Original unchanged(const std::string &path, const FileState &state) {
  return [path, state] {
    const InputFile again(path);
    // An export must contain the library that was loaded. Device, inode, size and times reveal a change without a copy
    // of the bytes.
    if (!(FileState(again.state()) == state)) fail(OPD_FAILED_PRECONDITION, path, " has changed since it was loaded");
    return again.read();
  };
}

// Links object files, archives and C sources, and loads the result. `file`: the file that they came from. `name`: its
// name in messages.
Ref<Module> load_objects(const std::vector<LinkInput> &inputs, const std::string &file, const std::string &name,
                         const ModuleOptions &options) {
  if (options.inspect_only) return inspect_objects(inputs, file, name, options);
  const CompiledLibrary linked = link_objects(inputs, name, options);
  const auto image = std::make_shared<LibraryImage>(as_bytes(linked.content), name);
  return load_shared_library(image, options.copy == OPD_COPY_ALWAYS ? "" : linked.path, file, options,
                             LibraryModule::original_in_cache(linked.path, name));
}

// Compiles a C source and loads the result.
Ref<Module> load_source(const std::string &text, const std::string &path, const ModuleOptions &options) {
  if (options.inspect_only) return make_uncompiled_source({text, "c", functions_named_in(text)}, path, path, options);
  return make_source_module(text, path, options);
}

Ref<Module> load_other(Format format, Bytes bytes, const std::string &path, const std::string &name,
                       const ModuleOptions &options) {
  if (format == Format::kExecutable) return load_executable(bytes, name, options);
  if (format == Format::kTar) return load_objects(inputs_in_tar(bytes, name), path, name, options);
  if (format == Format::kSource) return load_source(std::string(as_text(bytes)), path, options);
  // The linker distinguishes objects from archives by suffix, which bytes from memory may lack.
  std::string input = name;
  const char *suffix = format == Format::kObject ? ".o" : ".a";
  if (!input.ends_with(suffix)) input += suffix;
  return load_objects({{input, std::string(as_text(bytes))}}, path, input, options);
}

}  // namespace

Ref<Module> load_module(const std::string &path, const ModuleOptions &options) {
  const LibraryRange range("load", path);
  struct stat info {};
  if (::stat(path.c_str(), &info)) fail_errno("cannot load", path, errno);
  if (S_ISDIR(info.st_mode)) fail(OPD_INVALID_ARGUMENT, "cannot load ", path, ": it is a directory");
  const InputFile file(path);
  if (options.allowed) {
    // Loaded like bytes from memory: exactly the checked bytes are loaded, and no other file beside this one.
    const std::string content = file.read();
    return load_module_bytes(as_bytes(content), path, options);
  }
  const std::string start = file.read(kStartBytes);
  const Format format = format_for(as_bytes(start), path, options);
  if (format != Format::kSharedLibrary) return load_other(format, as_bytes(file.read()), path, path, options);
  // State of the open file instead of the path: another file may have got the name since.
  const FileState state(file.state());
  if (options.inspect_only) {
    const std::string content = file.read();
    return inspect_library(as_bytes(content), path, path, options, unchanged(path, state));
  }
  std::shared_ptr<LibraryImage> image;
  // An earlier load of the same file may have left its image, which is already checked and prepared for dlopen().
  if (options.copy == OPD_COPY_ALWAYS) image = take_kept_image(path, state);
  if (!image) image = std::make_shared<LibraryImage>(file);
  return load_shared_library(image, path, path, options, unchanged(path, state));
}

Ref<Module> load_module_bytes(Bytes bytes, const std::string &given_name, const ModuleOptions &options) {
  const std::string name = given_name.empty() ? "memory" : given_name;
  const LibraryRange range("load", name);
  // Checked first, because a module that is not allowed must not be parsed.
  if (options.allowed) options.allowed->require(bytes, name);
  const Format format = format_for(bytes, name, options);
  if (format != Format::kSharedLibrary) return load_other(format, bytes, "", name, options);
  if (options.inspect_only)
    return inspect_library(bytes, "", name, options, [] { return LibraryModule::fail_from_memory(); });
  return load_shared_library(std::make_shared<LibraryImage>(bytes, name), "", "", options, {});
}

}  // namespace opd
