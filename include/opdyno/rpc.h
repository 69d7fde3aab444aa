/** @file rpc.h  TVM's RPC: serve a client of another machine. `opdyno serve` is a whole server. */
#ifndef OPDYNO_RPC_H_
#define OPDYNO_RPC_H_

#include <opdyno/base.h>

OPD_BEGIN_DECLS

/** How a client is served. */
typedef struct opd_rpc_serve_options {
  uint32_t struct_size;    /**< set by opd_rpc_serve_options_init() */
  uint32_t reserved;       /**< 0 */
  const char *key;         /**< borrowed; what the server is called; NULL: "" */
  const char *match_key;   /**< borrowed; what the client must say, as a tracker hands it out; NULL: the key */
  const char *work_folder; /**< borrowed; where the session's directory for files is made, which ends with it; NULL: in
                                the system's directory for temporary files */
  uint64_t max_packet_bytes; /**< of one packet; 2147483648 */
  uint64_t max_file_bytes;   /**< of all files of the session together; 2147483648 */
  uint64_t max_tensor_bytes; /**< of the tensors that the client makes, together; 0: no limit */
  int64_t max_silence_ns;    /**< the session ends if the client asks nothing for so long; 0: no limit */
} opd_rpc_serve_options;

/** Writes the defaults, and the size of the struct in this header. NULL is allowed. Threads: safe. Since: 0.2 */
static inline void opd_rpc_serve_options_init(opd_rpc_serve_options *options) {
  const opd_rpc_serve_options defaults = {(uint32_t)sizeof *options, 0, NULL, NULL, NULL, (uint64_t)2 << 30,
                                          (uint64_t)2 << 30,         0, 0};
  if (options) *options = defaults;
}

/** Serves one client of TVM's RPC, protocol 0.8.0, until it ends the session or closes the connection. The client loads
 * files that it sent and runs what is in them: serve only clients that may run programs as this process. What a client
 * does wrong is its error; the session goes on.
 * @param socket  Of an accepted connection, a stream; stays open and the caller's.
 * @param options Borrowed; NULL means all defaults.
 * @return NULL; OPD_INVALID_ARGUMENT for what is no such socket; or why the session ended early:
 * OPD_FAILED_PRECONDITION (the client does not know the key), OPD_BAD_FORMAT (it speaks something else, or sends too
 * large a packet), OPD_DEADLINE_EXCEEDED (it went silent), OPD_IO (a broken connection, or a work folder that cannot be
 * used), OPD_NOT_FOUND (the work folder). Threads: safe, a session each. The current devices and streams of the thread
 * change. Blocks. Since: 0.2. Source: TVM tvm.rpc.Server.
 */
OPD_API OPD_NODISCARD opd_error *opd_rpc_serve(int32_t socket, const opd_rpc_serve_options *options);

OPD_END_DECLS
#endif
