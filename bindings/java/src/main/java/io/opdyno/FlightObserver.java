package io.opdyno;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import jdk.jfr.FlightRecorder;
import jdk.jfr.FlightRecorderListener;
import jdk.jfr.Recording;
import org.jspecify.annotations.Nullable;

/** Writes events while it is open; see {@link FlightEvents#observe}. */
public final class FlightObserver implements AutoCloseable {
  private final Vm vm;
  private final FlightRecorderListener listener = new FlightRecorderListener() {
    @Override
    public void recordingStateChanged(Recording recording) {
      try {
        update();
      } catch (IllegalStateException closed) {
        close(); // the VM has ended earlier
      }
    }
  };
  private PackedFn instrument; // null while no recording runs
  private boolean isClosed;

  FlightObserver(Vm vm) {
    this.vm = vm;
    // Registers the event before the listener is added, because a listener is called with the recorder's lock and waits
    // for this object.
    new CallEvent().isEnabled();
    if (FlightRecorder.isAvailable()) FlightRecorder.addListener(listener);
    try {
      update();
    } catch (Throwable failed) {
      close();
      throw failed;
    }
  }

  /** Whether calls are written now, because a recording runs in which the event is enabled. */
  public synchronized boolean isRecording() {
    return instrument != null;
  }

  /** Ends the observer. After that, the VM has no instrument. */
  @Override
  public void close() {
    if (FlightRecorder.isAvailable()) FlightRecorder.removeListener(listener);
    end();
  }

  private synchronized void update() {
    boolean isEnabled = !isClosed && new CallEvent().isEnabled();
    if (isEnabled == isRecording()) return;
    PackedFn before = instrument, now = isEnabled ? PackedFn.of(new Instrument()) : null;
    try {
      vm.setInstrument(now);
      instrument = now;
    } finally {
      PackedFn unused = instrument == now ? before : now;
      if (unused != null) unused.close(); // running calls keep the instrument alive
    }
  }

  private synchronized void end() {
    if (isClosed) return;
    isClosed = true;
    try {
      update();
    } catch (IllegalStateException closed) {
      // The VM and its instrument have ended earlier.
    }
    if (instrument != null) instrument.close();
    instrument = null;
  }

  /**
   * The instrument. It is called before and after each call, but not after a failed call. The thread's {@link Area} has
   * open calls.
   */
  private static final class Instrument extends DirectFunction {
    private static final int MOST_OPEN = 1 << 10; // failed calls stay open, so their number is limited

    @Override
    void call(ByteBuffer memory, int at, int count) {
      int name = at + 2 * Area.VALUE; // the frame has the result, the function, the name, "before" …
      boolean isBefore = memory.getLong(name + Area.VALUE + 8) != 0;
      ArrayDeque<Object> open = Area.get().observed();
      if (isBefore) begin(open, this, memory.getLong(name), memory.getLong(name + 8));
      else end(open, this, memory, name);
      Values.put(memory, at, Values.NONE, 0);
    }

    private static void begin(ArrayDeque<Object> open, Object owner, long head, long content) {
      CallEvent event = new CallEvent();
      if (!event.isEnabled()) return;
      event.owner = owner;
      event.head = head;
      event.content = content;
      if (open.size() == MOST_OPEN) open.removeLast();
      open.push(event);
      event.begin();
    }

    /** Ends the event of a call. Calls that began within it and have not ended have failed, so they are dropped. */
    private static void end(ArrayDeque<Object> open, Object owner, ByteBuffer memory, int name) {
      long head = memory.getLong(name), content = memory.getLong(name + 8);
      CallEvent ended = null;
      for (Object begun : open) {
        CallEvent event = (CallEvent) begun;
        if (event.owner == owner && event.head == head && event.content == content) {
          ended = event;
          break;
        }
      }
      if (ended == null) return; // the call began before the recording
      ended.end();
      while (open.pop() != ended) continue;
      if (!ended.shouldCommit()) return;
      ended.name = (String) Values.copy(memory, name);
      ended.commit();
    }

    @Override
    public Object call(@Nullable Object... args) {
      throw new UnsupportedOperationException("an instrument is called by native code only");
    }
  }
}
