import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.poprt.Compiler;
import org.poprt.CompilerOptions;
import org.poprt.Device;
import org.poprt.DeviceManager;
import org.poprt.ErrorCode;
import org.poprt.Executable;
import org.poprt.HostConcat;
import org.poprt.HostConcatRunner;
import org.poprt.LightRunner;
import org.poprt.ModelFusionRunner;
import org.poprt.ModelRunner;
import org.poprt.PackOptions;
import org.poprt.PackRunner;
import org.poprt.RuntimeConfig;
import org.poprt.Tensor;

/** The further kinds of runners. */
class RunnersTest extends Scenarios {
  private static final RuntimeConfig ONE = new RuntimeConfig().threads(1);

  @Test
  void scenario_46_model_fusion_runner() {
    try (Executable executable = compile("fused.onnx", new CompilerOptions());
        ModelFusionRunner runner = new ModelFusionRunner(executable, ONE)) {
      assertEquals("[graph0/x f32[4], graph1/x f32[4]]", runner.inputs().toString());
      for (int g = 0; g < 2; g++) {
        String graph = "graph" + g + "/";
        FloatBuffer y = FloatBuffer.allocate(4);
        IntBuffer k = IntBuffer.allocate(1);
        runner.execute(
            Map.of(graph + "x", FloatBuffer.wrap(new float[] {1, 2, 3, 4})),
            Map.of(graph + "y", y, graph + "k", k));
        assertEquals(g, k.get(0));
        for (int i = 0; i < 4; i++) assertEquals((g + 2) * (i + 1), y.get(i));
      }
      FloatBuffer y = FloatBuffer.allocate(4);
      fails(
          ErrorCode.INVALID_ARGUMENT,
          () -> runner.execute(Map.of("graph0/x", y), Map.of("graph1/y", y)),
          "different graphs");
      try (Executable other = affine(2)) {
        fails(ErrorCode.FAILED_PRECONDITION, () -> new ModelFusionRunner(other, ONE), "not a fused");
      }
    }
  }

  @Test
  void scenario_61_fused_models() throws Exception {
    try (Executable first = affine(2);
        Executable second = compile("weights.onnx", new CompilerOptions());
        Executable fused = Executable.fuse(List.of(first, second));
        ModelRunner runner = new ModelRunner(fused, ONE)) {
      assertEquals("[graph0/x f32[2,4], graph1/x f32[2,4]]", runner.inputs().toString());
      float[][] x = {{0, 1, 2, 3}, {4, 5, 6, 7}};
      for (int round = 0; round < 3; round++) {
        Map<String, Tensor> one = runner.run(Map.of("graph0/x", x));
        assertEquals(Set.of("graph0/y"), one.keySet());
        assertArrayEquals(new float[] {9, 11, 13, 15}, one.get("graph0/y").array(float[][].class)[1]);
        Tensor two = runner.run(Map.of("graph1/x", x)).get("graph1/y");
        assertArrayEquals(new float[] {5, 11, 19, 29}, two.array(float[][].class)[1]);
      }
      fails(
          ErrorCode.INVALID_ARGUMENT,
          () -> runner.run(Map.of("graph0/x", x, "graph1/x", x)),
          "different graphs");
      fails(ErrorCode.INVALID_ARGUMENT, () -> Executable.fuse(List.of(fused)), "several variants");
    }
    fails(ErrorCode.INVALID_ARGUMENT, () -> Executable.fuse(List.of()), "no models");
    Path file = Files.createTempFile("poprt", ".onnx");
    Compiler.fuse(List.of(MODELS.resolve("weights.onnx"), MODELS.resolve("weights.onnx")), file);
    try (Compiler compiler = new Compiler(new CompilerOptions());
        Executable both = compiler.compile(file)) {
      assertEquals(
          "[graph0/x f32[2,4], graph1/x f32[2,4], index u32[1]]", both.inputs().toString());
    } finally {
      Files.delete(file);
    }
  }

  @Test
  void scenario_62_shape_buckets() {
    CompilerOptions options = new CompilerOptions().option("input_shape", "x=1,4/4,4");
    try (Executable executable = compile("affine.onnx", options);
        ModelRunner runner = new ModelRunner(executable, ONE)) {
      for (int rows = 1; rows <= 4; rows++) {
        float[][] x = new float[rows][4];
        for (int i = 0; i < rows; i++) x[i][0] = i;
        float[][] y = runner.run(Map.of("x", x)).get("y").array(float[][].class);
        assertEquals(rows, y.length);
        for (int i = 0; i < rows; i++) assertArrayEquals(new float[] {2 * i + 1, 1, 1, 1}, y[i]);
      }
      fails(ErrorCode.INVALID_ARGUMENT, () -> runner.run(Map.of("x", new float[5][4])), "is 5", "1 to 4");
      fails(ErrorCode.INVALID_ARGUMENT, () -> runner.run(Map.of("x", new float[4][5])), "'x'", "[4,5]");
      String statistics = runner.statistics().replaceAll("\\s", "");
      assertTrue(statistics.contains("\"requests\":3,\"padded\":2"), statistics);
    }
    try (Executable executable = compile("affine.onnx", options.maxPadding(0.4));
        ModelRunner runner = new ModelRunner(executable, ONE)) {
      float[][] y = runner.run(Map.of("x", new float[2][4])).get("y").array(float[][].class);
      assertArrayEquals(new float[] {1, 1, 1, 1}, y[1]);
      String statistics = runner.statistics().replaceAll("\\s", "");
      assertTrue(statistics.contains("\"requests\":1,\"padded\":0"), statistics);
    }
  }

  @Test
  void scenario_63_several_ipus() {
    CompilerOptions several =
        new CompilerOptions()
            .option(
                "compiler_options",
                "num_ipus=2\nvirtual_graph_mode=auto\nenable_pipelining=True\nbatches_per_step=2");
    float[][] x = new float[512][512];
    for (int i = 0; i < 512; i++)
      for (int j = 0; j < 512; j++) x[i][j] = (512 * i + j) % 7 / 7.0f;
    try (Executable on1 = compile("slow.onnx", new CompilerOptions());
        Executable on2 = compile("slow.onnx", several);
        ModelRunner alone = new ModelRunner(on1, ONE);
        ModelRunner runner = new ModelRunner(on2, ONE)) {
      float[][] expected = alone.run(Map.of("x", x)).get("y").array(float[][].class);
      for (int round = 0; round < 3; round++) {
        float[][] y = runner.run(Map.of("x", x)).get("y").array(float[][].class);
        for (int i = 0; i < 512; i++) assertArrayEquals(expected[i], y[i]);
      }
    }
    CompilerOptions missing = new CompilerOptions().option("compiler_options", "num_ipus=2");
    fails(ErrorCode.INVALID_ARGUMENT, () -> compile("slow.onnx", missing), "virtual_graph_mode");
  }

  @Test
  void scenario_65_packed_sequences() {
    CompilerOptions options =
        new CompilerOptions().option("pack_args", "max_valid_num=4\nsegment_max_size=8");
    try (Executable executable = compile("sums.onnx", options);
        PackRunner runner = new PackRunner(executable, new PackOptions(Duration.ofMillis(5)), ONE)) {
      assertEquals("[x f32[2,8], unpack_info s32[4,1]]", executable.inputs().toString());
      assertEquals("[y f32[1,8]]", runner.outputs().toString());
      int[] lengths = {1, 3, 5, 2, 8, 4};
      List<FloatBuffer> results = new ArrayList<>();
      List<CompletableFuture<Void>> runs = new ArrayList<>();
      for (int n : lengths) {
        FloatBuffer x = FloatBuffer.allocate(n);
        for (int i = 0; i < n; i++) x.put(i, i + 1);
        FloatBuffer y = FloatBuffer.allocate(8);
        results.add(y);
        runs.add(runner.executeAsync(runner.bindings().input("x", x).output("y", y)));
      }
      runs.forEach(CompletableFuture::join);
      for (int k = 0; k < lengths.length; k++)
        for (int i = 0, n = lengths[k]; i < n; i++)
          assertEquals(i + 1 + n * (n + 1) / 2, results.get(k).get(i));
      FloatBuffer long9 = FloatBuffer.allocate(9);
      fails(
          ErrorCode.INVALID_ARGUMENT,
          () -> runner.execute(Map.of("x", long9), Map.of("y", FloatBuffer.allocate(9))),
          "longer than 8");
    }
    CompilerOptions half = new CompilerOptions().option("pack_args", "max_valid_num=4");
    fails(ErrorCode.INVALID_ARGUMENT, () -> compile("sums.onnx", half), "segment_max_size");
  }

  @Test
  void scenario_47_pack_runner() {
    try (Executable executable = affine(2);
        PackRunner runner =
            new PackRunner(
                executable,
                new PackOptions("x", Duration.ofMillis(5))
                    .maxValidNum(16)
                    .algorithm(PackOptions.Algorithm.FIRST_FIT)
                    .dataAcrossRows(false)
                    .compileBatchSize(2),
                ONE)) {
      List<FloatBuffer> results = new ArrayList<>();
      List<CompletableFuture<Void>> runs = new ArrayList<>();
      for (int n = 0; n < 12; n++) {
        FloatBuffer x = FloatBuffer.allocate(1 + n % 4);
        for (int i = 0; i < x.capacity(); i++) x.put(i, n + i);
        results.add(FloatBuffer.allocate(x.capacity()));
        runs.add(runner.executeAsync(runner.bindings().input("x", x).output("y", results.get(n))));
      }
      runs.forEach(CompletableFuture::join);
      for (int n = 0; n < 12; n++)
        for (int i = 0; i < results.get(n).capacity(); i++)
          assertEquals(2 * (n + i) + 1, results.get(n).get(i));
      FloatBuffer long5 = FloatBuffer.allocate(5);
      fails(
          ErrorCode.INVALID_ARGUMENT,
          () -> runner.execute(Map.of("x", long5), Map.of("y", long5)),
          "longer than 4");
      Duration second = Duration.ofSeconds(1);
      fails(
          ErrorCode.INVALID_ARGUMENT,
          () -> new PackRunner(executable, new PackOptions("x", Duration.ZERO), ONE),
          "timeout");
      assertThrows(
          org.poprt.PoprtException.class,
          () -> new PackRunner(executable, new PackOptions("nope", second), ONE));
    }
  }

  @Test
  void scenario_48_light_runner() {
    try (Executable executable =
            compile("weights.onnx", new CompilerOptions().variableWeights(true));
        DeviceManager manager = new DeviceManager();
        LightRunner runner = new LightRunner(executable, ONE)) {
      assertEquals("[x f32[2,4]]", runner.inputs().toString());
      assertEquals(3, runner.modelInputs().size());
      for (int i = 0; i < 3; i++)
        assertEquals(
            !runner.modelInputs().get(i).name().equals("x"), runner.modelInputHasData(i));
      FloatBuffer x = FloatBuffer.wrap(new float[] {0, 1, 2, 3, 4, 5, 6, 7});
      FloatBuffer y = FloatBuffer.allocate(8);
      runner.execute(Map.of("x", x), Map.of("y", y));
      assertArrayEquals(new float[] {1, 3, 7, 13, 5, 11, 19, 29}, y.array());
      FloatBuffer fives = FloatBuffer.wrap(new float[] {5, 5, 5, 5});
      runner.setInput("w", fives);
      runner.updateWeights();
      runner.execute(Map.of("x", x), Map.of("y", y));
      assertArrayEquals(new float[] {1, 6, 11, 16, 21, 26, 31, 36}, y.array());
      fails(ErrorCode.NOT_FOUND, () -> runner.setInput("nope", fives), "'nope'");
      fails(ErrorCode.INVALID_ARGUMENT, () -> runner.setInput("w", x), "16");
      fails(ErrorCode.FAILED_PRECONDITION, () -> runner.setInput("x", x), "'x'");
      runner.stop();
      fails(ErrorCode.CANCELLED, () -> runner.execute(Map.of("x", x), Map.of("y", y)));
      List<Device> all = new ArrayList<>();
      for (long id = 0; id < manager.deviceCount(); id++) all.add(manager.getSpecificDevice(id)); // they are all free
      fails(ErrorCode.UNAVAILABLE, runner::reload);
      all.forEach(Device::close);
      runner.reload();
      y.put(7, 0);
      runner.execute(Map.of("x", x), Map.of("y", y));
      assertEquals(36, y.get(7));
    }
  }

  @Test
  void scenario_49_host_concat_runner() {
    HostConcat join =
        new HostConcat("x", "a", "b").shape(2, 4).bytes(32).sizes(12, 20);
    try (Executable executable = affine(2)) {
      try (HostConcatRunner runner = new HostConcatRunner(executable, List.of(join), ONE)) {
        FloatBuffer y = FloatBuffer.allocate(8);
        FloatBuffer a = FloatBuffer.wrap(new float[] {0, 1, 2});
        FloatBuffer b = FloatBuffer.wrap(new float[] {3, 4, 5, 6, 7});
        runner.execute(Map.of("a", a, "b", b), Map.of("y", y));
        assertArrayEquals(new float[] {1, 3, 5, 7, 9, 11, 13, 15}, y.array());
        assertFalse(runner.inputs().toString().contains("x f32"), runner.inputs().toString());
      }
      fails(
          ErrorCode.NOT_FOUND,
          () -> new HostConcatRunner(executable, List.of(), ONE),
          "HostConcatRunnerConfig");
      fails(
          ErrorCode.NOT_FOUND,
          () -> new HostConcatRunner(executable, List.of(new HostConcat("z", "a", "b")), ONE),
          "'z'");
      assertThrows(IllegalArgumentException.class, () -> new HostConcat("x", "a").sizes(1, 2));
    }
  }
}
