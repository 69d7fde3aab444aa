package io.opdyno;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A packed function, which takes any values. Several threads may call it at once if its code allows that.
 *
 * <p>Arguments, items of lists and results of a {@link PackedFunction} are null, Boolean, Byte to Long, Float and Double, String,
 * byte[], long[] (a shape), {@link DType}, {@link Device}, {@link Pointer}, handles, Object[] and List (a {@link ValueList}),
 * java.util.Map (a {@link ValueMap}) and PackedFunction (a PackedFn). For other objects, and for a String with an unpaired
 * surrogate, IllegalArgumentException is thrown. Results are null, Boolean, Long, Double, String, byte[], long[], DType, Device,
 * Pointer and handles, which the caller has to close.
 */
public final class PackedFn extends Handle {
  PackedFn(long pointer) {
    super(pointer);
  }

  /** Calls with any values. An array that is null is one argument: null. */
  public @Nullable Object call(@Nullable Object... args) {
    return Calls.call(this, args);
  }

  /** Calls without values, and without an empty array. */
  public @Nullable Object call() {
    return Calls.call(this, Calls.NONE);
  }

  /** Calls with one value, without an array for it. */
  public @Nullable Object call(@Nullable Object value) {
    return Calls.call(this, value);
  }

  /** Makes a packed function from a function of Java. */
  public static PackedFn of(PackedFunction code) {
    Objects.requireNonNull(code, "code must not be null");
    return Out.take(out -> Native.opd_function_create(code, out));
  }

  /**
   * Makes a packed function from the address of a C function and its signature: {@code "f64(f64, i32)"}. The types are void,
   * bool, i8 to i64, u8 to u64, f32, f64, ptr, str, tensor, and structs as {@code {f64, f64}}; {@code ...} stands for further
   * arguments. A wrong address or signature breaks the process. Throws {@link OpdynoException.InvalidArgument}, with the place,
   * for a mistake in the text.
   *
   * @param name the name in messages; null: "function"
   * @param keepAlive an object that is kept as long as the function, such as a module or {@link Closure}; null: none is needed
   */
  public static PackedFn ofPointer(Pointer pointer, String signature, @Nullable String name, @Nullable Handle keepAlive) {
    long kept = Handle.begin(keepAlive);
    try {
      return Out.take(out -> Native.opd_function_create_native(pointer.address(), signature, name, kept, out));
    } finally {
      Handle.end(keepAlive, kept);
    }
  }

  /** Returns a registered function of the process. */
  public static PackedFn global(String name) {
    return Out.take(out -> Native.opd_function_get_global(name, out));
  }

  /** The names of all registered functions, sorted. */
  public static List<String> globals() {
    return ValueList.texts(Out.take(Native::opd_function_list_global));
  }

  /** Registers it for the whole process, and replaces a function of that name. */
  public void register(String name) {
    register(name, true);
  }

  /** Registers it. If it must not replace a function of that name, throws {@link OpdynoException.AlreadyExists}. */
  public void register(String name, boolean mayReplace) {
    Native.opd_function_register(name, this, mayReplace ? 1 : 0);
  }

  /** Removes a registered function; handles of it stay valid. */
  public static void remove(String name) {
    Native.opd_function_remove_global(name);
  }

  /**
   * Calls it several times to warm up, then once with collectors around it. Returns their metrics by name, always with "Duration
   * (us)". If a collector fails, this throws. The results of the calls are dropped.
   */
  public Map<String, Metric> profile(Device device, int warmup, List<Collector> collectors, @Nullable Object... args) {
    Collector[] all = collectors.toArray(Collector[]::new);
    try (PackedFn measured = Out.take(out -> Native.opd_function_profile(this, device, all, warmup, out));
        ValueMap metrics = (ValueMap) measured.call(args)) {
      return Metric.all(metrics);
    }
  }

  /** Calls it and returns a tensor. ClassCastException if the result is something else. */
  public Tensor callTensor(@Nullable Object... args) {
    return Calls.asTensor(call(args));
  }

  /** Calls it and returns a whole number or a truth value, 0 or 1. ClassCastException if the result is something else. */
  public long callLong() {
    return Calls.callLong(this, 0, 0, 0);
  }

  /** Calls it and returns a whole number or a truth value, 0 or 1. ClassCastException if the result is something else. */
  public long callLong(long a) {
    return Calls.callLong(this, 1, a, 0);
  }

  /** Calls it and returns a whole number or a truth value, 0 or 1. ClassCastException if the result is something else. */
  public long callLong(long a, long b) {
    return Calls.callLong(this, 2, a, b);
  }

  /** Calls it and returns a number or a truth value, 0 or 1. ClassCastException if the result is something else. */
  public double callDouble(double a) {
    return Calls.callDouble(this, 1, a, 0);
  }

  /** Calls it and returns a number or a truth value, 0 or 1. ClassCastException if the result is something else. */
  public double callDouble(double a, double b) {
    return Calls.callDouble(this, 2, a, b);
  }
}
