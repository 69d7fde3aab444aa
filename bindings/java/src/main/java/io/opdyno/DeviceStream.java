package io.opdyno;

/**
 * A queue of one device's work, which is done in order. Each thread has a current stream for each device, at first the
 * device's default stream. Kernels and copies that the thread starts go to its current stream. The CPU has only the
 * default stream. All methods are safe on any thread.
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
  private final long address;
  private int uses = 1; // one until the stream is closed, and one for each call
  private boolean isClosed;

  /** Makes a stream. Throws {@link OpdynoException.Unsupported} if the device is absent or has no streams. */
  public DeviceStream(Device device) {
    this.device = device;
    address = Out.<Long>take(out -> Native.opd_stream_create(device, out));
  }

  /** The device of the stream. */
  public Device device() {
    return device;
  }

  /** Waits until the stream's work has ended. */
  public void sync() {
    begin();
    try {
      Native.opd_stream_sync(device, address);
    } finally {
      end();
    }
  }

  /** Runs the work while this stream is the calling thread's current stream. */
  public void run(Runnable work) {
    begin();
    try {
      long before = Out.<Long>take(out -> Native.opd_stream_set(device, address, out));
      try {
        work.run();
      } finally {
        Out.<Long>take(out -> Native.opd_stream_set(device, before, out));
      }
    } finally {
      end();
    }
  }

  /**
   * Waits until no call uses the stream and its work has ended, then frees the stream. Closing it again does nothing.
   */
  @Override
  public void close() {
    synchronized (this) {
      if (isClosed) return;
      isClosed = true;
    }
    end();
  }

  private synchronized void begin() {
    if (isClosed) throw new IllegalStateException("the stream of " + device + " is closed");
    ++uses;
  }

  private void end() {
    synchronized (this) {
      if (--uses > 0) return;
    }
    Native.opd_stream_free(device, address);
  }
}
