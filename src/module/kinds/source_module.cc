#include "module/kinds/source_module.h"

#include "module/image/artifact.h"
#include "module/toolchain/compiler.h"

namespace opd {

Ref<SourceModule> SourceModule::make(const std::string &text, const std::string &path, const ModuleOptions &options) {
  const CompiledLibrary compiled = compile_source(text, path, options);
  const auto image =
      std::make_shared<LibraryImage>(as_bytes(compiled.content), path.empty() ? "the compiled C source" : path);
  require_loadable(image->file());
  auto module =
      make_object<SourceModule>(image, options.copy == OPD_COPY_ALWAYS ? "" : compiled.path, options, text, path);
  module->fill_slots(image->file());
  module->set_original(original_in_cache(compiled.path, path.empty() ? "the C source" : path));
  return module;
}

std::string SourceModule::source(std::string_view format) {
  if (format.empty() || format == "c") return text_;
  return Module::source(format);
}

std::string SourceModule::serialize() { return serialized_source(text_, "c", list()); }

std::string serialized_source(std::string_view text, std::string_view format,
                              const std::vector<std::string> &functions) {
  ByteWriter out;
  out.write_string(text);
  out.write_string(format);
  out.write<uint64_t>(functions.size());
  for (const auto &name : functions) out.write_string(name);
  out.write<uint64_t>(0);  // number of names of constants
  return out.take();
}

}  // namespace opd
