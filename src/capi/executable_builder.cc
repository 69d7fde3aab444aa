// Implements include/opdyno/executable_builder.h.
#include "capi/handles.h"
#include "program/builder.h"

using namespace opd;

opd_error *opd_executable_builder_create(opd_executable_builder **out_builder) {
  return guard([&] {
    OPD_REQUIRE(out_builder);
    *out_builder = wrap<opd_executable_builder>(make_object<Builder>());
  });
}

opd_error *opd_executable_builder_begin_function(opd_executable_builder *builder, const char *name, int32_t num_params,
                                                 const char *const *param_names) {
  return guard([&] {
    OPD_REQUIRE(builder, name);
    require(num_params >= 0 && num_params <= UINT16_MAX, "num_params must lie in 0 to 65535, but is ", num_params);
    std::vector<std::string> names;
    for (int32_t i = 0; i < num_params; ++i) {
      require(!param_names || param_names[i], "param_names[", i, "] must not be NULL");
      names.push_back(param_names ? param_names[i] : concat("param_", i));
    }
    unwrap<Builder>(builder)->begin_function(name, std::move(names));
  });
}

opd_error *opd_executable_builder_end_function(opd_executable_builder *builder) {
  return guard([&] {
    OPD_REQUIRE(builder);
    unwrap<Builder>(builder)->end_function();
  });
}

opd_error *opd_executable_builder_add_constant(opd_executable_builder *builder, const opd_value *value,
                                               opd_operand *out_operand) {
  return guard([&] {
    OPD_REQUIRE(builder, value, out_operand);
    *out_operand = unwrap<Builder>(builder)->add_constant(*value).word;
  });
}

opd_error *opd_executable_builder_add_function(opd_executable_builder *builder, const char *name,
                                               opd_operand *out_operand) {
  return guard([&] {
    OPD_REQUIRE(builder, name, out_operand);
    *out_operand = unwrap<Builder>(builder)->add_function(name).word;
  });
}

namespace {

void emit(Builder &builder, const opd_instruction &given) {
  switch (given.opcode) {
    case OPD_OPCODE_CALL: {
      OPD_REQUIRE(given.callee);
      const auto args = OPD_REQUIRE_ITEMS(given.args, given.num_args);
      static_assert(sizeof(Operand) == sizeof(opd_operand));
      const auto *operands = reinterpret_cast<const Operand *>(args.data());
      return builder.emit_call(given.callee, {operands, args.size()}, given.reg);
    }
    case OPD_OPCODE_RET:
      return builder.emit_ret(given.reg);
    case OPD_OPCODE_GOTO:
      return builder.emit_goto(given.offset);
    case OPD_OPCODE_IF:
      return builder.emit_if(given.reg, given.offset);
    default:
      fail(OPD_INVALID_ARGUMENT, "opcode must be one of the opcodes, but is ", static_cast<int32_t>(given.opcode));
  }
}

}  // namespace

opd_error *opd_executable_builder_emit(opd_executable_builder *builder, const opd_instruction *instruction) {
  return guard([&] {
    OPD_REQUIRE(builder, instruction);
    emit(*unwrap<Builder>(builder), read_table(*instruction));
  });
}

opd_error *opd_executable_builder_get(opd_executable_builder *builder, opd_executable **out_executable) {
  return guard([&] {
    OPD_REQUIRE(builder, out_executable);
    *out_executable = wrap<opd_executable>(unwrap<Builder>(builder)->get());
  });
}
