// Tests of modules and executables, which are inspected and written; of calls of closures; and of threads' cancel
// tokens.
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import io.opdyno.*;

final class WithPrograms {
  /** Packed functions in the form of TVM's C code. An int64 is a value of type 1. */
  private static final String SOURCE = """
      int __tvm_ffi_seven(void *self, const void *args, int count, long *result) { *(int *)result = 1; return result[1] = 7, 0; }
      int __tvm_ffi_main(void *self, const void *args, int count, long *result) { *(int *)result = 1; return result[1] = 8, 0; }
      int plain(int x) { return 3 * x; }
      """;

  private WithPrograms() {}

  static void run(Path artifact, Path directory) throws Exception {
    try (Program c = WithPointers.compile(SOURCE)) {
      described(c, artifact);
      imported(c);
      written(c, directory);
      linked(directory);
    }
    closures();
    tokens();
  }

  private static void described(Program c, Path artifact) {
    First.check(c.kind().equals("c") && c.format().equals("c") && c.source(null).equals(SOURCE), c.kind() + ", " + c.format());
    First.check(c.functions().equals(List.of("main", "seven")), "" + c.functions());
    First.check(c.properties().equals(EnumSet.allOf(ProgramProperty.class)), "" + c.properties());
    try (PackedFn main = c.function(null)) {
      First.check(main.callLong() == 8, "the function that it is called by");
    }
    try (Program executable = Program.load(artifact)) {
      First.check(executable.format().equals("vmexec") && executable.properties().equals(Set.of(ProgramProperty.SERIALIZABLE)), executable.format());
      List<Program> imports = executable.imports();
      try (Program library = imports.get(0)) {
        First.check(imports.size() == 1 && library.kind().equals("library") && library.format().equals("so"), library.kind());
        First.check(library.properties().equals(Set.of(ProgramProperty.SERIALIZABLE, ProgramProperty.RUNNABLE)), "" + library.properties());
        First.failed(() -> library.source(null), OpdynoException.Unsupported.class, "library");
      }
    }
    try (Program one = Program.systemLib("test.none"); Program none = Program.systemLib(null)) {
      First.check(one.functions().isEmpty() && none.imports().isEmpty(), "nothing is linked in");
    }
  }

  private static void imported(Program c) {
    try (Executable executable = Executable.assemble(".func run() {\n  %x = call seven()\n  ret %x\n}");
        Program program = executable.toProgram()) {
      First.check(!program.hasFunction("seven"), "not yet");
      program.addImport(c);
      First.check(program.hasFunction("seven") && !program.hasFunction("eight"), "of what it imports");
      First.check(!program.hasFunction("seven", Set.of()) && c.hasFunction("seven", Set.of()), "of its own");
      First.check(!program.hasFunction("run") && program.hasFunction("run", Set.of(ProgramLookup.UNCALLABLE)), "that a VM runs");
      Set<ProgramLookup> anywhere = Set.of(ProgramLookup.IMPORTS, ProgramLookup.UNCALLABLE);
      First.check(program.hasFunction("run", anywhere) && program.hasFunction("seven", anywhere), "both");
      First.failed(() -> c.addImport(program), OpdynoException.InvalidArgument.class, "");
      try (Vm vm = program.vm()) {
        First.check(vm.call("run").equals(7L), "it is called");
      }
    }
  }

  private static void written(Program c, Path directory) throws Exception {
    First.check(c.formats().equals(List.of("c")), "" + c.formats());
    Path source = directory.resolve("saved.c");
    c.save(source, null);
    First.check(Files.readString(source).equals(SOURCE), "the file is the source");
    First.failed(() -> c.save(directory.resolve("saved.ptx"), "ptx"), OpdynoException.Unsupported.class, "ptx");
    Path library = directory.resolve("made.so");
    c.export(library, null);
    try (Program made = Program.load(library); PackedFn seven = made.function("seven")) {
      First.check(seven.callLong() == 7, "what was exported");
    }
    try (Program named = Program.loadNative(library, Map.of("plain", "i32(i32)"), null); PackedFn plain = named.function("plain")) {
      First.check(plain.callLong(5) == 15 && named.kind().equals("opdyno.native"), named.kind());
      First.failed(() -> plain.callLong(1L << 31), OpdynoException.class, "plain");
    }
    First.failed(() -> Program.loadNative(library, Map.of("absent", "i32()"), null), OpdynoException.NotFound.class, "absent");
    First.failed(() -> Program.loadNative(library, Map.of("plain", "i33()"), null), OpdynoException.InvalidArgument.class, "i33");
    First.failed(() -> Program.loadNative(directory.resolve("none.so"), Map.of(), null), OpdynoException.NotFound.class, "none.so");
  }

  /** An object file does not run, but is linked into the exported module that imports it. */
  private static void linked(Path directory) throws Exception {
    Path object = directory.resolve("saved.o"), library = directory.resolve("linked.so");
    int status = new ProcessBuilder("cc", "-c", "-fPIC", "-o", object.toString(), directory.resolve("saved.c").toString()).start().waitFor();
    First.check(status == 0, "cc: " + status);
    try (Program kept = Program.loadStaticLibrary(object, "seven", "main");
        Executable executable = Executable.assemble(".func run() {\n  %x = call seven()\n  ret %x\n}");
        Program program = executable.toProgram()) {
      First.check(kept.kind().equals("static_library") && kept.functions().equals(List.of("main", "seven")), kept.kind() + kept.functions());
      First.failed(() -> kept.function("seven"), OpdynoException.Unsupported.class, "seven");
      program.addImport(kept);
      program.export(library, null);
    }
    try (Program program = Program.load(library); Vm vm = program.vm()) {
      First.check(vm.call("run").equals(7L), "the object is linked in");
    }
    First.failed(() -> Program.loadStaticLibrary(directory.resolve("none.o")), OpdynoException.NotFound.class, "none.o");
    First.failed(() -> Program.loadStaticLibrary(directory.resolve("saved.c")), OpdynoException.BadFormat.class, "");
  }

  private static Vm vm(String assembly) {
    try (Executable executable = Executable.assemble(assembly); Program program = executable.toProgram()) {
      return program.vm();
    }
  }

  private static void closures() {
    try (PackedFn less = PackedFn.of(PackedFunction.ofLongs((x, y) -> x - y))) {
      less.register("test.programs.less");
      try (Vm vm = vm(".func difference(x, y) {\n  %z = call test.programs.less(%x, %y)\n  ret %z\n}")) {
        invoked(vm, less);
        named(vm);
      } finally {
        PackedFn.remove("test.programs.less");
      }
    }
  }

  private static void invoked(Vm vm, PackedFn less) {
    try (CancelToken token = CancelToken.create();
        PackedFn closure = vm.function("difference")) {
      CallOptions cancelled = CallOptions.create().cancel(token);
      First.check(vm.invokeClosure(less, 7, 4).equals(3L), "any function");
      First.check(vm.invokeClosure(cancelled, closure, 7, 4).equals(3L), "with options");
      token.cancel();
      First.failed(() -> vm.invokeClosure(cancelled, closure, 7, 4), OpdynoException.Cancelled.class, "before the closure");
      First.failed(() -> vm.invokeClosure(cancelled, less, 7, 4), OpdynoException.Cancelled.class, "before the closure");
      First.failed(() -> vm.invokeClosure(null, 7), NullPointerException.class, "closure");
    }
  }

  private static void named(Vm vm) {
    CallOptions names = CallOptions.create().names("y", "x");
    vm.saveFunction(names, true, "difference", "saved", 10, 2);
    vm.saveFunction(null, false, "difference", "silent", 10, 2);
    First.check(vm.call("saved").equals(-8L) && vm.call("silent") == null, "saved functions");
    First.failed(() -> vm.saveFunction(null, true, "difference", "difference", 1, 2), OpdynoException.AlreadyExists.class, "difference");
    vm.setInput(names, "difference", 10, 1);
    vm.invokeStateful("difference");
    First.check(vm.output("difference").equals(-9L), "inputs by name: " + vm.output("difference"));
  }

  /** A thread has a default token, and a token tells the running operator. */
  private static void tokens() throws Exception {
    try (CancelToken token = CancelToken.create()) {
      Throwable[] inside = {null};
      String[] seen = {null};
      try (PackedFn look = PackedFn.of(args -> {
            seen[0] = token.currentOperator();
            inside[0] = First.thrown(() -> CancelToken.setDefault(null));
            return 5;
          })) {
        look.register("test.programs.look");
        try (Vm vm = vm(".func main() {\n  %x = call test.programs.look()\n  ret %x\n}"); PackedFn main = vm.function("main")) {
          CancelToken.setDefault(token);
          First.check(vm.call("main").equals(5L) && "test.programs.look".equals(seen[0]), "the operator: " + seen[0]);
          First.check(inside[0] instanceof OpdynoException.FailedPrecondition, "not inside of a call: " + inside[0]);
          First.check(token.currentOperator() == null, "nothing runs");
          token.cancel();
          First.failed(() -> vm.call("main"), OpdynoException.Cancelled.class, "main");
          First.failed(() -> vm.call(CallOptions.create(), "main"), OpdynoException.Cancelled.class, "main");
          First.failed(() -> main.call(), OpdynoException.Cancelled.class, "main");
          Object[] elsewhere = {null};
          Thread other = new Thread(() -> elsewhere[0] = vm.call("main"));
          other.start();
          other.join();
          First.check(elsewhere[0].equals(5L), "other threads have none");
          try (CancelToken own = CancelToken.create()) {
            First.failed(() -> vm.call(CallOptions.create().cancel(own), "main"), OpdynoException.Cancelled.class, "main");
            token.reset();
            First.check(vm.call(CallOptions.create().cancel(own), "main").equals(5L), "another one is named");
            token.cancel();
          }
          CancelToken.setDefault(null);
          First.check(vm.call("main").equals(5L) && main.call().equals(5L), "it is taken away");
          WithInterrupts.interrupted(); // an interrupt cancels calls again
        } finally {
          CancelToken.setDefault(null);
          PackedFn.remove("test.programs.look");
        }
      }
    }
  }
}
