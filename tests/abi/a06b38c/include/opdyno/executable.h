/** @file executable.h  VM programs: read, verified, printed, assembled from text or by a builder. */
#ifndef OPDYNO_EXECUTABLE_H_
#define OPDYNO_EXECUTABLE_H_

#include <opdyno/module.h>

OPD_BEGIN_DECLS

/** A verified VM program. Immutable. Format: docs/executable.md; source: TVM relax::vm::VMExecutable. */
typedef struct opd_executable opd_executable;

/** Reads an executable's bytes (either version) and verifies it. @param data Borrowed for the call.
 * @param out_executable New reference. OPD_BAD_FORMAT names the section, function or instruction and the offset.
 * Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_executable_load_bytes(const void *data, size_t size,
                                                           opd_executable **out_executable);
/** Writes the bytes that TVM 0.23 and newer read. @param out_bytes New reference. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_executable_save_bytes(const opd_executable *executable, opd_buffer **out_bytes);
/** Assembles text (docs/assembly.md). OPD_BAD_FORMAT gives line and column. @param out_executable New reference.
 * Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_executable_assemble(const char *text, size_t size,
                                                         opd_executable **out_executable);
/** Writes text that assembles to the same program. @param out_text New reference. Threads: safe. Since: 0.1. Source:
 * TVM VMExecutable.as_text. */
OPD_API OPD_NODISCARD opd_error *opd_executable_disassemble(const opd_executable *executable, opd_buffer **out_text);
/** Writes a Python script that builds the same program with TVM's relax.ExecBuilder, constants included. Functions that
 * are compiled are named in comments. @param out_text New reference. Threads: safe. Since: 0.1. Source: TVM
 * VMExecutable.as_python. */
OPD_API OPD_NODISCARD opd_error *opd_executable_to_python(const opd_executable *executable, opd_buffer **out_text);
/** Writes for people what the program consists of: its functions, those it needs, instructions by kind, constants, and
 * how many bytes they take. @param out_text New reference. Threads: safe. Since: 0.1. Source: TVM VMExecutable.stats.
 */
OPD_API OPD_NODISCARD opd_error *opd_executable_stats(const opd_executable *executable, opd_buffer **out_text);
/** Gives the program of a module of kind "relax.VMExecutable". Else OPD_INVALID_ARGUMENT. @param out_executable New
 * reference. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_executable_from_module(opd_module *module, opd_executable **out_executable);
/** Makes a module of the program; add the modules with its kernels by opd_module_add_import(). @param out_module New
 * reference. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_executable_to_module(opd_executable *executable, opd_module **out_module);
/** Describes the program as JSON: per function name, kind, parameters with dtype and shape as far as the program checks
 *  them, the result (of a tuple its items) as far as its instructions tell, registers, instructions, bytes of code,
 *  instructions that may read a register which no path has written; packed functions it needs; constants; bytes of each
 *  section. @param out_json New reference. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_executable_to_json(const opd_executable *executable, opd_buffer **out_json);
/** Ends a reference. Threads: safe. Since: 0.1 */
OPD_API void opd_executable_release(opd_executable *executable);

/* ---- builder --------------------------------------------------------------------------------------------------- */

/** Writes a program instruction by instruction. One at a time. Source: TVM relax.ExecBuilder. */
typedef struct opd_builder opd_builder;
/** An operand of an instruction: a register, immediate, constant or function; made by the functions below. */
typedef int64_t opd_operand;

/** The register that reads as None and that a call without a result writes to. */
#define OPD_REGISTER_VOID ((int64_t)1 << 54)
/** The register that reads as the running VM. */
#define OPD_REGISTER_VM (((int64_t)1 << 54) + 1)

/** @param out_builder New reference. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_builder_create(opd_builder **out_builder);
/** Begins a function; instructions follow until opd_builder_end_function().
 * @param param_names Borrowed, @p num_params names; NULL: "param_0" …. Parameters lie in registers 0 …. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_builder_begin_function(opd_builder *builder, const char *name, int64_t num_params,
                                                            const char *const *param_names);
/** Ends the function begun. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_builder_end_function(opd_builder *builder);
/** Makes a register operand. Since: 0.1 */
OPD_API opd_operand opd_operand_register(int64_t index);
/** Makes an immediate operand; 56 bits, signed. Since: 0.1 */
OPD_API opd_operand opd_operand_immediate(int64_t value);
/** Adds a constant (tensor, shape, string, dtype, int, float), or finds an equal one. @param out_operand Written.
 * Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_builder_add_constant(opd_builder *builder, const opd_value *value,
                                                          opd_operand *out_operand);
/** Declares or finds the function of that name as an operand. @param out_operand Written. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_builder_add_function(opd_builder *builder, const char *name,
                                                          opd_operand *out_operand);
/** `dst = callee(args…)`; callee is declared on first use. @param dst A register, or OPD_REGISTER_VOID. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_builder_emit_call(opd_builder *builder, const char *callee,
                                                       const opd_operand *args, int32_t num_args, int64_t dst);
/** Returns from the function with a register's value. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_builder_emit_ret(opd_builder *builder, int64_t result);
/** Jumps by @p offset instructions from this one. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_builder_emit_goto(opd_builder *builder, int64_t offset);
/** Goes on if the register's integer is not 0, else jumps by @p false_offset instructions (> 1) from this one. Since:
 * 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_builder_emit_if(opd_builder *builder, int64_t condition, int64_t false_offset);
/** Verifies and gives the program; the builder stays usable. @param out_executable New reference. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_builder_get(opd_builder *builder, opd_executable **out_executable);
/** Ends a reference. Since: 0.1 */
OPD_API void opd_builder_release(opd_builder *builder);

OPD_END_DECLS
#endif
