#include "cli/load/machine.h"

#include <unistd.h>

#include <array>
#include <filesystem>

#include "cli/load/devices.h"
#include "cli/support/failure.h"
#include "cli/support/file.h"
#include "cli/support/json.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

constexpr std::string_view kForm =
    "HOST:PORT or tracker=HOST:PORT, then ,key=K ,secret-file=F ,tls-ca=F "
    ",tls-fingerprint=HASH ,tls-name=NAME";

opdyno::RpcSession connect(const MachineSpec &spec, const Args &args) {
  auto options = opdyno::defaults(opd_rpc_connect_options_init);
  options.key = spec.key.c_str();
  const auto given = [](const std::string &text) { return text.empty() ? nullptr : text.c_str(); };
  options.secret = given(spec.secret);
  options.tls_ca_file = given(spec.tls_ca), options.tls_name = given(spec.tls_name);
  options.tls_fingerprint = given(spec.tls_fingerprint);
  options.answer_timeout_ns = args.duration_ns("timeout").value_or(0);
  const std::string address = spec.address.text();
  return attempt(Exit::failed, address, [&] {
    return spec.is_tracker ? opdyno::RpcSession::request(address, &options)
                           : opdyno::RpcSession::connect(address, &options);
  });
}

}  // namespace

std::optional<MachineSpec> MachineSpec::of(const Args &args) {
  const std::optional<std::string> text = args.value("on");
  if (!text) return std::nullopt;
  const auto refuse = [&](std::string_view why) {
    fail_usage(cat("option '--on' takes ", kForm, ", not '", *text, "': ", why));
  };
  MachineSpec spec;
  bool has_address = false;
  for (const std::string_view part : split(*text, ',')) {
    const size_t equals = part.find('=');
    const std::string_view name = equals == part.npos ? "" : part.substr(0, equals);
    const std::string value(equals == part.npos ? part : part.substr(equals + 1));
    if (name.empty() || name == "tracker") {
      if (has_address) refuse("there are two addresses");
      has_address = true;
      spec.is_tracker = name == "tracker";
      spec.address = parse_endpoint("on", value);
    } else if (name == "key") {
      spec.key = value;
    } else if (name == "secret-file") {
      spec.secret = read_secret(value);
    } else if (name == "tls-ca" || name == "tls-fingerprint" || name == "tls-name") {
      if (value.empty()) refuse(cat(name, " is empty"));
      (name == "tls-ca" ? spec.tls_ca : name == "tls-name" ? spec.tls_name : spec.tls_fingerprint) = value;
    } else {
      refuse(cat("there is no '", name, "'"));
    }
  }
  if (!has_address) refuse("the address is missing");
  if (!spec.tls_name.empty() && spec.tls_ca.empty()) refuse("tls-name goes with tls-ca");
  if (spec.is_tracker && spec.key.empty()) refuse("a tracker needs the key of the servers");
  return spec;
}

Machine::Machine(const MachineSpec &spec, const Args &args) : session_(connect(spec, args)) {
  const Json json = parse_json(session_.describe(), "the session");
  address_ = json_string(json.get(), "address");
  host_ = json_string(json.get(), "host");
  server_ = json_string(json.get(), "server");
}

DLDevice Machine::device(const Args &args) const {
  DLDevice there = {kDLCPU, 0};
  const std::string text = args.value("device").value_or("cpu:0");
  if (args.has("device")) there = attempt(Exit::usage, "option '--device'", [&] { return opdyno::device_of(text); });
  warn_of_cpu_number(there);
  const DLDevice here = attempt(Exit::failed, text, [&] { return session_.device(there); });
  const Value absence = attempt(Exit::failed, cat("device ", text, " of ", address_),
                                [&] { return opdyno::device_attr(here, OPD_ATTR_ABSENCE); });
  if (absence.type() != OPD_NONE)
    throw Failure(Exit::failed, cat("there is no device ", text, " on ", address_, ": ", absence.string()), OPD_OK,
                  cat("info --on ", args.value("on").value_or(address_)));
  return here;
}

Module Machine::load(const std::string &path) {
  std::string name = std::filesystem::path(path).filename().string(), content;
  if (name.ends_with(".opdasm")) {  // assembled on this machine
    name += ".vmexec";
    const std::string text = read_file(path);
    content = attempt(Exit::refused, path, [&] { return Executable::assemble(text).save(); });
  } else {
    content = read_file(path);
  }
  if (const int before = sent_[name]++) name = cat(before, "-", name);
  return attempt(Exit::refused, path, [&] {
    session_.upload(name.c_str(), content);
    return session_.load_module(name.c_str());
  });
}

std::string machine_name(const Machine *machine) {
  if (machine) return machine->host().empty() ? machine->address() : machine->host();
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

void refuse_local_options(const Args &args) {
  for (const char *name : {"c-flags", "copy", "threads", "memory-limit", "check-bounds", "roofline", "flush-cache"})
    if (args.has(name)) fail_usage(cat("--", name, " does not go with --on: the server decides on that"));
}

}  // namespace opd::cli
