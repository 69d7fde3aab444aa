package io.opdyno;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The result of a replay: the program, a report with a row for each argument and part of the result, and a profile. The
 * program is null if the recording has only the program's hash. The profile is null if nothing was measured. A replay
 * prints as its verdict. If the file was only read (see {@link ReplayOptions#run}), it prints as its report.
 */
public record Replayed(@Nullable Program program, Report report, @Nullable Report profile) implements AutoCloseable {
  /** Repeats the call that {@link Vm#recordNextCall} recorded. This runs the code in the file. */
  public static Replayed of(Path path, @Nullable ReplayOptions options) {
    Out<Program> program = new Out<>();
    Out<Report> report = new Out<>(), profile = new Out<>();
    Interrupts.Running running = Interrupts.begin(); // the thread's default token cancels the replay
    try {
      Native.opd_replay(path, ReplayOptions.map(options), program, report, profile);
    } finally {
      running.end();
    }
    return new Replayed(program.get(), report.get(), profile.get());
  }

  /**
   * One sentence that says whether the call had the same results or how they differ; null if the file was only read.
   */
  public @Nullable String verdict() {
    return report.entry("Verdict");
  }

  /** Whether the call was repeated and had the same result or error. */
  public boolean isSame() {
    return "1".equals(report.entry("Same"));
  }

  /** The operator to which {@link ReplayOptions#minimise} reduced the call; null if there is none. */
  public @Nullable String minimised() {
    return report.entry("Minimised");
  }

  @Override
  public void close() {
    report.close();
    if (program != null) program.close();
    if (profile != null) profile.close();
  }

  @Override
  public String toString() {
    String verdict = verdict();
    return verdict == null ? report.toString() : verdict;
  }
}
