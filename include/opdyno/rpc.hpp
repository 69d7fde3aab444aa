/** @file rpc.hpp  TVM's RPC: sessions on other machines, and a server of one client. */
#ifndef OPDYNO_RPC_HPP_
#define OPDYNO_RPC_HPP_

#include <opdyno/rpc.h>
#include <opdyno/rpc_serve.h>

#include <opdyno/function.hpp>
#include <opdyno/module.hpp>

namespace opdyno {

/** A session on another machine. Its devices, modules and functions are used like local ones: see opd_rpc_session. */
class RpcSession : public Handle<opd_rpc_session> {
 public:
  using Handle::Handle;
  static RpcSession connect(const std::string &address, const opd_rpc_connect_options *options = nullptr) {
    return made<RpcSession>(opd_rpc_connect, address.c_str(), options);
  }
  /** Connects to a server that a tracker chooses by the key of the options. */
  static RpcSession request(const std::string &tracker, const opd_rpc_connect_options *options = nullptr) {
    return made<RpcSession>(opd_rpc_request, tracker.c_str(), options);
  }
  /** Returns JSON. */
  static std::string tracker_summary(const std::string &tracker, const opd_rpc_connect_options *options = nullptr) {
    return text_of(opd_rpc_tracker_summary, tracker.c_str(), options);
  }
  DLDevice device(DLDevice there = {kDLCPU, 0}) const {
    DLDevice here{};
    check(opd_rpc_session_device(get(), there, &here));
    return here;
  }
  Function function(const char *name) const { return made<Function>(opd_rpc_session_get_function, get(), name); }
  void upload(const char *name, std::string_view content) const {
    check(opd_rpc_session_upload(get(), name, content.data(), content.size()));
  }
  std::string download(const char *name) const { return text_of(opd_rpc_session_download, get(), name); }
  Module load_module(const char *name) const { return made<Module>(opd_rpc_session_load_module, get(), name); }
  /** Returns JSON. */
  std::string describe() const { return text_of(opd_rpc_session_describe, get()); }
  void close() const { opd_rpc_session_close(get()); }
};

/** Serves one client on an accepted connection, until the session ends. */
inline void rpc_serve(int32_t socket, const opd_rpc_serve_options *options = nullptr) {
  check(opd_rpc_serve(socket, options));
}
/** If a session's process has died: tells the session's client the reason. */
inline void rpc_tell_end(int32_t socket, const opd_rpc_progress &progress) {
  check(opd_rpc_tell_end(socket, &progress));
}
/** Returns JSON. */
inline std::string rpc_serve_describe(const opd_rpc_serve_options *options = nullptr) {
  return text_of(opd_rpc_serve_describe, options);
}

}  // namespace opdyno
#endif
