package io.opdyno;

import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * Memory outside of the heap by which a thread and native code exchange values. A value has 16 bytes, in the layout of
 * an opd_value on a little-endian machine. So calls need neither arrays nor boxed objects.
 *
 * <p>A frame has the result, then the arguments. Frames of nested calls follow each other. The memory for calls belongs
 * to the Java thread, because a virtual thread may continue on another native thread between calls. The memory for
 * callbacks belongs to the native thread. Native code passes the address of this memory. If the address changes, a new
 * view is made.
 */
final class Area {
  static {
    Library.load();
  }

  static final int VALUE = 16;
  private static final int BYTES = 128 * VALUE;
  // The class keeps the areas. If threads of a pool referred to them, the threads would keep the class loader alive.
  private static final Map<Thread, Area> ALL = Collections.synchronizedMap(new WeakHashMap<>());
  private static final ThreadLocal<WeakReference<Area>> OF_THREAD = ThreadLocal.withInitial(Area::make);

  private final ByteBuffer calls = ByteBuffer.allocateDirect(BYTES).order(ByteOrder.nativeOrder());
  private final long address = addressOf(calls);
  private final Interrupts.Running running = new Interrupts.Running();
  private ArrayDeque<Object> observed; // open CallEvents, a class that not all JVMs have
  private int top;
  private ByteBuffer callbacks;
  private long callbacksAddress;

  private Area() {}

  static Area get() {
    return OF_THREAD.get().get();
  }

  private static WeakReference<Area> make() {
    Area made = new Area();
    ALL.put(Thread.currentThread(), made);
    return new WeakReference<>(made);
  }

  /** Opens a frame, which close() ends. Returns its offset; -1 if there is no room. */
  int open(int count) {
    int frame = top;
    int end = frame + VALUE * Math.max(2, count + 1);
    if (end > BYTES) return -1;
    top = end;
    return frame;
  }

  void close(int frame) {
    top = frame;
  }

  Interrupts.Running running() {
    return running;
  }

  ArrayDeque<Object> observed() {
    if (observed == null) observed = new ArrayDeque<>();
    return observed;
  }

  ByteBuffer calls() {
    return calls;
  }

  long addressOf(int frame) {
    return address + frame;
  }

  ByteBuffer callbacks(long at) {
    if (at != callbacksAddress) {
      callbacks = callbacksOfThread();
      callbacksAddress = at;
    }
    return callbacks;
  }

  private static native long addressOf(ByteBuffer memory);

  private static native ByteBuffer callbacksOfThread();
}
