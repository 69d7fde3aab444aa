package io.opdyno;

import java.util.Arrays;
import java.util.Iterator;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Lists the Java methods on the calling thread's stack, for the stacks that profilers record. The class uses no lambda
 * and no string concatenation, because Java creates their code at the first use. Every program would wait for this
 * while the library is loaded, and a thread whose stack is nearly full could not do it.
 */
final class HostStack implements Function<Stream<StackWalker.StackFrame>, int[]> {
  private static final int MOST_FRAMES = 256, MOST_KNOWN = 1 << 14;

  private static final StackWalker WALKER = StackWalker.getInstance();
  private static final HostStack READ = new HostStack();
  private static final ConcurrentHashMap<StackTraceElement, int[]> KNOWN = new ConcurrentHashMap<>();

  private HostStack() {}

  /** Called by native code. Returns function, file and line of each method as in an opd_stack_frame, innermost first. */
  static int[] frames() {
    return WALKER.walk(READ);
  }

  @Override
  public int[] apply(Stream<StackWalker.StackFrame> stack) {
    int[] words = new int[3 * 32];
    int size = 0;
    for (Iterator<StackWalker.StackFrame> i = stack.iterator(); size < 3 * MOST_FRAMES && i.hasNext(); ) {
      StackWalker.StackFrame frame = i.next();
      if (isOwn(frame.getClassName())) continue;
      if (size == words.length) words = Arrays.copyOf(words, 2 * size);
      System.arraycopy(describe(frame.toStackTraceElement()), 0, words, size, 3);
      size += 3;
    }
    return Arrays.copyOf(words, size);
  }

  /** Whether a class belongs to the binding, because it is in this package and not in a nested one. */
  private static boolean isOwn(String className) {
    return className.startsWith("io.opdyno.") && className.indexOf('.', 10) < 0;
  }

  private static int[] describe(StackTraceElement method) {
    int[] known = KNOWN.get(method);
    if (known != null) return known;
    String file = method.getFileName();
    int[] made = {
      number(method.getClassName().concat(".").concat(method.getMethodName())),
      number(file == null ? "?" : file),
      Math.max(method.getLineNumber(), 0) // the line of a native method is negative
    };
    // The map is cleared, because a program that keeps making classes would fill the memory. If a method is described
    // again, it gets the same numbers.
    if (KNOWN.size() >= MOST_KNOWN) KNOWN.clear();
    KNOWN.put(method, made);
    return made;
  }

  private static int number(String name) {
    return (int) NativeJNI.opd_range_name(Values.utf8(name));
  }
}
