package io.opdyno;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The memory of tensors as segments of java.lang.foreign. This class needs Java 22; the other classes do not.
 */
public final class Segments {
  private Segments() {}

  /**
   * Returns the memory of a tensor of any size, without a copy. The memory is kept as long as the segment or a slice of
   * it is reachable, even if the tensor is closed. The memory must be on the CPU and without gaps, and must not be lent
   * for a call. The segment of a read-only tensor is read-only.
   */
  public static MemorySegment of(Tensor tensor) {
    boolean isReadOnly = tensor.isReadOnly();
    Tensor kept = tensor.shared();
    try {
      MemorySegment memory = MemorySegment.ofAddress(kept.address()).reinterpret(kept.byteSize(), Arena.ofAuto(), ended -> kept.close());
      return isReadOnly ? memory.asReadOnly() : memory;
    } catch (Throwable failed) {
      kept.close();
      throw failed;
    }
  }
}
