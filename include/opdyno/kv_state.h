/** @file kv_state.h  KV caches and RNN states: the data that a language model's program keeps for its sequences between
 * calls. */
#ifndef OPDYNO_KV_STATE_H_
#define OPDYNO_KV_STATE_H_

#include <opdyno/value.h>

OPD_BEGIN_DECLS

/** A paged attention cache, or the states of a recurrent network. A function of the program makes it, and the program's
 * functions take it as an argument: opd_value_of_object(state). It holds sequences of tokens. The caller chooses a
 * number for each.
 *
 *     opd_kv_state_add(state, 7);                        sequence 7, empty
 *     opd_kv_state_begin(state, &id, 1, &count, 1, NULL, 0);   count tokens of it come now
 *     opd_vm_call(vm, "prefill", …);                     the program computes them
 *     opd_kv_state_end(state, 1);
 *
 * One thread at a time: if another thread is using the state, even in a call of the program, a function returns
 * OPD_FAILED_PRECONDITION. These functions do the same as the global functions `vm.builtin.kv_state_*`. Features of
 * only one kind of state are global functions, too: windows, trees of tokens, checkpoints (docs/builtins.md). Source:
 * TVM KVState. */
typedef struct opd_kv_state opd_kv_state;
OPD_HANDLE(opd_kv_state);

/** Gives the state that a value holds.
 * @param value     Borrowed: the result of the program's function.
 * @param out_state New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT of the kind "TypeError" for another value. A state of a session (rpc.h) counts
 *         as another value: use the global functions of that session.
 * Threads: safe. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_kv_state_from_value(const opd_value *value, opd_kv_state **out_state);

/* ---- sequences -------------------------------------------------------------------------------------------------- */

/* If one of these functions fails, it changes nothing. All but opd_kv_state_add() may end the running pass. */

/** Adds an empty sequence.
 * @param id The sequence's number.
 * @return NULL, or OPD_INVALID_ARGUMENT if a sequence has that number; OPD_OUT_OF_RANGE if an RNN state is full;
 *         OPD_FAILED_PRECONDITION. Threads: one at a time. Since: 0.2. Source: TVM kv_state_add_sequence. */
OPD_API OPD_NODISCARD opd_error *opd_kv_state_add(opd_kv_state *state, int64_t id);

/** Removes a sequence and frees its pages, except pages that other sequences share.
 * @param id The sequence's number.
 * @return NULL, or OPD_NOT_FOUND, OPD_FAILED_PRECONDITION. Threads: one at a time. Since: 0.2. Source: TVM
 * kv_state_remove_sequence. */
OPD_API OPD_NODISCARD opd_error *opd_kv_state_remove(opd_kv_state *state, int64_t id);

/** Removes all sequences.
 * @return NULL, or OPD_FAILED_PRECONDITION. Threads: one at a time. Since: 0.2. Source: TVM kv_state_clear. */
OPD_API OPD_NODISCARD opd_error *opd_kv_state_clear(opd_kv_state *state);

/** Makes a sequence that begins with the tokens of another one. The two share full pages; the page where they diverge
 * is copied. An RNN state is copied as a whole.
 * @param parent       The number of the existing sequence.
 * @param child        The number of the new one.
 * @param num_tokens   Number of the parent's tokens with which it begins; -1: all. An RNN state always gives all.
 * @return NULL, or OPD_NOT_FOUND (@p parent), OPD_INVALID_ARGUMENT (@p child exists), OPD_OUT_OF_RANGE (@p num_tokens
 *         is out of range; no page is free), OPD_FAILED_PRECONDITION. Threads: one at a time. Since: 0.2. Source: TVM
 *         kv_state_fork_sequence. */
OPD_API OPD_NODISCARD opd_error *opd_kv_state_fork(opd_kv_state *state, int64_t parent, int64_t child,
                                                   int64_t num_tokens);

/** Removes the last tokens of a sequence.
 * @param id         The sequence's number.
 * @param num_tokens Number of tokens. An RNN state can go back only as far as the states that its program keeps.
 * @return NULL, or OPD_NOT_FOUND, OPD_OUT_OF_RANGE, OPD_FAILED_PRECONDITION. Threads: one at a time. Since: 0.2.
 * Source: TVM kv_state_popn. */
OPD_API OPD_NODISCARD opd_error *opd_kv_state_pop(opd_kv_state *state, int64_t id, int64_t num_tokens);

/* ---- passes ----------------------------------------------------------------------------------------------------- */

/** Begins a pass: sets the tokens that the program computes next. Their places are reserved at once. If it fails,
 * nothing has changed.
 * @param ids         Borrowed: @p num_ids numbers of sequences, each once.
 * @param num_ids     At least 1, and at most the number of sequences that the state takes in a pass.
 * @param counts      Borrowed: the number of new tokens of each sequence, at least 1.
 * @param num_counts  Equal to @p num_ids.
 * @param parents     Borrowed: the parent of each new token, one sequence after the other. A parent is an index from 0
 *                    into the tree of the token's sequence; -1 makes a root. NULL: each token follows the one before.
 * @param num_parents The sum of @p counts, or 0.
 * @return NULL, or OPD_NOT_FOUND; OPD_OUT_OF_RANGE with the pages that are needed and free; OPD_INVALID_ARGUMENT;
 *         OPD_FAILED_PRECONDITION. Threads: one at a time. Cost: about 100 ns, without allocation once warm. Since:
 *         0.2. Source: TVM kv_state_begin_forward. */
OPD_API OPD_NODISCARD opd_error *opd_kv_state_begin(opd_kv_state *state, const int64_t *ids, int32_t num_ids,
                                                    const int64_t *counts, int32_t num_counts, const int64_t *parents,
                                                    int32_t num_parents);

/** Ends the pass. If there is none, it does nothing.
 * @param keep 0: removes the tokens of the pass, for example after a call that failed or was cancelled. If a sliding
 *             window dropped older tokens for them, those are lost. Any other value keeps the tokens.
 * @return NULL, or OPD_FAILED_PRECONDITION. Threads: one at a time. Since: 0.2. Source: TVM kv_state_end_forward. */
OPD_API OPD_NODISCARD opd_error *opd_kv_state_end(opd_kv_state *state, int32_t keep);

/* ---- contents --------------------------------------------------------------------------------------------------- */

/** Gives the lengths of all sequences.
 * @param out_lengths New reference: a map from the number of a sequence to its number of tokens, in the order of the
 *                    sequences' numbers. The tokens of a running pass count in a paged cache, but not in an RNN state.
 * @return NULL, or OPD_FAILED_PRECONDITION, OPD_OUT_OF_MEMORY. Threads: one at a time. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_kv_state_lengths(opd_kv_state *state, opd_map **out_lengths);

/** Counts of a state: sequences, tokens, pages and bytes. A page of a paged cache holds `page_size` tokens. A page of
 * an RNN state holds one sequence of any length. */
typedef struct opd_kv_stats {
  uint32_t struct_size;  /**< Set by the caller to sizeof(opd_kv_stats). The library sets it to the number of bytes that
                              it filled. */
  uint32_t reserved;     /**< Always 0. */
  int64_t num_sequences; /**< Number of sequences. */
  int64_t num_tokens;    /**< Number of tokens of all sequences. A shared token counts for each sequence that has it. */
  int64_t max_batch;     /**< Largest number of sequences in a pass. */
  int64_t page_size;     /**< Number of tokens in a page; 0: any number. */
  int64_t num_pages;     /**< Number of pages. */
  int64_t free_pages;    /**< Number of pages that no sequence uses. */
  uint64_t bytes;        /**< Device memory, allocated when the state was made. */
} opd_kv_stats;

/** Gives the counts of a state.
 * @param out_stats Written. Its struct_size must be set.
 * @return NULL, or OPD_FAILED_PRECONDITION; OPD_INVALID_ARGUMENT for a wrong struct_size. Threads: one at a time.
 * Since: 0.2. Source: TVM attention_kv_cache_get_num_available_pages, …_get_total_sequence_length. */
OPD_API OPD_NODISCARD opd_error *opd_kv_state_get_stats(opd_kv_state *state, opd_kv_stats *out_stats);

OPD_END_DECLS

#endif
