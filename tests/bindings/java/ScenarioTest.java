import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ReadOnlyBufferException;
import java.nio.ShortBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.poprt.Anchor;
import org.poprt.Bindings;
import org.poprt.Compiler;
import org.poprt.CompilerOptions;
import org.poprt.DataType;
import org.poprt.Device;
import org.poprt.DeviceManager;
import org.poprt.DeviceRequest;
import org.poprt.ErrorCode;
import org.poprt.Executable;
import org.poprt.Float16;
import org.poprt.ModelRunner;
import org.poprt.OpenOptions;
import org.poprt.Popef;
import org.poprt.Poprt;
import org.poprt.PoprtException;
import org.poprt.RuntimeConfig;

/** The list of tests/bindings/README.md, by number, then what only Java has. */
@Timeout(120)
class ScenarioTest {
  private static final Path MODELS = Path.of(System.getProperty("poprt.test.models"));

  @TempDir Path folder;

  // -- helpers --------------------------------------------------------------------------------

  private static Executable compile(String model, CompilerOptions options) {
    try (Compiler compiler = new Compiler(options)) {
      return compiler.compile(MODELS.resolve(model));
    }
  }

  private static Executable affine(long rows) {
    return compile("affine.onnx", new CompilerOptions().inputShape("x", rows, 4));
  }

  private static ModelRunner runner(Executable executable) {
    try (executable) {
      return new ModelRunner(executable, new RuntimeConfig().threads(1));
    }
  }

  private static ModelRunner affineRunner() {
    return runner(affine(2));
  }

  private static ModelRunner slowRunner() {
    return runner(compile("slow.onnx", new CompilerOptions()));
  }

  /** Memory of one run of affine, 8 floats from {@code first} on. */
  private static final class Client {
    final FloatBuffer x;
    final FloatBuffer y;
    final Bindings bindings;
    final float first;

    Client(ModelRunner runner, float first) {
      this.first = first;
      x = runner.inputs().get(0).allocate().asFloatBuffer();
      y = runner.outputs().get(0).allocate().asFloatBuffer();
      for (int i = 0; i < 8; i++) x.put(i, first + i);
      bindings = runner.bindings().input("x", x).output("y", y);
    }

    void check() {
      for (int i = 0; i < 8; i++) assertEquals(2 * (first + i) + 1, y.get(i));
    }
  }

  private static Bindings slowBindings(ModelRunner runner) {
    FloatBuffer x = runner.inputs().get(0).allocate().asFloatBuffer();
    for (int i = 0; i < x.capacity(); i++) x.put(i, 1);
    return runner.bindings().input(0, x).output(0, runner.outputs().get(0).allocate());
  }

  private static void fails(ErrorCode code, org.junit.jupiter.api.function.Executable call, String... words) {
    PoprtException e = assertThrows(PoprtException.class, call);
    assertEquals(code, e.code(), e.getMessage());
    for (String word : words)
      assertTrue(e.getMessage().contains(word), word + " is not in: " + e.getMessage());
  }

  private static void closed(String what, org.junit.jupiter.api.function.Executable call) {
    IllegalStateException e = assertThrows(IllegalStateException.class, call);
    assertEquals(what + " is closed", e.getMessage());
  }

  private static void checkAffine(Executable executable) {
    assertEquals("[x f32[2,4]]", executable.inputs().toString());
    assertEquals("[y f32[2,4]]", executable.outputs().toString());
    assertEquals(32, executable.inputs().get(0).byteSize());
    assertEquals(8, executable.outputs().get(0).elementCount());
    assertArrayEquals(new long[] {2, 4}, executable.inputs().get(0).shape());
    assertEquals(DataType.F32, executable.inputs().get(0).dataType());
  }

  /** As soon as it has become free; a runner gives its device back when its last run is over. */
  private static void assertDevicesFree(int count) throws InterruptedException {
    try (DeviceManager manager = new DeviceManager(count)) {
      for (long id = 0; id < count; id++)
        for (int tries = 0; ; tries++) {
          try {
            manager.getSpecificDevice(id).close();
            break;
          } catch (PoprtException e) {
            if (tries == 3000) throw e;
            Thread.sleep(10);
          }
        }
    }
  }

  // -- the list -------------------------------------------------------------------------------

  @Test
  void scenario_01_compile() throws IOException {
    List<Double> progress = new ArrayList<>();
    List<String> passes = new ArrayList<>();
    CompilerOptions options =
        new CompilerOptions()
            .inputShape("x", 2, 4)
            .progress((done, what) -> progress.add(done))
            .afterPass((pass, rewrites, ms, before, after) -> passes.add(pass));
    Path file = folder.resolve("affine.popef");
    byte[] bytes;
    try (Compiler compiler = new Compiler(options);
        Executable executable = compiler.compile(MODELS.resolve("affine.onnx"))) {
      checkAffine(executable);
      executable.save(file);
      bytes = executable.toBytes();
      byte[] onnx = Files.readAllBytes(MODELS.resolve("affine.onnx"));
      try (Executable fromBytes = compiler.compile(ByteBuffer.wrap(onnx))) {
        checkAffine(fromBytes);
      }
    }
    try (Executable opened = Executable.open(file)) {
      checkAffine(opened);
    }
    try (Executable opened = Executable.open(ByteBuffer.wrap(bytes))) {
      checkAffine(opened);
    }
    assertFalse(passes.isEmpty());
    assertEquals(1.0, progress.get(progress.size() - 1));
    double last = 0;
    for (double part : progress.subList(0, progress.indexOf(1.0) + 1)) {
      assertTrue(part >= last);
      last = part;
    }
  }

  @Test
  void scenario_02_run() {
    try (ModelRunner runner = affineRunner()) {
      Client byName = new Client(runner, 0);
      runner.execute(Map.of("x", byName.x), Map.of("y", byName.y));
      byName.check();
      Client byPosition = new Client(runner, 0);
      try (Bindings b = runner.bindings().input(0, byPosition.x).output(0, byPosition.y)) {
        runner.execute(b);
      }
      byPosition.check();
      Client bound = new Client(runner, 0);
      for (int run = 0; run < 3; run++) {
        for (int i = 0; i < 8; i++) bound.y.put(i, -1);
        runner.execute(bound.bindings);
        bound.check();
      }
    }
  }

  @Test
  void scenario_03_run_several_types() {
    try (ModelRunner runner = runner(compile("lookup.onnx", new CompilerOptions()))) {
      FloatBuffer table = FloatBuffer.wrap(new float[] {0, 1, 2, 3, 4, 5});
      LongBuffer ids = LongBuffer.wrap(new long[] {2, 0, 1, 2});
      FloatBuffer rows = FloatBuffer.allocate(8);
      LongBuffer next = LongBuffer.allocate(4);
      runner.execute(Map.of("table", table, "ids", ids), Map.of("rows", rows, "next", next));
      assertArrayEquals(new float[] {4, 5, 0, 1, 2, 3, 4, 5}, rows.array());
      assertArrayEquals(new long[] {3, 1, 2, 3}, next.array());
    }
  }

  @Test
  void scenario_04_half_precision() {
    try (ModelRunner runner =
        runner(compile("half.onnx", new CompilerOptions().inputShape("x", 2, 4)))) {
      ShortBuffer x = runner.inputs().get(0).allocate().asShortBuffer();
      ShortBuffer y = runner.outputs().get(0).allocate().asShortBuffer();
      FloatBuffer values = FloatBuffer.wrap(new float[] {0, 1, 2, 3, 4, 5, 6, 7});
      Float16.convert(values, x);
      runner.execute(Map.of("x", x.flip()), Map.of("y", y));
      FloatBuffer results = FloatBuffer.allocate(8);
      Float16.convert(y, results);
      assertArrayEquals(new float[] {1, 3, 5, 7, 9, 11, 13, 15}, results.array());
    }
    for (int bits = 0; bits < 65536; bits++) {
      float value = Float16.toFloat((short) bits);
      if (Float.isNaN(value)) assertTrue(Float.isNaN(Float16.toFloat(Float16.fromFloat(value))));
      else assertEquals((short) bits, Float16.fromFloat(value));
    }
    assertEquals(0x3c00, Float16.fromFloat(1 + 0x1p-11f));
    assertEquals(0x3c02, Float16.fromFloat(1 + 3 * 0x1p-11f));
    assertEquals(0x7bff, Float16.fromFloat(65519.996f));
    assertEquals(0x7c00, Float16.fromFloat(65520));
    assertEquals(0, Float16.fromFloat(0x1p-25f));
    assertEquals(1, Float16.fromFloat(Math.nextUp(0x1p-25f)));
    assertEquals((short) 0x8000, Float16.fromFloat(-0f));
  }

  @Test
  void scenario_05_asynchronous() {
    try (ModelRunner runner = affineRunner()) {
      List<Client> clients = new ArrayList<>();
      List<CompletableFuture<Void>> futures = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        clients.add(new Client(runner, i));
        futures.add(runner.executeAsync(clients.get(i).bindings));
      }
      CompletableFuture.allOf(futures.toArray(new CompletableFuture<?>[0])).join();
      clients.forEach(Client::check);
    }
  }

  @Test
  void scenario_06_unicode() {
    Path file = folder.resolve("størrelse \uD83D\uDE80.popef");
    compile("unicode.onnx", new CompilerOptions().inputShape("størrelse", 2, 4)).save(file);
    try (ModelRunner runner = runner(Executable.open(file))) {
      assertEquals("størrelse", runner.inputs().get(0).name());
      assertEquals("ut_\uD83D\uDE80", runner.outputs().get(0).name());
      FloatBuffer x = FloatBuffer.allocate(8);
      FloatBuffer y = FloatBuffer.allocate(8);
      runner.execute(Map.of("størrelse", x), Map.of("ut_\uD83D\uDE80", y));
      assertEquals(1, y.get(7));
      fails(
          ErrorCode.NOT_FOUND,
          () -> runner.execute(Map.of("\uD83D\uDE80", x), Map.of("ut_\uD83D\uDE80", y)),
          "\uD83D\uDE80",
          "størrelse");
    }
  }

  @Test
  void scenario_07_wrong_name() {
    try (ModelRunner runner = affineRunner()) {
      Client c = new Client(runner, 0);
      fails(
          ErrorCode.NOT_FOUND,
          () -> runner.execute(Map.of("nope", c.x), Map.of("y", c.y)),
          "nope",
          "x");
    }
  }

  @Test
  void scenario_08_wrong_size() {
    try (ModelRunner runner = affineRunner()) {
      Client c = new Client(runner, 0);
      for (int n : new int[] {7, 9})
        fails(
            ErrorCode.INVALID_ARGUMENT,
            () -> runner.execute(Map.of("x", FloatBuffer.allocate(n)), Map.of("y", c.y)),
            "x",
            "32",
            String.valueOf(4 * n));
    }
  }

  @Test
  void scenario_09_wrong_type() {
    try (ModelRunner runner = affineRunner()) {
      Client c = new Client(runner, 0);
      fails(
          ErrorCode.INVALID_ARGUMENT,
          () -> runner.execute(Map.of("x", DoubleBuffer.allocate(4)), Map.of("y", c.y)),
          "x",
          "f32",
          "Double");
      fails(
          ErrorCode.INVALID_ARGUMENT,
          () -> runner.execute(Map.of("x", IntBuffer.allocate(8)), Map.of("y", c.y)),
          "x",
          "f32",
          "Int");
      ByteBuffer raw = ByteBuffer.allocate(32).order(ByteOrder.nativeOrder());
      for (int i = 0; i < 8; i++) raw.putFloat(4 * i, i);
      runner.execute(Map.of("x", raw), Map.of("y", c.y));
      c.check();
    }
  }

  @Test
  void scenario_10_missing_tensor() {
    try (ModelRunner runner = affineRunner()) {
      Client c = new Client(runner, 0);
      fails(
          ErrorCode.INVALID_ARGUMENT,
          () -> runner.execute(Map.<String, FloatBuffer>of(), Map.of("y", c.y)),
          "x");
      fails(
          ErrorCode.INVALID_ARGUMENT,
          () -> runner.execute(Map.of("x", c.x), Map.<String, FloatBuffer>of()),
          "y");
      c.bindings.input(0, c.x);
      fails(ErrorCode.INVALID_ARGUMENT, () -> runner.execute(c.bindings), "x");
      fails(ErrorCode.INVALID_ARGUMENT, () -> runner.executeAsync(c.bindings), "x");
    }
  }

  @Test
  void scenario_11_missing_file() {
    fails(
        ErrorCode.NOT_FOUND,
        () -> Executable.open(folder.resolve("missing.popef")),
        "missing.popef");
    try (Compiler compiler = new Compiler()) {
      fails(
          ErrorCode.NOT_FOUND,
          () -> compiler.compile(folder.resolve("missing.onnx")),
          "missing.onnx");
    }
  }

  @Test
  void scenario_12_no_popef() {
    fails(ErrorCode.DATA_LOSS, () -> Executable.open(MODELS.resolve("affine.onnx")));
  }

  @Test
  void scenario_13_unsupported_operator() {
    fails(
        ErrorCode.UNIMPLEMENTED,
        () -> compile("unknown_op.onnx", new CompilerOptions()),
        "Frobnicate");
  }

  @Test
  void scenario_14_free_in_odd_order() throws InterruptedException {
    Compiler compiler = new Compiler(new CompilerOptions().inputShape("x", 2, 4));
    Executable executable = compiler.compile(MODELS.resolve("affine.onnx"));
    DeviceManager manager = new DeviceManager();
    Device device = manager.getDevice(1);
    ModelRunner runner =
        new ModelRunner(executable, new RuntimeConfig().threads(1).device(device));
    Client c = new Client(runner, 0);
    CompletableFuture<Void> run = runner.executeAsync(c.bindings);
    compiler.close();
    executable.close();
    device.close();
    manager.close();
    runner.close();
    c.bindings.close();
    run.join();
    c.check();
    assertDevicesFree(4);
  }

  @Test
  void scenario_15_use_after_close() {
    Executable executable = affine(2);
    ModelRunner runner = new ModelRunner(executable, new RuntimeConfig().threads(1));
    Client c = new Client(runner, 0);
    runner.close();
    runner.close();
    executable.close();
    executable.close();
    closed("ModelRunner", () -> runner.execute(c.bindings));
    closed("ModelRunner", () -> runner.executeAsync(c.bindings));
    closed("ModelRunner", runner::stop);
    closed("Executable", executable::listing);
    closed("Executable", () -> new ModelRunner(executable));
    assertEquals("x", runner.inputs().get(0).name());
    c.bindings.close();
    c.bindings.close();
    closed("Bindings", () -> c.bindings.input("x", c.x));
    Compiler compiler = new Compiler();
    compiler.close();
    compiler.close();
    closed("Compiler", () -> compiler.compile(MODELS.resolve("slow.onnx")));
  }

  @Test
  void scenario_16_close_during_a_run() throws InterruptedException {
    ModelRunner runner = slowRunner();
    CountDownLatch running = new CountDownLatch(1);
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    AtomicInteger finished = new AtomicInteger();
    Thread thread =
        new Thread(
            () -> {
              try (Bindings bindings = slowBindings(runner)) {
                while (true) {
                  running.countDown();
                  runner.execute(bindings);
                  finished.incrementAndGet();
                }
              } catch (Throwable e) {
                thrown.set(e);
              }
            });
    thread.start();
    running.await();
    Thread.sleep(5);
    runner.close();
    thread.join();
    assertInstanceOf(IllegalStateException.class, thrown.get());
    assertDevicesFree(4);
  }

  @Test
  void scenario_17_two_threads() throws InterruptedException {
    try (ModelRunner runner = affineRunner()) {
      AtomicInteger right = new AtomicInteger();
      Thread[] threads = new Thread[2];
      for (int t = 0; t < 2; t++) {
        int offset = 1000 * t;
        threads[t] =
            new Thread(
                () -> {
                  for (int i = 0; i < 200; i++) {
                    Client c = new Client(runner, offset + i);
                    runner.execute(c.bindings);
                    c.check();
                    right.incrementAndGet();
                  }
                });
        threads[t].start();
      }
      for (Thread thread : threads) thread.join();
      assertEquals(400, right.get());
    }
  }

  @Test
  void scenario_18_callback() throws Exception {
    try (ModelRunner slow = slowRunner();
        ModelRunner runner = affineRunner()) {
      // On a thread of the runner: the run is long enough for the callback to be there first.
      AtomicReference<Thread> thread = new AtomicReference<>();
      AtomicInteger calls = new AtomicInteger();
      Client again = new Client(runner, 100);
      slow.executeAsync(slowBindings(slow), Runnable::run)
          .thenCompose(
              nothing -> {
                thread.set(Thread.currentThread());
                calls.incrementAndGet();
                return runner.executeAsync(again.bindings);
              })
          .get();
      assertNotEquals(Thread.currentThread(), thread.get());
      assertTrue(thread.get().isDaemon());
      assertEquals(1, calls.get());
      again.check();
      // By default on a thread of Java's.
      Client c = new Client(runner, 0);
      runner.executeAsync(c.bindings).thenRunAsync(c::check).get();
    }
  }

  @Test
  void scenario_19_exception_in_a_callback() {
    RuntimeException mine = new RuntimeException("thrown by the test");
    try (ModelRunner runner = affineRunner()) {
      Client c = new Client(runner, 0);
      CompletableFuture<Void> run = runner.executeAsync(c.bindings, Runnable::run);
      CompletableFuture<Void> next =
          run.thenRun(
              () -> {
                throw mine;
              });
      assertSame(mine, assertThrows(CompletionException.class, next::join).getCause());
      run.join();
      runner.execute(c.bindings);
      c.check();
      // An executor that takes no more.
      RejectedExecutionException rejected = new RejectedExecutionException("full");
      CompletableFuture<Void> lost =
          runner.executeAsync(
              c.bindings,
              task -> {
                throw rejected;
              });
      assertSame(rejected, assertThrows(CompletionException.class, lost::join).getCause());
    }
    CompilerOptions options =
        new CompilerOptions()
            .inputShape("x", 2, 4)
            .progress(
                (done, what) -> {
                  throw mine;
                });
    try (Compiler compiler = new Compiler(options)) {
      for (int i = 0; i < 2; i++)
        assertSame(
            mine,
            assertThrows(
                RuntimeException.class, () -> compiler.compile(MODELS.resolve("affine.onnx"))));
    }
  }

  @Test
  void scenario_20_large_tensor() {
    int rows = 4 << 20;
    try (ModelRunner runner = runner(affine(rows))) {
      FloatBuffer x = runner.inputs().get(0).allocate().asFloatBuffer();
      FloatBuffer y = runner.outputs().get(0).allocate().asFloatBuffer();
      assertEquals(16 << 20, x.capacity());
      for (int i = 0; i < x.capacity(); i++) x.put(i, i % 1000);
      long before = Poprt.bytesCopied();
      runner.execute(Map.of("x", x), Map.of("y", y));
      assertEquals(before, Poprt.bytesCopied());
      for (int i = 0; i < x.capacity(); i++)
        if (y.get(i) != 2 * (i % 1000) + 1) assertEquals(2 * (i % 1000) + 1, y.get(i), "at " + i);
    }
  }

  @Test
  void scenario_21_zero_size_tensor() {
    try (ModelRunner runner = runner(affine(0))) {
      assertEquals(0, runner.inputs().get(0).byteSize());
      Anchor in = runner.inputs().get(0);
      runner.execute(
          Map.of("x", in.allocate()), Map.of("y", runner.outputs().get(0).allocate()));
      runner.execute(Map.of("x", FloatBuffer.allocate(0)), Map.of("y", FloatBuffer.allocate(0)));
    }
  }

  @Test
  void scenario_22_cancellation() throws Exception {
    try (ModelRunner runner = slowRunner()) {
      List<CompletableFuture<Void>> runs = new ArrayList<>();
      for (int i = 0; i < 8; i++) runs.add(runner.executeAsync(slowBindings(runner)));
      assertTrue(runs.get(7).cancel(false));
      assertThrows(CancellationException.class, runs.get(7)::join);
      runner.stop();
      int cancelled = 0;
      for (CompletableFuture<Void> run : runs)
        try {
          run.get(60, TimeUnit.SECONDS);
        } catch (CancellationException e) {
          assertTrue(run.isCancelled());
          cancelled++;
        }
      assertTrue(cancelled >= 2, cancelled + " runs were cancelled");
      fails(ErrorCode.CANCELLED, () -> runner.execute(slowBindings(runner)));
    }
  }

  @Test
  void scenario_23_waiting_with_a_limit() throws Exception {
    try (ModelRunner runner = slowRunner()) {
      CompletableFuture<Void> run = runner.executeAsync(slowBindings(runner));
      try {
        run.get(1, TimeUnit.NANOSECONDS);
      } catch (TimeoutException e) {
        assertNull(e.getCause());
      }
      run.get();
      assertTrue(run.isDone());
    }
  }

  @Test
  void scenario_24_device_busy() {
    try (DeviceManager manager = new DeviceManager(2);
        Executable executable = affine(2)) {
      assertEquals(2, manager.deviceCount());
      assertEquals("ipu21", manager.ipuHardwareVersion());
      Device first = manager.getSpecificDevice(0);
      Device second = manager.getSpecificDevice(1);
      assertEquals(1, second.id());
      assertEquals(21, second.ipuVersion());
      fails(ErrorCode.UNAVAILABLE, () -> manager.getDevice(1));
      RuntimeConfig config = new RuntimeConfig().threads(1).device(second);
      try (ModelRunner runner = new ModelRunner(executable, config)) {
        fails(ErrorCode.FAILED_PRECONDITION, () -> new ModelRunner(executable, config));
        fails(ErrorCode.UNAVAILABLE, () -> manager.getDevice(1));
        first.close();
        try (Device free = manager.getDevice(1)) {
          assertEquals(0, free.id());
        }
        Client c = new Client(runner, 0);
        runner.execute(c.bindings);
        c.check();
      }
      second.close();
      fails(ErrorCode.NOT_FOUND, () -> manager.getSpecificDevice(2));
    }
  }

  @Test
  void scenario_25_statistics() {
    try (Executable executable = affine(2);
        ModelRunner runner =
            new ModelRunner(executable, new RuntimeConfig().threads(1).profile(true));
        ModelRunner without = new ModelRunner(executable, new RuntimeConfig().threads(1))) {
      Client c = new Client(runner, 0);
      for (int i = 0; i < 3; i++) runner.execute(c.bindings);
      assertTrue(runner.profile().contains("\"runs\": 3"), runner.profile());
      assertTrue(runner.profile().contains("\"kernel\""), runner.profile());
      fails(ErrorCode.FAILED_PRECONDITION, without::profile);
    }
  }

  @Test
  void scenario_28_version() {
    assertTrue(Poprt.version().matches("\\d+\\.\\d+\\.\\d+"), Poprt.version());
  }

  @Test
  void scenario_29_waiting_for_a_device() throws InterruptedException {
    try (DeviceManager manager = new DeviceManager(2)) {
      assertArrayEquals(new long[] {0, 1}, manager.deviceIds());
      Device first = manager.getSpecificDevice(0);
      Device second = manager.getSpecificDevice(1);
      DeviceRequest brief = new DeviceRequest().waitFor(Duration.ofMillis(1));
      fails(ErrorCode.UNAVAILABLE, () -> manager.acquire(brief));
      Thread giver =
          new Thread(
              () -> {
                try {
                  Thread.sleep(50);
                } catch (InterruptedException e) {
                  return;
                }
                second.close();
              });
      giver.start();
      DeviceRequest patient =
          new DeviceRequest()
              .ipuVersion(21)
              .waitFor(Duration.ofSeconds(60))
              .sleep(Duration.ofMillis(20));
      try (Device got = manager.acquire(patient);
          Device model = manager.createIpuModelDevice(1, 2, 4)) {
        assertEquals(1, got.id());
        assertEquals(1, got.numIpus());
        assertFalse(got.isIpuModel());
        assertTrue(model.isIpuModel());
        assertEquals(4, model.tilesPerIpu());
        assertEquals(-1, model.id());
      }
      giver.join();
      first.close();
      try (Executable executable = affine(2);
          Device fits = manager.acquire(new DeviceRequest().executable(executable).id(0))) {
        assertEquals(0, fits.id());
      }
    }
  }

  @Test
  void scenario_30_telemetry() {
    assertEquals("[]", Poprt.readTelemetry(folder).replaceAll("\\s", ""));
  }

  @Test
  void scenario_31_a_limit_on_waiting_in_the_queue() {
    try (ModelRunner runner = slowRunner()) {
      List<CompletableFuture<Void>> runs = new ArrayList<>();
      for (int i = 0; i < 4; i++) runs.add(runner.executeAsync(slowBindings(runner)));
      CompletableFuture<Void> late =
          runner.executeAsync(slowBindings(runner), Runnable::run, Duration.ofNanos(1));
      Throwable e = assertThrows(CompletionException.class, late::join).getCause();
      assertEquals(ErrorCode.DEADLINE_EXCEEDED, ((PoprtException) e).code());
      runs.forEach(CompletableFuture::join);
    }
  }

  @Test
  void scenario_32_any_number_of_rows() {
    try (Executable executable = affine(4);
        ModelRunner runner =
            new ModelRunner(executable, new RuntimeConfig().threads(1).batchingDim(0))) {
      FloatBuffer x = FloatBuffer.allocate(12);
      FloatBuffer y = FloatBuffer.allocate(12);
      for (int i = 0; i < 12; i++) x.put(i, i);
      runner.execute(Map.of("x", x), Map.of("y", y));
      for (int i = 0; i < 12; i++) assertEquals(2 * i + 1, y.get(i));
    }
  }

  @Test
  void scenario_33_runner_statistics() {
    RuntimeConfig config = new RuntimeConfig().threads(1).flushOnWaitingOutputs(true);
    try (Executable executable = affine(2);
        ModelRunner runner = new ModelRunner(executable, config)) {
      Client c = new Client(runner, 0);
      for (int i = 0; i < 3; i++) runner.execute(c.bindings);
      String statistics = runner.statistics().replaceAll("\\s", "");
      assertTrue(statistics.contains("\"completed\":3"), statistics);
      assertEquals(3, runner.tracepoints().split("\"compute_begin\"", -1).length - 1);
    }
  }

  // -- Java alone -----------------------------------------------------------------------------

  @Test
  void buffersInTheOtherByteOrderAreRefused() {
    try (ModelRunner runner = affineRunner()) {
      Bindings b = runner.bindings();
      ByteBuffer big = ByteBuffer.allocateDirect(32).order(ByteOrder.BIG_ENDIAN);
      String why = assertThrows(IllegalArgumentException.class, () -> b.input("x", big)).getMessage();
      assertTrue(why.contains("x f32[2,4]") && why.contains("order"), why);
      assertThrows(IllegalArgumentException.class, () -> b.input("x", big.asFloatBuffer()));
      assertThrows(IllegalArgumentException.class, () -> b.output(0, big));
    }
  }

  @Test
  void readOnlyBuffersAreForInputsOnly() {
    try (ModelRunner runner = affineRunner()) {
      Client c = new Client(runner, 0);
      c.bindings.input("x", c.x.asReadOnlyBuffer());
      runner.execute(c.bindings);
      c.check();
      assertThrows(
          ReadOnlyBufferException.class, () -> c.bindings.output("y", c.y.asReadOnlyBuffer()));
    }
  }

  @Test
  void positionAndLimitSayWhatIsUsed() {
    try (ModelRunner runner = affineRunner()) {
      FloatBuffer both =
          ByteBuffer.allocateDirect(80).order(ByteOrder.nativeOrder()).asFloatBuffer();
      for (int i = 0; i < 20; i++) both.put(i, i);
      FloatBuffer x = both.duplicate();
      x.position(1).limit(9);
      FloatBuffer y = both.duplicate();
      y.position(11).limit(19);
      runner.execute(Map.of("x", x), Map.of("y", y));
      assertEquals(10, both.get(10));
      for (int i = 0; i < 8; i++) assertEquals(2 * (1 + i) + 1, both.get(11 + i));
      assertEquals(19, both.get(19));
      assertEquals(1, x.position());
      assertEquals(11, y.position());
    }
  }

  @Test
  void heapBuffersAreCopiedAndCounted() {
    try (ModelRunner runner = affineRunner()) {
      float[] x = new float[10];
      float[] y = new float[10];
      for (int i = 0; i < 8; i++) x[1 + i] = i;
      long before = Poprt.bytesCopied();
      try (Bindings b =
          runner.bindings().input(0, FloatBuffer.wrap(x, 1, 8)).output(0, FloatBuffer.wrap(y, 2, 8))) {
        runner.execute(b);
        assertEquals(64, Poprt.bytesCopied() - before);
        assertArrayEquals(new float[] {0, 0, 1, 3, 5, 7, 9, 11, 13, 15}, y);
        x[1] = 50;
        runner.executeAsync(b).join();
        assertEquals(101, y[2]);
      }
    }
  }

  @Test
  void directBuffersAreNotCopied() {
    try (ModelRunner runner = affineRunner()) {
      Client c = new Client(runner, 0);
      long before = Poprt.bytesCopied();
      runner.execute(c.bindings);
      runner.executeAsync(c.bindings).join();
      assertEquals(before, Poprt.bytesCopied());
    }
  }

  @Test
  void memoryOfARunInFlightIsKept() {
    try (ModelRunner runner = slowRunner()) {
      List<CompletableFuture<Void>> runs = new ArrayList<>();
      for (int i = 0; i < 4; i++) runs.add(runner.executeAsync(slowBindings(runner)));
      for (int i = 0; i < 20; i++) {
        System.gc();
        ByteBuffer.allocateDirect(1 << 20);
      }
      runs.forEach(CompletableFuture::join);
    }
  }

  @Test
  void anExecutableInPartsIsOneModel() {
    Path program = folder.resolve("program.popef");
    Path weights = folder.resolve("weights.popef");
    try (Executable executable = affine(2)) {
      executable.saveParts(program, weights);
      assertTrue(executable.weightsBytes() >= 0);
      assertTrue(executable.listing().contains("x"));
      assertTrue(executable.arenaBytes() >= 0);
    }
    try (Executable joined =
        Executable.open(List.of(weights, program), new OpenOptions())) {
      checkAffine(joined);
    }
  }

  @Test
  void popefFilesDescribeThemselves() {
    Path file = folder.resolve("affine.popef");
    affine(2).save(file);
    String anchors = Popef.dump(file, Popef.Format.USER_ANCHORS);
    assertTrue(anchors.contains("x") && anchors.contains("[2,4]"), anchors);
    assertTrue(Popef.dump(file, Popef.Format.JSON).startsWith("{"));
    fails(
        ErrorCode.NOT_FOUND,
        () -> Popef.exportTensor(file, "nope", "", folder.resolve("nope.npy")),
        "nope");
    fails(
        ErrorCode.NOT_FOUND,
        () -> Popef.exportFeed(file, "nope", "", folder.resolve("nope.npy")),
        "nope");
  }

  @Test
  void theCompilerShowsAndConverts() {
    try (Compiler compiler = new Compiler(new CompilerOptions().batchSize(3, 0))) {
      assertTrue(compiler.show(MODELS.resolve("affine.onnx")).contains("x"));
      Path converted = folder.resolve("converted.onnx");
      compiler.convert(MODELS.resolve("affine.onnx"), converted);
      assertTrue(compiler.show(converted).contains("[3, 4]"), compiler.show(converted));
      Path popef = folder.resolve("direct.popef");
      compiler.compileToPopef(MODELS.resolve("affine.onnx"), popef);
      assertEquals(
          "[x f32[3,4]]", Executable.open(popef).inputs().toString());
    }
    assertTrue(Compiler.listPasses().contains("\n"));
    assertTrue(Compiler.listOps().contains("Relu"));
  }

  @Test
  void optionsAreChecked() {
    fails(ErrorCode.NOT_FOUND, () -> new Compiler(new CompilerOptions().passes("nope")), "nope");
    fails(ErrorCode.NOT_FOUND, () -> new Compiler(new CompilerOptions().skipPasses("nope")), "nope");
    fails(ErrorCode.INVALID_ARGUMENT, () -> Poprt.setLogLevel("loud"), "loud");
    fails(ErrorCode.INVALID_ARGUMENT, () -> new DeviceManager(-1));
    assertThrows(IllegalArgumentException.class, () -> Poprt.setLogLevel("OFF\0"));
    assertThrows(NullPointerException.class, () -> new OpenOptions().executable(null));
  }

  @Test
  void errorCodesHaveTheNumbersOfTheLibrary() {
    assertEquals(15, ErrorCode.values().length);
    for (ErrorCode code : ErrorCode.values()) assertEquals(code.ordinal() + 1, code.number());
    assertEquals(32, DataType.F32.bits());
    assertEquals(4, DataType.S4.bits());
    assertEquals(64, DataType.S64.bits());
    assertEquals("f8e4m3fn", DataType.F8E4M3FN.toString());
  }

  @Test
  void failuresOfRunsInFlightReachTheFuture() throws Exception {
    try (ModelRunner runner = slowRunner()) {
      List<CompletableFuture<Void>> runs = new ArrayList<>();
      for (int i = 0; i < 4; i++)
        runs.add(runner.executeAsync(slowBindings(runner), Runnable::run));
      runner.stop();
      assertThrows(CancellationException.class, runs.get(3)::join);
      String why = runs.get(3).handle((nothing, e) -> e.getMessage()).join();
      assertTrue(why.contains("stopped"), why);
      assertThrows(CancellationException.class, () -> runs.get(3).get(1, TimeUnit.SECONDS));
      try {
        runs.get(0).get();
      } catch (ExecutionException | CancellationException ignored) {
        // It had not begun.
      }
    }
  }
}
