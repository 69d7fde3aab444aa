// The first thing that a program does with the binding: each in a process of its own, named by args[0].
import static opdyno.Native.*;

import opdyno.*;

public final class Fresh {
  public static void main(String[] args) {
    switch (args[0]) {
      case "values" -> opd_array_create(new Object[] {"a text of more than 7 bytes"}, new Out<>());
      case "tensors" -> Tensors.of(new float[] {1}, 1).close();
      case "dropped" -> dropped();
      default -> throw new IllegalArgumentException(args[0]);
    }
    System.out.println("ok");
  }

  /** 2.8 GB of tensors, 4 MB each, none of which is closed. Their memory must not grow with their number. */
  private static void dropped() {
    long most = 0;
    for (int i = 0; i < 700; ++i) {
      Out.<Tensor>take(out -> opd_tensor_create(new long[] {1 << 20}, DType.FLOAT32, Device.CPU, out));
      most = Math.max(most, Out.<long[]>take(out -> opd_memory_get_stats(Device.CPU, out))[0]);
    }
    if (most > 600L << 20) throw new AssertionError(most + " bytes were in use at a time");
  }
}
