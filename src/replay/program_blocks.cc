// Writes the modules of a program into a capture's blocks, reads them back, and loads the program from them.
#include <map>
#include <set>

#include "module/blob_reader.h"
#include "module/kinds/library_module.h"
#include "module/kinds/native_module.h"
#include "module/loader.h"
#include "program/executable.h"
#include "replay/captured_call.h"

namespace opd {
namespace {

std::string bytes_of_module(Module &module) {
  if (module.is_linked_library()) return module.library_bytes();
  if (module.properties() & OPD_MODULE_SERIALIZABLE) return module.serialize();
  fail(OPD_UNSUPPORTED, "a module of kind ", module.kind(),
       " cannot be kept in a recording: its code is part of the process");
}

void write_head(ByteWriter &out, KeptModule::Form form, bool with_bytes, std::string_view kind, std::string_view path,
                std::string_view bytes, const std::vector<uint64_t> &imports) {
  out.write<uint8_t>(form);
  out.write<uint8_t>(with_bytes);
  out.write_string(kind);
  out.write_string(path);
  out.write(sha256(bytes));
  out.write<uint64_t>(imports.size());
  for (const uint64_t import : imports) out.write(import);
}

// Writes the blocks. The bytes of libraries are kept, because they mostly contain the other modules, too.
class ProgramWriter {
 public:
  ProgramWriter(bool with_bytes, bool with_paths) : with_bytes_(with_bytes), with_paths_(with_paths) {}

  std::string write(Module &module) {
    if (module.kind() == kNativeKind && !with_paths_)
      fail(OPD_UNSUPPORTED, "a module of kind ", kNativeKind,
           " can only be recorded with the path of its library; set with_paths (--with-paths)");
    std::string bytes = bytes_of_module(module);
    const auto form = module.is_linked_library() ? KeptModule::kLibrary : KeptModule::kSerialized;
    const Part part = form == KeptModule::kSerialized && with_bytes_ ? find(bytes) : Part();
    std::vector<uint64_t> imports;
    for (const auto &import : module.imports()) imports.push_back(numbers_.at(import.get()));
    ByteWriter out;
    write_head(out, part.is_found ? KeptModule::kPartOfLibrary : form, with_bytes_, module.kind(),
               with_paths_ ? module.file() : "", bytes, imports);
    numbers_.emplace(&module, numbers_.size());
    if (part.is_found) out.write(part.library), out.write(part.offset), out.write<uint64_t>(bytes.size());
    else if (with_bytes_) out.write_bytes(bytes.data(), bytes.size());
    if (form == KeptModule::kLibrary && with_bytes_) libraries_.emplace(numbers_.size() - 1, std::move(bytes));
    return out.take();
  }

 private:
  struct Part {
    bool is_found = false;
    uint64_t library = 0, offset = 0;
  };
  Part find(std::string_view bytes) const {
    constexpr size_t kSmall = 256;  // smaller modules are not worth the search
    if (bytes.size() < kSmall) return {};
    for (const auto &[number, library] : libraries_)
      if (const size_t at = library.find(bytes); at != std::string::npos) return {true, number, at};
    return {};
  }

  const bool with_bytes_, with_paths_;
  std::map<const Module *, uint64_t> numbers_;
  std::map<uint64_t, std::string> libraries_;
};

// Most modules in an import tree. Real programs have about ten.
constexpr uint64_t kMostModules = 1000;

Ref<Module> load_one(const KeptModule &kept, const std::vector<KeptModule> &all, const std::string &name) {
  ModuleOptions options;
  options.alone = true;
  if (kept.form == KeptModule::kLibrary) {
    options.format = "so";
    Ref<Module> module = load_module_bytes(kept.bytes, name, options);
    if (auto *library = dynamic_cast<LibraryModule *>(module.get()))
      library->set_original([bytes = std::string(as_text(kept.bytes))] { return bytes; });
    return module;
  }
  const bool is_part = kept.form == KeptModule::kPartOfLibrary;
  const Bytes bytes = is_part ? all[kept.library].bytes.subspan(kept.offset, kept.size) : kept.bytes;
  return make_module(kept.kind, {bytes, name, options});
}

}  // namespace

// This function is not recursive, because trees may be deep.
std::vector<Ref<Module>> modules_of(Module &program) {
  struct Open {
    Ref<Module> module;
    std::vector<Ref<Module>> imports;
    size_t next = 0;
  };
  std::vector<Ref<Module>> done;
  std::set<const Module *> seen;
  std::vector<Open> open;
  const auto enter = [&](Ref<Module> module) {
    if (!seen.insert(module.get()).second) return;
    auto imports = module->imports();
    open.push_back({std::move(module), std::move(imports)});
  };
  enter(Ref<Module>::share(&program));
  while (!open.empty()) {
    Open &top = open.back();
    if (top.next < top.imports.size()) {
      enter(top.imports[top.next++]);
    } else {
      done.push_back(std::move(top.module));
      open.pop_back();
    }
  }
  return done;
}

void write_program(Module &program, bool with_bytes, bool with_paths,
                   const std::function<void(std::string_view)> &add) {
  ProgramWriter writer(with_bytes, with_paths);
  for (const auto &module : modules_of(program)) add(writer.write(*module));
}

std::string write_program_module(std::string_view bytes, const std::vector<uint64_t> &imports) {
  ByteWriter out;
  write_head(out, KeptModule::kSerialized, true, kExecutableKind, "", bytes, imports);
  out.write_bytes(bytes.data(), bytes.size());
  return out.take();
}

std::vector<Sha256> hashes_of(Module &program) {
  std::vector<Sha256> hashes;
  for (const auto &module : modules_of(program)) hashes.push_back(sha256(bytes_of_module(*module)));
  return hashes;
}

KeptModule read_module(Bytes content, const std::vector<KeptModule> &before, const char *name) {
  ByteReader from(content, name);
  KeptModule module;
  const auto form = from.read<uint8_t>("form");
  if (form > KeptModule::kPartOfLibrary) from.bad("form", concat("of a module must be at most 2, but is ", form));
  module.form = static_cast<KeptModule::Form>(form);
  module.has_bytes = from.read<uint8_t>("flag") != 0;
  module.kind = from.read_string("kind");
  module.path = from.read_string("path");
  module.hash = from.read<Sha256>("hash");
  const uint64_t count = from.read_count(sizeof(uint64_t), "number of imports");
  for (uint64_t i = 0; i < count; ++i) {
    module.imports.push_back(from.read<uint64_t>("import"));
    if (module.imports.back() >= before.size()) from.bad("import", "is not of a module before it");
    module.tree_size += before[module.imports.back()].tree_size;
    if (module.tree_size > kMostModules)  // walking it would take too long
      from.bad("import", concat("makes a tree of more than ", kMostModules, " modules"));
  }
  if (!module.has_bytes) return module;
  if (module.form == KeptModule::kPartOfLibrary) {
    module.library = from.read<uint64_t>("library"), module.offset = from.read<uint64_t>("offset");
    module.size = from.read<uint64_t>("size");
    const uint64_t size = module.library < before.size() ? before[module.library].bytes.size() : 0;
    if (module.offset > size || module.size > size - module.offset) from.bad("part", "exceeds its library");
  } else {
    module.bytes = from.take(from.remaining(), "bytes");
  }
  return module;
}

Ref<Module> load_program(const std::vector<KeptModule> &modules, const std::string &name) {
  std::vector<Ref<Module>> loaded;
  for (const KeptModule &kept : modules) {
    Ref<Module> module = load_one(kept, modules, name);
    for (const uint64_t import : kept.imports) module->add_import(loaded[import]);
    loaded.push_back(std::move(module));
  }
  return loaded.back();
}

Ref<Module> copy_program(Module &program, const std::string &name) {
  std::vector<std::string> blocks;
  write_program(program, true, true, [&blocks](std::string_view block) { blocks.emplace_back(block); });
  std::vector<KeptModule> modules;
  for (const std::string &block : blocks) modules.push_back(read_module(as_bytes(block), modules, name.c_str()));
  return load_program(modules, name);
}

}  // namespace opd
