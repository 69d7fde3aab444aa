package io.opdyno;

import java.util.function.BooleanSupplier;

/**
 * A daemon thread that ends when it has no work, because a running thread keeps its class loader alive. Whoever adds
 * work must then call start().
 */
final class IdleThread {
  /** Does a part of the work and may wait for work. Returns false if there was no work for some time. */
  interface Step {
    boolean run() throws InterruptedException;
  }

  private final String name;
  private final Step step;
  private final BooleanSupplier hasWork;
  private volatile boolean isStarted;

  /** Makes the thread. It ends if a step found no work and {@code hasWork} is false. {@code hasWork} must not wait. */
  IdleThread(String name, Step step, BooleanSupplier hasWork) {
    this.name = name;
    this.step = step;
    this.hasWork = hasWork;
  }

  void start() {
    if (!isStarted) startOne();
  }

  private synchronized void startOne() {
    if (isStarted) return;
    Thread made = new Thread(null, this::run, name, 0, false);
    made.setDaemon(true);
    made.setContextClassLoader(null);
    made.start();
    isStarted = true;
  }

  private synchronized boolean isDone() {
    isStarted = false; // whoever adds work after this line starts a new thread by startOne()
    isStarted = hasWork.getAsBoolean();
    return !isStarted;
  }

  private void run() {
    for (;;) {
      try {
        if (!step.run() && isDone()) return;
      } catch (Throwable failed) {
        // If a step throws, the remaining work is still done.
      }
    }
  }
}
