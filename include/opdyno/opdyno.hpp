/** @file opdyno.hpp  A thin C++17 face of the C API: handles that release themselves, errors as exceptions.
 *
 * Everything here is inline and only calls the C API, so it adds nothing to the ABI. get() gives the C handle wherever
 * this face does not reach.
 */
#ifndef OPDYNO_OPDYNO_HPP_
#define OPDYNO_OPDYNO_HPP_

#include <opdyno/opdyno.h>

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace opdyno {

/** What a C function returned as opd_error. */
class Error : public std::runtime_error {
 public:
  explicit Error(opd_error *owned)
      : std::runtime_error(std::string(opd_error_kind(owned)) + ": " + opd_error_message(owned)),
        code_(opd_error_code(owned)),
        kind_(opd_error_kind(owned)),
        message_(opd_error_message(owned)) {
    opd_error_release(owned);
  }
  opd_code code() const { return code_; }
  const std::string &kind() const { return kind_; }       /**< "TypeError", "ValueError" … */
  const std::string &message() const { return message_; } /**< without the kind */

 private:
  opd_code code_;
  std::string kind_, message_;
};

/** Throws Error unless @p error is NULL. Takes it over. */
inline void check(opd_error *error) {
  if (error) throw Error(error);
}

/** Owns one reference of a C handle. Copies count; moves do not. */
template <class T>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T *owned) : handle_(owned) {}
  Handle(const Handle &other) : handle_(static_cast<T *>(opd_object_retain(other.handle_))) {}
  Handle(Handle &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle &operator=(Handle other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Handle() { opd_object_release(handle_); }

  T *get() const { return handle_; }
  T **out() {
    opd_object_release(std::exchange(handle_, nullptr));
    return &handle_;
  } /**< for out_ parameters */
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  T *handle_ = nullptr;
};

/** Takes over a buffer's bytes as a string. */
inline std::string take(opd_buffer *owned) {
  std::string text(opd_buffer_data(owned), opd_buffer_size(owned));
  opd_buffer_release(owned);
  return text;
}
/** Calls a C function whose last parameter is an opd_buffer **, and gives its text. */
template <class F, class... Args>
std::string text_of(F function, Args... args) {
  opd_buffer *buffer = nullptr;
  check(function(args..., &buffer));
  return take(buffer);
}

/** An owned value. */
class Value {
 public:
  Value() : raw_(opd_none()) {}
  Value(const Value &other) : Value() { check(opd_value_retain(&other.raw_, &raw_)); }
  Value(Value &&other) noexcept : raw_(std::exchange(other.raw_, opd_none())) {}
  Value &operator=(Value other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Value() { opd_value_release(&raw_); }
  static Value retain(const opd_value &view) {
    Value v;
    check(opd_value_retain(&view, &v.raw_));
    return v;
  }

  const opd_value &view() const { return raw_; }
  opd_value *out() {
    opd_value_release(&raw_);
    return &raw_;
  } /**< for out_ parameters */
  int32_t type() const { return raw_.type; }
  std::string to_string() const { return text_of(opd_value_to_string, &raw_); }

 private:
  opd_value raw_;
};

/** Borrowed arguments of a call: numbers, C strings, DLTensor pointers, handles, values. */
inline opd_value arg(int x) { return opd_int(x); }
inline opd_value arg(int64_t x) { return opd_int(x); }
inline opd_value arg(bool x) { return opd_bool(x); }
inline opd_value arg(double x) { return opd_float(x); }
inline opd_value arg(const char *x) { return opd_cstring(x); }
inline opd_value arg(const std::string &x) { return opd_cstring(x.c_str()); }
inline opd_value arg(const opd_value &x) { return x; }
inline opd_value arg(const Value &x) { return x.view(); }
inline opd_value arg(std::nullptr_t) { return opd_none(); }
template <class T>
opd_value arg(const Handle<T> &x) {
  return opd_object_value(x.get());
}

class Function : public Handle<opd_function> {
 public:
  using Handle::Handle;
  template <class... Args>
  Value operator()(const Args &...args) const {
    const opd_value views[] = {arg(args)..., opd_none()};
    Value result;
    check(opd_function_call(get(), views, static_cast<int32_t>(sizeof...(args)), result.out()));
    return result;
  }
  static Function global(const char *name) {
    Function f;
    check(opd_function_get_global(name, f.out()));
    return f;
  }
};

class Tensor : public Handle<opd_tensor> {
 public:
  using Handle::Handle;
  Tensor() = default;
  /** Uninitialised memory of its own. */
  Tensor(const std::vector<int64_t> &dims, const char *dtype, DLDevice device = {kDLCPU, 0}) {
    DLDataType type;
    check(opd_dtype_from_string(dtype, &type));
    check(opd_tensor_create(dims.data(), static_cast<int32_t>(dims.size()), type, device, out()));
  }
  /** The tensor that a value holds. */
  static Tensor of(const opd_value &value) {
    if (value.type != OPD_TENSOR)
      throw std::invalid_argument(std::string("the value is no tensor but ") + opd_type_key(value.type));
    return Tensor(static_cast<opd_tensor *>(opd_object_retain(value.u.object)));
  }
  static Tensor of(const Value &value) { return of(value.view()); }
  const DLTensor &view() const { return *opd_tensor_view(get()); }
  template <class T>
  T *data() const {
    return reinterpret_cast<T *>(static_cast<char *>(view().data) + view().byte_offset);
  }
  int64_t size() const {
    int64_t count = 1;
    for (int32_t i = 0; i < view().ndim; ++i) count *= view().shape[i];
    return count;
  }
};

class Module : public Handle<opd_module> {
 public:
  using Handle::Handle;
  static Module load(const std::string &path, const opd_module_options *options = nullptr) {
    Module m;
    check(opd_module_load(path.c_str(), options, m.out()));
    return m;
  }
  Function function(const char *name, bool query_imports = true) const {
    Function f;
    check(opd_module_get_function(get(), name, query_imports, f.out()));
    return f;
  }
  static Module load_static_library(const std::string &path, const std::vector<const char *> &func_names) {
    Module m;
    check(opd_module_load_static_library(path.c_str(), func_names.data(), static_cast<int32_t>(func_names.size()),
                                         m.out()));
    return m;
  }
  /** What is linked into the program; opd_module_system_lib() tells more. */
  static Module system_lib(const std::string &prefix = "") {
    Module m;
    check(opd_module_system_lib(prefix.c_str(), m.out()));
    return m;
  }
  Function entry() const {
    Function f;
    check(opd_module_entry_function(get(), f.out()));
    return f;
  }
  bool implements(const char *name, bool query_imports = true) const {
    return opd_module_implements_function(get(), name, query_imports) != 0;
  }
  const char *kind() const { return opd_module_kind(get()); }
  int32_t properties() const { return opd_module_properties(get()); }
  std::string source(const char *format = nullptr) const { return text_of(opd_module_get_source, get(), format); }
  /** Of this module alone. */
  void save(const std::string &path, const char *format = nullptr) const {
    check(opd_module_save(get(), path.c_str(), format));
  }
  /** With all that it imports, as a library (.so) or an archive of objects (.tar). */
  void export_to(const std::string &path, const opd_export_options *options = nullptr) const {
    check(opd_module_export(get(), path.c_str(), options));
  }
  void add_import(const Module &other) const { check(opd_module_add_import(get(), other.get())); }
};

class Executable : public Handle<opd_executable> {
 public:
  using Handle::Handle;
  static Executable assemble(std::string_view text) {
    Executable x;
    check(opd_executable_assemble(text.data(), text.size(), x.out()));
    return x;
  }
  static Executable load(std::string_view bytes) {
    Executable x;
    check(opd_executable_load_bytes(bytes.data(), bytes.size(), x.out()));
    return x;
  }
  Module to_module() const {
    Module m;
    check(opd_executable_to_module(get(), m.out()));
    return m;
  }
  std::string save() const { return text_of(opd_executable_save_bytes, get()); }
  std::string disassemble() const { return text_of(opd_executable_disassemble, get()); }
};

class Vm : public Handle<opd_vm> {
 public:
  using Handle::Handle;
  explicit Vm(const Module &module, const opd_vm_options *options = nullptr) {
    check(opd_vm_create(module.get(), options, out()));
  }
  template <class... Args>
  Value call(const char *name, const Args &...args) const {
    const opd_value views[] = {arg(args)..., opd_none()};
    Value result;
    check(opd_vm_call(get(), name, views, static_cast<int32_t>(sizeof...(args)), nullptr, result.out()));
    return result;
  }
  Function function(const char *name) const {
    Function f;
    check(opd_vm_function(get(), name, f.out()));
    return f;
  }
};

class Params : public Handle<opd_params> {
 public:
  using Handle::Handle;
  static Params load(const std::string &path) { return open(path, nullptr); }
  static Params open(const std::string &path, const opd_params_options *options) {
    Params p;
    check(opd_params_open(path.c_str(), options, p.out()));
    return p;
  }
  void save(const std::string &path) const { check(opd_params_save(get(), path.c_str())); }

  size_t size() const { return opd_params_count(get()); }
  const char *name(size_t index) const { return opd_params_name(get(), index); }
  DLDataType dtype(size_t index) const { return opd_params_dtype(get(), index); }
  std::vector<int64_t> shape(size_t index) const {
    int32_t ndim = 0;
    const int64_t *sizes = opd_params_shape(get(), index, &ndim);
    return {sizes, sizes + ndim};
  }
  bool is_view(size_t index) const { return opd_params_is_view(get(), index) != 0; }
  opd_params_stats stats() const {
    opd_params_stats stats{sizeof stats, 0, 0, 0, 0};
    check(opd_params_get_stats(get(), &stats));
    return stats;
  }
  Tensor get_tensor(const char *name) const {
    Tensor t;
    check(opd_params_get(get(), name, t.out()));
    return t;
  }
  void set(const char *name, const Tensor &tensor) const { check(opd_params_set(get(), name, tensor.get())); }
};

class Report : public Handle<opd_report> {
 public:
  using Handle::Handle;
  static Report from_json(std::string_view json) {
    Report report;
    check(opd_report_from_json(json.data(), json.size(), report.out()));
    return report;
  }
  static Report from_table(std::string_view text) {
    Report report;
    check(opd_report_from_table(text.data(), text.size(), report.out()));
    return report;
  }
  std::string table(const opd_table_options *options = nullptr) const {
    return text_of(opd_report_to_table, get(), options);
  }
  std::string markdown(const opd_table_options *options = nullptr) const {
    return text_of(opd_report_to_markdown, get(), options);
  }
  std::string html(const opd_table_options *options = nullptr) const {
    return text_of(opd_report_to_html, get(), options);
  }
  std::string csv() const { return text_of(opd_report_to_csv, get()); }
  std::string json() const { return text_of(opd_report_to_json, get()); }
};

/** Makes a report by hand. */
class ReportBuilder : public Handle<opd_report_builder> {
 public:
  ReportBuilder() { check(opd_report_builder_create(out())); }
  void add_call() const { check(opd_report_builder_add_call(get())); }
  void set_call(const char *column, opd_metric_kind kind, const opd_value &value) const {
    check(opd_report_builder_set_call(get(), column, kind, &value));
  }
  void set_device(const char *device, const char *metric, opd_metric_kind kind, const opd_value &value) const {
    check(opd_report_builder_set_device(get(), device, metric, kind, &value));
  }
  void set_configuration(const char *key, opd_metric_kind kind, const opd_value &value) const {
    check(opd_report_builder_set_configuration(get(), key, kind, &value));
  }
  Report finish() const {
    Report report;
    check(opd_report_builder_finish(get(), report.out()));
    return report;
  }
};

}  // namespace opdyno
#endif
