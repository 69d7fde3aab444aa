// Implements include/opdyno/rpc_serve.h.
#include "base/json_writer.h"
#include "capi/handles.h"
#include "rpc/server/serve.h"
#include "rpc/wire/progress.h"
#include "rpc/wire/secret.h"

using namespace opd;

namespace {

rpc::ServeOptions options_of(const opd_rpc_serve_options *given) {
  const opd_rpc_serve_options how = read_options(given, opd_rpc_serve_options_init);
  require(how.max_packet_bytes && how.max_file_bytes && how.max_silence_ns >= 0,
          "max_packet_bytes and max_file_bytes must not be 0, and max_silence_ns not negative");
  require(how.max_cpu_s >= 0, "max_cpu_s must not be negative, but is ", how.max_cpu_s);
  OPD_REQUIRE_ITEMS(how.read_paths, how.num_read_paths);
  const auto text = [](const char *one) { return std::string(one ? one : ""); };
  rpc::ServeOptions settings;
  settings.key = text(how.key), settings.match_key = text(how.match_key);
  if (how.secret) rpc::require_good(how.secret), settings.secret = how.secret;
  settings.work_folder = text(how.work_folder);
  settings.limits = {how.max_packet_bytes, how.max_file_bytes, how.max_tensor_bytes, how.max_process_bytes,
                     std::chrono::nanoseconds(how.max_silence_ns)};
  settings.sandbox.is_wanted = how.sandbox != 0, settings.sandbox.network = how.allow_network != 0;
  for (int32_t i = 0; i < how.num_read_paths; ++i) {
    require(how.read_paths[i], "read_paths[", i, "] must not be NULL");
    settings.sandbox.read_paths.emplace_back(how.read_paths[i]);
  }
  settings.user = text(how.user);
  settings.cpu_seconds = how.max_cpu_s;
  require(!how.tls_certificate_file == !how.tls_key_file, "tls_certificate_file and tls_key_file go together");
  settings.tls = {text(how.tls_certificate_file), text(how.tls_key_file)};
  if (how.admit)
    settings.admit = [admit = how.admit, data = how.user_data] {
      if (opd_error *const error = admit(data)) throw Exception(Ref<Error>::take(reinterpret_cast<Error *>(error)));
    };
  if (how.progress) require_sized(*how.progress);
  settings.progress = how.progress, settings.report_crashes = how.report_crashes != 0;
  settings.note_span = how.note_span, settings.user_data = how.user_data;
  if (how.allowed_modules) settings.allowed = std::make_shared<const AllowedModules>(how.allowed_modules);
  rpc::require_servable(settings);
  return settings;
}

void write_phrases(JsonWriter &json, const char *name, const std::vector<std::string> &phrases) {
  json.key(name).begin_array();
  for (const std::string &phrase : phrases) json.value(phrase);
  json.end_array();
}

}  // namespace

opd_error *opd_rpc_serve(int32_t socket, const opd_rpc_serve_options *options) {
  return guard([&] {
    const rpc::ServeOptions how = options_of(options);
    if (how.progress) begin_sized(how.progress);
    rpc::serve(socket, how);
  });
}

opd_error *opd_rpc_tell_end(int32_t socket, const opd_rpc_progress *progress) {
  return guard([&] {
    OPD_REQUIRE(progress);
    rpc::tell_end(socket, read_options(progress, opd_rpc_progress_init));
  });
}

opd_error *opd_rpc_serve_describe(const opd_rpc_serve_options *options, opd_buffer **out_json) {
  return guard([&] {
    OPD_REQUIRE(out_json);
    const rpc::ServeOptions how = options_of(options);
    const rpc::SandboxFacts facts = how.sandbox.is_wanted ? rpc::sandbox_facts(how.sandbox) : rpc::SandboxFacts();
    JsonWriter json;
    json.begin_object();
    write_phrases(json, "enforced", facts.enforced);
    write_phrases(json, "missing", facts.missing);
    json.key("tls_fingerprint").value(how.tls.is_wanted() ? rpc::server_fingerprint(how.tls) : "");
    // Loads OpenSSL only if TLS may be used, because it takes memory that servers without TLS do not need.
    const bool asks_for_tls = !options || how.tls.is_wanted();
    json.key("tls_absence").value(asks_for_tls ? openssl::Api::get().absence : "");
    json.end_object();
    give_text(json.take(), out_json);
  });
}
