package io.opdyno;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The memory of tensors as segments of the JDK's java.lang.foreign. It needs Java 22; the other classes do not.
 */
public final class Segments {
  private Segments() {}

  /**
   * The memory itself, not a copy, of a tensor of any size. It lasts as long as somebody has the segment or a slice of it, also when
   * the tensor is closed. The memory must lie on the CPU and without gaps, and not be lent for a call. A segment of a tensor that
   * is read-only is read-only.
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
