// Modules: loaded artifacts that offer functions and import other modules.
#pragma once
#include <opdyno/module.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fork_mutex.h"
#include "base/json_writer.h"
#include "value/function.h"

namespace opd {

// Thread-safe. A function of a module keeps alive everything that it needs from the module.
struct Module : Object {
  static int32_t type() { return OPD_MODULE; }
  Module() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  virtual ~Module() { count_.fetch_sub(1, std::memory_order_relaxed); }
  static uint64_t count() { return count_.load(std::memory_order_relaxed); }  // all existing modules, also imports

  virtual const char *kind() const = 0;
  virtual Ref<Function> find(std::string_view name) = 0;                // its own functions only; null if absent
  virtual std::vector<std::string> list() = 0;                          // own functions, in the artifact's order
  virtual bool names_known() const { return true; }                     // whether list() is complete
  virtual bool implements(std::string_view name);                       // true even if the function cannot run here
  virtual std::string source(std::string_view format);                  // throws OPD_UNSUPPORTED unless overridden
  virtual const char *format() const { return ""; }                     // format of its content: "so", "c", "ptx" …
  virtual int32_t properties() const = 0;                               // opd_module_property
  virtual std::vector<std::string> save_formats() const { return {}; }  // the usual one first
  // Called for a function that was not found, if names_known() is false. Throws if the module has a reason for that.
  virtual void refuse(std::string_view name) const { (void)name; }
  // Returns a file's content without the imports. `format` is one of save_formats().
  virtual std::string save(std::string_view format);
  virtual std::string serialize();  // input for its kind's BytesLoader; only if OPD_MODULE_SERIALIZABLE
  // Serializes for a file that will be in `directory` ("": the current one). Overridden if the directory matters.
  virtual std::string serialize_beside(const std::string &directory) {
    (void)directory;
    return serialize();
  }
  virtual std::string file() const { return {}; }          // "" if it came from memory
  virtual void describe(JsonWriter &json) { (void)json; }  // adds further members to its JSON object
  // The address of a C symbol. Null if it is absent or the module is no library. Throws if the module was loaded for
  // inspection only.
  virtual void *symbol(const char *name) {
    (void)name;
    return nullptr;
  }
  // Whether it is a finished shared library. An export does not link such a module, but keeps it unchanged.
  virtual bool is_linked_library() const { return false; }
  virtual std::string library_bytes() const;  // bytes of such a library as it was loaded; throws if not available

  Ref<Function> find_with_imports(std::string_view name);        // depth first; null if absent
  Ref<Function> get(std::string_view name, bool query_imports);  // throws OPD_NOT_FOUND with close names
  Ref<Function> entry();                                         // finds "main" in the module or its imports; throws
  bool implements_with_imports(std::string_view name);
  std::vector<Ref<Module>> imports() const;     // a snapshot
  virtual void add_import(Ref<Module> module);  // throws for a cycle
  void clear_imports() {
    std::vector<Ref<Module>> gone;  // destroyed after the lock is released
    std::scoped_lock lock(guard_);
    gone.swap(imports_);
  }

 private:
  inline static constinit std::atomic<uint64_t> count_{0};
  mutable ForkMutex guard_{LockRank::kModule};
  std::vector<Ref<Module>> imports_;
};

// If `format` is "", it is the path's suffix if the module supports that, else the module's usual format.
void save_module(Module &module, const std::string &path, std::string format);

// ---- options for loading modules

class AllowedModules;

struct ModuleOptions {  // opd_module_options with defaults filled in
  opd_copy_policy copy = OPD_COPY_ALWAYS;
  std::string format, compiler, c_flags, cache_dir;
  bool inspect_only = false;                                // no code of the file may run
  std::chrono::milliseconds build_timeout{0};               // limit for the compiler and linker; 0: none
  bool alone = false;                                       // load without the embedded modules
  std::shared_ptr<const AllowedModules> allowed = nullptr;  // the files that may be loaded; null: all
};

}  // namespace opd
