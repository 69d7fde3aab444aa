package io.opdyno;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Receives an output of a function. */
public final class Out<T extends @Nullable Object> {
  private @Nullable T content;

  /** The value; null if the function wrote none. */
  public @Nullable T get() {
    return content;
  }

  static <T extends @Nullable Object> void set(@Nullable Out<T> out, @Nullable T content) {
    if (out != null) out.content = content;
  }

  /** Returns the output of a call: {@code Tensor t = take(out -> opd_tensor_create(dims, dtype, device, out))}. */
  public static <T extends @Nullable Object> T take(Consumer<Out<T>> call) {
    Out<T> out = new Out<>();
    call.accept(out);
    return out.content;
  }
}
