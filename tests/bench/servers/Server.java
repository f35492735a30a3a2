import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.atomic.AtomicInteger;
import org.poprt.Bindings;
import org.poprt.ErrorCode;
import org.poprt.Executable;
import org.poprt.ModelRunner;
import org.poprt.PoprtException;
import org.poprt.RuntimeConfig;

/**
 * See servers: the server in Java. A thread for each client keeps requests in flight; requests that
 * wait are futures.
 */
final class Server {
  private static final int CLIENTS = 4;
  private static final int IN_FLIGHT = 4;
  private static final Duration LIMIT = Duration.ofNanos(100_000);

  private final ModelRunner runner;
  private final FloatBuffer x;
  private final FloatBuffer expected;
  private final AtomicInteger ok = new AtomicInteger();
  private final AtomicInteger late = new AtomicInteger();
  private final AtomicInteger cancelled = new AtomicInteger();
  private final AtomicInteger wrong = new AtomicInteger();

  private Server(ModelRunner runner) {
    this.runner = runner;
    x = runner.inputs().get(0).allocate().asFloatBuffer();
    for (int i = 0; i < x.capacity(); i++) x.put(i, i % 17 / 16f);
    expected = runner.outputs().get(0).allocate().asFloatBuffer();
    try (Bindings memory = runner.bindings().input(0, x).output(0, expected)) {
      runner.execute(memory);
    }
  }

  /** Memory of a request, and the request. */
  private final class Job implements AutoCloseable {
    final FloatBuffer y = runner.outputs().get(0).allocate().asFloatBuffer();
    final Bindings memory = runner.bindings().input(0, x).output(0, y);
    CompletableFuture<Void> answer;

    void submit(Duration limit) {
      answer = runner.executeAsync(memory, ForkJoinPool.commonPool(), limit);
    }

    void take(int number) {
      try {
        answer.join();
        ok.incrementAndGet();
        if (number % 64 == 0 && !y.equals(expected)) wrong.incrementAndGet();
      } catch (CancellationException e) {
        cancelled.incrementAndGet();
      } catch (CompletionException e) {
        if (!isLate(e.getCause())) throw e;
        late.incrementAndGet();
      }
    }

    @Override
    public void close() {
      memory.close();
    }
  }

  private static boolean isLate(Throwable e) {
    return e instanceof PoprtException && ((PoprtException) e).code() == ErrorCode.DEADLINE_EXCEEDED;
  }

  private void client(int requests, int lateEvery, int cancelEvery) {
    Job[] ring = new Job[IN_FLIGHT];
    for (int i = 0; i < IN_FLIGHT; i++) ring[i] = new Job();
    for (int i = 0; i < requests + IN_FLIGHT; i++) {
      Job job = ring[i % IN_FLIGHT];
      if (i >= IN_FLIGHT) job.take(i - IN_FLIGHT);
      if (i >= requests) continue;
      job.submit(lateEvery > 0 && i % lateEvery == 1 ? LIMIT : Duration.ZERO);
      if (cancelEvery > 0 && i % cancelEvery == 2) job.answer.cancel(true);
    }
    for (Job job : ring) job.close();
  }

  private void serve(int requests, int lateEvery, int cancelEvery) throws InterruptedException {
    for (AtomicInteger counter : new AtomicInteger[] {ok, late, cancelled, wrong}) counter.set(0);
    Thread[] clients = new Thread[CLIENTS];
    for (int c = 0; c < CLIENTS; c++) {
      clients[c] = new Thread(() -> client(requests, lateEvery, cancelEvery));
      clients[c].start();
    }
    for (Thread client : clients) client.join();
  }

  private String waitForMany(int count, double firstMs, double lastMs) {
    ByteBuffer memory = ByteBuffer.allocateDirect(count * expected.capacity() * 4);
    memory.order(java.nio.ByteOrder.nativeOrder());
    long[] over = new long[count]; // nanoseconds past the limit; 0 if the request ran
    Deque<CompletableFuture<Void>> all = new ArrayDeque<>();
    int size = expected.capacity() * 4;
    long begin = System.nanoTime();
    for (int i = 0; i < count; i++) {
      FloatBuffer y = memory.position(i * size).limit((i + 1) * size).slice()
          .order(java.nio.ByteOrder.nativeOrder()).asFloatBuffer();
      memory.clear();
      Duration limit = Duration.ofNanos((long) ((firstMs + (lastMs - firstMs) * i / count) * 1e6));
      int at = i;
      try (Bindings bindings = runner.bindings().input(0, x).output(0, y)) {
        long deadline = System.nanoTime() + limit.toNanos();
        all.add(
            runner
                .executeAsync(bindings, ForkJoinPool.commonPool(), limit)
                .whenComplete(
                    (none, e) -> {
                      if (e == null) ok.incrementAndGet();
                      else if (isLate(e)) over[at] = System.nanoTime() - deadline;
                    }));
      }
    }
    long submitted = System.nanoTime() - begin;
    for (CompletableFuture<Void> f : all) f.handle((none, e) -> null).join();
    long worst = 0;
    int many = 0;
    int early = 0;
    int failed = 0;
    for (long ns : over) {
      if (ns == 0) continue;
      failed++;
      worst = Math.max(worst, ns);
      if (ns > 5_000_000) many++;
      if (ns < 0) early++;
    }
    return String.format("submit_us=%d ok=%d late=%d cancelled=0 worst_us=%d over_5ms=%d early=%d",
        submitted / 1000, ok.get(), failed, worst / 1000, many, early);
  }

  private static long cpuTime() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }

  public static void main(String[] args) throws InterruptedException {
    try (Executable executable = Executable.open(Path.of(args[0]));
        ModelRunner runner = new ModelRunner(executable, new RuntimeConfig().threads(1))) {
      Server server = new Server(runner);
      int count = Integer.parseInt(args[2]);
      if (args[1].equals("wait")) {
        System.out.println(
            server.waitForMany(count, Double.parseDouble(args[3]), Double.parseDouble(args[4])));
        return;
      }
      server.serve(count / 4, 0, 0);
      long cpu = cpuTime();
      long wall = System.nanoTime();
      server.serve(count, Integer.parseInt(args[3]), Integer.parseInt(args[4]));
      System.out.printf("cpu_us=%d wall_us=%d ok=%s late=%s cancelled=%s wrong=%s%n",
          (cpuTime() - cpu) / 1000, (System.nanoTime() - wall) / 1000, server.ok, server.late,
          server.cancelled, server.wrong);
    }
  }
}
