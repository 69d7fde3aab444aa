package io.opdyno;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * Lets Thread.interrupt() end calls of VMs: a thread of its own looks now and then whether one of those that are calling
 * was interrupted, since Java tells nobody, and cancels the token of its call. A call that has another token, by its options or its
 * thread (CancelToken.setDefault), is ended by that one only.
 */
final class Interrupts {
  private static final long LOOK_MILLIS = 10;
  private static final int MOST_VAIN_LOOKS = 100;
  private static final ConcurrentLinkedQueue<Running> THREADS = new ConcurrentLinkedQueue<>();
  private static final ThreadLocal<Running> OF_THREAD = ThreadLocal.withInitial(Running::new);
  private static final Thread LOOKER = new Thread(null, Interrupts::look, "opdyno-interrupts", 0, false);
  private static volatile boolean isIdle;

  static {
    LOOKER.setDaemon(true);
    LOOKER.setContextClassLoader(null);
    LOOKER.start();
  }

  private Interrupts() {}

  /** The calls of VMs of one thread: within each other they have one token. */
  static final class Running {
    private final Thread thread = Thread.currentThread();
    private final CancelToken token = CancelToken.create();
    private final Map<String, Object> options = Map.of("cancel", token);
    private volatile int depth; // written by the thread only
    private boolean isCancelled; // guarded by this
    private boolean hasDefault; // the library knows the thread's own token then
    private boolean isDefault; // the library knows this token as the thread's

    private Running() {
      THREADS.add(this);
    }

    Map<String, ?> options(CallOptions given) {
      if (hasDefault) return CallOptions.map(given);
      if (given == null) return options;
      Map<String, Object> all = new LinkedHashMap<>(CallOptions.map(given));
      all.putIfAbsent("cancel", token);
      return all;
    }

    void end() {
      if (isDefault && depth == 1) setDefault(false);
      int now = depth - 1;
      if (now > 0) {
        depth = now;
        return;
      }
      synchronized (this) {
        depth = 0;
        if (isCancelled) token.reset();
        isCancelled = false;
      }
    }

    private void setDefault(boolean isSet) {
      try {
        Native.opd_cancel_token_set_default(isSet ? token : null);
        isDefault = isSet;
      } catch (OpdynoException.FailedPrecondition inside) {
        // Of a call of a VM: the token of that one holds.
      }
    }

    private void look() {
      if (depth == 0 || !thread.isInterrupted()) return;
      synchronized (this) {
        if (depth == 0 || isCancelled) return;
        token.cancel();
        isCancelled = true;
      }
    }
  }

  /** Calls of this thread have a token of its own; null: not any more. */
  static void setDefault(CancelToken token) {
    OF_THREAD.get().hasDefault = token != null;
  }

  static Running begin() {
    Running running = OF_THREAD.get();
    int depth = running.depth;
    running.depth = depth + 1;
    try {
      if (isIdle) LockSupport.unpark(LOOKER);
    } catch (Throwable failed) { // the stack is full, say
      running.depth = depth;
      throw failed;
    }
    return running;
  }

  /** Of a call whose options have no token: the thread's own holds for the calls of VMs within. */
  static Running beginDefault() {
    Running running = begin();
    try {
      if (running.depth == 1 && !running.hasDefault) running.setDefault(true);
      return running;
    } catch (Throwable failed) {
      running.end();
      throw failed;
    }
  }

  private static boolean isAnyCalling() {
    for (Running running : THREADS) if (running.depth > 0) return true;
    return false;
  }

  private static void look() {
    for (int vain = 0;; ) {
      try {
        LockSupport.parkNanos(LOOK_MILLIS * 1_000_000);
        vain = isAnyCalling() ? 0 : vain + 1;
        if (vain > MOST_VAIN_LOOKS) {
          vain = 0;
          sleep();
        }
        THREADS.removeIf(running -> !running.thread.isAlive());
        for (Running running : THREADS) running.look();
      } catch (Throwable failed) {
        // Java has no memory now, say. What is not interrupted at this look is at a later one.
      }
    }
  }

  private static void sleep() {
    isIdle = true; // who begins a call after this wakes it
    try {
      if (!isAnyCalling()) LockSupport.park();
    } finally {
      isIdle = false;
    }
  }
}
