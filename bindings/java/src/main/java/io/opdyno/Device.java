package io.opdyno;

import org.jspecify.annotations.Nullable;

/**
 * A device, which owns memory and runs kernels, in the encoding of DLPack. It need not exist; see {@link #exists}. The
 * use of an absent device throws {@link OpdynoException.Unsupported}, which lists the present devices. All methods are
 * safe on any thread.
 *
 * @param type the kind: 1 is the CPU, 2 is CUDA
 * @param id the index among the devices of this kind
 */
public record Device(int type, int id) {
  /** The first CPU, "cpu:0". */
  public static final Device CPU = new Device(1, 0);

  /** Parses text such as "cpu", "cuda:1" or "2:0". Throws {@link OpdynoException.InvalidArgument} for other text. */
  public static Device of(String text) {
    return Out.take(out -> Native.opd_device_from_string(text, out));
  }

  /** Whether the device is present and usable. */
  public boolean exists() {
    return attribute(DeviceAttribute.EXIST) instanceof Boolean there && there;
  }

  /**
   * A property as a Long, String or Boolean, or a long[] for sizes along axes; null if the device does not report it.
   */
  public @Nullable Object attribute(DeviceAttribute attr) {
    return Out.<Object>take(out -> Native.opd_device_get_attr(this, attr, out));
  }

  /** Waits until all work of the device has ended. */
  public void sync() {
    Native.opd_device_sync(this);
  }

  /** The device memory that the process uses. */
  public MemoryStats memoryStats() {
    return Out.take(out -> Native.opd_memory_get_stats(this, out));
  }

  /** Sets {@link MemoryStats#peakBytes} to the present {@link MemoryStats#liveBytes}. */
  public void resetPeak() {
    Native.opd_memory_reset_peak(this);
  }

  /**
   * Returns pooled memory to the system. On the CPU, also frees the copies of unloaded libraries that are kept for
   * their next load.
   */
  public void trim() {
    Native.opd_memory_trim(this);
  }

  long word() {
    return type & 0xFFFFFFFFL | (long) id << 32;
  }

  static Device of(long word) {
    return new Device((int) word, (int) (word >> 32));
  }

  /** Text such as "cpu:0". */
  @Override
  public String toString() {
    return Out.take(out -> Native.opd_device_to_string(this, out));
  }
}
