package io.opdyno;

/** A function of any values. */
public final class PackedFn extends Handle {
  PackedFn(long pointer) {
    super(pointer);
  }

  /** Calls with any values: see PackedFunction for what they become. */
  public Object call(Object... args) {
    return Calls.call(this, args);
  }

  /** Calls with one value, without an array for it. */
  public Object call(Object value) {
    return Calls.call(this, value);
  }

  /** A function of Java. */
  public static PackedFn of(PackedFunction code) {
    return Out.take(out -> Native.opd_function_create(code, out));
  }

  /** A registered function of the process. */
  public static PackedFn global(String name) {
    return Out.take(out -> Native.opd_function_get_global(name, out));
  }

  /** Registers it for the whole process, in the place of one of that name. */
  public void register(String name) {
    Native.opd_function_register(name, this, 1);
  }

  /** Removes a registered function; who has it keeps it. */
  public static void remove(String name) {
    Native.opd_function_remove_global(name);
  }

  /** Calls for a tensor; a ClassCastException if it gives something else. */
  public Tensor callTensor(Object... args) {
    return Calls.asTensor(call(args));
  }

  /** Calls for a whole number; a ClassCastException if it gives something else. */
  public long callLong() {
    return Calls.callLong(this, 0, 0, 0);
  }

  /** Calls for a whole number; a ClassCastException if it gives something else. */
  public long callLong(long a) {
    return Calls.callLong(this, 1, a, 0);
  }

  /** Calls for a whole number; a ClassCastException if it gives something else. */
  public long callLong(long a, long b) {
    return Calls.callLong(this, 2, a, b);
  }

  /** Calls for a number; a ClassCastException if it gives something else. */
  public double callDouble(double a) {
    return Calls.callDouble(this, 1, a, 0);
  }

  /** Calls for a number; a ClassCastException if it gives something else. */
  public double callDouble(double a, double b) {
    return Calls.callDouble(this, 2, a, b);
  }
}
