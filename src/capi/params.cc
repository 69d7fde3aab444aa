// include/opdyno/params.h
#include "params/params.h"

#include "capi/handles.h"

using namespace opd;

opd_error *opd_params_create(opd_params **out_params) {
  return guard([&] {
    require(out_params, "out_params must not be NULL");
    *out_params = wrap<opd_params>(make_object<Params>());
  });
}

opd_error *opd_params_load(const char *path, opd_params **out_params) {
  return guard([&] {
    require(path && out_params, "path and out_params must not be NULL");
    *out_params = wrap<opd_params>(load_params(std::string(path)));
  });
}

opd_error *opd_params_load_bytes(const void *data, size_t size, opd_params **out_params) {
  return guard([&] {
    require((data || size == 0) && out_params, "data and out_params must not be NULL");
    *out_params = wrap<opd_params>(load_params(Bytes(static_cast<const uint8_t *>(data), size), "parameters"));
  });
}

opd_error *opd_params_save(const opd_params *params, const char *path) {
  return guard([&] {
    require(params && path, "params and path must not be NULL");
    save_params(*unwrap<Params>(params), path);
  });
}

opd_error *opd_params_save_bytes(const opd_params *params, opd_buffer **out_bytes) {
  return guard([&] {
    require(params && out_bytes, "params and out_bytes must not be NULL");
    give_text(write_param_dict(*unwrap<Params>(params)), out_bytes);
  });
}

size_t opd_params_count(const opd_params *params) { return params ? unwrap<Params>(params)->size() : 0; }

const char *opd_params_name(const opd_params *params, size_t index) {
  return index < opd_params_count(params) ? unwrap<Params>(params)->name(index).c_str() : nullptr;
}

opd_error *opd_params_get(const opd_params *params, const char *name, opd_tensor **out_tensor) {
  return guard([&] {
    require(params && name && out_tensor, "params, name and out_tensor must not be NULL");
    *out_tensor = wrap<opd_tensor>(unwrap<Params>(params)->get(name));
  });
}

opd_error *opd_params_set(opd_params *params, const char *name, opd_tensor *tensor) {
  return guard([&] {
    require(params && name && tensor, "params, name and tensor must not be NULL");
    unwrap<Params>(params)->set(name, Ref<Tensor>::share(unwrap<Tensor>(tensor)));
  });
}

void opd_params_release(opd_params *params) { release_handle(params); }
