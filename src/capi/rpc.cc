// include/opdyno/rpc.h
#include "capi/handles.h"
#include "rpc/serve.h"

using namespace opd;

opd_error *opd_rpc_serve(int32_t socket, const opd_rpc_serve_options *options) {
  return guard([&] {
    const opd_rpc_serve_options how = read_options(options, opd_rpc_serve_options_init);
    require(how.max_packet_bytes && how.max_file_bytes && how.max_silence_ns >= 0,
            "max_packet_bytes and max_file_bytes must not be 0, and max_silence_ns not negative");
    const auto text = [](const char *given) { return std::string(given ? given : ""); };
    rpc::ServeOptions settings;
    settings.key = text(how.key), settings.match_key = text(how.match_key);
    settings.work_folder = text(how.work_folder);
    settings.limits = {how.max_packet_bytes, how.max_file_bytes, how.max_tensor_bytes,
                       std::chrono::nanoseconds(how.max_silence_ns)};
    rpc::serve(socket, settings);
  });
}
