// Memory that is shared with others: DLPack's tensors, streams of Arrow. C code plays the other side.
import java.util.Arrays;
import io.opdyno.*;

final class WithMemory {
  /** The structs as DLPack 1.3 and Arrow's C stream interface lay them out. */
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
    try (Program c = WithPointers.compile(SOURCE)) {
      given(c);
      taken(c);
      refused();
      arrow(c);
    }
  }

  /** Tensors for a consumer in C, which ends them; on a device of their own, so that its memory is theirs. */
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

  /** Tensors of a producer in C, whose deleter runs once. */
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
      First.collectUntil(() -> ended.callLong() != before); // the buffer keeps the tensor, whose deleter is code of the program
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
