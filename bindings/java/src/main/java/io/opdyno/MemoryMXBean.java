package io.opdyno;

/** The memory that the process uses on a device, for JMX: {@link Gauges} registers it. Sizes are in bytes. */
public interface MemoryMXBean {
  /** As "cpu:0". */
  String getDevice();

  /** Held by tensors and programs. */
  long getLiveBytes();

  /** The most live bytes so far, or since {@link #resetPeak}. */
  long getPeakBytes();

  /** Taken from the system. */
  long getReservedBytes();

  /** Kept by VMs for their next call. */
  long getIdleBytes();

  /** The number of requests for memory. */
  long getAllocCount();

  /** How many of them a pool served. */
  long getPoolHitCount();

  /** Makes the memory that is in use now the peak. */
  void resetPeak();

  /** Returns pooled memory to the system. */
  void trim();
}
