// Describes a program as JSON: functions with parameters and results, required functions, constants, sizes.
#include <map>

#include "base/json_writer.h"
#include "program/executable.h"
#include "program/value_type.h"
#include "value/tensor.h"

namespace opd {
namespace {

class Description {
 public:
  explicit Description(const Executable &x) : x_(x) {}

  std::string run() {
    json_.begin_object().key("functions").begin_array();
    const std::vector<FunctionTypes> types = types_of(x_, x_.functions);
    for (size_t i = 0; i < types.size(); ++i)
      if (x_.functions[i].kind != FunctionKind::kPacked) describe(x_.functions[i], types[i]);
    json_.end_array().key("packed").begin_array();
    for (const auto &function : x_.functions)
      if (function.kind == FunctionKind::kPacked) json_.value(function.name);
    json_.end_array().key("constants").begin_array();
    for (const auto &constant : x_.constants) describe(constant);
    const SectionSizes sizes = x_.section_sizes();
    json_.end_array().key("section_bytes").begin_object();
    json_.key("header").value(sizes.header).key("functions").value(sizes.functions);
    json_.key("memory_scopes").value(sizes.scopes).key("constants").value(sizes.constants);
    json_.key("code").value(sizes.code).end_object().end_object();
    return json_.take();
  }

 private:
  void describe(const FunctionInfo &f, const FunctionTypes &types) {
    const bool is_bytecode = f.kind == FunctionKind::kBytecode;  // only bytecode uses start and end
    name_sizes(types.params);
    json_.begin_object().key("name").value(f.name).key("kind").value(is_bytecode ? "bytecode" : "compiled");
    json_.key("params").begin_array();
    for (size_t i = 0; i < types.params.size(); ++i) {
      json_.begin_object().key("name").value(i < f.param_names.size() ? f.param_names[i] : concat("param_", i));
      describe(types.params[i]);
      json_.end_object();
    }
    json_.end_array().key("result").begin_object();
    describe(types.result);
    json_.end_object();
    json_.key("registers").value(f.num_registers).key("instructions").value(is_bytecode ? f.end - f.start : 0);
    if (is_bytecode) describe_code(f);
    json_.end_object();
  }

  void describe_code(const FunctionInfo &f) {
    const auto begin = static_cast<size_t>(f.start), end = static_cast<size_t>(f.end);
    const int64_t end_word = end < x_.offsets.size() ? x_.offsets[end] : static_cast<int64_t>(x_.words.size());
    json_.key("code_bytes").value((end_word - x_.offsets[begin]) * 8);
    // Reported because TVM's VM does not check these reads. The interpreter does.
    const std::vector<bool> unproved = unproved_reads(x_, f);
    json_.key("unproved_reads").begin_array();
    for (size_t i = 0; i < unproved.size(); ++i)
      if (unproved[i]) json_.value(begin + i);
    json_.end_array();
  }

  void describe(const ValueType &type) {
    json_.key("kind").value(type.kind);
    if (!type.dtype.empty()) json_.key("dtype").value(type.dtype);
    if (type.has_shape) {
      json_.key("shape").begin_array();
      for (const auto &size : type.sizes) describe(size);
      json_.end_array();
    }
    if (type.number.kind == ValueType::Size::kSlot && names_.contains(type.number.value))
      json_.key("symbol").value(names_[type.number.value]);
    if (!type.has_items) return;
    json_.key("items").begin_array();
    for (const auto &item : type.items) {
      json_.begin_object();
      describe(item);
      json_.end_object();
    }
    json_.end_array();
  }

  void describe(const ValueType::Size &size) {
    if (size.kind == ValueType::Size::kFixed) json_.value(size.value);
    else if (size.kind == ValueType::Size::kSlot && names_.contains(size.value)) json_.value(names_[size.value]);
    else json_.raw("null");
  }

  void describe(const View &constant) {
    json_.begin_object().key("kind").value(constant_kind(constant)).key("value").value(to_text(constant));
    if (constant.type == OPD_TENSOR) json_.key("bytes").value(bytes_of(static_cast<Tensor *>(object_of(constant))->dl));
    json_.end_object();
  }

  // Names the sizes that the parameters leave open. A single one is n. Several are n0, n1, … in the order of their
  // slots.
  void name_sizes(const std::vector<ValueType> &params) {
    names_.clear();
    for (const auto &type : params) {
      for (const auto &size : type.sizes)
        if (size.kind == ValueType::Size::kSlot) names_[size.value];
      if (type.number.kind == ValueType::Size::kSlot) names_[type.number.value];
    }
    size_t next = 0;
    for (auto &[slot, name] : names_) name = names_.size() == 1 ? "n" : concat("n", next++);
  }

  const Executable &x_;
  JsonWriter json_;
  std::map<int64_t, std::string> names_;
};

}  // namespace

std::string Executable::to_json() const { return Description(*this).run(); }

}  // namespace opd
