/** @file executable.h  VM programs: reads, verifies, prints and assembles them. executable_builder.h makes them
 * instruction by instruction. */
#ifndef OPDYNO_EXECUTABLE_H_
#define OPDYNO_EXECUTABLE_H_

#include <opdyno/module.h>

OPD_BEGIN_DECLS

/** A verified VM program. Immutable. Format: docs/executable.md; source: TVM relax::vm::VMExecutable. */
typedef struct opd_executable opd_executable;
OPD_HANDLE(opd_executable);

/** Reads an executable's bytes (of either version) and verifies it.
 * @param data           Borrowed for the call.
 * @param size           Bytes of @p data.
 * @param out_executable New reference.
 * @return NULL, or OPD_BAD_FORMAT with the section, function or instruction and the offset.
 * Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_executable_load_bytes(const void *data, size_t size,
                                                           opd_executable **out_executable);

/** Writes the bytes that TVM 0.23 and newer read.
 * @param out_bytes New reference.
 * @return NULL, or OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_executable_save_bytes(const opd_executable *executable, opd_buffer **out_bytes);

/** Assembles text (docs/assembly.md).
 * @param text           Borrowed, @p size bytes.
 * @param out_executable New reference.
 * @return NULL, or OPD_BAD_FORMAT with line and column. Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_executable_assemble(const char *text, size_t size,
                                                         opd_executable **out_executable);

/** A text form of a program. */
typedef enum opd_executable_format OPD_ENUM_TYPE {
  OPD_EXECUTABLE_ASSEMBLY = 0, /**< Text that assembles to the same program. Source: TVM VMExecutable.as_text. */
  OPD_EXECUTABLE_PYTHON = 1,   /**< Python script that builds the same program with TVM's relax.ExecBuilder, constants
                                    included. Compiled functions are named in comments. Source: TVM as_python. */
  /** JSON for programs. Each function has its name, kind, parameters, result, registers, instructions and bytes of
   * code. A parameter has the dtype and shape that the program checks. If the instructions tell the items of a tuple,
   * the result has them. Instructions that may read a register which no path has written are listed. The program has
   * the packed functions that it needs, its constants, and the bytes of each section. */
  OPD_EXECUTABLE_JSON = 2,
  OPD_EXECUTABLE_STATS = 3, /**< Text for people: functions, the functions that they need, instructions by kind,
                                 constants, and their bytes. Source: TVM VMExecutable.stats. */
  OPD_EXECUTABLE_FORMAT_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_executable_format;

/** Writes a program as text.
 * @param format   The form; see opd_executable_format.
 * @param out_text New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT for an unknown format. Threads: safe. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_executable_write(const opd_executable *executable, opd_executable_format format,
                                                      opd_buffer **out_text);

/** Gives the program of a module of kind "relax.VMExecutable". It remembers the modules that @p module imports.
 * @param out_executable New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT for another kind. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_executable_from_module(opd_module *module, opd_executable **out_executable);

/** Makes a module from a program. It imports what the module of opd_executable_from_module() imported. If the program
 * has no such module, or needs more kernels, add them by opd_module_add_import().
 * @param out_module New reference.
 * @return NULL, or OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_executable_to_module(opd_executable *executable, opd_module **out_module);

OPD_END_DECLS
#endif
