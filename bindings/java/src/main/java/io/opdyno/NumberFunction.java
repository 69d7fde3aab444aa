package io.opdyno;

import java.nio.ByteBuffer;
import java.util.function.DoubleBinaryOperator;
import java.util.function.DoubleUnaryOperator;
import java.util.function.LongBinaryOperator;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/** A function of numbers that is called without boxed objects. */
abstract class NumberFunction extends DirectFunction {
  private final int kind;
  private final int count;

  private NumberFunction(int kind, int count) {
    this.kind = kind;
    this.count = count;
  }

  /** Returns the bits of the result. If there is only one argument, the bits of the second are 0. */
  abstract long bits(long a, long b);

  @Override
  final void call(ByteBuffer memory, int at, int given) {
    check(given);
    long a = argument(memory, at, 0), b = count == 2 ? argument(memory, at, 1) : 0;
    Values.put(memory, at, kind, bits(a, b));
  }

  @Override
  public final @Nullable Object call(@Nullable Object... args) {
    check(args.length);
    long result = bits(argument(args[0], 0), count == 2 ? argument(args[1], 1) : 0);
    if (kind == Values.INT) return result;
    return Double.longBitsToDouble(result);
  }

  private void check(int given) {
    if (given != count) throw new IllegalArgumentException("the function takes " + count + " arguments, not " + given);
  }

  private long argument(ByteBuffer memory, int at, int place) {
    int from = at + Area.VALUE * (place + 1), given = (int) memory.getLong(from);
    if (given == kind) return memory.getLong(from + 8);
    return argument(Values.copy(memory, from), place);
  }

  /** Converts an argument. As in C, whole numbers and truth values are accepted for both kinds of parameters. */
  private long argument(Object value, int place) {
    if (value instanceof Boolean truth) value = truth ? 1L : 0L;
    if (value instanceof Long number) return kind == Values.INT ? number : Double.doubleToRawLongBits(number);
    if (value instanceof Double number && kind == Values.FLOAT) return Double.doubleToRawLongBits(number);
    String given = value == null ? "None" : "a " + value.getClass().getSimpleName();
    if (value instanceof Handle handle) handle.close();
    throw new IllegalArgumentException(
        "argument " + place + " must be a " + (kind == Values.INT ? "whole number" : "number") + ", but is " + given);
  }

  static NumberFunction ofLong(LongUnaryOperator function) {
    return new NumberFunction(Values.INT, 1) {
      @Override
      long bits(long a, long b) {
        return function.applyAsLong(a);
      }
    };
  }

  static NumberFunction ofLongs(LongBinaryOperator function) {
    return new NumberFunction(Values.INT, 2) {
      @Override
      long bits(long a, long b) {
        return function.applyAsLong(a, b);
      }
    };
  }

  static NumberFunction ofDouble(DoubleUnaryOperator function) {
    return new NumberFunction(Values.FLOAT, 1) {
      @Override
      long bits(long a, long b) {
        return Double.doubleToRawLongBits(function.applyAsDouble(Double.longBitsToDouble(a)));
      }
    };
  }

  static NumberFunction ofDoubles(DoubleBinaryOperator function) {
    return new NumberFunction(Values.FLOAT, 2) {
      @Override
      long bits(long a, long b) {
        return Double.doubleToRawLongBits(function.applyAsDouble(Double.longBitsToDouble(a), Double.longBitsToDouble(b)));
      }
    };
  }
}
