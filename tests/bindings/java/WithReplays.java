// Tests of the recording and replay of calls.
import io.opdyno.*;
import java.nio.file.Files;
import java.nio.file.Path;

final class WithReplays {
  private WithReplays() {}

  static void run() throws Exception {
    Path path = Files.createTempFile("call", ".opdrec");
    try (PackedFn ask = PackedFn.of(args -> 7.0);
        Executable executable = Executable.assemble(".func main(x) {\n  %y = call replays.ask(%x)\n  ret %y\n}")) {
      ask.register("replays.ask");
      try (Program program = executable.toProgram();
          Vm vm = program.vm()) {
        First.failed(vm::endRecording, OpdynoException.FailedPrecondition.class, "no recording of a call");
        vm.recordNextCall(path, RecordOptions.create().withOutputs(true));
        vm.call("main", 1.5);
        vm.endRecording();
        try (Replayed replayed = Replayed.of(path, ReplayOptions.create().repeat(1))) {
          First.check(replayed.isSame() && replayed.verdict().equals(replayed.toString()), replayed.verdict());
          First.check(replayed.minimised() == null && replayed.program() != null && replayed.profile() != null, "program and profile");
        }
        try (Replayed read = Replayed.of(path, ReplayOptions.create().run(false))) {
          First.check(!read.isSame() && read.verdict() == null && read.toString().contains("replays.ask"), "only read: " + read);
        }
        First.failed(() -> vm.recordNextCall(Path.of("/nowhere/x.opdrec"), null), OpdynoException.NotFound.class, "/nowhere");
      }
    } finally {
      Files.delete(path);
    }
  }
}
