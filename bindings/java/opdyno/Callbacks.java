package opdyno;

/** What native code calls. */
final class Callbacks {
  private Callbacks() {}

  /** Words: the result, then the arguments, which are borrowed. The result will be the caller's. */
  static void call(PackedFunction function, long[] words) throws Throwable {
    Object[] args = new Object[words.length / 2 - 1];
    for (int i = 0; i < args.length; ++i) {
      args[i] = Values.copy(words, 2 * i + 2);
    }
    try (Values result = Values.of(function.call(args))) {
      System.arraycopy(result.owned(), 0, words, 0, 2);
    }
  }

  static void log(LogCallback callback, int level, byte[] message) {
    callback.log(opd_log_level.swigToEnum(level), Values.text(message));
  }
}
