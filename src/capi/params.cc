// Implements include/opdyno/params.h.
#include "capi/handles.h"
#include "params/formats.h"

using namespace opd;

opd_error *opd_params_create(opd_params **out_params) {
  return guard([&] {
    OPD_REQUIRE(out_params);
    *out_params = wrap<opd_params>(make_object<Params>());
  });
}

static LoadOptions load_options_of(const opd_params_options *given) {
  const opd_params_options options = read_options(given, opd_params_options_init);
  const auto flag = [](int32_t value, const char *name) {
    require(value == 0 || value == 1, "the option ", name, " is ", value, "; 0 and 1 are possible");
    return value == 1;
  };
  return {flag(options.copy, "copy"), flag(options.prefetch, "prefetch"),
          flag(options.verify_checksums, "verify_checksums")};
}

opd_error *opd_params_open(const char *path, const opd_params_options *options, opd_params **out_params) {
  return guard([&] {
    OPD_REQUIRE(path, out_params);
    *out_params = wrap<opd_params>(load_params(path, load_options_of(options)));
  });
}

opd_error *opd_params_open_bytes(void *data, size_t size, const opd_params_options *options, void *user_data,
                                 opd_deleter deleter, opd_params **out_params) {
  return guard([&] {
    OPD_REQUIRE(out_params);
    OPD_REQUIRE_ITEMS(data, size);
    const LoadOptions read = load_options_of(options);
    const auto source = ByteSource::borrow({static_cast<const uint8_t *>(data), size}, "parameters", !read.copy);
    auto params = load_params(source, read);
    source->set_deleter(user_data, deleter);  // nothing below can fail
    *out_params = wrap<opd_params>(std::move(params));
  });
}

opd_error *opd_params_save(const opd_params *params, const char *path) {
  return guard([&] {
    OPD_REQUIRE(params, path);
    save_params(*unwrap<Params>(params), path);
  });
}

opd_error *opd_params_save_bytes(const opd_params *params, opd_buffer **out_bytes) {
  return guard([&] {
    OPD_REQUIRE(params, out_bytes);
    StringSink out;
    write_param_dict(*unwrap<Params>(params), out);
    give_text(out.take(), out_bytes);
  });
}

int32_t opd_params_count(const opd_params *params) {
  return params ? count_of_items(unwrap<Params>(params)->size()) : 0;
}

opd_error *opd_params_get_info(const opd_params *params, int32_t place, opd_tensor_info *out_info) {
  return guard([&] {
    OPD_REQUIRE(params, out_info);
    const Params &set = *unwrap<Params>(params);
    require_index(place, set.size(), "a set", "tensors");
    const auto index = static_cast<size_t>(place);
    static constexpr int64_t kNone = 0;  // so that `dims` of a scalar is not NULL
    const std::span<const int64_t> dims = set.dims(index);
    write_sized(
        opd_tensor_info{0, static_cast<int32_t>(dims.size()), set.name(index).c_str(),
                        dims.empty() ? &kNone : dims.data(), set.bytes(index), set.dtype(index), set.is_view(index)},
        out_info);
  });
}

opd_error *opd_params_get_stats(const opd_params *params, opd_params_stats *out_stats) {
  return guard([&] {
    OPD_REQUIRE(params, out_stats);
    const Params &set = *unwrap<Params>(params);
    const opd_params_stats stats{0, 0, set.total_bytes(), set.viewed_bytes(), set.copied_bytes()};
    write_sized(stats, out_stats);
  });
}

opd_error *opd_params_get(const opd_params *params, const char *name, opd_tensor **out_tensor) {
  return guard([&] {
    OPD_REQUIRE(params, name, out_tensor);
    *out_tensor = wrap<opd_tensor>(unwrap<Params>(params)->get(name));
  });
}

opd_error *opd_params_set(opd_params *params, const char *name, opd_tensor *tensor) {
  return guard([&] {
    OPD_REQUIRE(params, name, tensor);
    unwrap<Params>(params)->set(name, Ref<Tensor>::share(unwrap<Tensor>(tensor)));
  });
}
