// `opdyno serve`: a server of TVM's RPC.
#include <algorithm>
#include <chrono>
#include <thread>

#include "cli/commands/command.h"
#include "cli/serve/server.h"
#include "cli/support/file.h"
#include "cli/support/net.h"

namespace opd::cli {

namespace {

// If a session took all memory, the kernel could end any process of the machine.
uint64_t most_of_the_memory() {
  const Value bytes = opdyno::device_attr({kDLCPU, 0}, OPD_ATTR_TOTAL_GLOBAL_MEMORY);
  return bytes.type() == OPD_INT ? static_cast<uint64_t>(bytes.view().u.int64) / 4 * 3 : 0;
}

void limit_sessions(const Args &args, opd_rpc_serve_options &session) {
  session.max_process_bytes = most_of_the_memory();
  if (const auto memory = args.bytes("memory-limit")) {
    // Compilers, drivers and the stacks of threads need memory in addition to tensors.
    constexpr uint64_t stack = uint64_t{8} << 20;
    session.max_tensor_bytes = *memory;
    session.max_process_bytes =
        *memory + kOwnBytesOfSession + stack * std::max(1U, std::thread::hardware_concurrency());
  }
  if (const auto cpu = args.duration_ns("cpu-limit")) {
    const auto whole = std::chrono::ceil<std::chrono::seconds>(std::chrono::nanoseconds(*cpu)).count();
    session.max_cpu_s = static_cast<int32_t>(std::clamp<int64_t>(whole, 1, INT32_MAX));
  }
}

// `settings` keeps the texts that its options point to.
void restrict_sessions(const Args &args, ServerSettings &settings) {
  opd_rpc_serve_options &session = settings.session;
  session.sandbox = !args.has("no-sandbox"), session.allow_network = args.has("allow-network");
  settings.read_paths = c_strings(args.all("allow-read"));
  session.read_paths = settings.read_paths.data();
  session.num_read_paths = static_cast<int32_t>(settings.read_paths.size());
  settings.user = args.value("user").value_or("");
  session.user = settings.user.empty() ? nullptr : settings.user.c_str();
  if (const auto path = args.value("secret-file")) {
    settings.secret = read_secret(*path);
    session.secret = settings.secret.c_str();
  }
  if (args.has("tls-cert") != args.has("tls-key")) fail_usage("options '--tls-cert' and '--tls-key' go together");
  session.tls_certificate_file = args.text("tls-cert"), session.tls_key_file = args.text("tls-key");
  if (session.tls_key_file) require_private(session.tls_key_file);
  if (const auto modules = args.value("allow-modules")) {
    settings.allowed_modules = read_file(*modules);
    session.allowed_modules = settings.allowed_modules.c_str();
  }
}

}  // namespace

Exit run_serve(const Args &args) {
  ServerSettings settings;
  settings.listen = parse_endpoint("listen", args.value("listen").value_or("127.0.0.1:9090"));
  if (const auto tracker = args.value("tracker")) settings.tracker = parse_endpoint("tracker", *tracker);
  settings.key = args.value("key").value_or("");
  if (settings.tracker && settings.key.empty()) fail_usage("option '--tracker' needs --key, the name to be found by");
  if (settings.key.find_first_of(" \n") != std::string::npos) fail_usage("option '--key' takes a name without spaces");
  settings.lets_anyone = args.has("allow-anyone");
  constexpr int64_t usual_sessions = 16, most_sessions = 1024;
  settings.most_sessions = args.integer("sessions", settings.tracker ? 1 : usual_sessions, 1, most_sessions);
  if (const auto metrics = args.value("metrics")) settings.metrics = parse_endpoint("metrics", *metrics);
  settings.otlp = args.value("otlp").value_or("");
  settings.session = opdyno::defaults(opd_rpc_serve_options_init);
  if (const auto files = args.bytes("file-limit")) settings.session.max_file_bytes = *files;
  settings.session.max_silence_ns = args.duration_ns("timeout").value_or(0);
  if (const auto most = args.duration_ns("session-limit")) settings.most_time = std::chrono::nanoseconds(*most);
  settings.most_time_text = args.value("session-limit").value_or("");
  limit_sessions(args, settings.session);
  restrict_sessions(args, settings);
  serve(settings);
  return Exit::ok;
}

}  // namespace opd::cli
