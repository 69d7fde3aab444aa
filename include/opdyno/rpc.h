/** @file rpc.h  TVM's RPC: use another machine, or serve a client of one. `opdyno serve` is a whole server. */
#ifndef OPDYNO_RPC_H_
#define OPDYNO_RPC_H_

#include <opdyno/module.h>
#include <opdyno/telemetry.h>

OPD_BEGIN_DECLS

/* ---- use another machine ---------------------------------------------------------------------------------------- */

/** A session on another machine: with `opdyno serve`, or with a server of TVM's. Thread-safe: one request at a time,
 * the others wait.
 *
 * Handles from a session are used as local ones. Its devices have kinds of their own (opd_rpc_session_device()), on
 * which tensors are made and copied; opd_module_get_function() of its modules gives functions that run there;
 * opd_vm_create() of them makes VMs there, and opd_evaluator_create() measures there. Arguments are numbers, texts,
 * bytes, tensors of the session's devices, and its modules, functions and objects. An error has kind and message of the
 * one there, and the address. If the connection ends, the error is OPD_IO of the kind "ConnectionError"; if the
 * server's process crashed or was ended, it says why and names the operator that ran, where the server is `opdyno
 * serve`.
 *
 * A cancel token or a deadline ends the wait for an answer, not the server's work: the next request waits for that. All
 * objects of a session keep it open. It cannot be used in a child of fork(): OPD_IO. */
typedef struct opd_rpc_session opd_rpc_session;
OPD_HANDLE(opd_rpc_session);

/** How to connect. */
typedef struct opd_rpc_connect_options {
  uint32_t struct_size;       /**< set by opd_rpc_connect_options_init() */
  int32_t priority;           /**< at a tracker: of two requests, that with the greater one is served first; 1 */
  const char *key;            /**< borrowed; the server's key. A tracker chooses among servers with it; NULL: "" */
  int64_t connect_timeout_ns; /**< to connect and greet; 10000000000 */
  int64_t answer_timeout_ns;  /**< of each request, at a tracker also for a server to be free. Later: the error
                                   OPD_DEADLINE_EXCEEDED; 0: no limit */
  int64_t session_timeout_ns; /**< the server ends the session after so long, if it supports that; 0: no limit */
  const char *secret;         /**< borrowed; at least 16 bytes that the server must prove to know, as this side does,
                                   without sending them; NULL: none, as for TVM's servers */
  const char
      *tls_ca_file; /**< borrowed; PEM file of the authorities, one of which must have signed the certificate that
                         the server shows. With it or tls_fingerprint, the session goes through TLS 1.3; NULL */
  const char *tls_fingerprint; /**< borrowed; SHA-256 of the server's certificate, hexadecimal: it is trusted whatever
                                    its signature, name and dates are, unless there is tls_ca_file, too; NULL */
  const char *tls_name; /**< borrowed; the name or IP address that tls_ca_file's certificate must be for; NULL: the
                             host of the address, also if a tracker gave it */
} opd_rpc_connect_options;

/** Writes the defaults, and the size of the struct in this header. NULL is allowed. Threads: safe. Since: 0.2 */
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

/** Describes a tracker: its servers, and for each key the number of free ones and of waiting clients.
 * @param tracker  Borrowed: "HOST:PORT".
 * @param options  Borrowed; only connect_timeout_ns is used. NULL means all defaults.
 * @param out_json New reference: an object with `server_info` and `queue_info`, as TVM's tracker makes it.
 * @return NULL, or OPD_IO, OPD_DEADLINE_EXCEEDED, OPD_BAD_FORMAT, OPD_INVALID_ARGUMENT as opd_rpc_connect().
 * Threads: safe. Blocks. Since: 0.2. Source: TVM TrackerSession.summary. */
OPD_API OPD_NODISCARD opd_error *opd_rpc_tracker_summary(const char *tracker, const opd_rpc_connect_options *options,
                                                         opd_buffer **out_json);

/** Gives the name of a device of the session in this process. All that takes a device takes it: "remote[0]:cpu:0".
 * @param session    Borrowed.
 * @param device     As the server calls it; it need not exist.
 * @param out_device Written: its kind is 128 times the session's number and one more, plus that of @p device.
 * @return NULL, or OPD_UNSUPPORTED for a device of a session there. Threads: safe. Since: 0.2. Source: TVM
 * RPCSession.device. */
OPD_API OPD_NODISCARD opd_error *opd_rpc_session_device(opd_rpc_session *session, DLDevice device,
                                                        DLDevice *out_device);

/** Gives a global function of the server.
 * @param session      Borrowed.
 * @param name         Borrowed. Servers have "tvm.rpc.server.remove", "tvm.rpc.server.listdir" … beside what their
 *                     runtime has.
 * @param out_function New reference.
 * @return NULL, or OPD_NOT_FOUND, OPD_IO. Threads: safe. Blocks. Since: 0.2. Source: TVM RPCSession.get_function. */
OPD_API OPD_NODISCARD opd_error *opd_rpc_session_get_function(opd_rpc_session *session, const char *name,
                                                              opd_function **out_function);

/** Writes a file of the session: libraries to load, parameters.
 * @param session Borrowed.
 * @param name    Borrowed: a relative path there.
 * @param data    Borrowed: @p size bytes.
 * @return NULL, or OPD_IO, or the server's error. Threads: safe. Blocks. Since: 0.2. Source: TVM RPCSession.upload. */
OPD_API OPD_NODISCARD opd_error *opd_rpc_session_upload(opd_rpc_session *session, const char *name, const void *data,
                                                        size_t size);

/** Reads a file of the session.
 * @param session   Borrowed.
 * @param name      Borrowed: a relative path there.
 * @param out_bytes New reference.
 * @return NULL, or OPD_IO, or the server's error. Threads: safe. Blocks. Since: 0.2. Source: TVM
 * RPCSession.download. */
OPD_API OPD_NODISCARD opd_error *opd_rpc_session_download(opd_rpc_session *session, const char *name,
                                                          opd_buffer **out_bytes);

/** Loads a file of the session as a module, on the server. Its kind is "rpc".
 * @param session    Borrowed.
 * @param name       Borrowed: a relative path there, as it was uploaded.
 * @param out_module New reference.
 * @return NULL, or OPD_IO, or the server's error. Threads: safe. Blocks. Since: 0.2. Source: TVM
 * RPCSession.load_module. */
OPD_API OPD_NODISCARD opd_error *opd_rpc_session_load_module(opd_rpc_session *session, const char *name,
                                                             opd_module **out_module);

/** Describes a session.
 * @param session  Borrowed.
 * @param out_json New reference: {"address": "127.0.0.1:9090", "key": "pi4", "index": 0, "server": "opdyno 0.2.0",
 *                 "host": "board7", "absence": ""}. `server` is "tvm" for one of TVM's; `host` is the machine's
 * own name, "" if it is not known; `absence` is the reason why the session has ended.
 * @return NULL, or OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_rpc_session_describe(opd_rpc_session *session, opd_buffer **out_json);

/** Ends the session. A request that another thread waits for ends with OPD_IO, as all later ones; tensors and objects
 * of the session can only be released. Without it, the session ends with the last reference to its objects.
 * @param session Borrowed. NULL does nothing. Threads: safe. Blocks. Since: 0.2 */
OPD_API void opd_rpc_session_close(opd_rpc_session *session);

/* ---- serve another machine -------------------------------------------------------------------------------------- */

/** Counts of a session. opd_rpc_serve() writes it while it runs, and others may read it: each number whole.
 * It may lie in memory that processes share. */
typedef struct opd_rpc_progress {
  uint32_t struct_size;    /**< set by opd_rpc_progress_init() */
  uint32_t reserved;       /**< 0 */
  uint64_t num_requests;   /**< that came from the client, those that were refused among them */
  uint64_t received_bytes; /**< of requests, without what TLS and TCP add */
  uint64_t sent_bytes;     /**< of answers, likewise */
  char crashed_in[128];    /**< with `report_crashes`: the operator that ran at a crash, or at the latest SIGURG of the
                                request that is being answered; its name cut to 127 bytes; "" */
  uint64_t num_bad_traceparents; /**< with `note_span`: that the client said, and that are none; they are ignored */
  char end_reason[256]; /**< what ended the process, as messages say it behind "was ended by". Another process writes it
                             before it sends SIGTERM, and before `tell_end`; "" */
  uint32_t wire_state;  /**< of the library: what the client can still be told by `tell_end`; 0 */
  uint32_t reserved2;   /**< 0 */
} opd_rpc_progress;

/** Writes the size of the struct in this header, and 0. NULL is allowed. Threads: safe. Since: 0.2 */
static inline void opd_rpc_progress_init(opd_rpc_progress *progress) {
  const opd_rpc_progress defaults = {(uint32_t)sizeof *progress, 0, 0, 0, 0, "", 0, "", 0, 0};
  if (progress) *progress = defaults;
}

/** How a client is served. */
typedef struct opd_rpc_serve_options {
  uint32_t struct_size;    /**< set by opd_rpc_serve_options_init() */
  uint32_t reserved;       /**< 0 */
  const char *key;         /**< borrowed; the server's key; NULL: "" */
  const char *match_key;   /**< borrowed; the key that the client must send, from a tracker; NULL: the key */
  const char *work_folder; /**< borrowed; where the session's directory for files is made, which ends with it; NULL: in
                                the system's directory for temporary files */
  uint64_t max_packet_bytes;     /**< of one packet; 2147483648 */
  uint64_t max_file_bytes;       /**< of all files of the session together; 2147483648 */
  uint64_t max_tensor_bytes;     /**< of the tensors that the client makes, together; 0: no limit */
  int64_t max_silence_ns;        /**< the session ends if the client asks nothing for so long; 0: no limit */
  int32_t sandbox;               /**< 1: the process is restricted, as at opd_rpc_serve(); 0 */
  int32_t allow_network;         /**< 1: within the sandbox, too, new connections are allowed; 0 */
  int32_t max_cpu_s;             /**< CPU time of the process, beyond which SIGXCPU ends it; 0: no limit */
  int32_t num_read_paths;        /**< 0 */
  const char *const *read_paths; /**< borrowed; @p num_read_paths files and directories that the sandbox lets the
                                    process read and execute, too; NULL: none */
  uint64_t max_process_bytes; /**< of private memory, beyond what the process has at the start of the session, and the
                                   same for each that it starts; 0: no limit */
  const char *user;           /**< borrowed; the process becomes this user's, for good; only root's can. NULL: no */
  const char
      *allowed_modules; /**< borrowed; text as `sha256sum` prints it: modules are loaded only from files with these
                             hashes. Of the global functions, those that could load others are closed. NULL: all */
  const char *secret;   /**< borrowed; at least 16 bytes that the client must prove to know, and this side proves,
                             without sending them, as TVM's clients cannot; NULL: none */
  const char *tls_certificate_file; /**< borrowed; PEM file of the certificate that the server shows, and of those that
                                         lead to its authority. The session goes through TLS 1.3, which TVM's clients do
                                         not speak; NULL: not */
  const char *tls_key_file;   /**< borrowed; PEM file of the certificate's private key, without a password; NULL */
  opd_rpc_progress *progress; /**< borrowed; the progress is written there; NULL */
  opd_error *(*admit)(
      void *user_data); /**< called once the client has said the key and proved the secret, before the
                             process is restricted. It may wait, as for other sessions to end. Its error,
                             which it gives away, ends the session; NULL: all clients are welcome */
  void *user_data;      /**< borrowed; for @p admit and @p note_span; NULL */
  int32_t
      report_crashes; /**< 1: signals that end the process amid a request (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT,
                         SIGSYS, SIGXCPU, SIGTERM), and that the program does not handle itself, are sent to the
                         client before, with the operator that runs. At SIGURG, which another process may send now
                         and then, that operator is noted in @p progress. For one session of the process at once; 0 */
  int32_t tell_end;   /**< 1: nothing is served. The process that served the client of @p socket has ended, and
                           @p progress is a copy of its progress. The client gets `end_reason` and `crashed_in` as
                           the answer to its open request, or to the next one. It gets nothing if it was told
                           before, if an answer had begun, or with TLS. All other options are ignored. Does not
                           wait; 0 */
  void (*note_span)(void *user_data,
                    const opd_telemetry_value *span); /**< called by the serving thread when a span begins, then without
                       `end_ns`, and when it has ended. Spans are the session, and each call of a function in it. Their
                       parent is the span that opdyno's client says to work for; if it says that later, the session's
                       span begins anew. opd_telemetry_set_value() sends spans that have ended; NULL: none are made */
} opd_rpc_serve_options;

/** Writes the defaults, and the size of the struct in this header. NULL is allowed. Threads: safe. Since: 0.2 */
static inline void opd_rpc_serve_options_init(opd_rpc_serve_options *options) {
  const opd_rpc_serve_options defaults = {(uint32_t)sizeof *options,
                                          0,
                                          NULL,
                                          NULL,
                                          NULL,
                                          (uint64_t)2 << 30,
                                          (uint64_t)2 << 30,
                                          0,
                                          0,
                                          0,
                                          0,
                                          0,
                                          0,
                                          NULL,
                                          0,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          0,
                                          0,
                                          NULL};
  if (options) *options = defaults;
}

/** Serves one client of TVM's RPC, protocol 0.8.0, until it ends the session or closes the connection. The client loads
 * files that it sent and runs what is in them: serve only clients that may run programs as this process, or restrict it
 * by @p options. A wrong request is an error for the client; the session goes on.
 *
 * With `sandbox`, once the client has said the key, the process can read programs, libraries and devices, and write
 * only to the session's directory. It opens no connections, signals no other processes, and loses all capabilities. Its
 * environment changes (HOME, TMPDIR and the places of caches lie in that directory). All of this, and the limits, hold
 * until the process ends: call this in a child of fork() that has no other threads, and end the child afterwards. If
 * the kernel does not support a restriction, it is left out; opd_rpc_serve_describe() lists those. The session's
 * directory is emptied at the end. The process that waits for this one is to remove it.
 * @param socket  Of an accepted connection, a stream; stays open and the caller's.
 * @param options Borrowed; NULL means all defaults.
 * @return NULL, or an error. Before the session: those of opd_rpc_serve_describe(); OPD_INVALID_ARGUMENT if @p socket
 * is none; OPD_NOT_FOUND for the work folder. If the session cannot begin, or ends early:
 * - OPD_FAILED_PRECONDITION: the client does not know the key or the secret, does not speak TLS or refuses the
 *   certificate; the process has further threads, or another session whose crashes are reported;
 * - OPD_BAD_FORMAT: the client uses another protocol, or sends too large a packet;
 * - OPD_DEADLINE_EXCEEDED: it went silent;
 * - OPD_IO: the connection broke; the work folder cannot be used; the kernel refuses a restriction that it supports;
 * - the error of the function admit of the options.
 *
 * A session that ends early because of a limit, or of what the client sends, is an error for the client, too.
 *
 * Threads: safe, a session each. The current devices and streams of the thread change. Blocks. Since: 0.2. Source: TVM
 * tvm.rpc.Server.
 */
OPD_API OPD_NODISCARD opd_error *opd_rpc_serve(int32_t socket, const opd_rpc_serve_options *options);

/** Lists the sandbox's restrictions that the kernel enforces, and checks whether sessions can begin with these options.
 * @param options  Borrowed; NULL means all defaults.
 * @param out_json New reference: {"enforced": ["files (Landlock ABI 7)", "no network"], "missing": [],
 *                 "tls_fingerprint": "", "tls_absence": ""}. The lists are phrases for the user; without `sandbox`
 *                 nothing is enforced or missing. `tls_fingerprint` is that of the certificate, as clients take it; "":
 *                 there is none. `tls_absence` is the reason why servers and clients have no TLS here; "": they have
 *                 it, or @p options need none: then OpenSSL is not looked for.
 * @return NULL, or an error:
 * - OPD_INVALID_ARGUMENT: an option is wrong, or the key is not the certificate's.
 * - OPD_NOT_FOUND: there is no such user, or nothing at one of the paths.
 * - OPD_FAILED_PRECONDITION: another user is named, but this one is not root.
 * - OPD_BAD_FORMAT: `allowed_modules` cannot be read, or a file is no certificate or key.
 * - OPD_IO: a file cannot be read.
 * - OPD_UNSUPPORTED: TLS is wanted, but OpenSSL is not here.
 *
 * Threads: safe. Since: 0.2
 */
OPD_API OPD_NODISCARD opd_error *opd_rpc_serve_describe(const opd_rpc_serve_options *options, opd_buffer **out_json);

OPD_END_DECLS
#endif
