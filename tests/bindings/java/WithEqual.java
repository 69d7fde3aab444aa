// Tests of structural equality, and of the paths to the place where values differ.
import io.opdyno.*;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

final class WithEqual {
  private WithEqual() {}

  static void run() {
    equal();
    different();
    objects();
    paths();
    sizes();
  }

  private static Map<Object, Object> map(Object... pairs) {
    Map<Object, Object> made = new LinkedHashMap<>();
    for (int i = 0; i < pairs.length; i += 2) made.put(pairs[i], pairs[i + 1]);
    return made;
  }

  private static void equal() {
    try (Tensor x = Tensor.of(new float[] {1, 2, 3, 4, 5, 6}, 2, 3);
        Tensor y = Tensor.of(new float[] {1, 2, 3, 4, 5, 6}, 2, 3);
        Tensor empty = Tensor.create(DType.of("int8"), 0, 4);
        PackedFn same = PackedFn.of(args -> args[0])) {
      Object[] values = {null, true, 3, 2.5, "text", new byte[] {1, 2}, Double.NaN, List.of(), Arrays.asList(1, Arrays.asList(2, "x")),
          map("a", List.of(1), 2, null), new Device(1, 1), DType.of("int8"), new long[] {1, 2}, x, map("w", empty), new Pointer(5)};
      for (Object value : values) {
        Object back = same.call(value);
        First.check(Structural.equal(value, back) && Structural.equal(back, value) && Structural.equal(value, value), "" + value);
      }
      First.check(Structural.equal(x, y) && !x.isSame(y), "the elements count");
      First.check(Structural.equal(map("a", List.of(1, 2), "b", null), map("b", null, "a", new Object[] {1, 2})), "in any order");
    }
  }

  private static void differ(Object lhs, Object rhs, String left, String right) {
    ObjectPathPair pair = Structural.firstMismatch(lhs, rhs);
    First.check(pair != null && !Structural.equal(lhs, rhs), lhs + " is equal to " + rhs);
    First.check(pair.toString().equals(left + " and " + right), left + " and " + right + ", not " + pair);
  }

  private static void different() {
    String root = "<root>";
    differ(1, 2, root, root);
    differ(1, 1.0, root, root);
    differ(1, true, root, root);
    differ(null, 0, root, root);
    differ("a", new byte[] {'a'}, root, root);
    differ("int8", DType.of("int8"), root, root);
    differ(List.of(1, 2), new long[] {1, 2}, root, root);
    differ(new long[] {1, 2}, new long[] {1, 3}, root + "[1]", root + "[1]");
    differ(List.of(1, List.of(2, 3)), List.of(1, List.of(2, 4)), root + "[1][1]", root + "[1][1]");
    differ(List.of(1), List.of(1, 2), root + "[<missing element #1>]", root + "[1]");
    differ(List.of(1, 2, 3), List.of(1), root + "[1]", root + "[<missing element #1>]");
    differ(List.of(9, 2, 3), List.of(1), root + "[0]", root + "[0]");
    differ(map("a", 1), map("a", 2), root + "[\"a\"]", root + "[\"a\"]");
    differ(map("a", 1, "b", 2), map("a", 1), root + "[\"b\"]", root + "[<missing entry>]");
    differ(map("a", 1), map("b", 1, "a", 1), root + "[<missing entry>]", root + "[\"b\"]");
    differ(map(1, "x"), map(true, "x"), root + "[1]", root + "[<missing entry>]");
    try (Tensor zeros = Tensor.of(new double[2], 2);
        Tensor ones = Tensor.of(new double[] {1, 1}, 2);
        Tensor ints = Tensor.of(new long[2], 2);
        Tensor column = Tensor.of(new double[2], 2, 1);
        Tensor flat = Tensor.of(new double[6], 2, 3);
        Tensor wide = Tensor.of(new double[8], 2, 4)) {
      differ(List.of(zeros), List.of(ones), root + "[0]", root + "[0]");
      differ(zeros, ints, root + ".dtype", root + ".dtype");
      differ(flat, wide, root + ".shape[1]", root + ".shape[1]");
      differ(zeros, column, root + ".shape[<missing element #1>]", root + ".shape[1]");
    }
  }

  private static void objects() {
    try (PackedFn one = PackedFn.of(args -> null); PackedFn other = PackedFn.of(args -> null)) {
      First.check(Structural.equal(List.of(one), List.of(one)) && !Structural.equal(one, other), "by identity");
      First.check(!Structural.equal(one, 1) && !Structural.equal(one, null), "of another kind");
      Map<Object, Object> keyed = map(one, 1);
      First.check(Structural.equal(keyed, map(one, 1)) && !Structural.equal(keyed, map(other, 1)), "objects as keys");
    }
    First.failed(() -> Structural.equal(new Object(), 1), IllegalArgumentException.class, "is not a value");
  }

  private static void paths() {
    ObjectPath root = ObjectPath.root(), path = root.attr("body").arrayIndex(3).mapValue("key");
    First.check(path.toString().equals("<root>.body[3][\"key\"]") && path.steps().size() == 4 && root.steps().size() == 1, "" + path);
    First.check(path.parent().equals(root.attr("body").arrayIndex(3)) && root.parent() == null, "without the last step");
    First.check(path.kind() == ObjectPath.Kind.MAP_VALUE && path.key().equals("key") && path.parent().key().equals(3), "the last step");
    First.check(ObjectPath.root("model").attr(null).toString().equals("model.<unknown attribute>"), "a name of the root");
    First.check(root.missingArrayElement(2).toString().equals("<root>[<missing element #2>]"), "a missing item");
    First.check(root.missingMapEntry().toString().equals("<root>[<missing entry>]"), "a missing entry");
    ObjectPath again = ObjectPath.root().attr("body").arrayIndex(3).mapValue("key");
    First.check(path.equals(again) && path.hashCode() == again.hashCode(), "equal by steps");
    First.check(!root.arrayIndex(1).equals(root.missingArrayElement(1)) && !path.equals(root), "other steps");
    First.check(root.isPrefixOf(path) && path.isPrefixOf(path) && !path.isPrefixOf(root) && !root.attr("b").isPrefixOf(path), "prefixes");
    First.check(path.prefix(2).equals(root.attr("body")) && path.prefix(4) == path, "the first steps");
    for (int length : new int[] {0, 5}) First.failed(() -> path.prefix(length), IndexOutOfBoundsException.class, "");
  }

  private static void sizes() {
    First.check(DType.FLOAT64.itemSize() == 8 && DType.of("float32x4").itemSize() == 16, "whole bytes");
    First.check(DType.of("int4").itemSize() == 1 && new DType(0, 4, 3).itemSize() == 2, "rounded up");
  }
}
