// The state of a recurrent network whose kernels are Java's, and do nothing: its sequences and passes.
import io.opdyno.*;
import java.util.List;
import java.util.Map;

final class WithKvStates {
  private WithKvStates() {}

  static void run() {
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
}
