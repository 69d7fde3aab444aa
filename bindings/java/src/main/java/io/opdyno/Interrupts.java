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
 * Lets Thread.interrupt() end calls of VMs. Java has no callback for an interrupt, so a separate thread polls the calling
 * threads. If one is interrupted, it cancels the token of that thread's calls. The token is the default of the native thread, so
 * it also ends functions that are called without options.
 */
final class Interrupts {
  private static final long LOOK_MILLIS = 10;
  private static final int MOST_VAIN_LOOKS = 100;
  // If threads of a pool referred to these objects, they would keep the class loader. So this set keeps the objects of calling
  // threads, and polling ends.
  private static final Set<Running> THREADS = ConcurrentHashMap.newKeySet();
  private static final IdleThread LOOKER = new IdleThread("opdyno-interrupts", Interrupts::look, () -> !THREADS.isEmpty());
  private static final VarHandle DEPTH;
  private static int vainLooks; // of the polling thread

  static {
    Library.load();
    try {
      DEPTH = MethodHandles.lookup().findVarHandle(Running.class, "depth", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private Interrupts() {}

  /** The calls of one thread. Nested calls have one token. The thread's {@link Area} has it. */
  static final class Running {
    private final WeakReference<Thread> thread = new WeakReference<>(Thread.currentThread());
    // A carrier thread runs other virtual threads between the calls of one, so the token is set for each outermost call.
    private final boolean isVirtual = Thread.currentThread().getThreadGroup() != null
        && Thread.currentThread().getThreadGroup().getName().equals("VirtualThreads");
    private Map<String, Object> options;
    private CancelToken token; // while the thread is listed
    private int depth; // the thread writes it, without a fence for each call
    private volatile boolean isCancelled; // written within this
    private volatile boolean isListed; // written within this, and by a look
    private boolean isSet; // as the native thread's default, for the calls that run now
    private boolean isDefault; // as the default for future calls, too
    private boolean hasOther; // the thread has a default token by CancelToken.setDefault()

    /** Counts a call, which end() ends. */
    Running begin() {
      int now = depth;
      DEPTH.setOpaque(this, now + 1); // before isListed is read: see unlistIdle()
      if (now == 0 && (!isListed || !isDefault || isCancelled)) prepare();
      return this;
    }

    void end() {
      int now = depth - 1;
      DEPTH.setOpaque(this, now);
      // A poll sets isCancelled, and cancels only if the thread is still interrupted then. So the thread sees one of the two
      // here, or begins its next call with isCancelled set, and waits for the end of the poll.
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
      } catch (Throwable failed) { // for example because the stack is full
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

    /** The token of a call, if the thread's default token is another one. */
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

    /** If the poll of one thread fails, the others are still polled. */
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

    /** Some time after isListed was unset: a thread that read it before has written its depth since. */
    private synchronized void unlistIdle() {
      if (isCalling()) isListed = true;
      if (!isListed) forget();
    }

    private synchronized void forget() {
      THREADS.remove(this);
      token.close(); // a handle that is open keeps the class loader
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

  /** Counts a call of this thread. */
  static Running begin() {
    return Area.get().running().begin();
  }

  /** Does a part of the polling thread's work. Returns false if no thread called for some time. */
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
