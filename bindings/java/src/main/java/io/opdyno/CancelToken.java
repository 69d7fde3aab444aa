package io.opdyno;

import org.jspecify.annotations.Nullable;

/** Ends calls from outside: see CallOptions. All methods are safe on any thread. */
public final class CancelToken extends Handle {
  CancelToken(long pointer) {
    super(pointer);
  }

  /** A token that is not cancelled. */
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

  /** The operator that a call with this token is running, for messages about calls that hang; null if there is none. */
  public @Nullable String currentOperator() {
    return Native.opd_cancel_token_current_operator(this);
  }

  /**
   * Sets the default token of the calling thread, which ends all its calls; null: none. It replaces the token by which
   * Thread.interrupt() ends calls of a {@link PackedFn} and of an {@link Evaluator}. Calls of a {@link Vm} without a token in
   * their options end by either. The thread must not be virtual, because the token belongs to the native thread. Within a call,
   * this throws {@link OpdynoException.FailedPrecondition}.
   */
  public static void setDefault(@Nullable CancelToken token) {
    Native.opd_cancel_token_set_default(token);
    Interrupts.setDefault(token);
  }
}
