/** @file module.h  Modules: loaded artefacts that offer functions and import other modules. */
#ifndef OPDYNO_MODULE_H_
#define OPDYNO_MODULE_H_

#include <opdyno/function.h>

OPD_BEGIN_DECLS

/** A loaded artefact. Thread-safe: functions may be looked up and called from many threads. Its library stays mapped
 *  while anything that came from it lives. */
typedef struct opd_module opd_module;

/** Whether a shared library is loaded from a private copy. Its slots for TVM's functions are filled in place, so a
 *  mapping that someone else has too (real TVM, or another load of the file) would be broken for one of the two. */
typedef enum opd_copy_policy {
  OPD_COPY_ALWAYS = 0, /**< Right in every case; costs the file's size in memory. perf and gdb see a file in memory. A
                          library that needs nothing of TVM is opened in place. */
  OPD_COPY_WHEN_SHARED = 1, /**< Copies only if the file is mapped already. Wrong if real TVM opens it later. */
  OPD_COPY_NEVER = 2,       /**< For perf and gdb. Refused if the file is mapped already. */
  OPD_COPY_POLICY_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_copy_policy;

/** What can be done with a module; the numbers are tvm-ffi's. */
typedef enum opd_module_property {
  OPD_MODULE_SERIALIZABLE = 1,              /**< Exporting embeds its bytes, or keeps its file if it is a library. */
  OPD_MODULE_RUNNABLE = 2,                  /**< Its functions can be called as they are. */
  OPD_MODULE_COMPILATION_EXPORTABLE = 4,    /**< Exporting compiles or links it. */
  OPD_MODULE_PROPERTY_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_module_property;

/** How to load. */
typedef struct opd_module_options {
  uint32_t struct_size;  /**< set by opd_module_options_init() */
  int32_t copy;          /**< an opd_copy_policy; OPD_COPY_ALWAYS */
  const char *format;    /**< "so", "vmexec", "c", "o", "a", "tar"; NULL: told by content, then by suffix */
  const char *compiler;  /**< compiles C sources and links objects; NULL: $CC, then cc */
  const char *c_flags;   /**< its flags, split at spaces; NULL: "-O2" */
  const char *cache_dir; /**< for what it makes; NULL: $OPDYNO_CACHE_DIR, $XDG_CACHE_HOME/opdyno, ~/.cache/opdyno */
} opd_module_options;

/** Writes the defaults. Since: 0.1 */
OPD_API void opd_module_options_init(opd_module_options *options);

/** Loads a file: a shared library (with its embedded import tree, whose root is returned), a VM executable, a C source,
 *  which is compiled and cached, or an object file, an archive of them (.a) or a tar archive (.tar, also compressed
 * with gzip) of objects and C sources, which are linked to a shared library and cached. Nothing is left beside the
 * file.
 *
 * @param path    Borrowed. @param options Borrowed; NULL means all defaults.
 * @param out_module New reference.
 * @return NULL, or OPD_NOT_FOUND; OPD_BAD_FORMAT with the offset; OPD_UNSUPPORTED naming the missing symbol, the TVM
 *         release it was made for or the processor feature it needs; OPD_CALL_FAILED with the compiler's or linker's
 * message; OPD_INVALID_ARGUMENT for a folder or an unknown option; OPD_FAILED_PRECONDITION for OPD_COPY_NEVER and a
 * file that is mapped already; OPD_IO if the copy or the cache folder cannot be written. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_load(const char *path, const opd_module_options *options,
                                                 opd_module **out_module);
/** The same from memory. @param name Borrowed; used in messages; NULL means "memory". Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_load_bytes(const void *data, size_t size, const char *name,
                                                       const opd_module_options *options, opd_module **out_module);
/** Compiles and loads a C source text; functions named __tvm_ffi_<name> are offered as <name>, others through
 *  opd_module_native_function(). Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_load_source(const char *source, const opd_module_options *options,
                                                        opd_module **out_module);

/** Keeps an object file as it is, as a module of kind "static_library": it is not run, but linked into what the tree
 * that imports it is exported to.
 * @param path       Borrowed. An object file (.o) or an archive of them (.a).
 * @param func_names Borrowed; @p num_func_names names of the functions that it implements, without their prefix.
 * @param out_module New reference.
 * @return NULL, or OPD_NOT_FOUND, OPD_BAD_FORMAT, OPD_UNSUPPORTED for another machine's. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_load_static_library(const char *path, const char *const *func_names,
                                                                int32_t num_func_names, opd_module **out_module);
/** Loads a shared library as a module of kind "opdyno.native", which offers C functions of it as packed functions.
 * Exporting stores its path, relative to the exported file's folder if it lies in there, and the table; TVM sees no
 * such module.
 * @param path       Borrowed. @param names Borrowed; @p num_functions names of C functions.
 * @param signatures Borrowed; as many signatures, as in opd_function_create_native().
 * @param options    Borrowed; as for opd_module_load(), by which the library is loaded.
 * @param out_module New reference.
 * @return NULL, or OPD_NOT_FOUND for a function that is not there, OPD_INVALID_ARGUMENT for a signature,
 *         OPD_ALREADY_EXISTS for a name that comes twice, or an error of opd_module_load(). Threads: safe. Since: 0.1
 */
OPD_API OPD_NODISCARD opd_error *opd_module_load_native(const char *path, const char *const *names,
                                                        const char *const *signatures, int32_t num_functions,
                                                        const opd_module_options *options, opd_module **out_module);
/** Gives the module of what is linked into the program and registered itself at start-up: objects that TVM compiled for
 * a system library, linked whole (-Wl,--whole-archive) together with libopdyno_tvmffi, which has the functions they
 * call.
 * @param prefix     Borrowed. Their `system_lib_prefix`; NULL means "". Without any such object the module is empty.
 * @param out_module New reference; the same module for each call with that prefix, as long as the process lives.
 * @return NULL, or OPD_BAD_FORMAT if what is embedded there cannot be read. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_system_lib(const char *prefix, opd_module **out_module);
/** Returns 1 if this build can run artefacts for a target: "cpu", "llvm", "c", "cuda", "gpu", "nvptx", "opencl", "cl",
 *  "vulkan", "metal", "mtl", "rocm" …, with or without options after a space. 0 for unknown ones. Since: 0.1 */
OPD_API int opd_module_enabled(const char *target);

/** Gives a function. With @p query_imports also those of imported modules, depth first.
 * @param name Borrowed. @param out_function New reference; keeps the module.
 * @return NULL, OPD_NOT_FOUND with close names, or OPD_UNSUPPORTED for a function that is there, but has to be linked,
 * run by a VM or by a device that this build lacks. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_get_function(opd_module *module, const char *name, int query_imports,
                                                         opd_function **out_function);
/** Gives a C symbol of a shared library as a packed function; signature as in opd_function_create_native(). Since: 0.1
 */
OPD_API OPD_NODISCARD opd_error *opd_module_native_function(opd_module *module, const char *symbol,
                                                            const char *signature, opd_function **out_function);
/** Returns 1 if opd_module_get_function() with the same arguments finds one. Threads: safe. Since: 0.1 */
OPD_API int opd_module_has_function(opd_module *module, const char *name, int query_imports);
/** Returns 1 if the module, or with @p query_imports one that it imports, has that function, even if it has to be
 * linked, run by a VM or by a device that this build lacks, so that opd_module_get_function() refuses it. Threads:
 * safe. Since: 0.1 */
OPD_API int opd_module_implements_function(opd_module *module, const char *name, int query_imports);
/** Gives the function that the module is called by: "main" (the symbol __tvm_ffi_main of a library), its own or an
 *  import's.
 * @param out_function New reference. OPD_NOT_FOUND if there is none, OPD_UNSUPPORTED if it needs a VM. Threads: safe.
 * Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_entry_function(opd_module *module, opd_function **out_function);
/** Lists the functions that the module itself offers, sorted. @param out_names New reference: an array of strings.
 * Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_list_functions(opd_module *module, opd_array **out_names);

/** Returns the kind: "library", "relax.VMExecutable", "c" …; borrowed. Threads: safe. Since: 0.1 */
OPD_API const char *opd_module_kind(const opd_module *module);
/** Returns the format of what the module holds: "so", "c", "o", "vmexec", "ptx" …, "" if it is not known; borrowed.
 * Threads: safe. Since: 0.1 */
OPD_API const char *opd_module_format(const opd_module *module);
/** Returns opd_module_property bits. Threads: safe. Since: 0.1 */
OPD_API int32_t opd_module_properties(const opd_module *module);
/** Returns 1 if exporting links the module: it has OPD_MODULE_COMPILATION_EXPORTABLE. Threads: safe. Since: 0.1 */
OPD_API int opd_module_is_dso_exportable(const opd_module *module);
/** Lists the formats of opd_module_save(), the usual one first. @param out_formats New reference: an array of strings.
 * Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_list_formats(opd_module *module, opd_array **out_formats);
/** Writes a file of this module alone, without its imports.
 * @param path   Borrowed; a file there is replaced. @param format Borrowed; NULL: by the path's suffix, then the usual
 * one.
 * @return NULL, or OPD_UNSUPPORTED with the formats that there are, OPD_IO. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_save(opd_module *module, const char *path, const char *format);
/** How to export. */
typedef struct opd_export_options {
  uint32_t struct_size;      /**< set by opd_export_options_init() */
  int32_t num_addons;        /**< 0 */
  const char *const *addons; /**< further object files, archives of them and C sources, which are linked in;
                                  without a module of code in the tree, the root imports what they offer */
  const char *compiler;      /**< compiles C sources and links objects; NULL: $CC, then cc */
  const char *c_flags;       /**< its flags, split at spaces; NULL: "-O2" */
  const char *workspace_dir; /**< keeps what is made on the way; NULL: a temporary folder that goes away */
} opd_export_options;

/** Writes the defaults. Since: 0.1 */
OPD_API void opd_export_options_init(opd_export_options *options);
/** Writes one file of a module and all that it imports: C sources and static libraries are compiled and linked, VM
 *  executables and other serialisable modules embedded, in TVM's format. A library that is linked already is kept as it
 *  is if it is the only code; what was embedded in it is replaced. opdyno and TVM load the result.
 *
 * @param path    Borrowed. Ends in .so for a shared library, or in .tar for an archive of objects, which are linked
 * when it is loaded. A file there is replaced.
 * @param options Borrowed; NULL means all defaults.
 * @return NULL, or OPD_UNSUPPORTED for a module that can be neither linked nor embedded, for a linked library beside
 *         other code, in a .tar or from memory; OPD_FAILED_PRECONDITION if its file has changed; OPD_CALL_FAILED with
 * the compiler's or linker's message; OPD_NOT_FOUND, OPD_IO, OPD_INVALID_ARGUMENT for another suffix. Threads: safe.
 * Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_export(opd_module *module, const char *path,
                                                   const opd_export_options *options);
/** Lists the imported modules. @param out_modules New reference: an array of modules, a snapshot. Threads: safe. Since:
 * 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_list_imports(opd_module *module, opd_array **out_modules);
/** Lets @p module look functions up in @p imported. A cycle is OPD_INVALID_ARGUMENT. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_add_import(opd_module *module, opd_module *imported);
/** Gives the source: a C module's text, a VM executable's assembly. OPD_UNSUPPORTED for binary modules.
 * @param format Borrowed; NULL means the usual one. @param out_text New reference. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_get_source(opd_module *module, const char *format, opd_buffer **out_text);
/** Describes the module and its imports as JSON: kind, file, TVM release as far as it can be told, functions, imports.
 * @param out_json New reference. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_module_to_json(opd_module *module, opd_buffer **out_json);
/** Ends a reference. Threads: safe. Since: 0.1 */
OPD_API void opd_module_release(opd_module *module);

OPD_END_DECLS
#endif
