// A C source as a module: its text, and the library compiled from it.
#pragma once
#include "module/kinds/library_module.h"

namespace opd {

class SourceModule final : public LibraryModule {
 public:
  // `library`: the compiled file if it may be mapped without a copy, else "".
  SourceModule(const std::shared_ptr<LibraryImage> &image, const std::string &library, const ModuleOptions &options,
               std::string text, std::string path)
      : LibraryModule(image, library, std::move(path), options), text_(std::move(text)) {}

  // Compiles `text`. `path`: file that it came from; "" for memory.
  static Ref<SourceModule> make(const std::string &text, const std::string &path, const ModuleOptions &options);

  const char *kind() const override { return "c"; }
  const char *format() const override { return "c"; }
  int32_t properties() const override {
    return OPD_MODULE_SERIALIZABLE | OPD_MODULE_RUNNABLE | OPD_MODULE_COMPILATION_EXPORTABLE;
  }
  std::vector<std::string> save_formats() const override { return {"c"}; }
  std::string save(std::string_view) override { return text_; }
  std::string serialize() override;
  std::string source(std::string_view format) override;

 private:
  std::string text_;
};

struct SourceText {
  std::string text, format;
  std::vector<std::string> functions;  // the known functions
};
// Makes a module of a source that is compiled at the first request for a function; with `inspect_only` it is never
// compiled. `origin`: its name in messages. `file`: "" for a source that is embedded in a library.
Ref<Module> make_uncompiled_source(SourceText source, std::string origin, std::string file,
                                   const ModuleOptions &options);

// The bytes for a C source embedded in a library, in TVM's format.
std::string serialized_source(std::string_view text, std::string_view format,
                              const std::vector<std::string> &functions);

}  // namespace opd
