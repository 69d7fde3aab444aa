// Passes results of the library to Java, which makes records of them. The fields are passed as values in the order of
// the public header. records.py writes the list of fields of each struct to record_fields.h.
#pragma once
#include <concepts>
#include <vector>

#include "core.h"

namespace opdjava {

class Record {
 public:
  Record() = default;
  Record(const Record &) = delete;
  ~Record() {
    for (opd_value &value : values_) opd_value_release(&value);
    opd_error_release(error_);
  }

  void add(bool truth) { values_.push_back(opd_bool(truth)); }
  void add(std::integral auto number) { values_.push_back(opd_int(static_cast<int64_t>(number))); }
  void add(double number) { values_.push_back(opd_float(number)); }
  void add(DLDataType dtype) { values_.push_back(opd_dtype_value(dtype)); }
  void add(DLDevice device) { values_.push_back(opd_device_value(device)); }
  void add(const char *text) {
    if (opd_error *error = opd_string_create(text, strlen(text), add_empty())) fail(error);
  }
  void add(const int64_t *sizes, int32_t count) {
    opd_shape *shape = nullptr;
    opd_error *error = opd_shape_create(sizes, count, &shape);
    if (error) fail(error);
    else *add_empty() = opd_value_of_object(shape);
  }

  // Passes the values to Java, or raises the error.
  void give(JNIEnv *env, jlongArray out) {
    if (error_) raise(env, std::exchange(error_, nullptr));
    if (env->ExceptionCheck()) return;
    give_words(env, out, reinterpret_cast<const jlong *>(values_.data()), 2 * values_.size());
    values_.clear();
  }

 private:
  opd_value *add_empty() { return &values_.emplace_back(opd_none()); }
  void fail(opd_error *error) {
    if (error_) opd_error_release(error);
    else error_ = error;
  }

  std::vector<opd_value> values_;
  opd_error *error_ = nullptr;
};

}  // namespace opdjava
