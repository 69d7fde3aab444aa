package io.opdyno;

import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The state that a language model's program keeps of its sequences between calls: a paged attention cache, or those of a recurrent
 * network. A function of the program makes it, and others take it as an argument. Sequences have numbers of the caller's choice. One
 * thread at a time: if another thread uses the state, the error is {@link OpdynoException.FailedPrecondition}.
 */
public final class KvState extends Handle {
  KvState(long pointer) {
    super(pointer);
  }

  /** Of the result of a function of the program, which stays the caller's to close. */
  public static KvState of(Object value) {
    return Out.take(out -> Native.opd_kv_state_from_value(value, out));
  }

  /** Adds an empty sequence. */
  public void add(long id) {
    Native.opd_kv_state_add(this, id);
  }

  /** Removes a sequence. Its pages are free, but for those that others share. */
  public void remove(long id) {
    Native.opd_kv_state_remove(this, id);
  }

  /** Removes all sequences. */
  public void clear() {
    Native.opd_kv_state_clear(this);
  }

  /** Makes the sequence {@code child}, which begins with all tokens of {@code parent}. */
  public void fork(long parent, long child) {
    fork(parent, child, -1);
  }

  /** Makes the sequence {@code child}, which begins with so many tokens of {@code parent}; -1: all. */
  public void fork(long parent, long child, long numTokens) {
    Native.opd_kv_state_fork(this, parent, child, numTokens);
  }

  /** Takes the last tokens of a sequence back. */
  public void pop(long id, long numTokens) {
    Native.opd_kv_state_pop(this, id, numTokens);
  }

  /** Begins a pass, which computes so many new tokens of each sequence. If it fails, nothing has changed. */
  public void begin(long[] ids, long[] counts) {
    begin(ids, counts, null);
  }

  /**
   * Begins a pass of trees: {@code parents} has for each new token the one in its sequence's tree that it follows, -1 for a root.
   */
  public void begin(long[] ids, long[] counts, long @Nullable [] parents) {
    Objects.requireNonNull(ids, "ids must not be null");
    Objects.requireNonNull(counts, "counts must not be null");
    Native.opd_kv_state_begin(this, ids, counts, parents == null ? new long[0] : parents);
  }

  /** Ends the pass. */
  public void end() {
    Native.opd_kv_state_end(this, 1);
  }

  /** Ends the pass, and takes its tokens back, as after a call that failed. */
  public void cancel() {
    Native.opd_kv_state_end(this, 0);
  }

  /** Runs a pass. If {@code body} throws, the tokens of the pass are taken back. */
  public void forward(long[] ids, long[] counts, Runnable body) {
    Objects.requireNonNull(body, "body must not be null");
    begin(ids, counts);
    boolean isDone = false;
    try {
      body.run();
      isDone = true;
    } finally {
      Native.opd_kv_state_end(this, isDone ? 1 : 0);
    }
  }

  /** The tokens of each sequence, by its number. */
  public Map<Long, Long> lengths() {
    try (ValueMap lengths = Out.take(out -> Native.opd_kv_state_lengths(this, out))) {
      Map<Long, Long> all = new TreeMap<>();
      lengths.toMap().forEach((id, length) -> all.put((Long) id, (Long) length));
      return all;
    }
  }

  /** How full it is. */
  public KvStats stats() {
    return Out.take(out -> Native.opd_kv_state_get_stats(this, out));
  }
}
