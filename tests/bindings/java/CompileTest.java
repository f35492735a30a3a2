import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.poprt.Compiler;
import org.poprt.CompilerOptions;
import org.poprt.DataType;
import org.poprt.DeviceManager;
import org.poprt.ErrorCode;
import org.poprt.Estimate;
import org.poprt.Executable;
import org.poprt.ModelRunner;
import org.poprt.OpenOptions;
import org.poprt.Passes;
import org.poprt.Popef;
import org.poprt.PopefBlob;
import org.poprt.PopefModel;
import org.poprt.PopefReader;
import org.poprt.Poprt;
import org.poprt.PoprtException;
import org.poprt.RuntimeConfig;
import org.poprt.Session;

/** Compiling models, opening and describing executables. Scenarios of tests/bindings/README.md, then features of Java only. */
class CompileTest extends Scenarios {
  @Test
  void scenario_64_plugins() {
    fails(ErrorCode.NOT_FOUND, () -> Compiler.loadPlugin(Path.of("missing.so")), "missing.so");
    fails(
        ErrorCode.FAILED_PRECONDITION,
        () -> Compiler.loadPlugin(MODELS.resolve("affine.onnx")),
        "no shared library");
    assertTrue(Compiler.listPlugins().startsWith("["));
  }

  private static CompilerOptions affineWith(String option, String value) {
    return new CompilerOptions().inputShape("x", 2, 4).option(option, value);
  }

  @Test
  void scenario_90_estimate() {
    Path affine = MODELS.resolve("affine.onnx");
    try (Compiler compiler = new Compiler(new CompilerOptions().inputShape("x", 2, 4));
        Estimate e = compiler.estimate(affine)) {
      assertTrue(e.cycles() > 0);
      assertEquals(e.cycles() / 1.5e6, e.milliseconds(), 1e-9);
      assertTrue(e.throughput() > 0);
      assertEquals(2, e.samples());
      assertTrue(e.fits());
      assertEquals(638976, e.availableBytes());
      assertEquals("c600", e.target());
      assertTrue(e.json().startsWith("{\"cycles\":"));
      assertTrue(e.report().startsWith("Target: c600 (ipu21)"));
      assertTrue(e.svg().startsWith("<svg"));
      assertTrue(e.cycleQuality().startsWith("unchecked"));
      assertTrue(e.memoryQuality().startsWith("checked"));
      fails(
          ErrorCode.NOT_FOUND,
          () -> compiler.estimate(MODELS.resolve("missing.onnx")),
          "missing.onnx");
    }
    try (Compiler compiler = new Compiler(affineWith("estimate_target", "mk1"));
        Estimate e = compiler.estimate(affine)) {
      assertEquals(262144, e.availableBytes());
      assertEquals(e.cycles() / 1.6e6, e.milliseconds(), 1e-9);
    }
    fails(
        ErrorCode.INVALID_ARGUMENT,
        () -> new Compiler(affineWith("estimate_target", "ipu9")),
        "ipu9");
  }

  private static double number(String json, String name) {
    String value = json.split("\"" + name + "\":", 2)[1].split("[,}]", 2)[0];
    return value.equals("true") ? 1 : Double.parseDouble(value);
  }

  private static String quality(String json, String name) {
    String of = json.split("\"quality\":", 2)[1].split("\"" + name + "\":\\{\"trust\":\"", 2)[1];
    return of.split("\"}", 2)[0].replace("\",\"error\":\"", ": error ");
  }

  @Test
  void scenario_114_numbers_of_an_estimate() {
    try (Compiler compiler = new Compiler(new CompilerOptions().inputShape("x", 2, 4));
        Estimate e = compiler.estimate(MODELS.resolve("affine.onnx"))) {
      String json = e.json();
      assertEquals(number(json, "cycles"), e.cycles());
      assertEquals(number(json, "samples"), e.samples());
      assertEquals(number(json, "milliseconds"), e.milliseconds());
      assertEquals(number(json, "period_milliseconds"), e.periodMilliseconds());
      assertEquals(number(json, "latency_milliseconds"), e.latencyMilliseconds());
      assertEquals(number(json, "host_milliseconds"), e.hostMilliseconds());
      assertEquals(number(json, "throughput"), e.throughput());
      assertEquals(number(json, "utilization"), e.utilization());
      assertEquals(number(json, "bytes_with_gaps"), e.tileBytes());
      assertEquals(number(json, "available"), e.availableBytes());
      assertEquals(quality(json, "cycles"), e.cycleQuality());
      assertEquals(quality(json, "memory"), e.memoryQuality());
      assertEquals(quality(json, "host"), e.hostQuality());
    }
  }

  @Test
  void scenario_125_an_estimate_of_the_command() throws IOException {
    for (String[] words : new String[][] {{"affine.onnx", "mk2"}, {"linear.onnx", "bow"}}) {
      Path model = MODELS.resolve(words[0]);
      Process command =
          new ProcessBuilder(
                  System.getenv("POPRT_BIN") + "/poprt_exec",
                  "estimate",
                  model.toString(),
                  "--input_shape",
                  "x=2,4",
                  "--target",
                  words[1],
                  "--verbose",
                  "--json")
              .start();
      String printed = new String(command.getInputStream().readAllBytes(), UTF_8);
      try (Compiler compiler = new Compiler(affineWith("estimate_target", words[1]));
          Estimate e = compiler.estimate(model)) {
        assertEquals(printed.replaceAll("\\s", ""), e.json().replaceAll("\\s", ""));
      }
    }
  }

  @Test
  void scenario_126_names_of_options_in_errors() {
    fails(
        ErrorCode.INVALID_ARGUMENT,
        () -> new Compiler(new CompilerOptions().batchSize(-1)),
        "batchSize is -1");
    fails(
        ErrorCode.INVALID_ARGUMENT,
        () -> new ModelRunner(affine(2), new RuntimeConfig().queueDepth(-1)),
        "queueDepth is -1");
    fails(
        ErrorCode.INVALID_ARGUMENT,
        () -> new Compiler(new CompilerOptions().option("calibration_with_data", "1")),
        "`calibration_with_data` needs `data_preprocess`");
  }

  @Test
  void scenario_128_zero_characters() throws Exception {
    String zero = "a\0b";
    java.util.Map<String, org.junit.jupiter.api.function.Executable> calls =
        java.util.Map.of(
            "name",
            () -> new Compiler(affineWith("num\0", "1")),
            "value",
            () -> new Compiler(affineWith("num_io_tiles", "3\0002")),
            "numerics",
            () -> new ModelRunner(affine(2), new RuntimeConfig().numerics("fast\0")),
            "level",
            () -> org.poprt.Poprt.setLogLevel("INFO\0"),
            "states",
            () ->
                new org.poprt.Generator(
                    MODELS.resolve("affine.onnx"), new org.poprt.GeneratorOptions().states(zero)));
    for (var call : calls.entrySet()) {
      var error = assertThrows(IllegalArgumentException.class, call.getValue(), call.getKey());
      assertEquals(
          "argument '" + call.getKey() + "' contains the character \\0", error.getMessage());
    }
  }

  /** Each call that compiles or converts a file raises what a callback has thrown. */
  @Test
  void scenario_19_every_call_raises_the_exception_of_its_callback() {
    RuntimeException mine = new RuntimeException("thrown by the test");
    Path affine = MODELS.resolve("affine.onnx");
    CompilerOptions options =
        new CompilerOptions()
            .inputShape("x", 2, 4)
            .afterPass(
                (a, b, c, d, e) -> {
                  throw mine;
                });
    try (Compiler compiler = new Compiler(options)) {
      for (org.junit.jupiter.api.function.Executable call :
          java.util.List.<org.junit.jupiter.api.function.Executable>of(
              () -> compiler.compile(affine),
              () -> compiler.compileToPopef(affine, folder.resolve("a.popef")),
              () -> compiler.convert(affine, folder.resolve("a.onnx"))))
        assertSame(mine, assertThrows(RuntimeException.class, call));
    }
  }

  @Test
  void scenario_91_an_estimate_in_the_executable() throws IOException {
    Path affine = MODELS.resolve("affine.onnx");
    Path file = Files.createTempFile("estimate", ".popef");
    try (Compiler compiler = new Compiler(affineWith("estimate", "True"));
        Estimate e = compiler.estimate(affine);
        Executable made = compiler.compile(affine)) {
      String start = "{\"cycles\":" + e.cycles() + ",";
      assertTrue(made.estimate().startsWith(start));
      made.save(file);
      try (Executable opened = Executable.open(file)) {
        assertTrue(opened.estimate().startsWith(start));
      }
    } finally {
      Files.delete(file);
    }
    try (Executable plain = affine(2)) {
      fails(ErrorCode.NOT_FOUND, plain::estimate, "estimate");
    }
  }

  @Test
  void scenario_92_a_closed_estimate() {
    Estimate e;
    try (Compiler compiler = new Compiler(new CompilerOptions().inputShape("x", 2, 4))) {
      e = compiler.estimate(MODELS.resolve("affine.onnx"));
    }
    e.close();
    e.close();
    closed("Estimate", e::cycles);
    closed("Estimate", e::json);
  }

  @Test
  void scenario_66_passes() throws IOException {
    ByteBuffer affine = ByteBuffer.wrap(Files.readAllBytes(MODELS.resolve("affine.onnx")));
    Passes both =
        new Passes()
            .add("const_batch_size", Map.of("const_batch_size", "3"))
            .add("add_checkpoints", Map.of("names", "twice"));
    both.check();
    try (Compiler compiler = new Compiler();
        ModelRunner runner = runner(compiler.compile(ByteBuffer.wrap(both.apply(affine))))) {
      assertEquals("[x f32[3,4]]", runner.inputs().toString());
      assertEquals("[y f32[3,4], twice f32[3,4]]", runner.outputs().toString());
      FloatBuffer x = FloatBuffer.allocate(12);
      FloatBuffer y = FloatBuffer.allocate(12);
      FloatBuffer twice = FloatBuffer.allocate(12);
      for (int i = 0; i < 12; i++) x.put(i, i);
      runner.execute(Map.of("x", x), Map.of("y", y, "twice", twice));
      for (int i = 0; i < 12; i++) {
        assertEquals(2 * i + 1, y.get(i));
        assertEquals(2 * i, twice.get(i));
      }
    }
    for (Passes harmless : List.of(new Passes().add("sort_graph"), new Passes()))
      try (Compiler compiler = new Compiler(new CompilerOptions().inputShape("x", 2, 4));
          Executable executable = compiler.compile(ByteBuffer.wrap(harmless.apply(affine)))) {
        checkAffine(executable);
      }
    fails(ErrorCode.NOT_FOUND, () -> new Passes().add("nonsense").check(), "nonsense");
    fails(ErrorCode.NOT_FOUND, () -> new Passes().add("nonsense").apply(affine), "nonsense");
    Passes rows = new Passes().add("const_batch_size", Map.of("rows", "3"));
    fails(ErrorCode.INVALID_ARGUMENT, rows::check, "rows", "const_batch_size");
    Passes many = new Passes().add("const_batch_size", Map.of("const_batch_size", "many"));
    fails(ErrorCode.INVALID_ARGUMENT, () -> many.apply(affine), "many");
    fails(ErrorCode.INVALID_ARGUMENT, () -> new Passes().add("remove_outputs").check(), "outputs");
    PoprtException none =
        assertThrows(
            PoprtException.class,
            () -> new Passes().add("sort_graph").apply(ByteBuffer.wrap(new byte[] {1, 2, 3})));
    assertTrue(List.of(ErrorCode.INVALID_ARGUMENT, ErrorCode.DATA_LOSS).contains(none.code()));
    String last = "replace_groupnorm_with_fast_norm";
    assertEquals(List.of("layer_norm_pattern", last), new Passes().add(last).sorted());
    assertTrue(Passes.list().startsWith("[") && Passes.list().contains("\"const_batch_size\""));
  }

  @Test
  void scenario_74_options_by_name() {
    CompilerOptions options =
        new CompilerOptions().option("input_shape", "x=2,4").option("num_io_tiles", "32");
    try (Compiler compiler = new Compiler(options);
        Executable executable = compiler.compile(MODELS.resolve("affine.onnx"));
        PopefModel model = executable.popefModel()) {
      assertEquals("[x f32[2,4]]", model.userInputs().toString());
      assertTrue(model.metadata().engineOptions().contains(Map.entry("num_io_tiles", "32")));
      assertTrue(compiler.ioStatistics(MODELS.resolve("affine.onnx")).contains("inputs: 1"));
    }
    assertTrue(Compiler.listOptions().contains("num_io_tiles"));
    CompilerOptions nonsense = new CompilerOptions().option("nonsense", "1");
    fails(ErrorCode.INVALID_ARGUMENT, () -> new Compiler(nonsense), "nonsense");
    CompilerOptions missing = new CompilerOptions().option("compiler_options", "virtual_graph_mode=executionPhases");
    fails(ErrorCode.UNIMPLEMENTED, () -> new Compiler(missing), "virtual_graph_mode");
  }

  @Test
  void scenario_01_compile() throws IOException {
    List<Double> progress = new ArrayList<>();
    List<String> passes = new ArrayList<>();
    List<Long> nodes = new ArrayList<>();
    CompilerOptions options =
        new CompilerOptions()
            .inputShape("x", 2, 4)
            .progress((done, what) -> progress.add(done))
            .afterPass(
                (pass, rewrites, ms, before, after) -> {
                  passes.add(pass);
                  nodes.add(before);
                  nodes.add(after);
                  assertTrue(ms >= 0 && ms < 60000);
                  assertTrue(rewrites > 0 || before == after, pass);
                });
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
    assertEquals(2, nodes.get(0)); // affine.onnx has two nodes
    for (int i = 2; i < nodes.size(); i += 2) {
      assertTrue(nodes.get(i) == 2 || nodes.get(i).equals(nodes.get(i - 1)), passes.get(i / 2));
    }
    assertEquals(1.0, progress.get(progress.size() - 1));
    double last = 0;
    for (double part : progress.subList(0, progress.indexOf(1.0) + 1)) {
      assertTrue(part >= last);
      last = part;
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
    fails(ErrorCode.INVALID_ARGUMENT, () -> Executable.open(MODELS.resolve("affine.onnx")));
  }

  @Test
  void scenario_13_unsupported_operator() {
    fails(
        ErrorCode.UNIMPLEMENTED,
        () -> compile("unknown_op.onnx", new CompilerOptions()),
        "Frobnicate");
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
  void scenario_55_input_lengths() {
    CompilerOptions options = new CompilerOptions().batchSize(2, 0);
    fails(ErrorCode.INVALID_ARGUMENT, () -> compile("sequence.onnx", options), "'s' is a sequence");
    try (ModelRunner runner = runner(compile("sequence.onnx", options.inputLength("s", 2)))) {
      assertEquals("[s[0] f32[2,3], s[1] f32[2,3]]", runner.inputs().toString());
      assertEquals("[y f32[4,3]]", runner.outputs().toString());
      FloatBuffer y = FloatBuffer.allocate(12);
      runner.execute(
          Map.of(
              "s[0]", FloatBuffer.wrap(new float[] {0, 1, 2, 3, 4, 5}),
              "s[1]", FloatBuffer.wrap(new float[] {6, 7, 8, 9, 10, 11})),
          Map.of("y", y));
      for (int i = 0; i < 12; i++) assertEquals(i, y.get(i));
    }
    fails(ErrorCode.INVALID_ARGUMENT, () -> new Compiler(options.inputLength("s", -1)), "'s'", "-1");
  }

  @Test
  void scenario_56_opaque_blobs() throws IOException {
    byte[] notes = {97, 0, 98};
    CompilerOptions options =
        new CompilerOptions().inputShape("x", 2, 4).opaqueBlob("notes", notes).opaqueBlob("", new byte[0]);
    fails(ErrorCode.INVALID_ARGUMENT, () -> new Compiler(options), "name");
    Path file = folder.resolve("notes.popef");
    Executable compiled =
        compile("affine.onnx", new CompilerOptions().inputShape("x", 2, 4).opaqueBlob("notes", notes));
    PopefModel model = compiled.popefModel();
    compiled.save(file);
    compiled.close();
    checkNotes(model.blobs(PopefBlob.Type.OPAQUE), model.executable().name());
    try (PopefReader reader = PopefReader.open(file)) {
      checkNotes(reader.blobs(PopefBlob.Type.OPAQUE), model.executable().name());
    }
    Executable opened = Executable.open(model, new OpenOptions());
    model.close();
    closed("PopefModel", () -> Executable.open(model, new OpenOptions()));
    checkAffine(opened);
    try (Session session = session(opened);
        PopefModel same = session.popefModel()) {
      checkNotes(same.blobs(PopefBlob.Type.OPAQUE), "affine");
    }
    closed("Executable", opened::popefModel);
    CompilerOptions embedding = new CompilerOptions().inputShape("x", 2, 4).embedSource(true);
    try (Executable embedded = compile("affine.onnx", embedding);
        PopefModel with = embedded.popefModel()) {
      PopefBlob source = with.blobs(PopefBlob.Type.OPAQUE).get(1);
      assertEquals("poprt.source", source.name());
      assertArrayEquals(Files.readAllBytes(MODELS.resolve("affine.onnx")), source.toBytes());
    }
  }

  private static void checkNotes(List<PopefBlob> blobs, String executable) {
    assertEquals(2, blobs.size());
    assertEquals("opaque notes 3 bytes", blobs.get(0).toString());
    assertEquals("poprt.rows", blobs.get(1).name());
    assertEquals(executable, blobs.get(0).executable());
    assertArrayEquals(new byte[] {97, 0, 98}, blobs.get(0).toBytes());
  }
}
