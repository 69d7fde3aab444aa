/** @file rpc_serve.h  TVM's RPC for servers: serves one client. `opdyno serve` is a whole server.
 *
 * Experimental: this header may change in each minor version. */
#ifndef OPDYNO_RPC_SERVE_H_
#define OPDYNO_RPC_SERVE_H_

#include <opdyno/base.h>
#include <opdyno/telemetry.h>
#include <string.h>

OPD_BEGIN_DECLS

/** Counts of a session. opd_rpc_serve() writes them while it runs. Others may read them at the same time; each number
 * is read as a whole. The struct may lie in memory that processes share. */
typedef struct opd_rpc_progress {
  uint32_t struct_size;    /**< Set by opd_rpc_progress_init(). */
  uint32_t reserved;       /**< Default: 0 */
  uint64_t num_requests;   /**< Requests that came from the client, including those that were refused. Default: 0 */
  uint64_t received_bytes; /**< Bytes of requests, without the overhead of TLS and TCP. Default: 0 */
  uint64_t sent_bytes;     /**< Bytes of answers, without the overhead of TLS and TCP. Default: 0 */
  char crashed_in[128]; /**< With `report_crashes`: the operator that ran when the process crashed, or when it last got
                             SIGURG during the current request. NUL-terminated, at most 127 bytes. Empty: none. Default:
                             "" */
  uint64_t num_bad_traceparents; /**< With `note_span`: traceparents of the client that are not valid. They are ignored.
                                      Default: 0 */
  char end_reason[256]; /**< What ended the process, as messages say it after "was ended by". Another process writes it
                             before it sends SIGTERM, or before it calls opd_rpc_tell_end(). Default: "" */
  uint32_t private_state; /**< Private to the library. Copy it with the rest. Default: 0 */
  uint32_t reserved2;     /**< Default: 0 */
} opd_rpc_progress;

/** Writes struct_size; the rest is 0. NULL is allowed. Threads: safe. Since: 0.2 */
static inline void opd_rpc_progress_init(opd_rpc_progress *progress) {
  if (!progress) return;
  memset(progress, 0, sizeof *progress);
  progress->struct_size = (uint32_t)sizeof *progress;
}

/** Options of opd_rpc_serve(). */
typedef struct opd_rpc_serve_options {
  uint32_t struct_size;    /**< Set by opd_rpc_serve_options_init(). */
  uint32_t reserved;       /**< Default: 0 */
  const char *key;         /**< Borrowed. The server's key. NULL: "". Default: NULL */
  const char *match_key;   /**< Borrowed. The key that the client must send, from a tracker. NULL: the key. Default:
                                NULL */
  const char *work_folder; /**< Borrowed. Folder in which the session's directory for files is made. That directory ends
                                with the session. NULL: the system's directory for temporary files. Default: NULL */
  uint64_t max_packet_bytes; /**< Limit of one packet. Default: 2147483648 */
  uint64_t max_file_bytes;   /**< Limit of all files of the session together. Default: 2147483648 */
  uint64_t max_tensor_bytes; /**< Limit of the tensors that the client makes, together. Default: 0: no limit */
  int64_t max_silence_ns; /**< Limit of the time without a request from the client. Then the session ends. Default: 0:
                               no limit */
  int32_t sandbox;        /**< 1: the process is restricted, as at opd_rpc_serve(). Default: 0 */
  int32_t allow_network;  /**< 1: new connections are allowed in the sandbox, too. Default: 0 */
  int32_t max_cpu_s;      /**< CPU time after which SIGXCPU kills the process. Default: 0: no limit */
  int32_t num_read_paths; /**< Number of @p read_paths. Default: 0 */
  const char *const *read_paths; /**< Borrowed. @p num_read_paths files and directories that the process may also read
                                      and execute in the sandbox. Default: NULL: none */
  uint64_t max_process_bytes;    /**< Limit of private memory, beyond what the process has when the session begins. Each
                                      process that it starts has the same limit. Default: 0: no limit */
  const char *user; /**< Borrowed. The process changes to this user permanently. Only root can do this. Default: NULL:
                         the user stays */
  const char *allowed_modules; /**< Borrowed. Text as `sha256sum` prints it. Modules are loaded only from files with
                                    these hashes, and global functions that could load others are closed. NULL: all
                                    modules are loaded. Default: NULL */
  const char *secret; /**< Borrowed. At least 16 bytes. The client and this side must prove that they know them, without
                           sending them. TVM's clients cannot. Default: NULL: none */
  const char *tls_certificate_file; /**< Borrowed. PEM file of the server's certificate, and of the intermediate ones
                                         up to its authority. The session uses TLS 1.3, which TVM's clients do not
                                         support. Default: NULL: no TLS */
  const char *tls_key_file;   /**< Borrowed. PEM file of the certificate's private key, without a password. Default:
                                   NULL */
  opd_rpc_progress *progress; /**< Borrowed. The progress is written there. Default: NULL */
  opd_error *(*admit)(void *user_data); /**< Called once the client has said the key and proved the secret, before the
                                             process is restricted. It may wait, for example for other sessions to end.
                                             Its error, which it gives away, ends the session. NULL: all clients are
                                             accepted. Default: NULL */
  void *user_data;                      /**< Borrowed. Argument of @p admit and @p note_span. Default: NULL */
  int32_t report_crashes; /**< 1: if a signal kills the process during a request (SIGSEGV, SIGBUS, SIGFPE, SIGILL,
                               SIGABRT, SIGSYS, SIGXCPU, SIGTERM), and the program does not handle it itself, the client
                               gets the signal and the operator that ran. At SIGURG, which another process may send from
                               time to time, that operator is noted in @p progress. Only one session of a process can
                               use this at a time. Default: 0 */
  int32_t reserved2;      /**< Default: 0 */
  void (*note_span)(void *user_data, const opd_telemetry_value *span); /**< Called by the serving thread when a span
           begins, then without `end_ns`, and when it has ended. Spans are the session, and each call of a function in
           it. Their parent is the span for which opdyno's client works. If the client names it later, the session's
           span begins again. opd_telemetry_set_value() sends spans that have ended. NULL: no spans are made.
           Default: NULL */
} opd_rpc_serve_options;

/** Writes struct_size and the defaults: max_packet_bytes 2147483648, max_file_bytes 2147483648; the rest is 0 or NULL.
 * NULL is allowed. Threads: safe. Since: 0.2 */
static inline void opd_rpc_serve_options_init(opd_rpc_serve_options *options) {
  if (!options) return;
  memset(options, 0, sizeof *options);
  options->struct_size = (uint32_t)sizeof *options;
  options->max_packet_bytes = (uint64_t)2 << 30;
  options->max_file_bytes = (uint64_t)2 << 30;
}

/** Serves one client of TVM's RPC, protocol 0.8.0, until it ends the session or closes the connection. The client loads
 * files that it sent and runs their code: serve only clients that may run programs as this process, or restrict the
 * process by @p options. A wrong request is an error for the client; the session goes on.
 *
 * With `sandbox`, once the client has said the key, the process can read programs, libraries and devices, and write
 * only to the session's directory. It opens no connections, signals no other processes, and loses all capabilities. Its
 * environment changes (HOME, TMPDIR and the places of caches lie in that directory). All of this, and the limits, hold
 * until the process ends: call this in a child of fork() that has no other threads, and end the child afterwards. If
 * the kernel does not support a restriction, it is left out; opd_rpc_serve_describe() lists those. The session's
 * directory is emptied at the end. The process that waits for this one should remove the directory.
 * @param socket  Stream socket of an accepted connection. It stays open and belongs to the caller.
 * @param options Borrowed; NULL means all defaults.
 * @return NULL, or an error. Before the session: those of opd_rpc_serve_describe(); OPD_INVALID_ARGUMENT if @p socket
 *         is not a socket; OPD_NOT_FOUND for the work folder. If the session cannot begin, or ends early:
 * - OPD_FAILED_PRECONDITION: the client does not know the key or the secret, does not speak TLS or refuses the
 *   certificate; the process has further threads, or another session whose crashes are reported;
 * - OPD_BAD_FORMAT: the client uses another protocol, or sends too large a packet;
 * - OPD_DEADLINE_EXCEEDED: the client sent nothing for `max_silence_ns`;
 * - OPD_IO: the connection broke; the work folder cannot be used; the kernel refuses a restriction that it supports;
 * - the error of the option `admit`.
 *
 * If a session ends early because of a limit or a wrong packet, the client gets the error, too.
 *
 * Threads: safe; each call serves its own session. The current devices and streams of the thread change. Blocks. Since:
 * 0.2. Source: TVM tvm.rpc.Server.
 */
OPD_API OPD_NODISCARD opd_error *opd_rpc_serve(int32_t socket, const opd_rpc_serve_options *options);

/** Tells the client of a session whose process has died why it ended. The client gets `end_reason` and `crashed_in` as
 * the answer to its open request, or to the next one. It gets nothing if it was told before, if an answer had begun, or
 * with TLS. Does not wait.
 * @param socket   The session's connection, which this process has kept open.
 * @param progress Borrowed: a copy of the session's progress, made after its process died.
 * @return NULL, or OPD_INVALID_ARGUMENT. Threads: safe. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_rpc_tell_end(int32_t socket, const opd_rpc_progress *progress);

/** Lists the sandbox's restrictions that the kernel enforces, and checks whether sessions can begin with these options.
 * @param options  Borrowed; NULL means all defaults.
 * @param out_json New reference: {"enforced": ["files (Landlock ABI 7)", "no network"], "missing": [],
 *                 "tls_fingerprint": "", "tls_absence": ""}. The lists are phrases for the user; without `sandbox`
 *                 nothing is enforced or missing. `tls_fingerprint` is that of the certificate, as clients take it. "":
 *                 there is no certificate. `tls_absence` is the reason why servers and clients have no TLS here. "":
 *                 they have TLS, or @p options need none, so that OpenSSL was not loaded.
 * @return NULL, or an error:
 * - OPD_INVALID_ARGUMENT: an option is wrong, or the key is not the certificate's.
 * - OPD_NOT_FOUND: there is no such user, or nothing at one of the paths.
 * - OPD_FAILED_PRECONDITION: another user is named, but this one is not root.
 * - OPD_BAD_FORMAT: `allowed_modules` cannot be read, or a file is not a certificate or key.
 * - OPD_IO: a file cannot be read.
 * - OPD_UNSUPPORTED: TLS is wanted, but OpenSSL is missing.
 *
 * Threads: safe. Since: 0.2
 */
OPD_API OPD_NODISCARD opd_error *opd_rpc_serve_describe(const opd_rpc_serve_options *options, opd_buffer **out_json);

OPD_END_DECLS
#endif
