// Tests of tensors' memory as segments of java.lang.foreign. A separate program, because it needs Java 22.
import io.opdyno.*;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;

public final class WithSegments {
  private static final DType BYTE = new DType(1, 8, 1);

  public static void main(String[] args) throws Exception {
    shared();
    dropped();
    large();
    refused();
    System.out.println("ok");
  }

  private static float at(MemorySegment memory, int place) {
    return memory.asByteBuffer().order(ByteOrder.nativeOrder()).getFloat(4 * place);
  }

  private static void shared() {
    Tensor tensor = Tensor.of(new float[] {1, 2, 3}, 3);
    MemorySegment memory = Segments.of(tensor);
    First.check(memory.byteSize() == 12 && !memory.isReadOnly() && at(memory, 2) == 3, "" + memory);
    tensor.floats().put(2, 5);
    First.check(at(memory, 2) == 5, "the tensor's own memory");
    memory.asSlice(4, 4).asByteBuffer().order(ByteOrder.nativeOrder()).putFloat(0, 7);
    First.check(tensor.floats().get(1) == 7, "which is written through the segment");
    First.check(!tensor.isUnique(), "a segment refers to the tensor");
    tensor.close();
    First.check(at(memory, 1) == 7, "it lasts after the tensor was closed");
  }

  /** A segment is larger than any Java buffer. The test touches only a few of its pages. */
  private static void large() {
    long bytes = (1L << 31) + 4096;
    try (Tensor tensor = Tensor.create(BYTE, bytes)) {
      First.failed(tensor::buffer, IllegalStateException.class, "larger than a buffer");
      MemorySegment memory = Segments.of(tensor);
      First.check(memory.byteSize() == bytes, memory.byteSize() + " bytes");
      memory.asSlice(bytes - 1, 1).asByteBuffer().put(0, (byte) 42);
      try (Tensor same = tensor.reshape(bytes / 4096, 4096)) {
        First.check(Segments.of(same).asSlice(bytes - 4096, 4096).asByteBuffer().get(4095) == 42, "the last byte");
      }
    }
  }

  /** Makes 2.8 GB of segments and drops them. The memory must not grow with their number. */
  private static void dropped() {
    long most = 0;
    for (int i = 0; i < 700; ++i) {
      try (Tensor tensor = Tensor.create(BYTE, 1 << 22)) {
        First.check(Segments.of(tensor).byteSize() == 1 << 22, "a segment");
      }
      most = Math.max(most, Device.CPU.memoryStats().liveBytes());
    }
    First.check(most < 600L << 20, most + " bytes were in use at a time");
  }

  private static void refused() {
    Tensor closed = Tensor.create(BYTE, 1);
    closed.close();
    First.failed(() -> Segments.of(closed), IllegalStateException.class, "closed");
    try (Tensor empty = Tensor.create(BYTE, 0)) {
      First.check(Segments.of(empty).byteSize() == 0, "nothing to show");
    }
  }
}
