package io.opdyno;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Calls of functions with values in {@link Area}. If an argument must first become an object, or if there is no room,
 * {@link Values} is used instead.
 */
final class Calls {
  static {
    Library.load();
  }

  static final Object[] NONE = {};

  private Calls() {}

  static Object call(PackedFn function, Object... given) {
    if (given == null) return call(function, (Object) null);
    int count = given.length;
    // If the function or another thread changes the caller's array, end() must still release the same handles.
    Object[] args = count == 0 ? NONE : given.clone();
    Area area = Area.get();
    int frame = area.open(count);
    if (frame < 0) return slow(function, args);
    int begun = 0;
    try {
      for (; begun < count; ++begun) {
        if (!put(area.calls(), frame + Area.VALUE * (begun + 1), args[begun])) return slow(function, args);
      }
      run(function, area, frame, count);
      return take(area.calls(), frame);
    } finally {
      while (begun > 0) end(args[--begun]);
      area.close(frame);
    }
  }

  static Object call(PackedFn function, Object a) {
    Area area = Area.get();
    int frame = area.open(1);
    if (frame < 0) return slow(function, a);
    boolean isPut = false;
    try {
      isPut = put(area.calls(), frame + Area.VALUE, a);
      if (!isPut) return slow(function, a);
      run(function, area, frame, 1);
      return take(area.calls(), frame);
    } finally {
      if (isPut) end(a);
      area.close(frame);
    }
  }

  /**
   * Returns the arguments of a call. For {@code f(null)}, Java passes null instead of an array, which means one null
   * argument.
   */
  static Object[] args(Object[] given) {
    return given == null ? new Object[] {null} : given;
  }

  /** Calls a function with up to two whole numbers. */
  static long callLong(PackedFn function, int count, long a, long b) {
    Area area = Area.get();
    int frame = area.open(count);
    if (frame < 0) return asLong(slow(function, Arrays.copyOf(new Object[] {a, b}, count)));
    try {
      callNumbers(function, area, frame, Values.INT, count, a, b);
      return takeLong(area.calls(), frame);
    } finally {
      area.close(frame);
    }
  }

  /** Calls a function with up to two numbers. */
  static double callDouble(PackedFn function, int count, double a, double b) {
    Area area = Area.get();
    int frame = area.open(count);
    if (frame < 0) return asDouble(slow(function, Arrays.copyOf(new Object[] {a, b}, count)));
    try {
      callNumbers(function, area, frame, Values.FLOAT, count, Double.doubleToRawLongBits(a), Double.doubleToRawLongBits(b));
      return takeDouble(area.calls(), frame);
    } finally {
      area.close(frame);
    }
  }

  private static void callNumbers(PackedFn function, Area area, int frame, int kind, int count, long a, long b) {
    if (count > 0) Values.put(area.calls(), frame + Area.VALUE, kind, a);
    if (count > 1) Values.put(area.calls(), frame + 2 * Area.VALUE, kind, b);
    run(function, area, frame, count);
  }

  private static void run(PackedFn function, Area area, int frame, int count) {
    Interrupts.Running running = area.running().begin();
    try {
      long pointer = Handle.begin(function);
      try {
        call(pointer, area.addressOf(frame), count);
      } finally {
        Handle.end(function);
      }
    } finally {
      running.end();
    }
  }

  private static Object slow(PackedFn function, Object... args) {
    Interrupts.Running running = Interrupts.begin();
    try {
      return Out.<Object>take(out -> Native.opd_function_call(function, args, out));
    } finally {
      running.end();
    }
  }

  /**
   * Writes an argument. Returns false if the value must first become an object. Begins a use of a handle, which end()
   * ends.
   */
  private static boolean put(ByteBuffer memory, int at, Object value) {
    if (!(value instanceof Handle handle)) return Values.putPlain(memory, at, value);
    long pointer = Handle.begin(handle);
    Values.put(memory, at, Values.kindOf(handle, pointer), pointer);
    return true;
  }

  private static void end(Object value) {
    if (value instanceof Handle handle) Handle.end(handle);
  }

  /** Returns the result. If it is a tensor, native code has written the tensor's size behind it. */
  private static Object take(ByteBuffer memory, int at) {
    int kind = (int) memory.getLong(at);
    if (kind == Values.TENSOR) return new Tensor(memory.getLong(at + 8), memory.getLong(at + Area.VALUE));
    return Values.take(memory, at);
  }

  private static long takeLong(ByteBuffer memory, int at) {
    int kind = (int) memory.getLong(at);
    if (kind == Values.INT || kind == Values.BOOL) return memory.getLong(at + 8);
    return asLong(take(memory, at));
  }

  private static double takeDouble(ByteBuffer memory, int at) {
    if ((int) memory.getLong(at) == Values.FLOAT) return Double.longBitsToDouble(memory.getLong(at + 8));
    return asDouble(take(memory, at));
  }

  private static long asLong(Object result) {
    if (result instanceof Long number) return number;
    if (result instanceof Boolean truth) return truth ? 1 : 0;
    throw wrong(result, "a whole number");
  }

  private static double asDouble(Object result) {
    if (result instanceof Boolean truth) return truth ? 1 : 0;
    if (result instanceof Long || result instanceof Double) return ((Number) result).doubleValue();
    throw wrong(result, "a number");
  }

  static Tensor asTensor(Object result) {
    if (result instanceof Tensor tensor) return tensor;
    throw wrong(result, "a tensor");
  }

  private static ClassCastException wrong(Object result, String expected) {
    String given = result == null ? "nothing" : "a " + result.getClass().getSimpleName();
    if (result instanceof Handle handle) handle.close();
    return new ClassCastException("the function returned " + given + ", where " + expected + " is expected");
  }

  /** Calls a function with the arguments in a frame, and replaces the frame's first value by the result. */
  private static native void call(long function, long frame, int count);
}
