/** @file executable_builder.h  Makes VM programs instruction by instruction.
 *
 * Experimental: this header may change in each minor version.
 */
#ifndef OPDYNO_EXECUTABLE_BUILDER_H_
#define OPDYNO_EXECUTABLE_BUILDER_H_

#include <opdyno/executable.h>

OPD_BEGIN_DECLS

/** A program under construction. May be used by one thread at a time. Source: TVM relax.ExecBuilder. */
typedef struct opd_executable_builder opd_executable_builder;
OPD_HANDLE(opd_executable_builder);

/** An operand of an instruction: a register, an immediate number, a constant or a function. */
typedef int64_t opd_operand;

/** The register that reads as None, and that a call without a result writes to. */
#define OPD_REGISTER_VOID ((int64_t)1 << 54)
/** The register that reads as the running VM. */
#define OPD_REGISTER_VM (((int64_t)1 << 54) + 1)

/** Makes an operand for register @p index. Threads: safe. Since: 0.1 */
static inline opd_operand opd_operand_register(int64_t index) { return index & (((int64_t)1 << 56) - 1); }

/** Makes an immediate operand of @p value, a signed number of 56 bits. Threads: safe. Since: 0.1 */
static inline opd_operand opd_operand_immediate(int64_t value) {
  return (value & (((int64_t)1 << 56) - 1)) | (int64_t)1 << 56;
}

/** Kinds of instructions. */
typedef enum opd_opcode OPD_ENUM_TYPE {
  OPD_OPCODE_CALL = 0, /**< `reg = callee(args…)`. The callee is declared by its first use. */
  OPD_OPCODE_RET = 1,  /**< Returns the value of `reg` from the function. */
  OPD_OPCODE_GOTO = 2, /**< Jumps by `offset` instructions from this one. */
  OPD_OPCODE_IF = 3, /**< If the integer in `reg` is not 0, goes on with the next instruction. Else jumps by `offset` (>
                          1). */
  OPD_OPCODE_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_opcode;

/** One instruction. The functions below make it. */
typedef struct opd_instruction {
  uint32_t struct_size;    /**< Must be sizeof(opd_instruction). */
  opd_opcode opcode;       /**< Kind of the instruction. */
  int64_t reg;             /**< Register that a call writes (OPD_REGISTER_VOID: none), or that is read. */
  int64_t offset;          /**< Offset of a jump, in instructions. */
  const char *callee;      /**< Borrowed. Name of the called function. */
  const opd_operand *args; /**< Borrowed. @p num_args operands of a call. */
  int32_t num_args;        /**< Number of @p args. */
  uint32_t reserved;       /**< Must be 0. */
} opd_instruction;

/** Makes `dst = callee(args…)`, with @p num_args arguments and register @p dst for the result. Borrows @p callee and
 * @p args. Threads: safe. Since: 0.2 */
static inline opd_instruction opd_instruction_call(const char *callee, const opd_operand *args, int32_t num_args,
                                                   int64_t dst) {
  const opd_instruction made = {(uint32_t)sizeof made, OPD_OPCODE_CALL, dst, 0, callee, args, num_args, 0};
  return made;
}
/** Makes an instruction that returns the value of register @p result. Threads: safe. Since: 0.2 */
static inline opd_instruction opd_instruction_ret(int64_t result) {
  const opd_instruction made = {(uint32_t)sizeof made, OPD_OPCODE_RET, result, 0, NULL, NULL, 0, 0};
  return made;
}
/** Makes a jump by @p offset instructions. Threads: safe. Since: 0.2 */
static inline opd_instruction opd_instruction_goto(int64_t offset) {
  const opd_instruction made = {(uint32_t)sizeof made, OPD_OPCODE_GOTO, 0, offset, NULL, NULL, 0, 0};
  return made;
}
/** Makes a jump by @p false_offset instructions (> 1) that is taken if the integer in register @p condition
 * is 0. Threads: safe. Since: 0.2 */
static inline opd_instruction opd_instruction_if(int64_t condition, int64_t false_offset) {
  const opd_instruction made = {(uint32_t)sizeof made, OPD_OPCODE_IF, condition, false_offset, NULL, NULL, 0, 0};
  return made;
}

/** Begins a program.
 * @param out_builder New reference.
 * @return NULL, or OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_executable_builder_create(opd_executable_builder **out_builder);

/** Begins a function. Instructions follow until opd_executable_builder_end_function().
 * @param name        Borrowed.
 * @param num_params  At least 0.
 * @param param_names Borrowed, @p num_params names; NULL: "param_0" …. Parameters lie in registers 0 ….
 * @return NULL, or OPD_ALREADY_EXISTS for a repeated name, OPD_FAILED_PRECONDITION within a function.
 * Threads: one at a time. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_executable_builder_begin_function(opd_executable_builder *builder,
                                                                       const char *name, int32_t num_params,
                                                                       const char *const *param_names);

/** Ends the current function.
 * @return NULL, or OPD_FAILED_PRECONDITION outside of a function. Threads: one at a time. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_executable_builder_end_function(opd_executable_builder *builder);

/** Adds a constant (tensor, shape, string, dtype, int, float), or finds an equal one.
 * @param value       Borrowed; retained.
 * @param out_operand Written.
 * @return NULL, or OPD_INVALID_ARGUMENT for another kind. Threads: one at a time. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_executable_builder_add_constant(opd_executable_builder *builder,
                                                                     const opd_value *value, opd_operand *out_operand);

/** Makes an operand for a function. If the name is new, the function is declared.
 * @param name        Borrowed.
 * @param out_operand Written.
 * @return NULL, or OPD_INVALID_ARGUMENT. Threads: one at a time. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_executable_builder_add_function(opd_executable_builder *builder, const char *name,
                                                                     opd_operand *out_operand);

/** Appends an instruction to the current function.
 * @param instruction Borrowed for the call.
 * @return NULL, or OPD_FAILED_PRECONDITION outside of a function, OPD_INVALID_ARGUMENT for an unknown opcode, or a
 *         register or number that does not fit. Threads: one at a time. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_executable_builder_emit(opd_executable_builder *builder,
                                                             const opd_instruction *instruction);

/** Verifies the program built so far and returns it as an executable. The builder can be extended further.
 * @param out_executable New reference.
 * @return NULL, or OPD_FAILED_PRECONDITION within a function, OPD_BAD_FORMAT for a program that is not valid.
 * Threads: one at a time. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_executable_builder_get(opd_executable_builder *builder,
                                                            opd_executable **out_executable);

OPD_END_DECLS
#endif
