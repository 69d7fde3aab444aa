// Tests of a caller's arrays and maps that change during a call.
import io.opdyno.*;
import java.util.LinkedHashMap;
import java.util.Map;

final class WithChanges {
  private WithChanges() {}

  static void run() {
    for (int count : new int[] {1, 2, 200}) {
      replaced(count, null);
      replaced(count, "a text");
      try (Tensor other = Tensor.of(new float[] {1, 2}, 2)) {
        replaced(count, other);
        First.check(other.toFloatArray()[1] == 2, "the other tensor is untouched");
      }
      Tensor closed = Tensor.of(new float[] {1}, 1);
      closed.close();
      replaced(count, closed);
    }
    pairs();
  }

  /** The call releases exactly the handles with which it began. */
  private static void replaced(int count, Object by) {
    Object[] args = new Object[count];
    long live = First.liveBytes();
    Tensor first = Tensor.of(new float[1000], 1000);
    java.util.Arrays.fill(args, first);
    try (PackedFn replaces = PackedFn.of(given -> {
      java.util.Arrays.fill(args, by);
      for (Object each : given) ((Handle) each).close();
      return null;
    })) {
      replaces.call(args);
    }
    First.check(first.byteSize() == 4000, "the tensor is still there");
    first.close();
    First.check(First.liveBytes() == live, "close() ends it: " + live + ", " + First.liveBytes());
  }

  /** A map changes between the reads of its keys and its values. They must be read as pairs. */
  private static void pairs() {
    Map<String, String> changing = new LinkedHashMap<>(Map.of("none", "f64(f64)")) {
      private static final long serialVersionUID = 1;

      @Override
      public java.util.Collection<String> values() {
        put("more", "void()");
        return super.values();
      }
    };
    First.failed(() -> Program.loadNative(java.nio.file.Path.of("/nowhere.so"), changing, null), OpdynoException.class, "nowhere.so");
    First.check(changing.size() == 1, "values() of a map is not asked");
  }
}
