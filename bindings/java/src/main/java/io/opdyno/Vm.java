package io.opdyno;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A program bound to devices. Any number of threads may call it at once. If a thread is interrupted in {@link #call},
 * {@link #callTensor}, {@link #invokeClosure}, {@link #invokeStateful} or {@link #profile}, or in a function that calls
 * a VM, the method throws {@link OpdynoException.Cancelled}, and the thread stays interrupted. The same applies if the
 * options of the call have a {@link CancelToken}.
 */
public final class Vm extends Handle {
  Vm(long pointer) {
    super(pointer);
  }

  /**
   * Calls a function of the program. Several results are returned as a ValueList. {@link PackedFn} lists the possible
   * values.
   */
  public @Nullable Object call(String name, @Nullable Object... args) {
    return call(null, name, args);
  }

  /** Calls a function of the program with options. */
  public @Nullable Object call(@Nullable CallOptions options, String name, @Nullable Object... args) {
    Interrupts.Running running = Interrupts.begin();
    try {
      return Out.<Object>take(out -> Native.opd_vm_call(this, name, Calls.args(args), running.options(options), out));
    } finally {
      running.end();
    }
  }

  /** Calls a function that returns a tensor. ClassCastException if the result has another type. */
  public Tensor callTensor(String name, @Nullable Object... args) {
    return Calls.asTensor(call(name, args));
  }

  /**
   * Calls a closure that a function of the program returned, or any packed function. As for call(), profiles and the
   * instrument see the call, and Thread.interrupt() cancels it.
   */
  public @Nullable Object invokeClosure(PackedFn closure, @Nullable Object... args) {
    return invokeClosure(null, closure, args);
  }

  /** Calls a closure with options. */
  public @Nullable Object invokeClosure(@Nullable CallOptions options, PackedFn closure, @Nullable Object... args) {
    Interrupts.Running running = Interrupts.begin();
    try {
      return Out.<Object>take(out -> Native.opd_vm_invoke_closure(this, closure, Calls.args(args), running.options(options), out));
    } finally {
      running.end();
    }
  }

  /** Returns a function of the program. The function keeps the VM alive. Its calls need no look-up by name. */
  public PackedFn function(String name) {
    return Out.take(out -> Native.opd_vm_get_function(this, name, out));
  }

  /** The names of the program's functions. */
  public List<String> functions() {
    return ValueList.texts(Out.take(out -> Native.opd_vm_list_functions(this, out)));
  }

  /** The names of a function's parameters. */
  public List<String> parameters(String name) {
    return ValueList.texts(Out.take(out -> Native.opd_vm_list_params(this, name, out)));
  }

  /** Whether the program has a function of that name, or a function was saved under that name. */
  public boolean hasFunction(String name) {
    return Native.opd_vm_has_function(this, name) != 0;
  }

  /** Stores the arguments of a function for invokeStateful(). */
  public void setInput(String name, @Nullable Object... args) {
    setInput(null, name, args);
  }

  /** Stores the arguments with the names in the options. */
  public void setInput(@Nullable CallOptions options, String name, @Nullable Object... args) {
    Native.opd_vm_set_input(this, name, Calls.args(args), CallOptions.map(options));
  }

  /** Runs a function on its stored inputs and stores the result for output(). */
  public void invokeStateful(String name) {
    Interrupts.Running running = Interrupts.begin();
    try {
      Native.opd_vm_invoke_stateful(this, name, running.options(null));
    } finally {
      running.end();
    }
  }

  /**
   * Returns the result of the last invokeStateful(). If it is a list, {@code path} selects an item by its indices in
   * nested lists.
   */
  public @Nullable Object output(String name, long... path) {
    return Out.<Object>take(out -> Native.opd_vm_get_outputs(this, name, path, out));
  }

  /**
   * Returns the number of items in the last result, or in its item that {@code path} selects; -1 if that is not a list.
   */
  public long outputArity(String name, long... path) {
    return Out.take(out -> Native.opd_vm_get_output_arity(this, name, path, out));
  }

  /** Calls a function and measures every operator. */
  public Profile profile(String name, @Nullable Object... args) {
    return profile(null, name, args);
  }

  /** Calls a function with options and measures every operator. */
  public Profile profile(@Nullable ProfileOptions options, String name, @Nullable Object... args) {
    Out<Report> report = new Out<>();
    Out<Trace> trace = new Out<>();
    Interrupts.Running running = Interrupts.begin();
    try {
      Native.opd_vm_profile(this, name, Calls.args(args), running.options(null), ProfileOptions.map(options), report, trace);
    } finally {
      running.end();
    }
    return new Profile(report.get(), trace.get());
  }

  /**
   * Runs a function of this program and of another build {@code b} on the same arguments, and compares their operators'
   * results.
   */
  public Comparison compare(Vm b, @Nullable CompareOptions options, String function, @Nullable Object... args) {
    Out<Report> report = new Out<>(), times = new Out<>();
    Interrupts.Running running = Interrupts.begin(); // the thread's default token cancels the comparison
    try {
      Native.opd_compare(this, b, function, Calls.args(args), CompareOptions.map(options), report, times);
    } finally {
      running.end();
    }
    return new Comparison(report.get(), times.get());
  }

  /** Records the next call, on any thread, in a file for {@link Replayed#of}. */
  public void recordNextCall(java.nio.file.Path path, @Nullable RecordOptions options) {
    java.util.Objects.requireNonNull(path, "path must not be null");
    Native.opd_vm_record_next_call(this, path, RecordOptions.map(options));
  }

  /** Ends recordNextCall(). Throws if no call was made since then, or if the call could not be recorded. */
  public void endRecording() {
    Native.opd_vm_record_next_call(this, null, null);
  }

  /** Profiles all calls of this VM on all threads, until stopProfile(). */
  public void startProfile(@Nullable ProfileOptions options) {
    Native.opd_vm_profile_start(this, ProfileOptions.map(options));
  }

  /** Ends the profile that startProfile() began. */
  public Profile stopProfile() {
    Out<Report> report = new Out<>();
    Out<Trace> trace = new Out<>();
    Native.opd_vm_profile_stop(this, report, trace);
    return new Profile(report.get(), trace.get());
  }

  /**
   * Sets a function that is called before and after every call that the program makes, with (function, name, before,
   * result, arguments …); null: no instrument. Before a call, it may return the number of an {@link InstrumentAction}
   * to skip the call.
   */
  public void setInstrument(@Nullable PackedFn instrument) {
    Native.opd_vm_set_instrument(this, instrument);
  }

  /** Saves a function with its arguments under a name. Calls by this name need no arguments. */
  public void saveFunction(String name, String savedName, @Nullable Object... args) {
    saveFunction(null, true, name, savedName, args);
  }

  /**
   * Saves a function whose arguments have the names in the options. Unless {@code isReturned}, calls by this name
   * return null.
   */
  public void saveFunction(@Nullable CallOptions options, boolean isReturned, String name, String savedName, @Nullable Object... args) {
    Native.opd_vm_save_function(this, name, savedName, Calls.args(args), CallOptions.map(options), isReturned ? 1 : 0);
  }

  /** Frees the memory that the VM keeps for its next calls. */
  public void trim() {
    Native.opd_vm_trim(this);
  }
}
