// Loaders of modules by kind. Embedded modules have the name of their kind; files are recognised by their first bytes.
// Higher layers register their loaders here.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "module/module.h"
#include "module/module_options.h"

namespace opd {

struct EmbeddedBytes {
  Bytes bytes;
  const std::string &name;  // name of the file, for messages
  const ModuleOptions &options;
  // Null, or a slot for an object that later loads of the same bytes may use. Two loads never use it at the same time.
  // Their modules may share only the immutable parts of the object.
  Ref<Object> *derived = nullptr;
};
using BytesLoader = std::function<Ref<Module>(const EmbeddedBytes &given)>;
void register_module_kind(std::string kind, BytesLoader loader);
BytesLoader find_module_kind(std::string_view kind);  // empty if unknown
// `magic`: the first 8 bytes of a file of that kind, little-endian.
void register_module_magic(uint64_t magic, std::string kind);
std::string module_kind_of_magic(uint64_t magic);  // "" if the magic is unknown

}  // namespace opd
