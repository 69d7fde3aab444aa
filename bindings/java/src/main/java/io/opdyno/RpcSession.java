package io.opdyno;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A session on another machine, where {@code opdyno serve} runs, or a server of TVM's. Its objects are used as if they were here: its
 * {@linkplain #device devices} wherever there is a device, tensors on them, programs, VMs, functions, evaluators. Errors are those of
 * the other side, with the address behind the message; a broken connection is an {@link OpdynoException.Io}. All that came from a
 * session keeps it open. Any thread may use it; one request is made at a time. An interrupt ends the wait for an answer; the next
 * request waits until the server has ended its work.
 */
public final class RpcSession extends Handle {
  RpcSession(long pointer) {
    super(pointer);
  }

  /** Begins a session with a server at "HOST:PORT" or "[::1]:PORT". */
  public static RpcSession connect(String address) {
    return connect(address, null);
  }

  /** Likewise; no options (null) are all defaults. */
  public static RpcSession connect(String address, @Nullable RpcConnectOptions options) {
    return Out.take(out -> Native.opd_rpc_connect(address, RpcConnectOptions.map(options), out));
  }

  /** Asks a tracker for a server of the options' key, waits until one is free, and begins a session with it. */
  public static RpcSession request(String tracker, @Nullable RpcConnectOptions options) {
    return Out.take(out -> Native.opd_rpc_request(tracker, RpcConnectOptions.map(options), out));
  }

  /** The servers and queues of a tracker as JSON: an object with {@code server_info} and {@code queue_info}. */
  public static String trackerSummary(String tracker, @Nullable RpcConnectOptions options) {
    return Out.take(out -> Native.opd_rpc_tracker_summary(tracker, RpcConnectOptions.map(options), out));
  }

  /** A device of the server, as this process calls it. It need not exist: see {@link Device#exists}. */
  public Device device(Device there) {
    Objects.requireNonNull(there, "there must not be null");
    return Out.take(out -> Native.opd_rpc_session_device(this, there, out));
  }

  /** The server's CPU. */
  public Device cpu() {
    return device(Device.CPU);
  }

  /** A global function of the server; an {@link OpdynoException.NotFound} if there is none. */
  public PackedFn function(String name) {
    return Out.take(out -> Native.opd_rpc_session_get_function(this, name, out));
  }

  /** Writes a file of the session: a library to load there, parameters. */
  public void upload(String name, byte[] content) {
    Objects.requireNonNull(content, "content must not be null");
    Native.opd_rpc_session_upload(this, name, content);
  }

  /** The content of a file of the session. */
  public byte[] download(String name) {
    return Out.take(out -> Native.opd_rpc_session_download(this, name, out));
  }

  /** Loads a file of the session there. The program's kind is "rpc". */
  public Program loadProgram(String name) {
    return Out.take(out -> Native.opd_rpc_session_load_module(this, name, out));
  }

  /** Address, key, index, server, and absence, the reason why the session has ended: as JSON. */
  public String describe() {
    return Out.take(out -> Native.opd_rpc_session_describe(this, out));
  }

  /** Ends the session for all that came from it, and a request that another thread waits for. The handle stays. */
  public void disconnect() {
    Native.opd_rpc_session_close(this);
  }

  @Override
  public String toString() {
    return describe();
  }
}
