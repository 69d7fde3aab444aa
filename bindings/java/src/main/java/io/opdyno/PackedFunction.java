package io.opdyno;

import java.util.Objects;
import java.util.function.DoubleBinaryOperator;
import java.util.function.DoubleUnaryOperator;
import java.util.function.LongBinaryOperator;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A Java function that the library may call on any thread. Arguments are null, Boolean, Long, Double, String, byte[],
 * long[] (a shape), DType, Device, Pointer and handles. The result may also be a shorter number, a List, Map or lambda.
 * {@link PackedFn} lists all values.
 *
 * <p>The callee has to close handles among the arguments. A tensor whose memory the caller only lends is valid until
 * the call ends: later use throws IllegalStateException. If such a tensor is the result, it is copied. The callee need
 * not close a handle that is the result: the caller gets another handle, and the callee's handle is released after it
 * becomes unreachable.
 */
@FunctionalInterface
public interface PackedFunction {
  /** Runs the function. A Java caller gets its exceptions unchanged. */
  @Nullable Object call(@Nullable Object... args) throws Throwable;

  /**
   * Makes a function of one whole number, whose calls make no objects. Other arguments are an IllegalArgumentException.
   */
  static PackedFunction ofLong(LongUnaryOperator function) {
    return NumberFunction.ofLong(Objects.requireNonNull(function, "function must not be null"));
  }

  /** Makes a function of two whole numbers, like ofLong(). */
  static PackedFunction ofLongs(LongBinaryOperator function) {
    return NumberFunction.ofLongs(Objects.requireNonNull(function, "function must not be null"));
  }

  /** Makes a function of one number, like ofLong(). Whole numbers are accepted, too. */
  static PackedFunction ofDouble(DoubleUnaryOperator function) {
    return NumberFunction.ofDouble(Objects.requireNonNull(function, "function must not be null"));
  }

  /** Makes a function of two numbers, like ofDouble(). */
  static PackedFunction ofDoubles(DoubleBinaryOperator function) {
    return NumberFunction.ofDoubles(Objects.requireNonNull(function, "function must not be null"));
  }
}
