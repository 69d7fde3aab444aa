package io.opdyno;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts the memory of tensors, including tensors in lists, maps and params. The garbage collector does not see this
 * memory, so a program that drops tensors without close() would fill the machine while its heap is nearly empty.
 * Therefore, if the memory exceeds a limit, the garbage collector is started to find dropped tensors.
 */
final class OffHeap {
  /**
   * The limit in bytes; the property "opdyno.offHeapLimit" sets it. If the memory in use exceeds the limit, the next limit is
   * twice that memory.
   */
  private static final long LIMIT = Math.max(1, Long.getLong("opdyno.offHeapLimit", 256L << 20));

  /** Amounts below this one are added only together, because even 16 of them are small compared with the limit. */
  static final long LARGE = Math.max(1, Math.min(1 << 20, LIMIT / 64));

  private static final int MOST_WAITS = 8;
  private static final AtomicLong total = new AtomicLong();
  private static volatile long limit = LIMIT;

  private OffHeap() {}

  /** Adds bytes to the memory in use; a negative number subtracts freed memory. */
  static void add(long bytes) {
    if (bytes == 0) return;
    long now = total.addAndGet(bytes), most = limit;
    if (now > most && bytes > 0) collect();
    else if (now < most / 4 && most > LIMIT) limit = Math.max(LIMIT, most / 2); // much memory was freed
  }

  /** Waits a few milliseconds for the cleaner to end dropped objects. */
  private static synchronized void collect() {
    if (total.get() <= limit) return; // another thread has collected
    System.gc();
    boolean interrupted = false;
    for (int i = 0; i < MOST_WAITS && total.get() > LIMIT / 2; ++i) {
      try {
        Thread.sleep(1L << i);
      } catch (InterruptedException e) {
        interrupted = true;
        break;
      }
    }
    limit = Math.max(LIMIT, 2 * total.get());
    if (interrupted) Thread.currentThread().interrupt();
  }
}
