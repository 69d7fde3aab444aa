/** @file rpc.h  TVM's RPC for clients: sessions on other machines. rpc_serve.h serves clients. */
#ifndef OPDYNO_RPC_H_
#define OPDYNO_RPC_H_

#include <opdyno/module.h>

OPD_BEGIN_DECLS

/** A session on another machine, with `opdyno serve` or TVM's server. Thread-safe: requests run one at a time, and the
 * others wait.
 *
 * Handles from a session are used like local ones. The session's devices have their own device types
 * (opd_rpc_session_device()), on which tensors can be made and copied. opd_module_get_function() gives
 * functions of its modules, which run on the server. opd_vm_create() makes VMs on the server, and
 * opd_evaluator_create() measures there. Arguments are numbers, texts, bytes, tensors of the session's devices, and its
 * modules, functions and objects.
 *
 * Errors have the kind and message of the server's error, and the address. If the connection ends, the error is OPD_IO
 * of the kind "ConnectionError". If the process of an `opdyno serve` crashed or was ended, the error says why and names
 * the operator that ran.
 *
 * A cancel token or a deadline ends the wait for an answer, not the server's work: the next request waits until that
 * work ends. All objects of a session keep it open. A session cannot be used in a child of fork(): OPD_IO. */
typedef struct opd_rpc_session opd_rpc_session;
OPD_HANDLE(opd_rpc_session);

/** Options of opd_rpc_connect() and opd_rpc_request(). */
typedef struct opd_rpc_connect_options {
  uint32_t struct_size; /**< Set by opd_rpc_connect_options_init(). */
  int32_t priority; /**< Priority of a request at a tracker. Of two requests, the one with the greater number is served
                         first. Default: 1 */
  const char *key;  /**< Borrowed. The server's key. A tracker chooses among servers with this key. Default: NULL: "" */
  int64_t connect_timeout_ns; /**< Limit of time to connect and greet. Default: 10000000000 */
  int64_t answer_timeout_ns;  /**< Limit of time for each request. At a tracker, it includes the wait for a free server.
                                   After it, the request fails with OPD_DEADLINE_EXCEEDED. Default: 0: no limit */
  int64_t session_timeout_ns; /**< Time after which the server ends the session, if it supports that. Default: 0: no
                                   limit */
  const char *secret; /**< Borrowed. At least 16 bytes. Both sides must prove that they know them, without sending them.
                           Default: NULL: none, as for TVM's servers */
  const char *tls_ca_file; /**< Borrowed. PEM file of authorities. One of them must have signed the certificate that the
                                server shows. With it or tls_fingerprint, the session uses TLS 1.3. Default: NULL */
  const char *tls_fingerprint; /**< Borrowed. SHA-256 of the server's certificate, hexadecimal. The certificate is then
                                    trusted whatever its signature, name and dates are, unless tls_ca_file is given,
                                    too. Default: NULL */
  const char *tls_name; /**< Borrowed. Name or IP address for which the certificate must be valid if tls_ca_file is
                             given. Default: NULL: the host of the address, even if a tracker gave it */
} opd_rpc_connect_options;

/** Writes struct_size and the defaults: priority 1, connect_timeout_ns 10^10; the rest is 0 or NULL. NULL is allowed.
 * Threads: safe. Since: 0.2 */
static inline void opd_rpc_connect_options_init(opd_rpc_connect_options *options) {
  const opd_rpc_connect_options defaults = {
      (uint32_t)sizeof *options, 1, NULL, (int64_t)10 * 1000 * 1000 * 1000, 0, 0, NULL, NULL, NULL, NULL};
  if (options) *options = defaults;
}

/** Begins a session with a server.
 * @param address     Borrowed: "HOST:PORT", "[::1]:PORT".
 * @param options     Borrowed; NULL means all defaults.
 * @param out_session New reference.
 * @return NULL, or OPD_IO (there is no connection, or no such file), OPD_DEADLINE_EXCEEDED, OPD_FAILED_PRECONDITION
 * (the server has another key, lacks the secret or requires TLS; its certificate is refused), OPD_BAD_FORMAT (it uses
 * another protocol; a file has no certificates), OPD_OUT_OF_RANGE (256 sessions are open), OPD_UNSUPPORTED
 * (TLS, but OpenSSL is not here: `opdyno info` says why), OPD_INVALID_ARGUMENT. Threads: safe. Blocks. Since: 0.2.
 * Source: TVM tvm.rpc.connect. */
OPD_API OPD_NODISCARD opd_error *opd_rpc_connect(const char *address, const opd_rpc_connect_options *options,
                                                 opd_rpc_session **out_session);

/** Asks TVM's tracker for a server, waits until one is free, and begins a session with it.
 * @param tracker     Borrowed: the tracker's "HOST:PORT".
 * @param options     Borrowed; NULL means all defaults.
 * @param out_session New reference.
 * @return NULL, or an error as opd_rpc_connect(); OPD_CALL_FAILED if the tracker refuses. Threads: safe. Blocks.
 * Since: 0.2. Source: TVM TrackerSession.request. */
OPD_API OPD_NODISCARD opd_error *opd_rpc_request(const char *tracker, const opd_rpc_connect_options *options,
                                                 opd_rpc_session **out_session);

/** Describes a tracker: its servers, and for each key the number of free servers and of waiting clients.
 * @param tracker  Borrowed: "HOST:PORT".
 * @param options  Borrowed; only connect_timeout_ns is used. NULL means all defaults.
 * @param out_json New reference: an object with `server_info` and `queue_info`, as TVM's tracker makes it.
 * @return NULL, or OPD_IO, OPD_DEADLINE_EXCEEDED, OPD_BAD_FORMAT, OPD_INVALID_ARGUMENT as opd_rpc_connect().
 * Threads: safe. Blocks. Since: 0.2. Source: TVM TrackerSession.summary. */
OPD_API OPD_NODISCARD opd_error *opd_rpc_tracker_summary(const char *tracker, const opd_rpc_connect_options *options,
                                                         opd_buffer **out_json);

/** Gives the DLDevice by which this process names a device of the session. Every function that takes a device accepts
 * it. Its text is "remote[0]:cpu:0".
 * @param session    Borrowed.
 * @param device     The device as the server names it. It need not exist.
 * @param out_device Written: device_type = 128 * (index + 1) + device.device_type, with the session's index as
 *                   opd_rpc_session_describe() gives it; the same device_id.
 * @return NULL, or OPD_UNSUPPORTED for a device that belongs to a session of the server. Threads: safe. Since: 0.2.
 *         Source: TVM RPCSession.device. */
OPD_API OPD_NODISCARD opd_error *opd_rpc_session_device(opd_rpc_session *session, DLDevice device,
                                                        DLDevice *out_device);

/** Gives a global function of the server.
 * @param session      Borrowed.
 * @param name         Borrowed. Servers have "tvm.rpc.server.remove", "tvm.rpc.server.listdir" … in addition to the
 *                     functions of their runtime.
 * @param out_function New reference.
 * @return NULL, or OPD_NOT_FOUND, OPD_IO. Threads: safe. Blocks. Since: 0.2. Source: TVM RPCSession.get_function. */
OPD_API OPD_NODISCARD opd_error *opd_rpc_session_get_function(opd_rpc_session *session, const char *name,
                                                              opd_function **out_function);

/** Writes a file of the session: libraries to load, parameters.
 * @param session Borrowed.
 * @param name    Borrowed: its relative path on the server.
 * @param data    Borrowed: @p size bytes.
 * @return NULL, or OPD_IO, or the server's error. Threads: safe. Blocks. Since: 0.2. Source: TVM RPCSession.upload. */
OPD_API OPD_NODISCARD opd_error *opd_rpc_session_upload(opd_rpc_session *session, const char *name, const void *data,
                                                        size_t size);

/** Reads a file of the session.
 * @param session   Borrowed.
 * @param name      Borrowed: its relative path on the server.
 * @param out_bytes New reference.
 * @return NULL, or OPD_IO, or the server's error. Threads: safe. Blocks. Since: 0.2. Source: TVM
 * RPCSession.download. */
OPD_API OPD_NODISCARD opd_error *opd_rpc_session_download(opd_rpc_session *session, const char *name,
                                                          opd_buffer **out_bytes);

/** Loads a file of the session as a module, on the server. Its kind is "rpc".
 * @param session    Borrowed.
 * @param name       Borrowed: its relative path on the server, as it was uploaded.
 * @param out_module New reference.
 * @return NULL, or OPD_IO, or the server's error. Threads: safe. Blocks. Since: 0.2. Source: TVM
 * RPCSession.load_module. */
OPD_API OPD_NODISCARD opd_error *opd_rpc_session_load_module(opd_rpc_session *session, const char *name,
                                                             opd_module **out_module);

/** Describes a session.
 * @param session  Borrowed.
 * @param out_json New reference: {"address": "127.0.0.1:9090", "key": "pi4", "index": 0, "server": "opdyno 0.2.0",
 *                 "host": "board7", "absence": ""}. `server` is "tvm" for TVM's server. `host` is the machine's own
 *                 name, or "" if it is not known. `absence` is the reason why the session has ended.
 * @return NULL, or OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_rpc_session_describe(opd_rpc_session *session, opd_buffer **out_json);

/** Ends the session. A request for which another thread waits fails with OPD_IO, and so do all later requests. Tensors
 * and objects of the session can only be released. If this function is not called, the session ends with the last
 * reference to its objects.
 * @param session Borrowed. NULL does nothing. Threads: safe. Blocks. Since: 0.2 */
OPD_API void opd_rpc_session_close(opd_rpc_session *session);

OPD_END_DECLS
#endif
