package io.opdyno;

import org.jspecify.annotations.Nullable;

/** Measures how long calls of a function take. */
public final class Evaluator extends Handle {
  Evaluator(long pointer) {
    super(pointer);
  }

  /** Makes an evaluator with all defaults. */
  public static Evaluator of(PackedFn function) {
    return of(function, null);
  }

  /** Makes an evaluator; null: all defaults. */
  public static Evaluator of(PackedFn function, @Nullable EvaluatorOptions options) {
    return Out.take(out -> Native.opd_evaluator_create(function, EvaluatorOptions.map(options), out));
  }

  /**
   * Calls the function with these arguments as often as the options say. If the thread is interrupted while the
   * function calls a VM, this method throws {@link OpdynoException.Cancelled}.
   */
  public Benchmark call(@Nullable Object... args) {
    Interrupts.Running running = Interrupts.begin();
    try {
      return Out.take(out -> Native.opd_evaluator_call(this, Calls.args(args), out));
    } finally {
      running.end();
    }
  }
}
