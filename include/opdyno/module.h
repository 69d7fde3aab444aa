/** @file module.h  Modules: loaded artifacts that offer functions and import other modules. */
#ifndef OPDYNO_MODULE_H_
#define OPDYNO_MODULE_H_

#include <opdyno/function.h>

OPD_BEGIN_DECLS

/** A loaded artifact. Thread-safe: its functions may be looked up and called from many threads. Its library stays
 * mapped as long as any object obtained from it exists. */
typedef struct opd_module opd_module;
OPD_HANDLE(opd_module);

/** Whether a shared library is loaded from a private copy. Loading patches TVM function pointers inside the mapped
 * library. If another runtime has the same file mapped (real TVM, or another load of it), one of the two would break.
 */
typedef enum opd_copy_policy OPD_ENUM_TYPE {
  OPD_COPY_ALWAYS = 0, /**< Always correct. It costs the file's size in memory, and perf and gdb see a file in memory. A
                            library that needs nothing of TVM is opened in place. */
  OPD_COPY_WHEN_SHARED = 1, /**< A copy is made only if the file is mapped already. It breaks if real TVM opens the file
                                 later. */
  OPD_COPY_NEVER = 2,       /**< No copy is made: for perf and gdb. If the file is mapped already, loading fails. */
  OPD_COPY_POLICY_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_copy_policy;

/** Properties of a module, as bits. The numbers are tvm-ffi's. */
typedef enum opd_module_property OPD_ENUM_TYPE {
  OPD_MODULE_SERIALIZABLE = 1,              /**< Exporting embeds its bytes, or keeps its file if it is a library. */
  OPD_MODULE_RUNNABLE = 2,                  /**< Its functions can be called as they are. */
  OPD_MODULE_COMPILATION_EXPORTABLE = 4,    /**< Exporting compiles or links it. */
  OPD_MODULE_PROPERTY_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_module_property;

/** Where opd_module_has_function() looks and which functions count, as bits. */
typedef enum opd_module_lookup OPD_ENUM_TYPE {
  OPD_LOOKUP_OWN = 0,        /**< Functions of the module itself that can be called. */
  OPD_LOOKUP_IMPORTS = 1,    /**< Also functions of imported modules, depth first. */
  OPD_LOOKUP_UNCALLABLE = 2, /**< Also functions that opd_module_get_function() refuses, because they must first be
                                  linked, or because they need a VM or a device that this build lacks. */
  OPD_MODULE_LOOKUP_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_module_lookup;

/* ---- loading --------------------------------------------------------------------------------------------------- */

/** Options of opd_module_load(). */
typedef struct opd_module_options {
  uint32_t struct_size;     /**< Set by opd_module_options_init(). */
  opd_copy_policy copy;     /**< When a shared library is loaded from a private copy. Default: OPD_COPY_ALWAYS */
  const char *format;       /**< Format of the file: "so", "vmexec", "c", "o", "a" or "tar". Default: NULL: detected by
                                 content, then by suffix */
  const char *compiler;     /**< Compiler for C sources, which also links objects. Default: NULL: $CC, then cc */
  const char *c_flags;      /**< Flags of the compiler, split at spaces. Default: NULL: "-O2" */
  const char *cache_dir;    /**< Directory for compiled and linked files. Default: NULL: $OPDYNO_CACHE_DIR,
                                 $XDG_CACHE_HOME/opdyno, ~/.cache/opdyno */
  int32_t inspect_only;     /**< 1: the file is read, but nothing of it runs (see opd_module_load()). Default: 0 */
  int32_t build_timeout_ms; /**< Limit of the time that the compiler and linker take together. Then they are ended, and
                                 loading fails with OPD_DEADLINE_EXCEEDED. Default: 0: no limit */
} opd_module_options;

/** Writes struct_size and the defaults: copy OPD_COPY_ALWAYS; the rest is 0 or NULL. NULL is allowed. Threads: safe.
 * Since: 0.1 */
static inline void opd_module_options_init(opd_module_options *options) {
  const opd_module_options defaults = {(uint32_t)sizeof *options, OPD_COPY_ALWAYS, NULL, NULL, NULL, NULL, 0, 0};
  if (options) *options = defaults;
}

/** Loads a file.
 *
 * A shared library gives the root of its embedded import tree. A C source is compiled. An object file (.o), an archive
 * of them (.a) and a tar archive (.tar, also compressed with gzip) of objects and C sources are linked to a shared
 * library. Compiled and linked files are kept in the cache directory; nothing is left beside the file. A VM executable
 * is read.
 *
 * With `inspect_only`, an untrusted file can be inspected. It is read, but no library is mapped, no initialiser runs,
 * no program is started, and nothing is compiled or linked. The libraries that the file is linked against are not
 * opened. The module lists its functions and imports, describes itself as JSON and can be exported. A C source lists
 * the functions that its text names. A request for a function or a C symbol fails with OPD_FAILED_PRECONDITION.
 *
 * @param path       Borrowed.
 * @param options    Borrowed; NULL means all defaults.
 * @param out_module New reference.
 * @return NULL, or
 *   - OPD_NOT_FOUND: there is no such file, or no such compiler;
 *   - OPD_BAD_FORMAT with the offset;
 *   - OPD_UNSUPPORTED with the missing symbol, the TVM release it was made for, or the processor feature it needs;
 *   - OPD_CALL_FAILED with the compiler's or linker's message;
 *   - OPD_INVALID_ARGUMENT: a directory, or an unknown option;
 *   - OPD_FAILED_PRECONDITION: OPD_COPY_NEVER, and the file is mapped already;
 *   - OPD_DEADLINE_EXCEEDED: `build_timeout_ms` passed;
 *   - OPD_IO: the copy or the cache directory cannot be written.
 * Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_load(const char *path, const opd_module_options *options,
                                                 opd_module **out_module);

/** Loads the bytes of a file, as opd_module_load() loads the file.
 *
 * With the format "c", the bytes are a C source. Its functions named __tvm_ffi_<name> have the name <name>.
 * opd_module_native_function() gives the others.
 * @param data       Borrowed for the call.
 * @param size       Bytes of @p data.
 * @param name       Borrowed; for messages. NULL means "memory".
 * @param options    Borrowed; NULL means all defaults.
 * @param out_module New reference.
 * @return NULL, or an error of opd_module_load(): OPD_BAD_FORMAT, OPD_UNSUPPORTED, OPD_CALL_FAILED … Threads: safe.
 *         Blocks.
 * Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_load_bytes(const void *data, size_t size, const char *name,
                                                       const opd_module_options *options, opd_module **out_module);

/** Keeps an object file unchanged, as a module of kind "static_library". The module cannot run. If a tree that imports
 * it is exported, it is linked into the exported file.
 * @param path       Borrowed. An object file (.o) or an archive of them (.a).
 * @param func_names Borrowed; @p num_func_names names of its functions, without their prefix.
 * @param out_module New reference.
 * @return NULL, or OPD_NOT_FOUND, OPD_BAD_FORMAT, OPD_UNSUPPORTED for another kind of machine.
 * Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_load_static_library(const char *path, const char *const *func_names,
                                                                int32_t num_func_names, opd_module **out_module);

/** Loads a shared library as a module of kind "opdyno.native". The module has C functions of the library as packed
 * functions.
 *
 * Exporting such a module stores its table and the library's path. If the library lies in the exported file's
 * directory, the path is relative to that. TVM ignores such modules.
 * @param path       Borrowed.
 * @param names      Borrowed; @p num_functions names of C functions.
 * @param signatures Borrowed; @p num_functions signatures, as in opd_function_create_native().
 * @param options    Borrowed; as for opd_module_load().
 * @param out_module New reference.
 * @return NULL, or OPD_NOT_FOUND for an absent function, OPD_INVALID_ARGUMENT for a signature, OPD_ALREADY_EXISTS for a
 *         repeated name, or an error of opd_module_load().
 * Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_load_native(const char *path, const char *const *names,
                                                        const char *const *signatures, int32_t num_functions,
                                                        const opd_module_options *options, opd_module **out_module);

/** Gives the module of a system library: object files that are linked into the program and register themselves at
 * start-up. TVM must have compiled them for a system library. Link them as a whole (-Wl,--whole-archive), together with
 * libopdyno_tvmffi.
 * @param prefix     Borrowed. Their `system_lib_prefix`; NULL means "". If there is no such object file, the module is
 *                   empty.
 * @param out_module New reference: the same module at each call with that prefix, as long as the process lives.
 * @return NULL, or OPD_BAD_FORMAT if the embedded data cannot be read. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_system_lib(const char *prefix, opd_module **out_module);

/** Returns 1 if this build can run artifacts for @p target: "cpu", "llvm", "c", "cuda", "gpu", "nvptx", "opencl", "cl",
 * "vulkan", "metal", "mtl", "rocm" …, with or without options after a space. 0 for unknown ones.
 * Threads: safe. Since: 0.1 */
OPD_API int32_t opd_module_enabled(const char *target);

/* ---- functions ------------------------------------------------------------------------------------------------- */

/** Gives a function of a module.
 * @param name          Borrowed. NULL means the entry function: "main" (in a library the symbol __tvm_ffi_main), of the
 *                      module or of an import.
 * @param query_imports 1: looks also in imported modules, depth first.
 * @param out_function  New reference; keeps the module.
 * @return NULL, or OPD_NOT_FOUND with close names; OPD_UNSUPPORTED for a function that must first be linked, or run by
 * a VM or a device that this build lacks. Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_get_function(opd_module *module, const char *name, int32_t query_imports,
                                                         opd_function **out_function);

/** Gives a C symbol of a shared library as a packed function.
 * @param symbol       Borrowed.
 * @param signature    Borrowed; as in opd_function_create_native().
 * @param out_function New reference; keeps the module.
 * @return NULL, or OPD_NOT_FOUND, OPD_INVALID_ARGUMENT for the signature. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_native_function(opd_module *module, const char *symbol,
                                                            const char *signature, opd_function **out_function);

/** Returns 1 if the module has a function named @p name, else 0.
 * @param name  Borrowed.
 * @param flags Bits of opd_module_lookup. OPD_LOOKUP_OWN and OPD_LOOKUP_IMPORTS tell whether opd_module_get_function()
 *              succeeds.
 * Threads: safe. Blocks. Since: 0.1 */
OPD_API int32_t opd_module_has_function(opd_module *module, const char *name, int32_t flags);

/** Lists the functions that the module itself offers, sorted.
 * @param out_names New reference: an array of strings.
 * @return NULL, or OPD_OUT_OF_MEMORY. Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_list_functions(opd_module *module, opd_array **out_names);

/* ---- properties ------------------------------------------------------------------------------------------------ */

/** Returns the kind: "library", "relax.VMExecutable", "c" …; borrowed. Threads: safe. Since: 0.1 */
OPD_API const char *opd_module_kind(const opd_module *module);

/** Returns the format of the module's content: "so", "c", "o", "vmexec", "ptx" …, "" if it is not known; borrowed.
 * Threads: safe. Since: 0.1 */
OPD_API const char *opd_module_format(const opd_module *module);

/** Returns opd_module_property bits. Threads: safe. Since: 0.1 */
OPD_API int32_t opd_module_properties(const opd_module *module);

/** Returns 1 if exporting links the module, which is its property OPD_MODULE_COMPILATION_EXPORTABLE.
 * Threads: safe. Since: 0.1 */
static inline int32_t opd_module_is_dso_exportable(const opd_module *module) {
  return (opd_module_properties(module) & OPD_MODULE_COMPILATION_EXPORTABLE) != 0;
}

/** Gives the source: a C module's text, a VM executable's assembly.
 * @param format   Borrowed; NULL means the usual one.
 * @param out_text New reference.
 * @return NULL, or OPD_UNSUPPORTED for binary modules. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_get_source(opd_module *module, const char *format, opd_buffer **out_text);

/** Describes the module and its imports as JSON: kind, file, TVM release if it is known, functions, imports.
 * @param out_json New reference.
 * @return NULL, or OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_to_json(opd_module *module, opd_buffer **out_json);

/** Lists the imported modules.
 * @param out_modules New reference: an array of modules, a snapshot.
 * @return NULL, or OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_list_imports(opd_module *module, opd_array **out_modules);

/** Lets @p module look functions up in @p imported.
 * @param imported Borrowed; retained.
 * @return NULL, or OPD_INVALID_ARGUMENT for a cycle. Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_add_import(opd_module *module, opd_module *imported);

/* ---- writing --------------------------------------------------------------------------------------------------- */

/** Lists the formats of opd_module_save(), the usual one first.
 * @param out_formats New reference: an array of strings.
 * @return NULL, or OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_list_formats(opd_module *module, opd_array **out_formats);

/** Writes a file of this module alone, without its imports.
 * @param path   Borrowed; a file there is replaced.
 * @param format Borrowed; NULL: the format of the path's suffix, else the usual one.
 * @return NULL, or OPD_UNSUPPORTED with the possible formats, OPD_IO. Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_save(opd_module *module, const char *path, const char *format);

/** Options of opd_module_export(). */
typedef struct opd_export_options {
  uint32_t struct_size;      /**< Set by opd_export_options_init(). */
  int32_t num_addons;        /**< Number of @p addons. Default: 0 */
  const char *const *addons; /**< Further object files, archives of object files and C sources, which are linked in. If
                                  no module of the tree has code, the root imports a module with their functions.
                                  Default: NULL: none */
  const char *compiler;      /**< Compiler for C sources, which also links objects. Default: NULL: $CC, then cc */
  const char *c_flags;       /**< Flags of the compiler, split at spaces. Default: NULL: "-O2" */
  const char *workspace_dir; /**< Directory for intermediate files, which are kept. Default: NULL: a temporary directory
                                  that is removed */
} opd_export_options;

/** Writes struct_size and the defaults, which are all 0 or NULL. NULL is allowed. Threads: safe. Since: 0.1 */
static inline void opd_export_options_init(opd_export_options *options) {
  const opd_export_options defaults = {(uint32_t)sizeof *options, 0, NULL, NULL, NULL, NULL};
  if (options) *options = defaults;
}

/** Writes a module and all its imports to one file, which opdyno and TVM can load.
 *
 * C sources and static libraries are compiled and linked. VM executables and other serialisable modules are embedded in
 * TVM's format. If the only code is a library that is linked already, its code is kept unchanged and its embedded
 * modules are replaced.
 *
 * @param path    Borrowed. Ends in .so for a shared library, or in .tar for an archive of objects, which are linked
 * when it is loaded. A file there is replaced.
 * @param options Borrowed; NULL means all defaults.
 * @return NULL, or
 *   - OPD_UNSUPPORTED: a module that can be neither linked nor embedded; a linked library beside other code, in a .tar
 *     or from memory;
 *   - OPD_FAILED_PRECONDITION: the file of a linked library has changed;
 *   - OPD_CALL_FAILED with the compiler's or linker's message;
 *   - OPD_INVALID_ARGUMENT: another suffix; OPD_NOT_FOUND; OPD_IO.
 * Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_export(opd_module *module, const char *path,
                                                   const opd_export_options *options);

OPD_END_DECLS
#endif
