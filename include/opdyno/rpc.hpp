/** @file rpc.hpp  TVM's RPC: serve a client of another machine. */
#ifndef OPDYNO_RPC_HPP_
#define OPDYNO_RPC_HPP_

#include <opdyno/rpc.h>

#include <opdyno/base.hpp>

namespace opdyno {

/** Serves one client on an accepted connection, until the session ends. */
inline void rpc_serve(int32_t socket, const opd_rpc_serve_options *options = nullptr) {
  check(opd_rpc_serve(socket, options));
}

}  // namespace opdyno
#endif
