package io.opdyno;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.util.function.LongConsumer;

/**
 * An object of the library. close() ends it at once; what is not closed ends after it became unreachable. A call that
 * runs with a handle keeps it, also when another thread closes it.
 */
public class Handle implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create();

  private static final class Owned implements Runnable {
    private final long pointer;
    private final LongConsumer release;
    private final long bytes; // of memory outside of the heap
    private int uses = 1; // the handle's own, and one for each call
    private boolean closed;

    Owned(long pointer, LongConsumer release, long bytes) {
      this.pointer = pointer;
      this.release = release;
      this.bytes = bytes;
    }

    synchronized long begin() {
      if (closed) throw new IllegalStateException("the handle is closed");
      ++uses;
      return pointer;
    }

    void end() {
      synchronized (this) {
        if (--uses > 0) return;
      }
      release.accept(pointer);
      OffHeap.subtract(bytes);
    }

    @Override
    public void run() {
      synchronized (this) {
        closed = true;
      }
      end();
    }
  }

  private final Owned owned;
  private final Cleaner.Cleanable cleanable;

  Handle(long pointer, LongConsumer release) {
    long bytes = this instanceof Tensor ? Tensors.sizeOf(pointer) : 0;
    owned = new Owned(pointer, release, bytes);
    cleanable = CLEANER.register(this, owned);
    OffHeap.add(bytes);
  }

  /** The address, which end() lets go; 0 of null. */
  static long begin(Handle handle) {
    return handle == null ? 0 : handle.owned.begin();
  }

  /** Of what begin() gave; nothing where that is 0: null, or an argument that was not come to. */
  static void end(Handle handle, long begun) {
    if (begun != 0) end(handle);
  }

  static void end(Handle handle) {
    handle.owned.end();
    Reference.reachabilityFence(handle);
  }

  @Override
  public final void close() {
    cleanable.clean();
  }
}
