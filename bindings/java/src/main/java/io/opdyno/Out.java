package io.opdyno;

import java.util.function.Consumer;

/** Where a function puts an output. */
public final class Out<T> {
  private T content;

  /** What was put there; null if nothing was. */
  public T get() {
    return content;
  }

  static <T> void set(Out<T> out, T content) {
    if (out != null) out.content = content;
  }

  /** The output of a call: {@code Tensor t = take(out -> opd_tensor_create(dims, dtype, device, out))}. */
  public static <T> T take(Consumer<Out<T>> call) {
    Out<T> out = new Out<>();
    call.accept(out);
    return out.content;
  }
}
