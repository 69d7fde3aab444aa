package io.opdyno;

import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The state that a language model's program stores for its sequences between calls: a paged attention cache, or the
 * states of a recurrent network. A function of the program makes it, and other functions take it as an argument. The
 * caller chooses the ids of the sequences. Only one thread at a time may use a state. While another thread uses
 * it, {@link OpdynoException.FailedPrecondition} is thrown.
 */
public final class KvState extends Handle {
  KvState(long pointer) {
    super(pointer);
  }

  /** Gets the state from the result of a function of the program. The caller still has to close the result. */
  public static KvState of(Object value) {
    return Out.take(out -> Native.opd_kv_state_from_value(value, out));
  }

  /** Adds an empty sequence. */
  public void add(long id) {
    Native.opd_kv_state_add(this, id);
  }

  /** Removes a sequence and frees its pages, except pages that other sequences share. */
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

  /**
   * Makes the sequence {@code child}, which begins with the first {@code numTokens} tokens of {@code parent}; -1: all.
   */
  public void fork(long parent, long child, long numTokens) {
    Native.opd_kv_state_fork(this, parent, child, numTokens);
  }

  /** Removes the last tokens of a sequence. */
  public void pop(long id, long numTokens) {
    Native.opd_kv_state_pop(this, id, numTokens);
  }

  /**
   * Begins a pass, which computes {@code counts[i]} new tokens of {@code ids[i]}. If this fails, the state is
   * unchanged.
   */
  public void begin(long[] ids, long[] counts) {
    begin(ids, counts, null);
  }

  /**
   * Begins a pass of trees: {@code parents} has the parent of each new token, as an index into its sequence's tree; -1: a root.
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

  /** Ends the pass and removes its tokens, for example after a call that failed. */
  public void cancel() {
    Native.opd_kv_state_end(this, 0);
  }

  /** Runs a pass. If {@code body} throws, the tokens of the pass are removed. */
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

  /** The number of tokens of each sequence, by the sequence's id. */
  public Map<Long, Long> lengths() {
    try (ValueMap lengths = Out.take(out -> Native.opd_kv_state_lengths(this, out))) {
      Map<Long, Long> all = new TreeMap<>();
      lengths.toMap().forEach((id, length) -> all.put((Long) id, (Long) length));
      return all;
    }
  }

  /** The counts of the state: sequences, tokens, pages and bytes. */
  public KvStats stats() {
    return Out.take(out -> Native.opd_kv_state_get_stats(this, out));
  }
}
