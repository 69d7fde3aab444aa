package io.opdyno;

import java.util.Objects;
import java.util.function.DoubleBinaryOperator;
import java.util.function.DoubleUnaryOperator;
import java.util.function.LongBinaryOperator;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A function of Java that the library may call, on any thread. Arguments are null, Boolean, Long, Double, String, byte[], long[]
 * (a shape), DType, Device, Pointer and handles; the result may also be a shorter number, a List, Map or lambda. The callee has
 * to close handles among the arguments. A tensor whose memory the caller only lends ends with the call: later use throws
 * IllegalStateException, and as a result it is copied. A handle that is the result need not be closed: the caller gets another
 * handle, and the callee's ends after it becomes unreachable. {@link PackedFn} lists all values.
 */
@FunctionalInterface
public interface PackedFunction {
  /** The code of the function. A Java caller gets its exceptions unchanged. */
  @Nullable Object call(@Nullable Object... args) throws Throwable;

  /** A function of one whole number; its calls make no objects. IllegalArgumentException for other arguments. */
  static PackedFunction ofLong(LongUnaryOperator function) {
    return NumberFunction.ofLong(Objects.requireNonNull(function, "function must not be null"));
  }

  /** A function of two whole numbers, like ofLong(). */
  static PackedFunction ofLongs(LongBinaryOperator function) {
    return NumberFunction.ofLongs(Objects.requireNonNull(function, "function must not be null"));
  }

  /** A function of one number, like ofLong(). Whole numbers are accepted, too. */
  static PackedFunction ofDouble(DoubleUnaryOperator function) {
    return NumberFunction.ofDouble(Objects.requireNonNull(function, "function must not be null"));
  }

  /** A function of two numbers, like ofDouble(). */
  static PackedFunction ofDoubles(DoubleBinaryOperator function) {
    return NumberFunction.ofDoubles(Objects.requireNonNull(function, "function must not be null"));
  }
}
