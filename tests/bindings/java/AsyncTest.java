import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.poprt.Bindings;
import org.poprt.Compiler;
import org.poprt.CompilerOptions;
import org.poprt.ErrorCode;
import org.poprt.Executable;
import org.poprt.ModelRunner;
import org.poprt.PoprtException;
import org.poprt.RuntimeConfig;

/** Asynchronous runs: callbacks, cancellation, limits. Scenarios of tests/bindings/README.md, then features of Java only. */
class AsyncTest extends Scenarios {
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

  /** A runner whose incomplete batches wait without limit. */
  private static ModelRunner patientRunner() {
    try (Executable executable = affine(4)) {
      return new ModelRunner(
          executable, new RuntimeConfig().threads(1).batchingDim(0).timeout(Duration.ofNanos(-1)));
    }
  }

  private static FloatBuffer floats(int count) {
    return ByteBuffer.allocateDirect(4 * count).order(ByteOrder.nativeOrder()).asFloatBuffer();
  }

  @Test
  void scenario_132_a_runner_is_closed_while_a_batch_waits() throws Exception {
    ModelRunner runner = patientRunner();
    FloatBuffer x = floats(4).put(0, new float[] {1, 2, 3, 4});
    List<FloatBuffer> outputs = List.of(floats(4), floats(4), floats(4));
    CompletableFuture<Void> submitted =
        runner.executeAsync(runner.bindings().input("x", x).output("y", outputs.get(0)));
    CompletableFuture<Void> blocked =
        CompletableFuture.runAsync(() -> runner.execute(Map.of("x", x), Map.of("y", outputs.get(1))));
    while (runner.counters().submitted() < 2) Thread.sleep(1);
    assertFalse(submitted.isDone() || blocked.isDone());
    runner.close();
    submitted.get(60, TimeUnit.SECONDS);
    blocked.get(60, TimeUnit.SECONDS);
    try (ModelRunner drained = patientRunner()) {
      drained.drain();
      drained.executeAsync(drained.bindings().input("x", x).output("y", outputs.get(2))).get(60, TimeUnit.SECONDS);
    }
    for (FloatBuffer y : outputs) {
      float[] found = new float[4];
      y.get(0, found);
      assertArrayEquals(new float[] {3, 5, 7, 9}, found);
    }
  }

  @Test
  void scenario_18_callback() throws Exception {
    try (ModelRunner slow = slowRunner();
        ModelRunner runner = affineRunner()) {
      // The callback runs on a thread of the runner, because it is registered before the long run ends.
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
      // By default it runs on a thread of Java.
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
      // An executor that accepts no tasks.
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

  /**
   * Memory of runs that are to wait in the queue: made before the first begins, because a JVM
   * that has just started needs as long to fill it as the runs take.
   */
  private static List<Bindings> slowMemory(ModelRunner runner, int runs) {
    List<Bindings> memory = new ArrayList<>();
    for (int i = 0; i < runs; i++) memory.add(slowBindings(runner));
    return memory;
  }

  @Test
  void scenario_22_aRunThatHasBegunEndsWhenItsMemoryIsFree() throws Exception {
    try (ModelRunner runner = slowRunner()) {
      for (int tries = 0; ; tries++) {
        assertTrue(tries < 100, "no run was seen while it computed");
        CompletableFuture<Void> run = runner.executeAsync(slowBindings(runner));
        Thread.sleep(1);
        if (run.cancel(true)) continue; // the run had not begun
        boolean early = !run.isDone();
        assertFalse(run.isCancelled());
        run.get(60, TimeUnit.SECONDS);
        if (early) return;
      }
    }
  }

  @Test
  void scenario_22_cancellation() throws Exception {
    try (ModelRunner runner = slowRunner()) {
      List<CompletableFuture<Void>> runs = new ArrayList<>();
      for (Bindings b : slowMemory(runner, 16)) runs.add(runner.executeAsync(b));
      assertTrue(runs.get(15).cancel(false));
      assertThrows(CancellationException.class, runs.get(15)::join);
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
  void scenario_31_a_limit_on_waiting_in_the_queue() {
    try (ModelRunner runner = slowRunner()) {
      List<CompletableFuture<Void>> runs = new ArrayList<>();
      for (int i = 0; i < 4; i++) runs.add(runner.executeAsync(slowBindings(runner)));
      CompletableFuture<Void> late =
          runner.executeAsync(slowBindings(runner), Runnable::run, Duration.ofNanos(1));
      CompletionException waiting = assertThrows(CompletionException.class, late::join);
      PoprtException e = (PoprtException) waiting.getCause();
      assertEquals(ErrorCode.DEADLINE_EXCEEDED, e.code());
      // The frames are those of the waiting thread; those of the executor's thread are not collected.
      assertEquals(0, e.getStackTrace().length);
      assertTrue(
          Arrays.stream(waiting.getStackTrace())
              .anyMatch(frame -> frame.getClassName().equals(AsyncTest.class.getName())));
      runs.forEach(CompletableFuture::join);
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
  void failuresOfRunsInFlightReachTheFuture() throws Exception {
    try (ModelRunner runner = slowRunner()) {
      List<CompletableFuture<Void>> runs = new ArrayList<>();
      for (Bindings b : slowMemory(runner, 16)) runs.add(runner.executeAsync(b, Runnable::run));
      runner.stop();
      CompletableFuture<Void> last = runs.get(15);
      assertThrows(CancellationException.class, last::join);
      String why = last.handle((nothing, e) -> e.getMessage()).join();
      assertTrue(why.contains("stopped"), why);
      assertThrows(CancellationException.class, () -> last.get(1, TimeUnit.SECONDS));
      try {
        runs.get(0).get();
      } catch (ExecutionException | CancellationException ignored) {
        // The run had not begun.
      }
    }
  }
}
