// Tests of params: descriptions of tensors that are not made yet, and files in buffers.
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import io.opdyno.*;

final class WithParams {
  private WithParams() {}

  static void run(Path directory) throws Exception {
    params(directory);
    buffers(directory);
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
}
