// Implements include/opdyno/rpc.h.
#include "capi/handles.h"
#include "rpc/client/client_session.h"
#include "rpc/wire/secret.h"

using namespace opd;

namespace {

struct Connection {
  rpc::ClientOptions options;
  int64_t priority;
};

Connection options_of(const opd_rpc_connect_options *given) {
  const opd_rpc_connect_options how = read_options(given, opd_rpc_connect_options_init);
  require(how.connect_timeout_ns > 0 && how.answer_timeout_ns >= 0 && how.session_timeout_ns >= 0,
          "connect_timeout_ns must be greater than 0, and answer_timeout_ns and session_timeout_ns not negative");
  Connection made{{}, how.priority};
  made.options.key = how.key ? how.key : "";
  if (how.secret) rpc::require_good(how.secret), made.options.secret = how.secret;
  made.options.connect_limit = std::chrono::nanoseconds(how.connect_timeout_ns);
  made.options.answer_limit = std::chrono::nanoseconds(how.answer_timeout_ns);
  made.options.session_limit = std::chrono::nanoseconds(how.session_timeout_ns);
  made.options.tls.authority_file = how.tls_ca_file ? how.tls_ca_file : "";
  made.options.tls.name = how.tls_name ? how.tls_name : "";
  if (how.tls_fingerprint) made.options.tls.fingerprint = rpc::normal_fingerprint(how.tls_fingerprint);
  require(!how.tls_name || how.tls_ca_file, "tls_name is for tls_ca_file, which is NULL");
  return made;
}

// Parses a server's address. Port 0 is refused, because nobody can connect to it.
HostPort server_at(const char *text) {
  const HostPort made = HostPort::parse(text);
  require(made.port != "0", "\"", text, "\" is not an address of a server: its port is 0");
  return made;
}

opd_rpc_session *begin(const HostPort &server, const rpc::ClientOptions &options) {
  rpc::register_remote_devices();
  return wrap<opd_rpc_session>(make_object<rpc::SessionHandle>(rpc::ClientSession::connect(server, options)));
}

const std::shared_ptr<rpc::ClientSession> &client_of(opd_rpc_session *session) {
  return unwrap<rpc::SessionHandle>(session)->session;
}

}  // namespace

opd_error *opd_rpc_connect(const char *address, const opd_rpc_connect_options *options, opd_rpc_session **out_session) {
  return guard([&] {
    OPD_REQUIRE(address, out_session);
    *out_session = begin(server_at(address), options_of(options).options);
  });
}

opd_error *opd_rpc_request(const char *tracker, const opd_rpc_connect_options *options, opd_rpc_session **out_session) {
  return guard([&] {
    OPD_REQUIRE(tracker, out_session);
    Connection how = options_of(options);
    rpc::Assignment given = rpc::request_server(server_at(tracker), how.options.key, how.priority,
                                                how.options.connect_limit, how.options.answer_limit);
    how.options.key = std::move(given.key);
    *out_session = begin(given.server, how.options);
  });
}

opd_error *opd_rpc_tracker_summary(const char *tracker, const opd_rpc_connect_options *options, opd_buffer **out_json) {
  return guard([&] {
    OPD_REQUIRE(tracker, out_json);
    const rpc::ClientOptions how = options_of(options).options;
    give_text(rpc::tracker_summary(server_at(tracker), how.connect_limit), out_json);
  });
}

opd_error *opd_rpc_session_device(opd_rpc_session *session, DLDevice device, DLDevice *out_device) {
  return guard([&] {
    OPD_REQUIRE(session, out_device);
    *out_device = client_of(session)->here(device);
  });
}

opd_error *opd_rpc_session_get_function(opd_rpc_session *session, const char *name, opd_function **out_function) {
  return guard([&] {
    OPD_REQUIRE(session, name, out_function);
    const auto &client = client_of(session);
    Ref<Function> found = rpc::function_there(client, name);
    if (!found)
      fail_as("ValueError", OPD_NOT_FOUND, "the server at ", client->address(), " has no global function named \"",
              name, "\"");
    *out_function = wrap<opd_function>(std::move(found));
  });
}

opd_error *opd_rpc_session_upload(opd_rpc_session *session, const char *name, const void *data, size_t size) {
  return guard([&] {
    OPD_REQUIRE(session, name);
    OPD_REQUIRE_ITEMS(data, size);
    client_of(session)->upload(name, {static_cast<const char *>(data), size});
  });
}

opd_error *opd_rpc_session_download(opd_rpc_session *session, const char *name, opd_buffer **out_bytes) {
  return guard([&] {
    OPD_REQUIRE(session, name, out_bytes);
    const Value wanted(name);
    const Value content = client_of(session)->call("tvm.rpc.server.download", {&wanted.view(), 1});
    give_text(std::string(bytes_in(content, "the content of a file")), out_bytes);
  });
}

opd_error *opd_rpc_session_load_module(opd_rpc_session *session, const char *name, opd_module **out_module) {
  return guard([&] {
    OPD_REQUIRE(session, name, out_module);
    const Value wanted(name);
    const Value loaded = client_of(session)->call("tvm.rpc.server.load_module", {&wanted.view(), 1});
    *out_module = wrap<opd_module>(Ref<Module>::share(&as<Module>(loaded, "what the server loaded")));
  });
}

opd_error *opd_rpc_session_describe(opd_rpc_session *session, opd_buffer **out_json) {
  return guard([&] {
    OPD_REQUIRE(session, out_json);
    const rpc::ClientSession &client = *client_of(session);
    JsonWriter json;
    json.begin_object().key("address").value(client.address()).key("key").value(client.key());
    json.key("index").value(client.index()).key("server");
    json.value(client.version().empty() ? "tvm" : "opdyno " + client.version());
    json.key("host").value(client.host());
    json.key("absence").value(client.absence()).end_object();
    give_text(json.take(), out_json);
  });
}

void opd_rpc_session_close(opd_rpc_session *session) {
  if (session) client_of(session)->close();
}
