package io.opdyno;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Where a function puts an output. */
public final class Out<T extends @Nullable Object> {
  private @Nullable T content;

  /** The value that was put there; null if none was. */
  public @Nullable T get() {
    return content;
  }

  static <T extends @Nullable Object> void set(@Nullable Out<T> out, @Nullable T content) {
    if (out != null) out.content = content;
  }

  /** The output of a call: {@code Tensor t = take(out -> opd_tensor_create(dims, dtype, device, out))}. */
  public static <T extends @Nullable Object> T take(Consumer<Out<T>> call) {
    Out<T> out = new Out<>();
    call.accept(out);
    return out.content;
  }
}
