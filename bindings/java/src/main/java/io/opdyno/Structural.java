package io.opdyno;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Structural equality: compares the structure and content of two values, and finds the difference. Source: TVM's
 * structural_equal.
 *
 * <p>Objects are first converted like arguments of a function ({@link PackedFn} lists the values). Lists and arrays are
 * compared by items; maps by keys, in any order; tensors by dtype, shape and the bits of their elements, on any device;
 * text, bytes, null, shapes, dtypes and devices by content. Numbers are equal if their kinds and values are equal: 1,
 * 1.0 and true differ, but NaN equals NaN. Any other object is equal only to itself. A Java function is equal only as
 * the same {@link PackedFn}.
 */
public final class Structural {
  private Structural() {}

  /** Whether two values are structurally equal. */
  public static boolean equal(@Nullable Object lhs, @Nullable Object rhs) {
    return firstMismatch(lhs, rhs) == null;
  }

  /**
   * Returns the first place where two values differ, in the order of the items; null if they are structurally equal. If one value
   * has an item or a key that the other lacks, the path in the other value ends in a missing element or entry.
   */
  public static @Nullable ObjectPathPair firstMismatch(@Nullable Object lhs, @Nullable Object rhs) {
    try (ValueList both = ValueList.of(lhs, rhs)) {
      return ofItems(both, 0, both, 1, new ObjectPathPair(ObjectPath.root(), ObjectPath.root()));
    }
  }

  private static @Nullable ObjectPathPair ofItems(ValueList lhs, int i, ValueList rhs, int j, ObjectPathPair at) {
    Object a = lhs.get(i);
    try {
      Object b = rhs.get(j);
      try {
        return of(a, b, at);
      } finally {
        end(b);
      }
    } finally {
      end(a);
    }
  }

  private static void end(@Nullable Object value) {
    if (value instanceof Handle handle) handle.close();
  }

  private static @Nullable ObjectPathPair of(@Nullable Object a, @Nullable Object b, ObjectPathPair at) {
    if (a instanceof ValueList one && b instanceof ValueList other) return ofLists(one, other, at);
    if (a instanceof ValueMap one && b instanceof ValueMap other) return ofMaps(one, other, at);
    if (a instanceof Tensor one && b instanceof Tensor other) return ofTensors(one, other, at);
    if (a instanceof long[] one && b instanceof long[] other) return ofShapes(one, other, at);
    return areEqual(a, b) ? null : at;
  }

  private static boolean areEqual(@Nullable Object a, @Nullable Object b) {
    if (a instanceof Double one && b instanceof Double other)
      return one.doubleValue() == other.doubleValue() || (one.isNaN() && other.isNaN());
    if (a instanceof byte[] one && b instanceof byte[] other) return Arrays.equals(one, other);
    if (a instanceof Handle one && b instanceof Handle other) return one.isSame(other);
    return a == null ? b == null : a.equals(b);
  }

  private static @Nullable ObjectPathPair ofLists(ValueList lhs, ValueList rhs, ObjectPathPair at) {
    int common = Math.min(lhs.size(), rhs.size());
    for (int i = 0; i < common; ++i) {
      ObjectPathPair found = ofItems(lhs, i, rhs, i, item(at, i));
      if (found != null) return found;
    }
    return ofSizes(lhs.size(), rhs.size(), at);
  }

  private static @Nullable ObjectPathPair ofShapes(long[] lhs, long[] rhs, ObjectPathPair at) {
    int first = Arrays.mismatch(lhs, rhs);
    if (first < 0) return null;
    return first < Math.min(lhs.length, rhs.length) ? item(at, first) : ofSizes(lhs.length, rhs.length, at);
  }

  private static ObjectPathPair item(ObjectPathPair at, int index) {
    return new ObjectPathPair(at.lhsPath().arrayIndex(index), at.rhsPath().arrayIndex(index));
  }

  /**
   * Returns the difference of two containers whose common items are equal, which is the first extra item of the longer
   * one.
   */
  private static @Nullable ObjectPathPair ofSizes(int lhs, int rhs, ObjectPathPair at) {
    if (lhs == rhs) return null;
    return lhs > rhs
        ? new ObjectPathPair(at.lhsPath().arrayIndex(rhs), at.rhsPath().missingArrayElement(rhs))
        : new ObjectPathPair(at.lhsPath().missingArrayElement(lhs), at.rhsPath().arrayIndex(lhs));
  }

  /** Compares two maps. Keys and values are not closed here, because a path may contain the keys. */
  private static @Nullable ObjectPathPair ofMaps(ValueMap lhs, ValueMap rhs, ObjectPathPair at) {
    for (var entry : lhs.toMap().entrySet()) {
      Object key = entry.getKey(), value = entry.getValue();
      ObjectPath left = at.lhsPath().mapValue(key);
      try {
        Object other = rhs.get(key);
        try {
          ObjectPathPair found = of(value, other, new ObjectPathPair(left, at.rhsPath().mapValue(key)));
          if (found != null) return found;
        } finally {
          end(other);
        }
      } catch (OpdynoException.NotFound absent) {
        return new ObjectPathPair(left, at.rhsPath().missingMapEntry());
      }
    }
    for (Object key : rhs.toMap().keySet()) {
      try {
        end(lhs.get(key));
      } catch (OpdynoException.NotFound absent) {
        return new ObjectPathPair(at.lhsPath().missingMapEntry(), at.rhsPath().mapValue(key));
      }
    }
    return null;
  }

  private static @Nullable ObjectPathPair ofTensors(Tensor lhs, Tensor rhs, ObjectPathPair at) {
    if (!lhs.dtype().equals(rhs.dtype())) return new ObjectPathPair(at.lhsPath().attr("dtype"), at.rhsPath().attr("dtype"));
    ObjectPathPair shape = new ObjectPathPair(at.lhsPath().attr("shape"), at.rhsPath().attr("shape"));
    ObjectPathPair found = ofShapes(lhs.shape(), rhs.shape(), shape);
    if (found != null) return found;
    return lhs.isSame(rhs) || Arrays.equals(lhs.toBytes(), rhs.toBytes()) ? null : at;
  }
}
