// Any bytes as the modules embedded in a library, and what follows them as opdyno's own ones: refused, or a tree that
// can be walked and asked.
#include <cstdlib>
#include <set>

#include "module/blob_reader.h"
#include "module/kinds/native_module.h"
#include "vm/executable_module.h"

namespace {

using namespace opd;

struct Library final : Module {
  const char *kind() const override { return "library"; }
  Ref<Function> find(std::string_view) override { return nullptr; }
  std::vector<std::string> list() override { return {}; }
  int32_t properties() const override { return OPD_MODULE_RUNNABLE; }
};

void use(Module &module, std::set<Module *> &seen) {
  if (!seen.insert(&module).second) return;
  JsonWriter json;
  json.begin_object();
  module.describe(json);
  json.end_object();
  if (!*module.kind()) std::abort();  // it would be told as none
  const auto names = module.list();
  for (const auto &name : names) {
    try {
      module.get(name, true);
    } catch (const Exception &e) {  // placeholders refuse their functions, and programs need a VM
      if (e.error()->code != OPD_UNSUPPORTED && e.error()->code != OPD_NOT_FOUND) std::abort();
    }
  }
  for (const auto &import : module.imports()) use(*import, seen);
}

// Without the library that it names, which could be any file.
Ref<Module> read_own(std::string_view kind, Bytes bytes) {
  if (kind == kNativeKind) {
    const NativeTable table = read_native_table(bytes, "any.so");
    if (table.library.empty()) std::abort();
    for (const auto &[name, signature] : table.entries)
      if (name.empty() || signature.empty()) std::abort();
  }
  return make_object<Library>();
}

template <class Make>
void try_tree(Make make) {
  try {
    std::set<Module *> seen;
    use(*make(), seen);
  } catch (const Exception &e) {
    if (!*e.what() || (e.error()->code != OPD_BAD_FORMAT && e.error()->code != OPD_UNSUPPORTED)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  register_executable_format();
  register_static_library_kind();  // C sources are not: what is asked of them is compiled
  register_const_loader_kind();
  std::vector<Ref<Object>> kept;
  try_tree([&] { return make_embedded_modules({data, size}, make_object<Library>(), "any.so", {}, kept); });
  uint64_t begin = 0;  // of ours
  if (size >= sizeof begin) std::memcpy(&begin, data, sizeof begin);
  if (size < sizeof begin || begin > size - sizeof begin || (begin += sizeof begin) == size) return 0;
  try_tree([&] {
    return make_own_modules({data + begin, size - begin}, {data, begin}, make_object<Library>(), "any.so", {}, kept,
                            read_own);
  });
  return 0;
}
