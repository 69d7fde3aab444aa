// Tests of tensors of memory that a caller lends to a callback. They are valid until the call ends.
import static io.opdyno.Native.*;
import static io.opdyno.Out.take;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import io.opdyno.*;

final class WithLoans {
  private WithLoans() {}

  static void run() {
    List<Tensor> kept = new ArrayList<>();
    PackedFunction keep =
        args -> {
          Tensor lent = (Tensor) args[0];
          kept.add(lent);
          kept.add(Out.<Tensor>take(out -> opd_tensor_reshape(lent, new long[] {2, 2}, out)));
          First.check(Arrays.equals(kept.get(1).toFloatArray(), new float[] {1, 2, 3, 4}), "lent during the call");
          opd_tensor_copy_from_bytes(lent, kept.get(0).toBytes());
          return null;
        };
    try (Tensor x = Tensor.of(new float[] {1, 2, 3, 4}, 4);
        PackedFn function = take(out -> opd_function_create(keep, out));
        Closure closure = take(out -> opd_closure_create(function, "void(tensor)", out));
        PackedFn byPointer =
            take(out -> opd_function_create_native(opd_closure_pointer(closure), "void(tensor)", null, 0, out))) {
      Out.<Object>take(out -> opd_function_call(byPointer, new Object[] {x}, out));
      First.check(kept.size() == 2, "the callback ran");
      for (Tensor tensor : kept) {
        List<Runnable> uses =
            List.of(
                () -> tensor.toFloatArray(),
                () -> tensor.shape(),
                () -> tensor.dtype(),
                () -> opd_tensor_bytes(tensor),
                () -> opd_tensor_copy(tensor, x),
                () -> opd_tensor_copy(x, tensor),
                () -> opd_tensor_reshape(tensor, new long[] {4}, new Out<>()),
                () -> opd_array_create(new Object[] {tensor}, new Out<>()),
                () -> opd_function_call(function, new Object[] {tensor}, new Out<>()));
        for (int i = 0; i < uses.size(); ++i) {
          Throwable thrown = First.thrown(uses.get(i));
          First.check(
              thrown instanceof IllegalStateException && thrown.getMessage().contains("copy what is to be kept"),
              "use " + i + " of a kept tensor: " + thrown);
        }
        tensor.close();
      }
      First.check(Arrays.equals(x.toFloatArray(), new float[] {1, 2, 3, 4}), "the caller's tensor is as before");
    }
    closedByTheCallee();
    returned();
  }

  private static void closedByTheCallee() {
    try (Tensor x = Tensor.of(new float[] {1}, 1);
        PackedFn function =
            take(
                out ->
                    opd_function_create(
                        args -> {
                          ((Tensor) args[0]).close();
                          return 7;
                        },
                        out));
        Closure closure = take(out -> opd_closure_create(function, "i32(tensor)", out));
        PackedFn byPointer =
            take(out -> opd_function_create_native(opd_closure_pointer(closure), "i32(tensor)", null, 0, out))) {
      Object result = take(out -> opd_function_call(byPointer, new Object[] {x}, out));
      First.check(result.equals(7L), "a lent tensor may be closed: " + result);
    }
  }

  /** A tensor that owns its memory passes through a callback unchanged. */
  private static void returned() {
    try (Tensor x = Tensor.of(new float[] {1, 2}, 2);
        PackedFn same = take(out -> opd_function_create(args -> args[0], out));
        Tensor y = (Tensor) Out.<Object>take(out -> opd_function_call(same, new Object[] {x}, out))) {
      opd_tensor_copy_from_bytes(x, new byte[8]);
      First.check(Arrays.equals(y.toFloatArray(), new float[] {0, 0}), "the same memory");
    }
  }
}
