package io.opdyno;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A session on another machine, which runs {@code opdyno serve} or TVM's RPC server. Its objects are used like local
 * ones: {@linkplain #device devices}, tensors, programs, VMs, functions, evaluators. An error of the server is thrown
 * with the server's address after the message. A broken connection throws {@link OpdynoException.Io}. All objects from
 * a session keep it open. Any thread may use a session; it makes one request at a time. An interrupt ends the wait for
 * an answer. The next request then waits until the server has finished the interrupted one.
 */
public final class RpcSession extends Handle {
  RpcSession(long pointer) {
    super(pointer);
  }

  /** Begins a session with a server at "HOST:PORT" or "[::1]:PORT". */
  public static RpcSession connect(String address) {
    return connect(address, null);
  }

  /** Begins a session with options; null: all defaults. */
  public static RpcSession connect(String address, @Nullable RpcConnectOptions options) {
    return Out.take(out -> Native.opd_rpc_connect(address, RpcConnectOptions.map(options), out));
  }

  /** Asks a tracker for a server with the options' key, waits until a server is free, and begins a session with it. */
  public static RpcSession request(String tracker, @Nullable RpcConnectOptions options) {
    return Out.take(out -> Native.opd_rpc_request(tracker, RpcConnectOptions.map(options), out));
  }

  /** Describes the servers and queues of a tracker as JSON: an object with {@code server_info} and {@code queue_info}. */
  public static String trackerSummary(String tracker, @Nullable RpcConnectOptions options) {
    return Out.take(out -> Native.opd_rpc_tracker_summary(tracker, RpcConnectOptions.map(options), out));
  }

  /**
   * Returns the local name of the server's device {@code there}. The device need not exist; see {@link Device#exists}.
   */
  public Device device(Device there) {
    Objects.requireNonNull(there, "there must not be null");
    return Out.take(out -> Native.opd_rpc_session_device(this, there, out));
  }

  /** The server's CPU. */
  public Device cpu() {
    return device(Device.CPU);
  }

  /** Returns a global function of the server. Throws {@link OpdynoException.NotFound} if there is none. */
  public PackedFn function(String name) {
    return Out.take(out -> Native.opd_rpc_session_get_function(this, name, out));
  }

  /** Writes a file of the session, such as a library or parameters. */
  public void upload(String name, byte[] content) {
    Objects.requireNonNull(content, "content must not be null");
    Native.opd_rpc_session_upload(this, name, content);
  }

  /** Returns the content of a file of the session. */
  public byte[] download(String name) {
    return Out.take(out -> Native.opd_rpc_session_download(this, name, out));
  }

  /** Loads a file of the session on the server. The program's kind is "rpc". */
  public Program loadProgram(String name) {
    return Out.take(out -> Native.opd_rpc_session_load_module(this, name, out));
  }

  /**
   * Describes the session as JSON: address, key, index, server, and absence, which is the reason why the session has
   * ended.
   */
  public String describe() {
    return Out.take(out -> Native.opd_rpc_session_describe(this, out));
  }

  /**
   * Ends the session for all its objects, including a request for which another thread waits. The handle stays open.
   */
  public void disconnect() {
    Native.opd_rpc_session_close(this);
  }

  @Override
  public String toString() {
    return describe();
  }
}
