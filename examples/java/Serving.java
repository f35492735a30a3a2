import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.poprt.Bindings;
import org.poprt.Compiler;
import org.poprt.CompilerOptions;
import org.poprt.Executable;
import org.poprt.ModelRunner;

/**
 * Serves several clients at once. Each keeps some requests in flight.
 *
 * <pre>Serving MODEL.onnx</pre>
 */
final class Serving {
  private static final int CLIENTS = 4;
  private static final int REQUESTS = 50;
  private static final int IN_FLIGHT = 3;

  private Serving() {}

  /** One request: image number k, its memory and its answer. */
  private static final class Request {
    final int number;
    final FloatBuffer scores;
    final Bindings memory;

    Request(ModelRunner runner, int k) {
      number = k;
      FloatBuffer image = runner.inputs().get(0).allocate().asFloatBuffer();
      scores = runner.outputs().get(0).allocate().asFloatBuffer();
      for (int i = 0; i < image.capacity(); i++) image.put(i, i * (k + 3) % 17 / 16f);
      memory = runner.bindings().input("image", image).output("scores", scores);
    }
  }

  private static void client(ModelRunner runner, int first, FloatBuffer[] expected, AtomicInteger right) {
    Deque<CompletableFuture<Void>> flying = new ArrayDeque<>();
    for (int k = first; k < first + REQUESTS; k++) {
      if (flying.size() == IN_FLIGHT) flying.remove().join();
      Request request = new Request(runner, k);
      // executeAsync() never waits: requests beyond the runner's queue (RuntimeConfig.queueDepth,
      // by default at least 64) wait in a list without limit. The caller must limit them, as here.
      CompletableFuture<Void> answer = runner.executeAsync(request.memory);
      flying.add(
          answer.thenRun(
              () -> {
                if (request.scores.equals(expected[request.number])) right.incrementAndGet();
                request.memory.close();
              }));
    }
    flying.forEach(CompletableFuture::join);
  }

  public static void main(String[] args) throws InterruptedException {
    if (args.length != 1) {
      System.err.println("usage: Serving MODEL.onnx");
      System.exit(2);
    }
    AtomicInteger right = new AtomicInteger();
    try (Compiler compiler = new Compiler(new CompilerOptions().batchSize(1, 0));
        Executable executable = compiler.compile(Path.of(args[0]));
        ModelRunner runner = new ModelRunner(executable)) {
      FloatBuffer[] expected = new FloatBuffer[CLIENTS * REQUESTS];
      for (int k = 0; k < expected.length; k++) {
        Request request = new Request(runner, k);
        runner.execute(request.memory);
        expected[k] = request.scores;
      }
      Thread[] clients = new Thread[CLIENTS];
      for (int c = 0; c < CLIENTS; c++) {
        int first = c * REQUESTS;
        clients[c] = new Thread(() -> client(runner, first, expected, right));
        clients[c].start();
      }
      for (Thread client : clients) client.join();
    }
    System.out.println(
        CLIENTS * REQUESTS + " requests from " + CLIENTS + " clients, " + right + " right");
  }
}
