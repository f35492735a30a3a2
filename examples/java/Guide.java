import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.poprt.*;
import org.poprt.Compiler;

/** The chapters of docs/languages/java.md. Runs in a folder with digits.onnx and language_model/. */
final class Guide {
  private Guide() {}

  // [load]
  static void load() {
    try (ModelRunner runner = new ModelRunner(Path.of("digits.onnx"))) { // shapes are compiled when they arrive
      for (Anchor anchor : runner.inputs()) System.out.println("load: " + anchor.name());
      for (Anchor anchor : runner.outputs()) System.out.println("load: " + anchor.name());
    }
    try (Compiler compiler = new Compiler(new CompilerOptions().batchSize(8));
        Executable executable = compiler.compile(Path.of("digits.onnx"))) {
      executable.save(Path.of("digits.popef")); // ahead of time
    }
    Executable.open(Path.of("digits.popef")).close(); // maps the file and compiles nothing
  }

  // [run]
  static void run(ModelRunner runner) {
    Map<String, Tensor> outputs = runner.run(Map.of("image", new float[1][1][8][8])); // allocates the results
    long[] shape = outputs.get("scores").shape();
    System.out.println("run: " + shape[0] + " " + shape[1]);
  }

  // [async]
  static void async() {
    try (Compiler compiler = new Compiler(new CompilerOptions().batchSize(1));
        Executable executable = compiler.compile(Path.of("digits.onnx"));
        ModelRunner runner = new ModelRunner(executable)) {
      FloatBuffer image = runner.inputs().get(0).allocate().asFloatBuffer(); // direct memory, used in place
      FloatBuffer scores = runner.outputs().get(0).allocate().asFloatBuffer();
      try (Bindings memory = runner.bindings().input("image", image).output("scores", scores)) {
        CompletableFuture<Void> answer = runner.executeAsync(memory);
        answer.join(); // throws the error of the run
        System.out.println("async: 1");
      }
    }
  }

  // [batch]
  static void batch() {
    RuntimeConfig config =
        new RuntimeConfig()
            .batchingDim(0)
            .isBatchSizeTimeoutEnabled(true)
            .batchSizeTimeout(Duration.ofMillis(1)); // requests that arrive within 1 ms share a run
    try (Executable executable = Executable.open(Path.of("digits.popef")); // compiled for 8 rows
        ModelRunner runner = new ModelRunner(executable, config)) {
      // Three runs of 8 rows, the last one padded.
      long[] shape = runner.run(Map.of("image", new float[20][1][8][8])).get("scores").shape();
      System.out.println("batch: " + shape[0] + " " + shape[1]);
    }
  }

  // [shapes]
  static void shapes(ModelRunner runner) {
    runner.warmUp("image=2,1,8,8/4,1,8,8"); // compiles before the first request

    List<Map<String, long[]>> sets =
        List.of(Map.of("image", new long[] {1, 1, 8, 8}), Map.of("image", new long[] {4, 1, 8, 8}));
    try (Compiler compiler = new Compiler(new CompilerOptions().shapeSets(sets));
        Executable executable = compiler.compile(Path.of("digits.onnx")); // both in one executable
        ModelRunner several = new ModelRunner(executable)) {
      // A request is padded to the next shape.
      long[] shape = several.run(Map.of("image", new float[3][1][8][8])).get("scores").shape();
      System.out.println("shapes: " + shape[0] + " " + shape[1]);
    }
  }

  // [state]
  static void state() {
    // The caches of two sequences are on the device.
    try (Generator generator = new Generator(Path.of("language_model"), new GeneratorOptions().slots(2));
        Sequence text = generator.newSequence(6, 42, 26)) {
      text.setOption("max_new_tokens", 8);
      text.setOption("ignore_stop", 1);
      text.start();
      StringBuilder line = new StringBuilder("state:");
      for (long token : text.readAll()) line.append(' ').append(token);
      System.out.println(line);
    }
  }

  // [serve]
  static void serve(ModelRunner runner) throws Exception {
    ExecutorService clients = Executors.newFixedThreadPool(4);
    List<Future<?>> answers = new ArrayList<>();
    for (int i = 0; i < 40; i++) { // any number of threads may share a runner
      answers.add(clients.submit(() -> runner.run(Map.of("image", new float[1][1][8][8]))));
    }
    for (Future<?> answer : answers) answer.get();
    clients.shutdown();
    System.out.println("serve: " + answers.size());
    System.out.println(runner.counters().latencyP99() + " at the 99th percentile");
  }

  // [errors]
  static void errors() {
    try (ModelRunner runner = new ModelRunner(Path.of("missing.onnx"))) {
      System.out.println(runner);
    } catch (PoprtException error) { // unchecked; the codes are those of gRPC
      if (error.code() == ErrorCode.NOT_FOUND) System.out.println("errors: " + error.getMessage());
    }
  }

  // [end]
  public static void main(String[] args) throws Exception {
    load();
    try (ModelRunner runner = new ModelRunner(Path.of("digits.onnx"))) {
      run(runner);
      async();
      batch();
      shapes(runner);
      state();
      serve(runner);
      errors();
    }
  }
}
