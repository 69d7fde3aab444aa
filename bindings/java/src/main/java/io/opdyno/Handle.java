package io.opdyno;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;

/**
 * An object of the library. close() ends it immediately; an object that is not closed ends after it becomes unreachable. A
 * running call keeps its handles, even if another thread closes them.
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
    private long uncounted; // bytes outside of the heap: OffHeap counts only large amounts

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
        if (owned.state < 0) return; // remove() took its bytes off, or will
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
   * The library's object, and a reference that is queued when its handle was dropped. It works like a Cleaner, but closing needs
   * no call of the JVM's native code. If a handle is no longer in the list of open handles, queuing it has no effect.
   */
  private static final class Owned extends PhantomReference<Object> {
    private static final int CLOSED = 1 << 31;
    private static final long MOST_BYTES = 1L << 40; // the size of a view may be anything; the sum must not overflow
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
    private long bytes; // of memory outside of the heap; `open` guards it
    private final Open open = Open.ofThread();
    private Owned previous, next; // in `open`, which guards them
    // CLOSED, or the number of uses: one until it is closed, and one for each call. Only STATE changes it. A volatile field would
    // cost a fence at its construction, which is not needed because the handle's field is final.
    private int state = 1;

    Owned(Object holder, long pointer, long bytes) {
      super(holder, DROPPED);
      this.pointer = pointer;
      this.bytes = Math.min(bytes, MOST_BYTES);
      open.add(this);
      ENDS.start();
    }

    /** The handle, whose class the message names. */
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

  /** Bytes of memory outside of the heap. */
  Handle(long pointer, long bytes) {
    owned = new Owned(this, pointer, bytes);
  }

  /** Ends an object of the library after its holder, a view of memory, became unreachable. */
  static void endWith(Object holder, long pointer, long bytes) {
    new Owned(holder, pointer, bytes);
  }

  /** Begins a use, which end() ends, and returns the address; 0 for null. */
  static long begin(Handle handle) {
    return handle == null ? 0 : handle.owned.begin(handle);
  }

  /** Ends a use. `address` is the result of begin(); 0 does nothing: it means null, or an argument that was not reached. */
  static void end(Handle handle, long begun) {
    if (begun != 0) end(handle);
  }

  static void end(Handle handle) {
    handle.owned.end();
    Reference.reachabilityFence(handle);
  }

  /** Notes that it holds more or less memory outside of the heap than before. */
  static void count(Handle handle, long bytes) {
    handle.owned.open.count(handle.owned, Math.min(bytes, Owned.MOST_BYTES));
    Reference.reachabilityFence(handle);
  }

  /** Whether both are handles of one object of the library. */
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
