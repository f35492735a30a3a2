import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.poprt.Anchor;
import org.poprt.Bindings;
import org.poprt.CompilerOptions;
import org.poprt.DeviceManager;
import org.poprt.ErrorCode;
import org.poprt.Executable;
import org.poprt.Float16;
import org.poprt.ModelRunner;
import org.poprt.Popef;
import org.poprt.Poprt;
import org.poprt.PoprtException;
import org.poprt.RequestOptions;
import org.poprt.RuntimeConfig;
import org.poprt.Tensor;

/** Synchronous runs: names, sizes, types, memory. Scenarios of tests/bindings/README.md, then features of Java only. */
class RunTest extends Scenarios {
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

  private static final float[][] ROWS = {{0, 1, 2, 3}, {4, 5, 6, 7}};

  @Test
  void run_makes_outputs_for_any_number_of_rows() {
    try (ModelRunner runner = affineRunner()) {
      Tensor y = runner.run(Map.of("x", ROWS)).get("y");
      assertArrayEquals(new float[][] {{1, 3, 5, 7}, {9, 11, 13, 15}}, y.array(float[][].class));
      assertEquals("f32[2,4]", y.toString());
      float[][] more = {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}};
      float[][] doubled = runner.run(Map.of("x", more)).get("y").array(float[][].class);
      assertArrayEquals(new float[] {25, 27, 29, 31}, doubled[3]);
      FloatBuffer flat = FloatBuffer.wrap(new float[8]);
      assertEquals(1, ((FloatBuffer) runner.run(Map.of("x", flat)).get("y").buffer()).get(7));
      assertArrayEquals(new long[] {2, 4}, runner.run(Map.of("x", Tensor.of(flat, 2, 4))).get("y").shape());
      assertThrows(PoprtException.class, () -> y.array(float[].class));
      assertThrows(PoprtException.class, () -> y.array(int[][].class));
    }
  }

  @Test
  void run_crops_what_is_padded() {
    Path found = MODELS.resolve("../../data/cli/nonzero.onnx");
    try (ModelRunner runner = new ModelRunner(found)) {
      Map<String, Tensor> outputs = runner.run(Map.of("x", new float[][] {{0, 1, 0}, {0, 0, 2}}));
      assertEquals(Set.of("at"), outputs.keySet());
      assertArrayEquals(new long[][] {{0, 1}, {1, 2}}, outputs.get("at").array(long[][].class));
      outputs = runner.run(Map.of("x", new float[2][3]));
      assertArrayEquals(new long[] {2, 0}, outputs.get("at").shape());
    }
  }

  @Test
  void run_checks_types_and_shapes_by_name() {
    try (ModelRunner runner = affineRunner()) {
      Map<Object, String> wrong =
          Map.of(
              new float[4][2], "input 'x': expected f32[2,4], given f32[4,2]",
              new int[2][4], "input 'x': expected f32[2,4], given s32[2,4]",
              new float[8], "input 'x': expected f32[2,4], given f32[8]");
      wrong.forEach(
          (value, message) -> {
            var error = assertThrows(PoprtException.class, () -> runner.run(Map.of("x", value)));
            assertEquals(message, error.getMessage());
          });
      Object ragged = new float[][] {{1, 2}, {3}};
      for (var refused : Map.of(ragged, "rows differ in length: ", "text", "expected an array of numbers, given String").entrySet()) {
        var error = assertThrows(IllegalArgumentException.class, () -> runner.run(Map.of("x", refused.getKey())));
        assertTrue(error.getMessage().startsWith("input 'x': " + refused.getValue()), error.getMessage());
      }
    }
  }

  @Test
  void a_model_is_loaded_by_its_path() throws Exception {
    Path onnx = MODELS.resolve("lookup.onnx");
    try (ModelRunner runner = new ModelRunner(onnx)) {
      float[][] table = {{0, 1}, {2, 3}, {4, 5}};
      Map<String, Tensor> outputs = runner.run(Map.of("table", table, "ids", new long[] {2, 0, 1, 2}));
      assertArrayEquals(new long[] {3, 1, 2, 3}, outputs.get("next").array(long[].class));
      assertArrayEquals(new float[] {4, 5}, outputs.get("rows").array(float[][].class)[3]);
      assertEquals(java.util.List.of("rows", "next"), new java.util.ArrayList<>(outputs.keySet()));
    }
    var error =
        assertThrows(
            PoprtException.class,
            () ->
                Executable.load(
                    onnx.resolveSibling("affine.onnx"), new CompilerOptions().shapes("fixed")));
    assertTrue(
        error.getMessage().contains("give inputShape x=... or batchSize"),
        error.getMessage());
    Path digits = MODELS.resolve("../../../examples/digits/digits.onnx").normalize();
    try (Executable e = Executable.load(digits, new CompilerOptions().batchSize(1, 0))) {
      assertTrue(e.metadata().containsKey("producer_name"), e.metadata().toString());
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

  private static float[] look(ModelRunner runner, long last) {
    FloatBuffer rows = FloatBuffer.allocate(8);
    runner.execute(
        Map.of(
            "table", FloatBuffer.wrap(new float[] {0, 1, 2, 3, 4, 5}),
            "ids", LongBuffer.wrap(new long[] {2, 0, 1, last})),
        Map.of("rows", rows, "next", LongBuffer.allocate(4)));
    return rows.array();
  }

  private static long[] count(ModelRunner runner, long n) {
    LongBuffer numbers = LongBuffer.allocate(4);
    LongBuffer shape = LongBuffer.allocate(1);
    runner.execute(
        Map.of("n", LongBuffer.wrap(new long[] {n})), Map.of("y", numbers, "y:shape", shape));
    return java.util.Arrays.copyOf(numbers.array(), (int) shape.get(0));
  }

  @Test
  void scenario_72_numbers_outside_their_range() {
    try (ModelRunner runner = runner(compile("lookup.onnx", new CompilerOptions()))) {
      fails(ErrorCode.OUT_OF_RANGE, () -> look(runner, 3), "index 3");
      assertArrayEquals(new float[] {4, 5, 0, 1, 2, 3, 4, 5}, look(runner, 2));
    }
    CompilerOptions zero = new CompilerOptions().option("out_of_range", "zero");
    try (ModelRunner runner = runner(compile("lookup.onnx", zero))) {
      assertArrayEquals(new float[] {4, 5, 0, 1, 2, 3, 0, 0}, look(runner, 3));
    }
    try (ModelRunner runner = runner(compile("endless.onnx", new CompilerOptions()))) {
      fails(
          ErrorCode.INVALID_ARGUMENT,
          () ->
              runner.execute(
                  Map.of("x", FloatBuffer.allocate(1)), Map.of("y", FloatBuffer.allocate(1))),
          "turns");
    }
    CompilerOptions bounded = new CompilerOptions().option("max_size", "n=4");
    try (ModelRunner runner = runner(compile("range.onnx", bounded))) {
      assertArrayEquals(new long[] {0, 1, 2}, count(runner, 3));
      fails(ErrorCode.OUT_OF_RANGE, () -> count(runner, 5), "max_size");
    }
  }

  @Test
  void scenario_70_positions_by_name() {
    try (ModelRunner runner = runner(compile("lookup.onnx", new CompilerOptions()))) {
      assertEquals(0, runner.inputIndex("table"));
      assertEquals(1, runner.inputIndex("ids"));
      assertEquals(0, runner.outputIndex("rows"));
      assertEquals(1, runner.outputIndex("next"));
      fails(ErrorCode.NOT_FOUND, () -> runner.inputIndex("nope"), "nope", "table");
    }
  }

  @Test
  void scenario_71_batching_refusal() {
    CompilerOptions options = new CompilerOptions().inputShape("x", 2, 4);
    try (Executable executable = compile("softmax.onnx", options)) {
      assertEquals("", executable.batchingRefusal(0));
      assertTrue(executable.batchingRefusal(1).contains("Softmax"));
      fails(ErrorCode.INVALID_ARGUMENT, () -> executable.batchingRefusal(2), "[2,4]");
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
  void scenario_68_replicas_with_caches() {
    RuntimeConfig config = new RuntimeConfig().replicationFactor(2).sharedDevices(folder.toString());
    try (Executable executable = compile("cache.onnx", new CompilerOptions());
        ModelRunner runner = new ModelRunner(executable, config);
        DeviceManager manager = new DeviceManager(2, "", folder.toString())) {
      fails(ErrorCode.UNAVAILABLE, () -> manager.getDevice(1), "busy");
      IntBuffer step = runner.inputs().get(0).allocate().asIntBuffer();
      FloatBuffer x = runner.inputs().get(1).allocate().asFloatBuffer();
      FloatBuffer y = runner.outputs().get(0).allocate().asFloatBuffer();
      try (Bindings bindings = runner.bindings().input(0, step).input(1, x).output(0, y)) {
        for (int at = 0; at < 4; at++)
          for (int replica = 0; replica < 2; replica++) {
            int last = 10 * replica + at + 1;
            step.put(0, at);
            x.put(0, last);
            bindings.replica(replica);
            if (at % 2 == 0) runner.execute(bindings);
            else runner.executeAsync(bindings).join();
            for (int i = 0; i < 3; i++) assertEquals(i > at ? 0 : last - i, y.get(i));
          }
        bindings.replica(2);
        fails(ErrorCode.NOT_FOUND, () -> runner.execute(bindings), "no replica 2");
        assertThrows(IllegalArgumentException.class, () -> bindings.replica(-1));
      }
    }
  }

  @Test
  void scenario_69_options_of_a_request() {
    RuntimeConfig config =
        new RuntimeConfig().replicationFactor(2).batchesPerStep(4).timeout(Duration.ofNanos(-1));
    try (Executable executable = affine(2);
        ModelRunner runner = new ModelRunner(executable, config)) {
      Client client = new Client(runner, 0);
      submit(runner, client, new RequestOptions().atOnce(true).replica(1)).join();
      client.check();
      assertEquals(1, runner.counters(1).completed());
      assertEquals(
          ErrorCode.DEADLINE_EXCEEDED,
          codeOf(submit(runner, client, new RequestOptions().timeout(Duration.ofMillis(5)))));
      fails(
          ErrorCode.NOT_FOUND,
          () -> submit(runner, client, new RequestOptions().replica(2)),
          "no replica 2");
      assertThrows(IllegalArgumentException.class, () -> new RequestOptions().replica(-1));
      client.bindings.replica(2); // the replica of the options has priority
      submit(runner, client, new RequestOptions().atOnce(true).replica(0)).join();
      assertEquals(1, runner.counters(0).completed());
    }
  }

  private static CompletableFuture<Void> submit(
      ModelRunner runner, Client client, RequestOptions options) {
    return runner.executeAsync(client.bindings, Runnable::run, options);
  }

  private static ErrorCode codeOf(CompletableFuture<Void> failing) {
    CompletionException e = assertThrows(CompletionException.class, failing::join);
    return ((PoprtException) e.getCause()).code();
  }

  @Test
  void a_runner_of_a_file_takes_a_configuration() throws Exception {
    Path file = folder.resolve("configured.popef");
    try (Executable executable = compile("weights.onnx", new CompilerOptions())) {
      executable.save(file);
    }
    float[][] x = {{0, 1, 2, 3}, {4, 5, 6, 7}};
    try (ModelRunner runner = new ModelRunner(file, new RuntimeConfig().load("copy"))) {
      Files.write(file, new byte[0]);
      assertArrayEquals(
          new float[] {5, 11, 19, 29}, runner.run(Map.of("x", x)).get("y").array(float[][].class)[1]);
    }
    assertThrows(NullPointerException.class, () -> new ModelRunner(file, null));
  }

  @Test
  void scenario_73_damaged_and_truncated_file() throws Exception {
    Path file = folder.resolve("weights.popef");
    try (Executable executable = compile("weights.onnx", new CompilerOptions())) {
      executable.save(file);
    }
    byte[] data = Files.readAllBytes(file);
    float[][] x = {{0, 1, 2, 3}, {4, 5, 6, 7}};
    try (Executable executable = Executable.open(file);
        ModelRunner runner = new ModelRunner(executable, new RuntimeConfig().load("copy"))) {
      Files.write(file, new byte[0]);
      assertArrayEquals(
          new float[] {5, 11, 19, 29}, runner.run(Map.of("x", x)).get("y").array(float[][].class)[1]);
    }
    byte[] weights = {0, 0, 64, 64, 0, 0, (byte) 128, 64};
    int at = 0;
    while (!Arrays.equals(Arrays.copyOfRange(data, at, at + 8), weights)) at++;
    data[at] ^= 1;
    Files.write(file, data);
    try (Executable executable = Executable.open(file)) {
      new ModelRunner(executable, new RuntimeConfig()).close();
      fails(
          ErrorCode.DATA_LOSS,
          () -> new ModelRunner(executable, new RuntimeConfig().verify(true)),
          file.toString(),
          "'weights'",
          "is damaged");
      fails(ErrorCode.DATA_LOSS, () -> Popef.dump(file, Popef.Format.VERIFY), "is damaged");
      fails(
          ErrorCode.INVALID_ARGUMENT,
          () -> new ModelRunner(executable, new RuntimeConfig().load("slow")),
          "slow");
    }
  }

  @Test
  void scenario_93_precision_of_a_runner() {
    float exact = 1 + 0x1p-10f + 0x1p-12f;
    Map<String, Float> factors = Map.of("", exact, "f32", exact, "auto", exact, "f16", 1 + 0x1p-10f, "bf16", 1f);
    try (Executable linear = compile("linear.onnx", new CompilerOptions().inputShape("x", 2, 4))) {
      factors.forEach(
          (precision, factor) -> {
            RuntimeConfig config = new RuntimeConfig().executionPrecision(precision).load("copy");
            try (ModelRunner runner = new ModelRunner(linear, config)) {
              float[] y = new float[8];
              runner.execute(
                  Map.of("x", FloatBuffer.wrap(new float[] {0, 1, 2, 3, 4, 5, 6, 7})),
                  Map.of("y", FloatBuffer.wrap(y)));
              for (int i = 0; i < 8; i++) assertEquals(i * factor, y[i], precision);
            }
          });
      fails(
          ErrorCode.INVALID_ARGUMENT,
          () -> new ModelRunner(linear, new RuntimeConfig().executionPrecision("int8")),
          "int8");
    }
  }

  @Test
  void scenario_67_faithful_numerics() {
    Path file = folder.resolve("half.popef");
    CompilerOptions options = new CompilerOptions().inputShape("x", 2, 4).option("numerics", "faithful");
    try (Executable executable = compile("half.onnx", options)) {
      executable.save(file);
    }
    for (String numerics : List.of("faithful", "saturating"))
      try (Executable executable = Executable.open(file);
          ModelRunner runner = new ModelRunner(executable, new RuntimeConfig().numerics(numerics))) {
        ShortBuffer x = runner.inputs().get(0).allocate().asShortBuffer();
        ShortBuffer y = runner.outputs().get(0).allocate().asShortBuffer();
        Float16.convert(FloatBuffer.wrap(new float[] {0, 1, 2, 3, 4, 5, 6, 40000}), x);
        runner.execute(Map.of("x", x.flip()), Map.of("y", y));
        FloatBuffer results = FloatBuffer.allocate(8);
        Float16.convert(y, results);
        for (int i = 0; i < 7; i++) assertEquals(2 * i + 1, results.get(i));
        assertEquals(numerics.equals("faithful") ? Float.NaN : 65504, results.get(7));
      }
    try (Executable affine = affine(2);
        Executable half = Executable.open(file)) {
      fails(
          ErrorCode.FAILED_PRECONDITION,
          () -> new ModelRunner(affine, new RuntimeConfig().numerics("faithful")),
          "numerics=faithful");
      fails(
          ErrorCode.INVALID_ARGUMENT,
          () -> new ModelRunner(half, new RuntimeConfig().numerics("slow")),
          "slow");
      fails(
          ErrorCode.INVALID_ARGUMENT,
          () -> new ModelRunner(half, new RuntimeConfig().numerics("faithful").replicationFactor(2)),
          "replicationFactor");
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

  private static ModelRunner onDemand(Path cache, CompilerOptions options, RuntimeConfig config) {
    options.engineCaching(cache);
    return new ModelRunner(
        Executable.load(MODELS.resolve("affine.onnx"), options), config.threads(1));
  }

  private static void checkRows(ModelRunner runner, int rows) {
    float[][] x = new float[rows][4];
    FloatBuffer flat = FloatBuffer.allocate(4 * rows);
    for (int i = 0; i < 4 * rows; i++) {
      x[i / 4][i % 4] = i;
      flat.put(i, i);
    }
    float[][] y = runner.run(Map.of("x", x)).get("y").array(float[][].class);
    assertEquals(rows, y.length);
    FloatBuffer into = FloatBuffer.allocate(4 * rows);
    runner.execute(Map.of("x", flat), Map.of("y", into));
    for (int i = 0; i < 4 * rows; i++) {
      assertEquals(2 * i + 1, y[i / 4][i % 4]);
      assertEquals(2 * i + 1, into.get(i));
    }
  }

  @Test
  void scenario_80_any_shape(@TempDir Path cache) {
    try (ModelRunner runner = onDemand(cache, new CompilerOptions(), new RuntimeConfig())) {
      for (int rows : new int[] {3, 1, 3}) checkRows(runner, rows);
      // An array without rows does not have their length.
      Tensor none = runner.run(Map.of("x", new float[0][4])).get("y");
      assertArrayEquals(new long[] {0, 4}, none.shape());
      var error =
          assertThrows(
              PoprtException.class, () -> runner.run(Map.of("x", new float[3][5])));
      assertTrue(error.getMessage().contains("[3,5]"), error.getMessage());
    }
  }

  @Test
  void scenario_129_an_input_is_missing(@TempDir Path cache) {
    try (ModelRunner fixed = affineRunner();
        ModelRunner any = onDemand(cache, new CompilerOptions(), new RuntimeConfig())) {
      for (ModelRunner runner : new ModelRunner[] {fixed, any})
        fails(
            ErrorCode.INVALID_ARGUMENT,
            () -> runner.run(Map.<String, float[][]>of()),
            "input 'x' is missing");
    }
  }

  @Test
  void scenario_81_batch_compiled_ahead(@TempDir Path cache) {
    try (ModelRunner runner =
        onDemand(cache, new CompilerOptions().batchSize(2, 0), new RuntimeConfig())) {
      for (int rows : new int[] {2, 5, 1}) checkRows(runner, rows);
    }
  }

  @Test
  void scenario_82_warm_up(@TempDir Path cache) {
    try (ModelRunner runner = onDemand(cache, new CompilerOptions(), new RuntimeConfig());
        ModelRunner fixed = affineRunner()) {
      runner.warmUp(Map.of("x", new long[] {2, 4}));
      runner.warmUp("x=8,4/9,4");
      assertTrue(runner.statistics().contains("\"compiled\": 3"), runner.statistics());
      assertEquals(
          ErrorCode.NOT_FOUND,
          assertThrows(PoprtException.class, () -> runner.warmUp(Map.of("z", new long[] {2, 4})))
              .code());
      assertEquals(
          ErrorCode.UNIMPLEMENTED,
          assertThrows(PoprtException.class, () -> fixed.warmUp("x=2,4")).code());
    }
  }

  @Test
  void scenario_112_open_dimensions(@TempDir Path cache) {
    try (ModelRunner runner =
            onDemand(cache, new CompilerOptions().batchSize(2, 0), new RuntimeConfig());
        ModelRunner fixed = affineRunner()) {
      String open = runner.openDimensions(), known = fixed.openDimensions();
      assertTrue(open.contains("\"on_demand\": true") && open.contains("\"N\""), open);
      assertTrue(known.contains("\"on_demand\": false") && !known.contains("\"N\""), known);
    }
  }

  private static Executable loadSource(
      Path folder, boolean source, CompilerOptions.Precision precision) {
    Path file = folder.resolve("affine.popef");
    try (Executable executable =
        compile(
            "affine.onnx",
            new CompilerOptions().inputShape("x", 2, 4).embedSource(source))) {
      executable.save(file);
    }
    return Executable.load(
        file,
        new CompilerOptions()
            .shapes("on_demand")
            .precision(precision)
            .engineCaching(folder.resolve("cache")));
  }

  @Test
  void scenario_100_a_popef_file_at_any_shape(@TempDir Path folder) {
    try (ModelRunner runner = runner(loadSource(folder, true, CompilerOptions.Precision.KEEP))) {
      for (int rows : new int[] {3, 2, 1, 3}) checkRows(runner, rows);
    }
    var given =
        assertThrows(
            PoprtException.class, () -> loadSource(folder, true, CompilerOptions.Precision.FP16));
    assertEquals(ErrorCode.INVALID_ARGUMENT, given.code());
    assertTrue(given.getMessage().contains("precision"), given.getMessage());
    var missing =
        assertThrows(
            PoprtException.class, () -> loadSource(folder, false, CompilerOptions.Precision.KEEP));
    assertEquals(ErrorCode.FAILED_PRECONDITION, missing.code());
    assertTrue(missing.getMessage().contains("embedSource"), missing.getMessage());
  }

  @Test
  void scenario_83_shape_sets() {
    CompilerOptions options =
        new CompilerOptions()
            .shapeSets(
                List.of(Map.of("x", new long[] {1, 4}), Map.of("x", new long[] {4, 4})));
    try (ModelRunner runner = runner(compile("affine.onnx", options))) {
      for (int rows : new int[] {3, 1, 4}) checkRows(runner, rows);
      assertThrows(PoprtException.class, () -> checkRows(runner, 5));
    }
  }

  @Test
  void scenario_84_shapes_are_removed(@TempDir Path cache) {
    try (ModelRunner runner =
        onDemand(cache, new CompilerOptions(), new RuntimeConfig().maxShapes(1))) {
      for (int rows : new int[] {1, 2, 3, 4}) checkRows(runner, rows);
      assertTrue(runner.statistics().contains("\"removed\": 3"), runner.statistics());
    }
  }

  @Test
  void scenario_123_memory_of_shapes(@TempDir Path cache) {
    try (ModelRunner runner =
        onDemand(cache, new CompilerOptions(), new RuntimeConfig().maxShapeMemory(4096))) {
      checkRows(runner, 3);
      fails(ErrorCode.INVALID_ARGUMENT, () -> checkRows(runner, 1000), "32000 bytes", "4096");
      checkRows(runner, 3);
    }
  }

  /** A partial batch runs when its time is over, independent of the time between rows. */
  @Test
  void theTimeoutOfABatch() {
    RuntimeConfig config =
        new RuntimeConfig()
            .threads(1)
            .batchingDim(0)
            .timeout(Duration.ofNanos(-1))
            .isBatchSizeTimeoutEnabled(true)
            .batchSizeTimeout(Duration.ofNanos(300_000));
    try (Executable executable = affine(2);
        ModelRunner runner = new ModelRunner(executable, config)) {
      FloatBuffer x = FloatBuffer.allocate(4);
      runner.execute(Map.of("x", x), Map.of("y", FloatBuffer.allocate(4)));
      assertEquals(1, runner.counters().paddedRows());
    }
  }

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
      assertEquals(
          "output 'y': the buffer is read-only",
          assertThrows(
                  ReadOnlyBufferException.class,
                  () -> c.bindings.output("y", c.y.asReadOnlyBuffer()))
              .getMessage());
    }
  }

  /** A buffer that was filled, without flip(). The library takes a size of 0 for that of the shape. */
  @Test
  void aBufferWithoutElementsIsNoTensor() {
    FloatBuffer filled = ByteBuffer.allocateDirect(32).order(ByteOrder.nativeOrder()).asFloatBuffer();
    filled.put(new float[8]);
    FloatBuffer heap = FloatBuffer.allocate(0);
    try (ModelRunner runner = affineRunner()) {
      for (FloatBuffer empty : List.of(filled, heap))
        for (long rows : new long[] {2, 4, 20_000_000}) {
          PoprtException refused =
              assertThrows(
                  PoprtException.class, () -> runner.run(Map.of("x", Tensor.of(empty, rows, 4))));
          assertEquals(ErrorCode.INVALID_ARGUMENT, refused.code());
          if (rows < 5)
            assertEquals(
                "input 'x': the buffer has no elements from its position to its limit, given the shape ["
                    + rows
                    + ",4] of f32; a buffer that was filled needs flip()",
                refused.getMessage());
        }
      assertThrows(PoprtException.class, () -> runner.run(Map.of("x", heap)));
      assertThrows(PoprtException.class, () -> runner.run(Map.of("x", ByteBuffer.allocate(0).order(ByteOrder.nativeOrder()))));
    }
  }

  @Test
  void shapesOfTensorsAreChecked() {
    FloatBuffer ten = FloatBuffer.allocate(10);
    for (long[] shape : new long[][] {{-1, -10}, {10, -1}, {1L << 32, 1L << 32}, {1L << 62, 2}, {3, 1L << 62}})
      assertThrows(IllegalArgumentException.class, () -> Tensor.of(ten, shape));
    assertArrayEquals(new long[] {0, 1L << 62, 1L << 62}, Tensor.of(ten, 0, 1L << 62, 1L << 62).shape());
    assertArrayEquals(new long[] {1L << 62, 1}, Tensor.of(ten, 1L << 62, 1).shape());
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
}
