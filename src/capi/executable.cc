// include/opdyno/executable.h
#include "vm/executable.h"

#include "capi/handles.h"
#include "vm/builder.h"
#include "vm/executable_module.h"

using namespace opd;

opd_error *opd_executable_load_bytes(const void *data, size_t size, opd_executable **out_executable) {
  return guard([&] {
    require((data || size == 0) && out_executable, "data and out_executable must not be NULL");
    *out_executable = wrap<opd_executable>(Executable::read({static_cast<const uint8_t *>(data), size}));
  });
}

opd_error *opd_executable_save_bytes(const opd_executable *executable, opd_buffer **out_bytes) {
  return guard([&] {
    require(executable && out_bytes, "executable and out_bytes must not be NULL");
    give_text(unwrap<Executable>(executable)->write(), out_bytes);
  });
}

opd_error *opd_executable_assemble(const char *text, size_t size, opd_executable **out_executable) {
  return guard([&] {
    require((text || size == 0) && out_executable, "text and out_executable must not be NULL");
    *out_executable = wrap<opd_executable>(Executable::assemble({text, size}));
  });
}

opd_error *opd_executable_disassemble(const opd_executable *executable, opd_buffer **out_text) {
  return guard([&] {
    require(executable && out_text, "executable and out_text must not be NULL");
    give_text(unwrap<Executable>(executable)->to_assembly(), out_text);
  });
}

opd_error *opd_executable_to_python(const opd_executable *executable, opd_buffer **out_text) {
  return guard([&] {
    require(executable && out_text, "executable and out_text must not be NULL");
    give_text(unwrap<Executable>(executable)->to_python(), out_text);
  });
}

opd_error *opd_executable_stats(const opd_executable *executable, opd_buffer **out_text) {
  return guard([&] {
    require(executable && out_text, "executable and out_text must not be NULL");
    give_text(unwrap<Executable>(executable)->to_stats(), out_text);
  });
}

opd_error *opd_executable_from_module(opd_module *module, opd_executable **out_executable) {
  return guard([&] {
    require(module && out_executable, "module and out_executable must not be NULL");
    *out_executable = wrap<opd_executable>(executable_of(*unwrap<Module>(module)));
  });
}

opd_error *opd_executable_to_module(opd_executable *executable, opd_module **out_module) {
  return guard([&] {
    require(executable && out_module, "executable and out_module must not be NULL");
    *out_module = wrap<opd_module>(make_executable_module(Ref<Executable>::share(unwrap<Executable>(executable)), ""));
  });
}

opd_error *opd_executable_to_json(const opd_executable *executable, opd_buffer **out_json) {
  return guard([&] {
    require(executable && out_json, "executable and out_json must not be NULL");
    give_text(unwrap<Executable>(executable)->to_json(), out_json);
  });
}

void opd_executable_release(opd_executable *executable) { release_handle(executable); }

// ---- builder

opd_error *opd_builder_create(opd_builder **out_builder) {
  return guard([&] {
    require(out_builder, "out_builder must not be NULL");
    *out_builder = wrap<opd_builder>(make_object<Builder>());
  });
}

opd_error *opd_builder_begin_function(opd_builder *builder, const char *name, int64_t num_params,
                                      const char *const *param_names) {
  return guard([&] {
    require(builder && name, "builder and name must not be NULL");
    require(num_params >= 0 && num_params <= UINT16_MAX, "num_params must lie in 0 to 65535, but is ", num_params);
    std::vector<std::string> names;
    for (int64_t i = 0; i < num_params; ++i) {
      require(!param_names || param_names[i], "param_names[", i, "] must not be NULL");
      names.push_back(param_names ? param_names[i] : concat("param_", i));
    }
    unwrap<Builder>(builder)->begin_function(name, std::move(names));
  });
}

opd_error *opd_builder_end_function(opd_builder *builder) {
  return guard([&] {
    require(builder, "builder must not be NULL");
    unwrap<Builder>(builder)->end_function();
  });
}

opd_operand opd_operand_register(int64_t index) { return Operand::make(Operand::kRegister, index).word; }
opd_operand opd_operand_immediate(int64_t value) { return Operand::make(Operand::kImmediate, value).word; }

opd_error *opd_builder_add_constant(opd_builder *builder, const opd_value *value, opd_operand *out_operand) {
  return guard([&] {
    require(builder && value && out_operand, "builder, value and out_operand must not be NULL");
    *out_operand = unwrap<Builder>(builder)->add_constant(*value).word;
  });
}

opd_error *opd_builder_add_function(opd_builder *builder, const char *name, opd_operand *out_operand) {
  return guard([&] {
    require(builder && name && out_operand, "builder, name and out_operand must not be NULL");
    *out_operand = unwrap<Builder>(builder)->add_function(name).word;
  });
}

opd_error *opd_builder_emit_call(opd_builder *builder, const char *callee, const opd_operand *args, int32_t num_args,
                                 int64_t dst) {
  return guard([&] {
    require(builder && callee && (args || num_args == 0) && num_args >= 0, "builder, callee and args must not be NULL");
    static_assert(sizeof(Operand) == sizeof(opd_operand));
    unwrap<Builder>(builder)->emit_call(callee,
                                        {reinterpret_cast<const Operand *>(args), static_cast<size_t>(num_args)}, dst);
  });
}

opd_error *opd_builder_emit_ret(opd_builder *builder, int64_t result) {
  return guard([&] {
    require(builder, "builder must not be NULL");
    unwrap<Builder>(builder)->emit_ret(result);
  });
}

opd_error *opd_builder_emit_goto(opd_builder *builder, int64_t offset) {
  return guard([&] {
    require(builder, "builder must not be NULL");
    unwrap<Builder>(builder)->emit_goto(offset);
  });
}

opd_error *opd_builder_emit_if(opd_builder *builder, int64_t condition, int64_t false_offset) {
  return guard([&] {
    require(builder, "builder must not be NULL");
    unwrap<Builder>(builder)->emit_if(condition, false_offset);
  });
}

opd_error *opd_builder_get(opd_builder *builder, opd_executable **out_executable) {
  return guard([&] {
    require(builder && out_executable, "builder and out_executable must not be NULL");
    *out_executable = wrap<opd_executable>(unwrap<Builder>(builder)->get());
  });
}

void opd_builder_release(opd_builder *builder) { release_handle(builder); }
