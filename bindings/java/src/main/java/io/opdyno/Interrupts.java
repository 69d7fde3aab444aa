package io.opdyno;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.WeakReference;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

/**
 * Lets Thread.interrupt() cancel calls of VMs. Java has no callback for an interrupt, so a separate thread polls the
 * calling threads. If a calling thread is interrupted, the polling thread cancels the token of its calls. The token is
 * the native thread's default, so it also cancels functions that are called without options.
 */
final class Interrupts {
  private static final long LOOK_MILLIS = 10;
  private static final int MOST_VAIN_LOOKS = 100;
  // This set keeps the objects of calling threads until polling ends. If threads of a pool referred to the objects, the
  // threads would keep the class loader alive.
  private static final Set<Running> THREADS = ConcurrentHashMap.newKeySet();
  private static final IdleThread LOOKER = new IdleThread("opdyno-interrupts", Interrupts::look, () -> !THREADS.isEmpty());
  private static final VarHandle DEPTH;
  private static int vainLooks; // polls without a calling thread, in sequence; only the polling thread uses it

  static {
    Library.load();
    try {
      DEPTH = MethodHandles.lookup().findVarHandle(Running.class, "depth", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private Interrupts() {}

  /** The state of one thread's calls, which the thread's {@link Area} holds. Nested calls have one token. */
  static final class Running {
    private final WeakReference<Thread> thread = new WeakReference<>(Thread.currentThread());
    // The token of a virtual thread is set for each outermost call, because between its calls the carrier thread runs
    // others.
    private final boolean isVirtual = Thread.currentThread().getThreadGroup() != null
        && Thread.currentThread().getThreadGroup().getName().equals("VirtualThreads");
    private Map<String, Object> options;
    private CancelToken token; // not null while the thread is listed
    private int depth; // only the thread writes it, without a fence for each call
    private volatile boolean isCancelled; // written with the lock of this
    private volatile boolean isListed; // written with the lock of this, and by look()
    private boolean isSet; // the token is the native thread's default for the running calls
    private boolean isDefault; // the token is the native thread's default for future calls, too
    private boolean hasOther; // the thread has a default token from CancelToken.setDefault()

    /** Begins a call, which end() ends. */
    Running begin() {
      int now = depth;
      DEPTH.setOpaque(this, now + 1); // written before isListed is read; see unlistIdle()
      if (now == 0 && (!isListed || !isDefault || isCancelled)) prepare();
      return this;
    }

    void end() {
      int now = depth - 1;
      DEPTH.setOpaque(this, now);
      // A poll sets isCancelled first, and cancels the token only if the thread is still interrupted then. So the
      // thread sees isCancelled or the interrupt here. Otherwise it begins its next call with isCancelled set, and
      // waits for the poll's end.
      if (now == 0 && (isCancelled || Thread.currentThread().isInterrupted())) reset();
    }

    private synchronized void reset() {
      if (isCancelled) token.reset();
      isCancelled = false;
    }

    private void prepare() {
      try {
        if (!isListed) list();
        if (isCancelled) reset();
        if (isDefault || hasOther) return;
        isSet = setDefaultToken();
        isDefault = isSet && !isVirtual;
      } catch (Throwable failed) { // for example StackOverflowError
        DEPTH.setOpaque(this, 0);
        throw failed;
      }
    }

    private boolean setDefaultToken() {
      long pointer = Handle.begin(token);
      try {
        return trySetDefault(pointer);
      } finally {
        Handle.end(token);
      }
    }

    private synchronized void list() {
      if (token == null) {
        token = CancelToken.create();
        options = Map.of("cancel", token);
        isSet = isDefault = false;
      }
      THREADS.add(this);
      LOOKER.start();
      isListed = true;
    }

    /** Adds the thread's token to the options of a call, if another token is the thread's default. */
    Map<String, ?> options(CallOptions given) {
      if (isSet) return CallOptions.map(given);
      if (given == null) return options;
      Map<String, Object> all = new LinkedHashMap<>(CallOptions.map(given));
      all.putIfAbsent("cancel", token);
      return all;
    }

    private boolean isCalling() {
      return (int) DEPTH.getOpaque(this) > 0;
    }

    /** Polls the thread. A failure is ignored, so that the other threads are still polled. */
    private void tryLook() {
      try {
        Thread known = thread.get();
        if (known == null || !known.isAlive()) forget();
        else if (isCalling() && known.isInterrupted()) cancel(known);
      } catch (Throwable failed) {
        // A later poll may succeed.
      }
    }

    private synchronized void cancel(Thread known) {
      if (isCancelled) return;
      isCancelled = true;
      if (isCalling() && known.isInterrupted()) token.cancel();
      else isCancelled = false;
    }

    /** Called some time after isListed was unset. A thread that read isListed earlier has written its depth by now. */
    private synchronized void unlistIdle() {
      if (isCalling()) isListed = true;
      if (!isListed) forget();
    }

    private synchronized void forget() {
      THREADS.remove(this);
      token.close(); // an open handle would keep the class loader alive
      token = null;
      options = null;
    }
  }

  /** Sets another default token for calls of this thread; null: none. */
  static void setDefault(CancelToken token) {
    Running running = Area.get().running();
    running.isSet = running.isDefault = false;
    running.hasOther = token != null;
  }

  /** Begins a call of this thread. */
  static Running begin() {
    return Area.get().running().begin();
  }

  /** Polls all calling threads once. Returns false if no thread has made a call for some time. */
  private static boolean look() {
    LockSupport.parkNanos(LOOK_MILLIS * 1_000_000);
    THREADS.forEach(Running::tryLook);
    if (vainLooks > MOST_VAIN_LOOKS) {
      THREADS.forEach(Running::unlistIdle);
      vainLooks = 0;
      return !THREADS.isEmpty();
    }
    vainLooks = isAnyCalling() ? 0 : vainLooks + 1;
    if (vainLooks > MOST_VAIN_LOOKS) THREADS.forEach(running -> running.isListed = false);
    return true;
  }

  private static boolean isAnyCalling() {
    for (Running running : THREADS) if (running.isCalling()) return true;
    return false;
  }

  /** Makes the token the native thread's default. Returns false within a call of a VM, which has its own token. */
  private static native boolean trySetDefault(long token);
}
