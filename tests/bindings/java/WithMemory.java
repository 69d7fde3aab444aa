// Memory that is shared with others: files in buffers, DLPack's tensors, streams of Arrow. C code plays the other side.
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
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

  static void run(Path directory) throws Exception {
    params(directory);
    buffers(directory);
    try (Program c = WithPointers.compile(SOURCE)) {
      given(c);
      taken(c);
      refused();
      arrow(c);
    }
  }

  private static Params two() {
    Params params = Params.create();
    try (Tensor weights = Tensor.of(new float[] {1, 2, 3, 4, 5, 6}, 2, 3);
        Tensor scale = Tensor.of(new long[] {7})) {
      params.set("größe", weights);
      params.set("scale", scale);
    }
    return params;
  }

  private static void params(Path directory) {
    try (Params made = two();
        Params again = Params.load(made.toBytes())) {
      TensorInfo expected = new TensorInfo("größe", List.of(2L, 3L), 24, DType.FLOAT32, false);
      First.check(made.info().get(0).equals(expected), "" + made.info());
      First.check(again.info().equals(List.of(expected, new TensorInfo("scale", List.of(), 8, DType.INT64, false))), "" + again.info());
      First.check(made.stats().equals(new ParamsStats(32, 0, 0)) && again.stats().totalBytes() == 32, "" + made.stats());
      try (Tensor scale = again.get("scale")) {
        First.check(scale.longs().get(0) == 7, "there and back");
      }
      byte[] damaged = made.toBytes();
      damaged[0] ^= 1;
      First.failed(() -> Params.load(damaged), OpdynoException.BadFormat.class, "");
      First.failed(() -> made.save(directory.resolve("two.npy")), OpdynoException.class, "npy");
    }
  }

  private static void buffers(Path directory) throws Exception {
    Path file = directory.resolve("two.safetensors");
    try (Params made = two()) {
      made.save(file);
    }
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      long size = channel.size();
      ByteBuffer shared = channel.map(FileChannel.MapMode.PRIVATE, 0, size);
      WeakReference<ByteBuffer> kept = new WeakReference<>(shared);
      Tensor weights;
      try (Params params = Params.open(shared, null)) {
        First.check(params.info().get(0).isView() && params.names().equals(List.of("größe", "scale")), "" + params.info());
        weights = params.get("größe");
        First.check(params.stats().viewedBytes() == 24 && params.stats().copiedBytes() == 0, "" + params.stats());
      }
      weights.floats().put(4, 2.5f);
      boolean isThere = false;
      for (int place = 0; place + 4 <= size; ++place) isThere |= shared.order(ByteOrder.LITTLE_ENDIAN).getFloat(place) == 2.5f;
      First.check(isThere, "what is written there is in the buffer");
      shared = null;
      for (int i = 0; i < 3; ++i) System.gc();
      First.check(kept.get() != null && weights.floats().get(4) == 2.5f, "the tensor keeps the buffer");
      weights.close();
      First.awaitEnd(kept, "a buffer that nothing views");

      ByteBuffer readOnly = channel.map(FileChannel.MapMode.READ_ONLY, 0, size);
      First.failed(() -> Params.open(readOnly, null), IllegalArgumentException.class, "read-only");
      First.failed(() -> Params.open(readOnly, ParamsOptions.create().copy(false)), IllegalArgumentException.class, "read-only");
      try (Params params = Params.open(readOnly, ParamsOptions.create().copy(true).verifyChecksums(true));
          Tensor copy = params.get("größe")) {
        copy.floats().put(0, -1);
        First.check(params.stats().viewedBytes() == 0 && params.stats().copiedBytes() == 32, "" + params.stats());
      }
      First.failed(() -> Params.open(ByteBuffer.allocate(100), null), IllegalArgumentException.class, "must be direct");
      ByteBuffer part = channel.map(FileChannel.MapMode.PRIVATE, 0, size).position(1);
      First.failed(() -> Params.open(part, null), OpdynoException.BadFormat.class, "");
      First.awaitEnd(refused(channel.map(FileChannel.MapMode.PRIVATE, 0, size / 2)), "a buffer that was refused");
    }
  }

  private static WeakReference<ByteBuffer> refused(ByteBuffer half) {
    First.failed(() -> Params.open(half, null), OpdynoException.BadFormat.class, "");
    return new WeakReference<>(half);
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
      for (int i = 0; i < 200 && ended.callLong() == before; ++i) { // the buffer keeps the tensor, whose deleter is code of the program
        System.gc();
        Thread.sleep(5);
      }
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
