// Implements include/opdyno/base.h.
#include "base/file.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "capi/handles.h"
#include "capi/version.h"

using namespace opd;

namespace {
const Error *error_of(const opd_error *error) { return unwrap<Error>(error); }
}  // namespace

void *opd_object_retain(const void *object_handle) {
  auto *object = const_cast<Object *>(static_cast<const Object *>(object_handle));
  if (object) retain(object);
  return object;
}

void opd_object_release(void *object_handle) { release_handle(object_handle); }
int32_t opd_object_type(const void *object_handle) {
  return object_handle ? static_cast<const Object *>(object_handle)->type_index : int32_t{OPD_NONE};
}

opd_code opd_error_code(const opd_error *error) { return error ? error_of(error)->code : OPD_OK; }
const char *opd_code_name(opd_code code) { return code_name(code); }
const char *opd_error_kind(const opd_error *error) { return error ? error_of(error)->kind.c_str() : ""; }
const char *opd_error_message(const opd_error *error) { return error ? error_of(error)->message.c_str() : ""; }

const opd_error *opd_error_cause(const opd_error *error) {
  return error ? reinterpret_cast<const opd_error *>(error_of(error)->cause) : nullptr;
}

const char *opd_error_backtrace(const opd_error *error) {
  try {
    return error ? error_of(error)->backtrace().c_str() : "";
  } catch (...) {
    return "";  // no memory for the text; the error itself stays readable
  }
}

opd_error *opd_error_create(opd_code code, const char *kind, const char *message) {
  return wrap_error(make_error(code, message ? message : "", kind ? kind : ""));
}

const char *opd_buffer_data(const opd_buffer *buffer) { return buffer ? unwrap<Buffer>(buffer)->text.c_str() : ""; }
size_t opd_buffer_size(const opd_buffer *buffer) { return buffer ? unwrap<Buffer>(buffer)->text.size() : 0; }

opd_error *opd_file_write(const char *path, const void *data, size_t size) {
  return guard([&] {
    require(path && *path, "path must be the name of a file");
    OPD_REQUIRE_ITEMS(data, size);
    replace_file(path, {static_cast<const char *>(data), size});
  });
}

void opd_log_set_callback(opd_log_fn callback, void *user_data, opd_deleter deleter) {
  try {
    set_log_callback(callback, user_data, deleter);
  } catch (...) {
    if (deleter) deleter(user_data);
  }
}

const char *opd_version(void) { return kVersion; }

opd_error *opd_build_info(opd_buffer **out_json) {
  return guard([&] {
    OPD_REQUIRE(out_json);
    JsonWriter json;
    json.begin_object()
        .key("version")
        .value(kVersion)
        .key("compiler")
        .value(kCompiler)
        .key("build_type")
        .value(kBuildType);
    json.key("architecture").value(kArchitecture);
    json.key("features").begin_object();
    for (const auto &[name, present] : kFeatures) json.key(name).value(present);
    json.end_object().key("tvm_artifacts").begin_array();
    for (const char *release : {"0.22", "0.23", "0.24", "0.25", "0.26", "0.27"}) json.value(release);
    json.end_array().key("tvm_tested").begin_array();
    for (const char *release : {"0.25", "0.26", "0.27"}) json.value(release);  // the releases of tests/interop
    json.end_array().end_object();
    give_text(json.take(), out_json);
  });
}
