// Tests of memory that is shared with other libraries: buffers, DLPack tensors, Arrow streams. C code is the other
// library.
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import io.opdyno.*;

final class WithMemory {
  /** C code with the structs of DLPack 1.3 and Arrow's C stream interface. */
  private static final String SOURCE = """
      #include <stdint.h>
      #include <stdlib.h>
      #include <string.h>
      struct tensor {
        float *data; int32_t device_type, device_id, ndim; uint8_t code, bits; uint16_t lanes; int64_t *shape, *strides; uint64_t offset;
      };
      struct managed { struct tensor tensor; void *context; void (*deleter)(struct managed *); };
      struct versioned {
        uint32_t major, minor; void *context; void (*deleter)(struct versioned *); uint64_t flags; struct tensor tensor;
      };
      static float numbers[] = {1, 2, 3};
      static int64_t shape[] = {3};
      static int ends;
      static const struct tensor three = {numbers, 1, 0, 1, 2, 32, 1, shape, 0, 0};
      static void end(struct managed *it) { ++ends; free(it); }
      static void end_versioned(struct versioned *it) { ++ends; free(it); }
      int ended(void) { return ends; }
      struct managed *make(void) {
        struct managed *it = malloc(sizeof *it);
        return *it = (struct managed){three, 0, end}, it;
      }
      struct versioned *make_versioned(int flags) {
        struct versioned *it = malloc(sizeof *it);
        return *it = (struct versioned){1, 0, 0, end_versioned, flags, three}, it;
      }
      double read_element(struct managed *it, int64_t place) { return it->tensor.data[place]; }
      double read_versioned(struct versioned *it, int64_t place) { return it->major == 1 ? it->tensor.data[place] : -1; }
      int64_t flags_of(struct versioned *it) { return (int64_t)it->flags; }
      void finish(struct managed *it) { it->deleter(it); }
      void finish_versioned(struct versioned *it) { it->deleter(it); }

      struct schema {
        const char *format, *name, *metadata; int64_t flags, count; struct schema **children, *dictionary;
        void (*release)(struct schema *); void *own;
      };
      struct array {
        int64_t length, nulls, offset, buffers, count; const void **data; struct array **children, *dictionary;
        void (*release)(struct array *); void *own;
      };
      struct stream {
        int (*get_schema)(struct stream *, struct schema *); int (*get_next)(struct stream *, struct array *);
        const char *(*last_error)(struct stream *); void (*release)(struct stream *); void *own;
      };
      struct stream *stream_make(void) { return calloc(1, sizeof(struct stream)); }
      int64_t stream_find(struct stream *it, const char *name) {
        struct schema schema;
        int64_t found = -1, i;
        if (it->get_schema(it, &schema)) return -2;
        for (i = 0; i < schema.count; ++i) if (!strcmp(schema.children[i]->name, name)) found = i;
        schema.release(&schema);
        return found;
      }
      double stream_sum(struct stream *it, int64_t column) {  /* of a column of float64 */
        struct array batch;
        double sum = 0;
        int64_t i;
        while (!it->get_next(it, &batch) && batch.release) {
          for (i = 0; i < batch.length; ++i) sum += ((const double *)batch.children[column]->data[1])[i];
          batch.release(&batch);
        }
        return sum;
      }
      void stream_end(struct stream *it) { it->release(it); free(it); }
      """;

  private WithMemory() {}

  static void run() throws Exception {
    copied();
    wrapped();
    First.awaitEnd(kept(), "the buffer");
    try (Program c = WithPointers.compile(SOURCE)) {
      given(c);
      taken(c);
      refused();
      arrow(c);
    }
  }

  private static void copied() {
    try (Tensor floats = Tensor.of(new float[] {1, -2}, 2); Tensor doubles = Tensor.of(new double[] {0.1, 2}, 2);
        Tensor ints = Tensor.of(new int[] {1 << 30, -2}, 2); Tensor longs = Tensor.of(new long[] {1L << 60, -2}, 2); Tensor none = Tensor.create(DType.INT64, 0)) {
      First.check(Arrays.equals(floats.toFloatArray(), new float[] {1, -2}) && Arrays.equals(doubles.toDoubleArray(), new double[] {0.1, 2}), "floating-point");
      First.check(Arrays.equals(ints.toIntArray(), new int[] {1 << 30, -2}) && Arrays.equals(longs.toLongArray(), new long[] {1L << 60, -2}), "integers");
      First.check(none.toLongArray().length == 0, "none");
      First.failed(floats::toDoubleArray, IllegalArgumentException.class, "the elements are float32, not float64");
      First.failed(doubles::toFloatArray, IllegalArgumentException.class, "the elements are float64, not float32");
      First.failed(longs::toIntArray, IllegalArgumentException.class, "the elements are int64, not int32");
      First.failed(ints::toLongArray, IllegalArgumentException.class, "the elements are int32, not int64");
    }
  }

  /** A tensor shares the middle part of a direct buffer's memory. */
  private static void wrapped() {
    ByteBuffer all = ByteBuffer.allocateDirect(256).alignedSlice(64).order(ByteOrder.nativeOrder());
    ByteBuffer part = all.duplicate().position(64).limit(64 + 24);
    for (int i = 0; i < 6; ++i) all.putFloat(64 + 4 * i, i);
    try (Tensor x = Tensor.wrap(part, DType.FLOAT32, 2, 3);
        Executable text = Executable.assemble(".func main(x) {\n  ret %x\n}"); Program program = text.toProgram(); Vm vm = program.vm(); Tensor y = vm.callTensor("main", x)) {
      First.check(Arrays.equals(y.toFloatArray(), new float[] {0, 1, 2, 3, 4, 5}) && Arrays.equals(x.shape(), new long[] {2, 3}), "" + y);
      all.putFloat(64 + 8, -1);
      First.check(y.toFloatArray()[2] == -1, "what is written into the buffer");
      try (Tensor other = Tensor.of(new float[] {9, 8, 7, 6, 5, 4}, 2, 3)) {
        other.copyTo(x);
      }
      First.check(all.getFloat(64) == 9 && all.getFloat(64 + 20) == 4 && all.getFloat(64 + 24) == 0, "what is written into the tensor");
      First.check(!x.isReadOnly() && part.position() == 64 && part.limit() == 88, "the buffer is as before");
    }
    try (Tensor x = Tensor.wrap(part.asReadOnlyBuffer(), DType.FLOAT32, 6); Tensor other = Tensor.of(new float[6], 6)) {
      First.check(x.isReadOnly() && x.buffer().isReadOnly(), "it stays read-only");
      First.failed(() -> other.copyTo(x), OpdynoException.InvalidArgument.class, "read-only");
    }
    try (Tensor one = Tensor.wrap(all.slice(64, 4), DType.FLOAT32); Tensor none = Tensor.wrap(all.slice(0, 0), DType.FLOAT32, 3, 0)) {
      First.check(one.shape().length == 0 && one.toFloatArray()[0] == 9 && none.byteSize() == 0, "without axes, and without elements");
    }
    First.failed(() -> Tensor.wrap(part, DType.FLOAT32, 2, 4), IllegalArgumentException.class, "24 bytes do not fill Tensor(float32[2, 4], cpu:0)");
    First.failed(() -> Tensor.wrap(part, DType.FLOAT32, 5), IllegalArgumentException.class, "24 bytes do not fill");
    First.failed(() -> Tensor.wrap(part, DType.FLOAT32, -6), OpdynoException.InvalidArgument.class, "");
    First.failed(() -> Tensor.wrap(ByteBuffer.allocate(24), DType.FLOAT32, 6), IllegalArgumentException.class, "must be direct");
    First.failed(() -> Tensor.wrap(all.slice(1, 24), DType.FLOAT32, 6), OpdynoException.InvalidArgument.class, "multiple");
  }

  /** A tensor keeps the Java buffer whose memory it shares, even if no other object refers to the buffer. */
  private static WeakReference<ByteBuffer> kept() {
    ByteBuffer elements = ByteBuffer.allocateDirect(64).order(ByteOrder.nativeOrder()).putFloat(0, 5);
    WeakReference<ByteBuffer> seen = new WeakReference<>(elements);
    Tensor x = Tensor.wrap(elements, DType.FLOAT32, 16);
    elements = null;
    try (Tensor y = x.reshape(4, 4)) {
      x.close();
      for (int i = 0; i < 5; ++i) System.gc();
      First.check(seen.get() != null && y.toFloatArray()[0] == 5, "it is kept");
    }
    return seen;
  }

  /**
   * A consumer in C frees exported tensors. They are on a device that only this test uses, so that its statistics are
   * exact.
   */
  private static void given(Program c) {
    try (PackedFn read = c.function("read_element", "f64(ptr, i64)");
        PackedFn readVersioned = c.function("read_versioned", "f64(ptr, i64)");
        PackedFn finish = c.function("finish", "void(ptr)");
        PackedFn finishVersioned = c.function("finish_versioned", "void(ptr)");
        Tensor elements = Tensor.of(new float[] {1, 2.5f, 4}, 3)) {
      Device own = Device.of("cpu:9");
      for (boolean isVersioned : new boolean[] {false, true}) {
        Tensor x = Tensor.create(own, DType.FLOAT32, 3);
        elements.copyTo(x);
        First.check(x.isUnique() && x.isContiguous() && !x.isReadOnly(), "a tensor of one's own");
        Pointer managed = new Pointer(x.toDlpack(isVersioned));
        First.check(!x.isUnique(), "the consumer has it, too");
        x.close();
        First.check((isVersioned ? readVersioned : read).call(managed, 1).equals(2.5), "the elements, also after close()");
        First.check(own.memoryStats().liveBytes() == 12, "the consumer keeps them");
        (isVersioned ? finishVersioned : finish).call(managed);
        First.check(own.memoryStats().liveBytes() == 0, "until it ends");
        First.failed(() -> x.toDlpack(isVersioned), IllegalStateException.class, "the Tensor is closed");
      }
      try (Tensor x = Tensor.of(new float[] {1, 2}, 2);
          Tensor same = Tensor.ofDlpack(x.toDlpack(true), true)) {
        same.floats().put(1, -8);
        First.check(x.floats().get(1) == -8 && !x.isUnique(), "the same memory");
      }
    }
  }

  /** Tensors of a producer in C. Their deleter runs once. */
  private static void taken(Program c) throws Exception {
    try (PackedFn make = c.function("make", "ptr()");
        PackedFn makeVersioned = c.function("make_versioned", "ptr(i32)");
        PackedFn flags = c.function("flags_of", "i64(ptr)");
        PackedFn ended = c.function("ended", "i32()")) {
      for (boolean isVersioned : new boolean[] {false, true}) {
        long earlier = ended.callLong();
        Pointer managed = (Pointer) (isVersioned ? makeVersioned.call(0) : make.call());
        Tensor taken = Tensor.ofDlpack(managed.address(), isVersioned);
        First.check(Arrays.equals(taken.toFloatArray(), new float[] {1, 2, 3}) && taken.shape()[0] == 3, "" + taken);
        First.check(taken.dtype().equals(DType.FLOAT32) && ended.callLong() == earlier, "its deleter waits");
        taken.close();
        First.check(ended.callLong() == earlier + 1, "and runs once");
      }
      long before = ended.callLong();
      try (Tensor readOnly = Tensor.ofDlpack(((Pointer) makeVersioned.call(1)).address(), true);
          Tensor other = Tensor.of(new float[] {0, 0, 0}, 3)) {
        First.check(readOnly.isReadOnly() && readOnly.buffer().isReadOnly(), "it stays read-only");
        First.failed(() -> other.copyTo(readOnly), OpdynoException.InvalidArgument.class, "read-only");
        First.failed(() -> readOnly.toDlpack(false), OpdynoException.Unsupported.class, "read-only");
        long again = readOnly.toDlpack(true);
        First.check(flags.call(new Pointer(again)).equals(1L), "the flag goes on");
        Tensor.ofDlpack(again, true).close();
      }
      First.collectUntil(() -> ended.callLong() != before); // the deleter's code is in the program
      First.check(ended.callLong() == before + 1, "it ends with its last view");
    }
  }

  private static void refused() {
    First.failed(() -> Tensor.ofDlpack(0, true), OpdynoException.InvalidArgument.class, "NULL");
    First.failed(() -> Tensor.ofDlpack(0, false), OpdynoException.InvalidArgument.class, "NULL");
    try (PackedFn exports = PackedFn.of(args -> ((Tensor) args[0]).toDlpack(true));
        Tensor lent = Tensor.of(new float[] {1}, 1);
        Closure closure = Closure.of(exports, "void(tensor)");
        PackedFn lends = PackedFn.ofPointer(closure.pointer(), "void(tensor)", null, closure)) {
      lends.call(lent);
      Throwable thrown = closure.takeError();
      First.check(thrown instanceof IllegalStateException && thrown.getMessage().contains("lent"), "" + thrown);
    }
  }

  private static void arrow(Program c) {
    try (PackedFn make = c.function("stream_make", "ptr()");
        PackedFn find = c.function("stream_find", "i64(ptr, str)");
        PackedFn sum = c.function("stream_sum", "f64(ptr, i64)");
        PackedFn end = c.function("stream_end", "void(ptr)");
        ReportBuilder builder = ReportBuilder.create()) {
      for (double duration : new double[] {1.5, 2, 4}) builder.addCall().set("Name", Metric.string("add")).set("Duration (us)", Metric.duration(duration));
      Pointer stream = (Pointer) make.call();
      try (Report report = builder.finish()) {
        report.toArrow(stream.address());
        First.failed(() -> report.toArrow(0), OpdynoException.InvalidArgument.class, "NULL");
      }
      First.check(find.call(stream, "Name").equals(0L) && find.call(stream, "none").equals(-1L), "the schema's names");
      First.check(sum.call(stream, 1).equals(7.5), "the stream outlives the report");
      end.call(stream);
    }
  }
}
