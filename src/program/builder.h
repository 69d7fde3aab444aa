// Builds a program instruction by instruction, like TVM's ExecBuilder.
#pragma once
#include <map>

#include "program/executable.h"

namespace opd {

struct Builder : Object {
  static int32_t type() { return registered_type<"opdyno.Builder">(); }

  Builder() : program_(make_object<Executable>()) {}

  void begin_function(std::string_view name, std::vector<std::string> param_names);
  void end_function();
  Operand add_constant(const View &value);      // reuses an equal constant unless it is a tensor
  Operand append_constant(Value value);         // never reuses a constant, to keep a given order
  Operand add_function(std::string_view name);  // declares a packed function unless the name is known
  void emit_call(std::string_view callee, std::span<const Operand> args, int64_t dst);
  void emit_ret(int64_t result);
  void emit_goto(int64_t offset);
  void emit_if(int64_t condition, int64_t false_offset);
  void set_num_registers(int64_t count);  // the open function gets at least as many as it uses
  void add_scope(int64_t constant, std::string scope) { program_->scopes.push_back({constant, std::move(scope)}); }
  void patch(size_t instruction, int64_t target);  // sets the offset of an earlier goto or if
  size_t next_instruction() const { return program_->offsets.size(); }

  Ref<Executable> get() const;  // a verified copy; the builder can be used further

 private:
  FunctionInfo &current(const char *action);
  void use_register(FunctionInfo &function, int64_t reg);
  void add_instruction(std::initializer_list<int64_t> words);

  Ref<Executable> program_;
  std::map<std::string, size_t, std::less<>> functions_;
  std::map<std::string, int64_t, std::less<>> constants_;  // by serialized value
  int64_t current_ = -1;
};

}  // namespace opd
