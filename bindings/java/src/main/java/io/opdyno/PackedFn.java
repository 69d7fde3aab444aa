package io.opdyno;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A packed function, which takes any values. Several threads may call it at once if its code allows that.
 *
 * <p>Arguments, items of lists and results of a {@link PackedFunction} are null, Boolean, Byte to Long, Float and
 * Double, String, byte[], long[] (a shape), {@link DType}, {@link Device}, {@link Pointer}, handles, Object[] and List
 * (a {@link ValueList}), java.util.Map (a {@link ValueMap}) and PackedFunction (a PackedFn). Other objects, and a
 * String with an unpaired surrogate, are an IllegalArgumentException. Results are null, Boolean, Long, Double, String,
 * byte[], long[], DType, Device, Pointer and handles, which the caller has to close.
 */
public final class PackedFn extends Handle {
  PackedFn(long pointer) {
    super(pointer);
  }

  /** Calls the function with any values. A null array means one argument, null. */
  public @Nullable Object call(@Nullable Object... args) {
    return Calls.call(this, args);
  }

  /** Calls the function without arguments. No array is made. */
  public @Nullable Object call() {
    return Calls.call(this, Calls.NONE);
  }

  /** Calls the function with one argument. No array is made. */
  public @Nullable Object call(@Nullable Object value) {
    return Calls.call(this, value);
  }

  /** Makes a packed function from a Java function. */
  public static PackedFn of(PackedFunction code) {
    Objects.requireNonNull(code, "code must not be null");
    return Out.take(out -> Native.opd_function_create(code, out));
  }

  /**
   * Makes a packed function from the address of a C function and its signature: {@code "f64(f64, i32)"}. The types are
   * void, bool, i8 to i64, u8 to u64, f32, f64, ptr, str, tensor, and structs as {@code {f64, f64}}; {@code ...} stands
   * for further arguments. A wrong address or signature breaks the process. Throws {@link
   * OpdynoException.InvalidArgument} for a mistake in the text; the message has its place.
   *
   * @param name the name in messages; null: "function"
   * @param keepAlive an object that the function keeps alive, such as a module or {@link Closure}; null: no object
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

  /** Registers the function for the whole process. If the name is taken, replaces the registered function. */
  public void register(String name) {
    register(name, true);
  }

  /**
   * Registers the function. If the name is taken and {@code mayReplace} is false, throws {@link
   * OpdynoException.AlreadyExists}.
   */
  public void register(String name, boolean mayReplace) {
    Native.opd_function_register(name, this, mayReplace ? 1 : 0);
  }

  /** Removes a registered function. Handles of the function stay valid. */
  public static void remove(String name) {
    Native.opd_function_remove_global(name);
  }

  /**
   * Calls the function {@code warmup} times, then once with the collectors around the call. Returns the metrics by
   * name, always including "Duration (us)". Throws if a collector fails. The results of the calls are dropped.
   */
  public Map<String, Metric> profile(Device device, int warmup, List<Collector> collectors, @Nullable Object... args) {
    Collector[] all = collectors.toArray(Collector[]::new);
    try (PackedFn measured = Out.take(out -> Native.opd_function_profile(this, device, all, warmup, out));
        ValueMap metrics = (ValueMap) measured.call(args)) {
      return Metric.all(metrics);
    }
  }

  /** Calls the function and returns a tensor. ClassCastException if the result has another type. */
  public Tensor callTensor(@Nullable Object... args) {
    return Calls.asTensor(call(args));
  }

  /**
   * Calls the function and returns a whole number; a truth value is 0 or 1. ClassCastException if the result has
   * another type.
   */
  public long callLong() {
    return Calls.callLong(this, 0, 0, 0);
  }

  /**
   * Calls the function and returns a whole number; a truth value is 0 or 1. ClassCastException if the result has
   * another type.
   */
  public long callLong(long a) {
    return Calls.callLong(this, 1, a, 0);
  }

  /**
   * Calls the function and returns a whole number; a truth value is 0 or 1. ClassCastException if the result has
   * another type.
   */
  public long callLong(long a, long b) {
    return Calls.callLong(this, 2, a, b);
  }

  /**
   * Calls the function and returns a number; a truth value is 0 or 1. ClassCastException if the result has another
   * type.
   */
  public double callDouble(double a) {
    return Calls.callDouble(this, 1, a, 0);
  }

  /**
   * Calls the function and returns a number; a truth value is 0 or 1. ClassCastException if the result has another
   * type.
   */
  public double callDouble(double a, double b) {
    return Calls.callDouble(this, 2, a, b);
  }
}
