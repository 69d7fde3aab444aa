package io.opdyno;

/**
 * A queue of work of one device, done in order. Each thread has a current stream for each device, at first the default one; kernels
 * and copies that it starts go there. The CPU has no other than that. All methods are safe on any thread.
 *
 * <pre>{@code
 * try (DeviceStream stream = new DeviceStream(device)) {
 *   stream.run(() -> vm.call("main", x));
 *   stream.sync();
 * }
 * }</pre>
 */
public final class DeviceStream implements AutoCloseable {
  private final Device device;
  private long address;

  /** Makes one; an {@link OpdynoException.Unsupported} if the device is absent or has no streams. */
  public DeviceStream(Device device) {
    this.device = device;
    address = Out.<Long>take(out -> Native.opd_stream_create(device, out));
  }

  /** Whose it is. */
  public Device device() {
    return device;
  }

  /** Waits until its work has ended. */
  public void sync() {
    Native.opd_stream_sync(device, address());
  }

  /** Does the work with this as the calling thread's current stream. */
  public void run(Runnable work) {
    long before = Out.<Long>take(out -> Native.opd_stream_set(device, address(), out));
    try {
      work.run();
    } finally {
      Out.<Long>take(out -> Native.opd_stream_set(device, before, out));
    }
  }

  /** Waits for its work and ends it. It may be no thread's current stream. Closing it again does nothing. */
  @Override
  public synchronized void close() {
    long ended = address;
    address = 0;
    if (ended != 0) {
      Native.opd_stream_free(device, ended);
    }
  }

  private synchronized long address() {
    if (address == 0) {
      throw new IllegalStateException("the stream of " + device + " is closed");
    }
    return address;
  }
}
