package io.opdyno;

/**
 * The JMX interface of the memory that the process uses on a device. {@link Gauges} registers it. Sizes are in bytes.
 */
public interface MemoryMXBean {
  /** The name of the device, such as "cpu:0". */
  String getDevice();

  /** Bytes held by tensors and programs. */
  long getLiveBytes();

  /** The greatest number of live bytes so far, or since {@link #resetPeak}. */
  long getPeakBytes();

  /** Bytes taken from the system. */
  long getReservedBytes();

  /** Bytes that VMs keep for their next call. */
  long getIdleBytes();

  /** The number of requests for memory. */
  long getAllocCount();

  /** The number of requests that a pool served. */
  long getPoolHitCount();

  /** Sets the peak to the memory that is in use now. */
  void resetPeak();

  /** Returns pooled memory to the system. */
  void trim();
}
