// Other machines that run programs: --on.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "cli/support/args.h"
#include "cli/support/face.h"
#include "cli/support/net.h"

namespace opd::cli {

// "HOST:PORT,key=K,secret-file=F" for a server, "tracker=HOST:PORT,key=K" for one from a tracker.
struct MachineSpec {
  Endpoint address;
  bool is_tracker = false;
  std::string key, secret;
  std::string tls_ca, tls_fingerprint, tls_name;  // "": not given

  static std::optional<MachineSpec> of(const Args &args);  // nullopt without --on. Fails with Exit::usage.
};

class Machine {
 public:
  // Connects; a tracker waits until a server is free. Fails with Exit::failed.
  Machine(const MachineSpec &spec, const Args &args);

  const std::string &address() const { return address_; }
  const std::string &host() const { return host_; }  // the machine's own name; "": unknown
  bool is_tvms() const { return server_ == "tvm"; }
  std::string text() const { return host_.empty() ? address_ : host_ + " (" + address_ + ")"; }

  const std::string &server() const { return server_; }  // "opdyno 0.2.0" or "tvm"
  DLDevice reach(DLDevice there) const { return session_.device(there); }
  // The requested device in the session's numbering. Fails with Exit::failed if it does not exist.
  DLDevice device(const Args &args) const;
  // Sends the file and loads it there. Fails with Exit::refused.
  Module load(const std::string &path);

 private:
  opdyno::RpcSession session_;
  std::string address_, host_, server_;
  std::map<std::string, int> sent_;  // number of transfers by file name
};

// The machine's own name for reports; its address if that is unknown. Null: this machine.
std::string machine_name(const Machine *machine);

// Fails with Exit::usage if an option is given that other machines cannot follow.
void refuse_local_options(const Args &args);

}  // namespace opd::cli
