package java.lang.foreign;

import java.nio.ByteBuffer;
import java.util.function.Consumer;

/**
 * The part of the JDK's interface that the sources and tests use, for the compiler of Java 17. The jar does not contain
 * it.
 */
public interface MemorySegment {
  static MemorySegment ofAddress(long address) {
    throw new UnsupportedOperationException();
  }

  MemorySegment reinterpret(long size, Arena arena, Consumer<MemorySegment> cleanup);

  MemorySegment asReadOnly();

  boolean isReadOnly();

  long byteSize();

  MemorySegment asSlice(long offset, long size);

  ByteBuffer asByteBuffer();
}
