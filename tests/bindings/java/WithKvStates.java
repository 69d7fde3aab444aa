// Tests of KV states: sequences and passes of a recurrent network, whose kernels are Java lambdas that do nothing; and
// the cache of a decoder that TVM compiled.
import io.opdyno.*;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

final class WithKvStates {
  private static final int VOCABULARY = 97, WIDTH = 64;

  private WithKvStates() {}

  static void run(Path artifact) {
    ofANetwork();
    ofADecoder(artifact.getParent().resolveSibling("language"));
  }

  private static void ofANetwork() {
    try (PackedFn kernel = PackedFn.of(args -> null);
        PackedFn create = PackedFn.global("vm.builtin.rnn_state_create");
        Tensor initial = Tensor.of(new float[] {0.5f}, 1);
        Handle made = (Handle) create.call(1, 3, 4, List.of(kernel), List.of(kernel), List.of(initial));
        KvState state = KvState.of(made)) {
      state.add(7);
      state.begin(new long[] {7}, new long[] {2});
      state.end();
      state.forward(new long[] {7}, new long[] {1}, () -> {});
      First.failed(() -> state.forward(new long[] {7}, new long[] {1}, () -> {
        throw new IllegalStateException("the program failed");
      }), IllegalStateException.class, "the program failed");
      state.begin(new long[] {7}, new long[] {1}, new long[] {-1});
      state.cancel();
      First.check(state.lengths().equals(Map.of(7L, 3L)), "" + state.lengths());
      state.fork(7, 8);
      state.pop(7, 1);
      First.check(state.lengths().equals(Map.of(7L, 2L, 8L, 3L)), "" + state.lengths());
      KvStats stats = state.stats();
      First.check(stats.numSequences() == 2 && stats.numTokens() == 5 && stats.numPages() == 3 && stats.freePages() == 1, "" + stats);
      state.remove(7);
      state.clear();
      First.check(state.lengths().isEmpty(), "" + state.lengths());
      First.failed(() -> state.pop(7, 1), OpdynoException.NotFound.class, "the state has no sequence 7");
      First.failed(() -> state.begin(new long[] {7}, new long[] {1, 1}), OpdynoException.InvalidArgument.class,
          "must be of one length, but are of 1 and 2");
      First.failed(() -> KvState.of(3), OpdynoException.InvalidArgument.class, "must be a paged KV cache or an RNN state");
    }
  }

  /**
   * Two sequences share a prompt. They decode the same as a sequence that shares nothing and is computed in one pass.
   */
  private static void ofADecoder(Path directory) {
    try (Program program = Program.load(directory.resolve("tiny_llama.so"));
        Vm vm = program.vm();
        Params params = Params.open(directory.resolve("weights.npz"));
        ValueList weights = ValueList.of(params.names().stream().map(params::get).toArray());
        // The limits of sequences, of all tokens, of tokens in a pass and in a page, and the windows.
        Handle made = (Handle) vm.call("create_paged_kv_cache", shape(2), shape(128), shape(64), shape(16), shape(0));
        KvState cache = KvState.of(made)) {
      int[] prompt = IntStream.range(0, 20).map(i -> (3 + 7 * i) % VOCABULARY).toArray();
      cache.add(0);
      logits(vm, weights, cache, "prefill", new long[] {0}, new long[] {20}, prompt);
      cache.fork(0, 1);
      int[] next = {21, 34};
      float[] decoded = logits(vm, weights, cache, "decode", new long[] {0, 1}, new long[] {1, 1}, next);
      First.check(cache.lengths().equals(Map.of(0L, 21L, 1L, 21L)), "" + cache.lengths());
      KvStats stats = cache.stats();
      First.check(stats.pageSize() == 16 && stats.numPages() - stats.freePages() == 3, "the first page is of both: " + stats);
      First.failed(() -> cache.forward(new long[] {1}, new long[] {1}, () -> {
        throw new IllegalStateException("the program failed");
      }), IllegalStateException.class, "the program failed");
      First.check(cache.lengths().get(1L) == 21, "" + cache.lengths());
      cache.pop(1, 5); // all tokens in the page that it does not share
      First.check(cache.lengths().equals(Map.of(0L, 21L, 1L, 16L)) && cache.stats().freePages() == stats.freePages() + 1, "" + cache.stats());
      for (int i = 0; i < next.length; ++i) {
        cache.clear();
        cache.add(5);
        int[] all = Arrays.copyOf(prompt, 21);
        all[20] = next[i];
        float[] whole = logits(vm, weights, cache, "prefill", new long[] {5}, new long[] {21}, all);
        for (int j = 0; j < VOCABULARY; ++j) {
          float got = decoded[i * VOCABULARY + j], expected = whole[20 * VOCABULARY + j];
          First.check(Math.abs(got - expected) < 1e-4, "sequence " + i + ", logit " + j + ": " + got + " " + expected);
        }
      }
    }
  }

  private static long[] shape(long size) {
    return new long[] {size};
  }

  /** Runs a pass. Returns the logits of all its tokens. */
  private static float[] logits(Vm vm, ValueList weights, KvState cache, String function, long[] ids, long[] counts, int[] tokens) {
    float[][] found = new float[1][];
    cache.forward(ids, counts, () -> {
      int rows = tokens.length;
      try (Tensor given = Tensor.of(tokens, rows);
          Tensor embedded = vm.callTensor("embed", given, weights);
          Tensor x = function.equals("decode") ? embedded.reshape(rows, 1, WIDTH) : embedded.reshape(1, rows, WIDTH);
          ValueList result = (ValueList) vm.call(function, x, cache, weights);
          Tensor y = result.tensor(0)) {
        found[0] = y.toFloatArray();
      }
    });
    return found[0];
  }
}
