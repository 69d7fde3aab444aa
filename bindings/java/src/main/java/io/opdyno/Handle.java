package io.opdyno;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;

/**
 * A reference to an object of the library. close() releases the object immediately. If the handle is not closed, the
 * object is released after the handle becomes unreachable. A running call keeps its handles, even if another thread
 * closes them.
 */
public class Handle implements AutoCloseable {
  static {
    Library.load();
  }

  /** Open handles, grouped by the thread that made them, so that threads seldom wait for each other. */
  private static final class Open {
    private static final Open[] ALL = new Open[16];

    static {
      for (int i = 0; i < ALL.length; ++i) ALL[i] = new Open();
    }

    private Owned first;
    private long uncounted; // bytes outside of the heap that OffHeap does not know yet

    static Open ofThread() {
      return ALL[(int) Thread.currentThread().getId() & ALL.length - 1];
    }

    static boolean isAny() {
      for (Open open : ALL) if (!open.isEmpty()) return true;
      return false;
    }

    private synchronized boolean isEmpty() {
      return first == null;
    }

    void add(Owned added) {
      long bytes;
      synchronized (this) {
        added.next = first;
        if (first != null) first.previous = added;
        first = added;
        bytes = large(added.bytes);
      }
      OffHeap.add(bytes);
    }

    void remove(Owned removed) {
      long bytes;
      synchronized (this) {
        if (removed.previous == null) first = removed.next;
        else removed.previous.next = removed.next;
        if (removed.next != null) removed.next.previous = removed.previous;
        removed.previous = removed.next = null;
        bytes = large(-removed.bytes);
      }
      OffHeap.add(bytes);
    }

    void count(Owned owned, long bytes) {
      long more;
      synchronized (this) {
        if (owned.state < 0) return; // remove() subtracts its bytes
        owned.bytes += bytes;
        more = large(bytes);
      }
      OffHeap.add(more);
    }

    private long large(long bytes) {
      uncounted += bytes;
      if (Math.abs(uncounted) < OffHeap.LARGE) return 0;
      long all = uncounted;
      uncounted = 0;
      return all;
    }
  }

  /**
   * The library's object of a handle. The JVM queues this reference after the handle was dropped. It works like a
   * Cleaner, but close() needs no call of the JVM's native code. If the handle is no longer in the list of open
   * handles, queuing has no effect.
   */
  private static final class Owned extends PhantomReference<Object> {
    private static final int CLOSED = 1 << 31;
    private static final long MOST_BYTES = 1L << 40; // the sum must not overflow, and a view may have any size
    private static final long IDLE_MILLIS = 1000;
    private static final ReferenceQueue<Object> DROPPED = new ReferenceQueue<>();
    private static final IdleThread ENDS = new IdleThread("opdyno-dropped", Owned::endDropped, Open::isAny);
    private static final VarHandle STATE;

    static {
      try {
        STATE = MethodHandles.lookup().findVarHandle(Owned.class, "state", int.class);
      } catch (ReflectiveOperationException e) {
        throw new ExceptionInInitializerError(e);
      }
    }

    private final long pointer;
    private long bytes; // memory outside of the heap; guarded by `open`
    private final Open open = Open.ofThread();
    private Owned previous, next; // the list in `open`, which guards them
    // CLOSED, or the number of uses: one until the handle is closed, and one for each call. Only STATE changes it. It
    // is not volatile, because that would cost a fence at construction, which is not needed: the handle's field is
    // final.
    private int state = 1;

    Owned(Object holder, long pointer, long bytes) {
      super(holder, DROPPED);
      this.pointer = pointer;
      this.bytes = Math.min(bytes, MOST_BYTES);
      open.add(this);
      ENDS.start();
    }

    /** Begins a use and returns the address. If the handle is closed, the message of the exception names its class. */
    long begin(Handle handle) {
      for (int now; (now = (int) STATE.getVolatile(this)) >= 0; ) {
        if (STATE.compareAndSet(this, now, now + 1)) return pointer;
      }
      throw new IllegalStateException("the " + handle.getClass().getSimpleName() + " is closed");
    }

    void end() {
      if (((int) STATE.getAndAdd(this, -1) & ~CLOSED) > 1) return;
      releaseObject(pointer);
    }

    void close() {
      boolean isUnused = STATE.compareAndSet(this, 1, CLOSED);
      if (!isUnused && (int) STATE.getAndBitwiseOr(this, CLOSED) < 0) return;
      open.remove(this);
      if (isUnused) releaseObject(pointer);
      else end();
    }

    private static boolean endDropped() throws InterruptedException {
      Owned dropped = (Owned) DROPPED.remove(IDLE_MILLIS);
      if (dropped != null) dropped.close();
      return dropped != null;
    }
  }

  private final Owned owned;

  Handle(long pointer) {
    this(pointer, 0);
  }

  /** Makes a handle of an object that holds memory outside of the heap. */
  Handle(long pointer, long bytes) {
    owned = new Owned(this, pointer, bytes);
  }

  /** Releases an object of the library after its holder, a view of the object's memory, became unreachable. */
  static void endWith(Object holder, long pointer, long bytes) {
    new Owned(holder, pointer, bytes);
  }

  /** Begins a use, which end() ends. Returns the address; 0 for null. */
  static long begin(Handle handle) {
    return handle == null ? 0 : handle.owned.begin(handle);
  }

  /**
   * Ends a use. `begun` is the result of begin(). 0 means null or an argument whose use did not begin; then this does
   * nothing.
   */
  static void end(Handle handle, long begun) {
    if (begun != 0) end(handle);
  }

  static void end(Handle handle) {
    handle.owned.end();
    Reference.reachabilityFence(handle);
  }

  /** Counts a change of the memory outside of the heap that a handle holds. */
  static void count(Handle handle, long bytes) {
    handle.owned.open.count(handle.owned, Math.min(bytes, Owned.MOST_BYTES));
    Reference.reachabilityFence(handle);
  }

  /** Whether both handles refer to the same object of the library. */
  public final boolean isSame(Handle other) {
    long own = begin(this), others = 0;
    try {
      others = begin(other);
      return own == others;
    } finally {
      end(other, others);
      end(this);
    }
  }

  @Override
  public final void close() {
    owned.close();
    Reference.reachabilityFence(this);
  }

  private static native void releaseObject(long pointer);
}
