package io.opdyno;

import org.jspecify.annotations.Nullable;

/** Cancels calls from another thread; see CallOptions. All methods are safe on any thread. */
public final class CancelToken extends Handle {
  CancelToken(long pointer) {
    super(pointer);
  }

  /** Makes a token that is not cancelled. */
  public static CancelToken create() {
    return Out.take(Native::opd_cancel_token_create);
  }

  /** Cancels all running and future calls that use this token. */
  public void cancel() {
    Native.opd_cancel_token_cancel(this);
  }

  /** Makes the token usable again. */
  public void reset() {
    Native.opd_cancel_token_reset(this);
  }

  /**
   * The operator that a call with this token is running; null if there is none. Use it in messages about calls that
   * hang.
   */
  public @Nullable String currentOperator() {
    return Native.opd_cancel_token_current_operator(this);
  }

  /**
   * Sets the default token of the calling thread, which cancels all calls of the thread; null: no token. It replaces
   * the token by which Thread.interrupt() cancels calls of a {@link PackedFn} and of an {@link Evaluator}. Calls of a
   * {@link Vm} without a token in their options are cancelled by both the token and Thread.interrupt(). The thread must
   * not be virtual, because the token belongs to the native thread. Within a call, this method throws {@link
   * OpdynoException.FailedPrecondition}.
   */
  public static void setDefault(@Nullable CancelToken token) {
    Native.opd_cancel_token_set_default(token);
    Interrupts.setDefault(token);
  }
}
