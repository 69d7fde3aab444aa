// Tests of sizes that are too large for Java arrays. C code makes tensors that claim such sizes without having the
// memory.
import io.opdyno.*;

final class WithSizes {
  private static final String SOURCE = """
      #include <stdint.h>
      #include <stdlib.h>
      struct versioned {
        uint32_t major, minor; void *context; void (*deleter)(struct versioned *); uint64_t flags;
        char *data; int32_t device_type, device_id, ndim; uint8_t code, bits; uint16_t lanes; int64_t *shape, *strides; uint64_t offset;
        int64_t size, stride;
      };
      static char some[64];
      static void end(struct versioned *it) { free(it); }
      struct versioned *make(int64_t size, int64_t stride) {
        struct versioned *it = malloc(sizeof *it);
        *it = (struct versioned){1, 0, 0, end, 0, some, 1, 0, 1, 1, 8, 1, &it->size, &it->stride, 0, size, stride};
        return it;
      }
      """;

  private WithSizes() {}

  static void run() throws Exception {
    try (Program c = WithPointers.compile(SOURCE); PackedFn make = c.function("make", "ptr(i64, i64)")) {
      for (long size : new long[] {1L << 31, (1L << 32) + 16, 1L << 46}) refused(make, size);
      try (Tensor gaps = of(make, 4, 2); Tensor none = of(make, 0, 1); Tensor few = of(make, 3, 1)) {
        First.check(none.toBytes().length == 0 && few.toBytes().length == 3, "sizes that fit");
        First.failed(gaps::toBytes, OpdynoException.InvalidArgument.class, "strided");
      }
    }
  }

  private static Tensor of(PackedFn make, long size, long stride) {
    return Tensor.ofDlpack(((Pointer) make.call(size, stride)).address(), true);
  }

  private static void refused(PackedFn make, long size) {
    for (long stride : new long[] {1, 0}) {
      try (Tensor huge = of(make, size, stride)) {
        First.check(huge.byteSize() == size, "it says " + huge.byteSize());
        String what = size + " bytes do not fit into an array of Java, which has at most 2147483647";
        First.failed(huge::toBytes, IllegalStateException.class, what);
        First.failed(huge::buffer, IllegalStateException.class, stride == 0 ? "gaps" : "larger than a buffer");
      }
    }
  }
}
