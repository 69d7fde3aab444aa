// Tests of the library's global functions, of devices, and of measurements of the machine.
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import io.opdyno.*;

final class WithMachine {
  private WithMachine() {}

  static void run(Path directory) throws Exception {
    library(directory);
    threads();
    devices();
    streams();
    memory();
    peaks();
    benchmarks();
  }

  private static void library(Path directory) throws Exception {
    First.check(Opdyno.version().matches("\\d+\\.\\d+\\.\\d+"), Opdyno.version());
    First.check(Opdyno.buildInfo().startsWith("{") && Opdyno.buildInfo().contains('"' + Opdyno.version() + '"'), Opdyno.buildInfo());
    First.check(Opdyno.isEnabled("llvm -mcpu=native") && !Opdyno.isEnabled("abacus"), "targets");
    Path file = directory.resolve("größe.bin");
    for (byte[] content : new byte[][] {{1, 2, 0, -1}, {}}) {
      Opdyno.writeFile(file, content);
      First.check(Arrays.equals(Files.readAllBytes(file), content), "the file is replaced: " + content.length);
    }
    First.failed(() -> Opdyno.writeFile(directory.resolve("none/file"), new byte[0]), OpdynoException.NotFound.class, "none");
  }

  private static void threads() {
    int usual = Opdyno.threadCount();
    Opdyno.setThreadCount(3);
    First.check(Opdyno.threadCount() == 3, Opdyno.threadCount() + " threads");
    First.failed(() -> Opdyno.setThreadCount(1025), OpdynoException.OutOfRange.class, "1025");
    First.check(Opdyno.threadCount() == 3, "a wrong number changes nothing");
    Opdyno.setThreadCount(0);
    First.check(Opdyno.threadCount() == usual, Opdyno.threadCount() + " threads, not " + usual);
  }

  private static void streams() {
    First.failed(() -> new DeviceStream(Device.CPU), OpdynoException.Unsupported.class, "cpu:0 has no streams");
    First.failed(() -> new DeviceStream(new Device(9, 0)), OpdynoException.Unsupported.class, "vpi:0");
    Device there = Device.of("opencl:0");
    if (!there.exists()) {
      return;
    }
    DeviceStream stream = new DeviceStream(there);
    First.check(stream.device().equals(there), "whose it is");
    try (DeviceStream other = new DeviceStream(there)) {
      stream.run(() -> other.run(other::sync));
      First.failed(() -> stream.run(() -> Device.of("abacus:0")), OpdynoException.InvalidArgument.class, "abacus");
    }
    stream.sync();
    stream.close();
    stream.close();
    First.failed(stream::sync, IllegalStateException.class, "opencl:0 is closed");
    First.failed(() -> stream.run(() -> {}), IllegalStateException.class, "opencl:0 is closed");
    DeviceStream used = new DeviceStream(there);
    try (Tensor here = Tensor.of(new float[] {1, 2}, 2)) {
      used.run(() -> {
        used.close(); // like another thread could
        try (Tensor x = here.to(there); Tensor back = x.to(Device.CPU)) {
          First.check(back.toFloatArray()[1] == 2, "the work goes on");
        }
      });
    }
    First.failed(used::sync, IllegalStateException.class, "opencl:0 is closed");
  }

  private static void devices() {
    Device third = Device.of("cpu:3"), absent = Device.of("cuda:1");
    First.check(third.equals(new Device(1, 3)) && third.toString().equals("cpu:3"), "" + third);
    First.check(absent.equals(new Device(2, 1)) && absent.toString().equals("cuda:1"), "" + absent);
    First.failed(() -> Device.of("abacus:0"), OpdynoException.InvalidArgument.class, "abacus");
    First.check(third.exists() && Device.CPU.exists() && !Device.of("cpu:64").exists(), "there are 64");
    First.check(Device.CPU.attribute(DeviceAttribute.TOTAL_GLOBAL_MEMORY) instanceof Long bytes && bytes > 1 << 20, "memory");
    First.check(Device.CPU.attribute(DeviceAttribute.DEVICE_NAME) instanceof String, "a name");
    First.check(Device.CPU.attribute(DeviceAttribute.TEXTURE_SPATIAL_LIMIT) == null, "what a CPU does not tell");
    third.sync();
    Device gone = Device.of("cpu:64");
    for (Runnable call : new Runnable[] {gone::sync, gone::memoryStats, gone::resetPeak, gone::trim, () -> gone.attribute(DeviceAttribute.DEVICE_NAME)})
      First.failed(call, OpdynoException.Unsupported.class, "cpu:64");

    DType four = DType.of("float32x4");
    First.check(four.equals(new DType(2, 32, 4)) && four.toString().equals("float32x4") && DType.INT64.toString().equals("int64"), "" + four);
    First.failed(() -> DType.of("flat32"), OpdynoException.InvalidArgument.class, "flat32");
  }

  /** Each CPU device has its own statistics. They are exact for a device that only this test uses. */
  private static void memory() {
    Device own = Device.of("cpu:7");
    MemoryStats none = own.memoryStats();
    First.check(none.liveBytes() == 0 && none.allocCount() == 0, "" + none);
    try (Tensor x = Tensor.create(own, DType.FLOAT32, 4, 256)) {
      MemoryStats some = own.memoryStats();
      First.check(some.liveBytes() == 4096 && some.peakBytes() == 4096 && some.allocCount() == 1 && some.idleBytes() == 0, "" + some);
      First.check(some.reservedBytes() >= 4096 && some.poolHitCount() == 0 && x.toString().contains("cpu:7"), "" + some);
    }
    First.check(own.memoryStats().liveBytes() == 0 && own.memoryStats().peakBytes() == 4096, "the peak stays");
    own.resetPeak();
    own.trim();
    First.check(own.memoryStats().peakBytes() == 0 && own.memoryStats().reservedBytes() == 0, "" + own.memoryStats());
  }

  private static void peaks() {
    MachinePeak peak = Opdyno.measurePeak();
    First.check(peak.numThreads() == Opdyno.threadCount() && peak.gflops() > 0 && peak.bandwidthGbps() > 0 && peak.spread() >= 0, "" + peak);
    try (ReportBuilder builder = ReportBuilder.create();
        Report empty = builder.finish();
        Report roofline = empty.withRoofline(new MachinePeak(2, 50, 10, 0))) {
      First.check(roofline.get(ReportSection.CONFIGURATION, 0, "Peak GFLOP/s").equals(50.0), "" + roofline);
      First.check(roofline.get(ReportSection.CONFIGURATION, 0, "Peak Bandwidth (GB/s)").equals(10.0), "" + roofline);
    }
  }

  private static void benchmarks() {
    try (Benchmark benchmark = Benchmark.ofSeconds(4, 1, 100, 2, 3)) {
      BenchmarkStats stats = benchmark.stats();
      First.check(Arrays.equals(benchmark.seconds(), new double[] {4, 1, 100, 2, 3}), "in the order of measurement");
      First.check(stats.min() == 1 && stats.median() == 3 && stats.max() == 100 && stats.mean() == 22, "" + stats);
      double variance = (18 * 18 + 21 * 21 + 78 * 78 + 20 * 20 + 19 * 19) / 5.0; // from the distances to the mean, 22
      First.check(Math.abs(stats.std() - Math.sqrt(variance)) < 1e-9, "" + stats);
      First.check(stats.outlierCount() == 1, "only 100 is further from the quartiles 2 and 4 than 3: " + stats);
      First.check(stats.isNoisy() && stats.medianLow() == 0 && stats.medianHigh() == Double.POSITIVE_INFINITY, "too few: " + stats);
      First.check(stats.number() == 0 && stats.warmupCount() == 0 && stats.callsPerSecond() == 0 && !stats.isSteady(), "" + stats);
    }
    First.failed(() -> Benchmark.ofSeconds(), OpdynoException.InvalidArgument.class, "");
    First.failed(() -> Benchmark.ofSeconds(1, -2), OpdynoException.InvalidArgument.class, "-2");
    First.failed(() -> Benchmark.ofSeconds((double[]) null), NullPointerException.class, "seconds must not be null");
    try (PackedFn nothing = PackedFn.of(args -> null);
        Evaluator evaluator = Evaluator.of(nothing, EvaluatorOptions.create().number(5).repeat(7).warmup(2));
        Benchmark benchmark = evaluator.call()) {
      BenchmarkStats stats = benchmark.stats();
      First.check(stats.number() == 5 && stats.warmupCount() == 2 && benchmark.seconds().length == 7 && stats.callsPerSecond() > 0, "" + stats);
      First.check(stats.median() == benchmark.median() && stats.max() == benchmark.percentile(100), "" + stats);
    }
  }
}
