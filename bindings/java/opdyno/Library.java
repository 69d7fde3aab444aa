package opdyno;

/** The native part. Each class with native methods loads it, since any of them may be the first that a program uses. */
final class Library {
  static {
    System.loadLibrary("opdyno_java");
  }

  private Library() {}

  static void load() {}
}
