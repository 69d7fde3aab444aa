package io.opdyno;

import java.lang.ref.WeakReference;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

/**
 * Lets Thread.interrupt() end calls of VMs: a thread of its own looks now and then whether one of those that are calling
 * was interrupted, since Java tells nobody, and cancels the token of its call. A call that has another token, by its options or its
 * thread (CancelToken.setDefault), is ended by that one only.
 */
final class Interrupts {
  private static final long LOOK_MILLIS = 10;
  private static final int MOST_VAIN_LOOKS = 100;
  private static final Set<Running> THREADS = ConcurrentHashMap.newKeySet();
  // What a thread of a pool refers to, or runs, keeps the class loader: THREADS keeps those that call, and the looking ends.
  private static final ThreadLocal<WeakReference<Running>> OF_THREAD = new ThreadLocal<>();
  private static volatile boolean isLooking;

  private Interrupts() {}

  /** The calls of VMs of one thread: within each other they have one token. */
  static final class Running {
    private final Thread thread = Thread.currentThread();
    private final CancelToken token = CancelToken.create();
    private final Map<String, Object> options = Map.of("cancel", token);
    private volatile int depth; // written by the thread only
    private boolean isCancelled; // guarded by this
    private volatile boolean isListed;
    private volatile boolean hasDefault; // the library knows the thread's own token then
    private boolean isDefault; // the library knows this token as the thread's

    private static Running ofThread() {
      WeakReference<Running> known = OF_THREAD.get();
      Running running = known == null ? null : known.get();
      if (running != null) return running;
      running = new Running();
      OF_THREAD.set(new WeakReference<>(running));
      return running;
    }

    private void list() {
      isListed = true;
      THREADS.add(this);
    }

    /** The thread lists it again if it begins a call now. */
    private void unlist() {
      isListed = false;
      THREADS.remove(this);
      if (depth > 0 || hasDefault) list();
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

    /** What fails for one thread must not keep the others from being looked at. */
    private void tryLook() {
      try {
        look();
      } catch (Throwable failed) {
        // A later look may succeed.
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
    Running running = Running.ofThread();
    running.hasDefault = token != null;
    running.list();
  }

  static Running begin() {
    Running running = Running.ofThread();
    int depth = running.depth;
    running.depth = depth + 1;
    try {
      if (!running.isListed) running.list();
      if (!isLooking) startLooking();
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

  private static synchronized void startLooking() {
    if (isLooking) return;
    Thread looker = new Thread(null, Interrupts::look, "opdyno-interrupts", 0, false);
    looker.setDaemon(true);
    looker.setContextClassLoader(null);
    looker.start();
    isLooking = true;
  }

  private static synchronized boolean isDone() {
    isLooking = false; // who begins a call after this comes to startLooking()
    isLooking = isAnyCalling();
    return !isLooking;
  }

  private static void look() {
    for (int vain = 0;; ) {
      try {
        LockSupport.parkNanos(LOOK_MILLIS * 1_000_000);
        vain = isAnyCalling() ? 0 : vain + 1;
        if (vain > MOST_VAIN_LOOKS) {
          vain = 0;
          THREADS.forEach(Running::unlist);
          if (isDone()) return;
        }
        THREADS.removeIf(running -> !running.thread.isAlive());
        THREADS.forEach(Running::tryLook);
      } catch (Throwable failed) {
        // Java has no memory now, say. What is not interrupted at this look is at a later one.
      }
    }
  }
}
