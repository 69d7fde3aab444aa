package io.opdyno;

import java.util.Objects;
import java.util.function.DoubleBinaryOperator;
import java.util.function.DoubleUnaryOperator;
import java.util.function.LongBinaryOperator;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A function of Java that the library may call, on any thread. Arguments are null, Boolean, Long, Double, String, byte[], long[]
 * (a shape), DType, Device, Pointer and handles; the result may also be a shorter number, a List, Map or lambda. Handles among the arguments are the callee's to close. A
 * tensor of memory that the caller only lends ends with the call: it is an IllegalStateException to use it later, and as a
 * result it is copied. A handle that is the result need not be closed: the caller gets one of its own, and the callee's ends after
 * it became unreachable. {@link PackedFn} lists all values.
 */
@FunctionalInterface
public interface PackedFunction {
  /** The code; its exceptions come out at the caller in Java as themselves. */
  @Nullable Object call(@Nullable Object... args) throws Throwable;

  /** A function of one whole number; its calls make no objects. Other arguments are an IllegalArgumentException. */
  static PackedFunction ofLong(LongUnaryOperator function) {
    return NumberFunction.ofLong(Objects.requireNonNull(function, "function must not be null"));
  }

  /** A function of two whole numbers, as ofLong(). */
  static PackedFunction ofLongs(LongBinaryOperator function) {
    return NumberFunction.ofLongs(Objects.requireNonNull(function, "function must not be null"));
  }

  /** A function of one number, as ofLong(). Whole numbers are taken, too. */
  static PackedFunction ofDouble(DoubleUnaryOperator function) {
    return NumberFunction.ofDouble(Objects.requireNonNull(function, "function must not be null"));
  }

  /** A function of two numbers, as ofDouble(). */
  static PackedFunction ofDoubles(DoubleBinaryOperator function) {
    return NumberFunction.ofDoubles(Objects.requireNonNull(function, "function must not be null"));
  }
}
