import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.poprt.ErrorCode;
import org.poprt.InputQueue;
import org.poprt.OutputQueue;
import org.poprt.Poprt;
import org.poprt.PoprtException;
import org.poprt.QueueManager;
import org.poprt.QueueOptions;
import org.poprt.Session;

/** Queues of sessions. */
class QueueTest extends Scenarios {
  private static FloatBuffer numbers(InputQueue queue, int first) {
    FloatBuffer x = queue.anchor().allocate().asFloatBuffer();
    for (int i = 0; i < 8; i++) x.put(i, first + i);
    return x;
  }

  private static void check(FloatBuffer y, int first) {
    for (int i = 0; i < 8; i++) assertEquals(2 * (first + i) + 1, y.get(i), "of " + first);
  }

  /** The future of an element ends if its executor takes no more tasks, also after a disconnect. */
  @Test
  void an_executor_that_takes_no_more_tasks() throws Exception {
    RejectedExecutionException full = new RejectedExecutionException("full");
    Executor rejects =
        task -> {
          throw full;
        };
    try (Session session = session(affine(2))) {
      QueueManager queues = session.createQueueManager(new QueueOptions());
      CompletableFuture<Void> in = queues.inputQueue("x").enqueue(numbers(queues.inputQueue("x"), 0), rejects);
      CompletableFuture<Void> out = queues.outputQueue("y").enqueue(FloatBuffer.allocate(8), rejects);
      session.runMainPrograms();
      CompletableFuture<Void> left = queues.inputQueue("x").enqueue(numbers(queues.inputQueue("x"), 0), rejects);
      queues.disconnectAll();
      for (CompletableFuture<Void> future : List.of(in, out, left)) {
        ExecutionException e = assertThrows(ExecutionException.class, () -> future.get(20, TimeUnit.SECONDS));
        assertSame(full, e.getCause());
      }
    }
  }

  @Test
  void scenario_130_queues_after_a_wrong_option() {
    try (Session session = session(affine(2))) {
      QueueManager queues = session.createQueueManager(new QueueOptions().buffers(4));
      fails(
          ErrorCode.INVALID_ARGUMENT,
          () -> session.createQueueManager(new QueueOptions().buffers(1 << 30)));
      InputQueue in = queues.inputQueue("x");
      FloatBuffer y = queues.outputQueue("y").anchor().allocate().asFloatBuffer();
      in.enqueue(numbers(in, 3));
      queues.outputQueue("y").enqueue(y);
      session.runMainPrograms();
      check(y, 3);
    }
  }

  @Test
  void scenario_42_queues() throws Exception {
    try (Session session = session(affine(2))) {
      QueueManager queues = session.createQueueManager(new QueueOptions().buffers(3));
      session.verifyConnected();
      InputQueue in = queues.inputQueue("x");
      OutputQueue out = queues.outputQueue("y");
      assertSame(in, queues.inputQueue("x"));
      assertEquals("x f32[2,4]", in.anchor().toString());
      assertEquals(4, in.capacity());
      fails(ErrorCode.NOT_FOUND, () -> queues.inputQueue("y"), "'y'", "'x'");
      fails(ErrorCode.NOT_FOUND, () -> queues.outputQueue("x"), "'x'", "'y'");
      long copied = Poprt.bytesCopied();
      int runs = 100; // more than the queues hold, so producers wait
      FutureTask<Void> engine =
          new FutureTask<>(
              () -> {
                for (int i = 0; i < runs; i++) session.runMainPrograms();
                return null;
              });
      new Thread(engine).start();
      List<FloatBuffer> results = new ArrayList<>();
      List<CompletableFuture<Void>> done = new ArrayList<>();
      for (int i = 0; i < runs; i++) {
        results.add(out.anchor().allocate().asFloatBuffer());
        done.add(in.enqueue(numbers(in, i)));
        done.add(out.enqueue(results.get(i)));
      }
      CompletableFuture.allOf(done.toArray(new CompletableFuture<?>[0])).join();
      engine.get();
      for (int i = 0; i < runs; i++) check(results.get(i), i);
      assertEquals(0, in.readAvailable());
      assertEquals(copied, Poprt.bytesCopied());
      // An element may be a part of a transfer, or several transfers.
      FloatBuffer y = FloatBuffer.allocate(16);
      CompletableFuture<Void> filled = out.enqueue(y);
      FloatBuffer x = numbers(in, 5);
      in.enqueue(x.duplicate().limit(3));
      in.enqueue(x.duplicate().position(3));
      in.enqueue(numbers(in, 6));
      assertEquals(3, in.readAvailable());
      session.runMainPrograms();
      assertFalse(filled.isDone());
      session.runMainPrograms();
      filled.join();
      check(y, 5);
      check(y.slice().position(8).slice(), 6);
      // Wrong elements are refused.
      fails(ErrorCode.INVALID_ARGUMENT, () -> in.enqueue(DoubleBuffer.allocate(4)), "x", "f32");
      fails(ErrorCode.INVALID_ARGUMENT, () -> in.enqueue(FloatBuffer.allocate(0)), "x", "memory");
    }
  }

  /** Threads that ask for a queue at the same time get the same object. */
  @Test
  void queues_are_the_same_for_all_threads() throws Exception {
    try (Session session = session(affine(2))) {
      for (int round = 0; round < 400; round++) {
        QueueManager queues = session.createQueueManager(new QueueOptions());
        boolean input = round % 2 == 0;
        AtomicInteger ready = new AtomicInteger();
        List<FutureTask<Object>> found = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
          found.add(
              new FutureTask<>(
                  () -> {
                    ready.incrementAndGet();
                    while (ready.get() != 2) Thread.onSpinWait();
                    return input ? queues.inputQueue("x") : queues.outputQueue("y");
                  }));
          new Thread(found.get(i)).start();
        }
        Object one = found.get(0).get();
        assertSame(one, found.get(1).get());
        assertSame(one, input ? queues.inputQueue("x") : queues.outputQueue("y"));
      }
    }
  }

  @Test
  void scenario_43_padding_after_a_timeout() {
    try (Session session = session(affine(2))) {
      AtomicInteger calls = new AtomicInteger();
      AtomicReference<InputQueue> which = new AtomicReference<>();
      QueueManager queues =
          session.createQueueManager(
              new QueueOptions()
                  .timeout(
                      Duration.ofMillis(1),
                      queue -> {
                        which.set(queue);
                        calls.incrementAndGet();
                        queue.enqueue(FloatBuffer.allocate(4));
                      }));
      InputQueue in = queues.inputQueue("x");
      FloatBuffer y = FloatBuffer.allocate(8);
      CompletableFuture<Void> filled = queues.outputQueue("y").enqueue(y, Runnable::run);
      in.enqueue(FloatBuffer.wrap(new float[] {1, 2, 3, 4}));
      session.runMainPrograms();
      assertEquals(1, calls.get());
      assertSame(in, which.get());
      assertTrue(filled.isDone()); // on this thread
      assertArrayEquals(new float[] {3, 5, 7, 9, 1, 1, 1, 1}, y.array());
      RuntimeException mine = new RuntimeException("thrown by the test");
      QueueOptions failing =
          new QueueOptions()
              .timeout(
                  Duration.ofMillis(1),
                  queue -> {
                    throw mine;
                  });
      session.createQueueManager(failing).outputQueue("y").enqueue(y);
      assertSame(mine, assertThrows(RuntimeException.class, session::runMainPrograms));
      assertFalse(session.runMainPrograms()); // the exception stopped the session
    }
  }

  @Test
  void scenario_44_flush_and_disconnect() throws Exception {
    try (Session session = session(affine(2))) {
      QueueManager queues = session.createQueueManager();
      InputQueue in = queues.inputQueue("x");
      assertEquals(16, in.capacity());
      CompletableFuture<Void> waits = in.enqueue(numbers(in, 0));
      queues.flushAll();
      assertThrows(CancellationException.class, waits::join);
      FloatBuffer y = FloatBuffer.allocate(8);
      in.enqueue(numbers(in, 1));
      queues.outputQueue("y").enqueue(y);
      session.runMainPrograms();
      CompletableFuture<Void> late = in.enqueue(numbers(in, 2));
      queues.disconnectAll();
      assertThrows(CancellationException.class, late::join);
      fails(ErrorCode.CANCELLED, () -> in.enqueue(numbers(in, 3)), "disconnected");
      assertFalse(session.runMainPrograms());
      // Other queues replace them, also while a run waits for the first ones.
      QueueManager second = session.createQueueManager();
      closed("QueueManager", in::readAvailable);
      closed("QueueManager", () -> in.enqueue(FloatBuffer.allocate(8)));
      closed("QueueManager", queues::flushAll);
      FutureTask<Boolean> run = new FutureTask<>(session::runMainPrograms);
      Thread thread = new Thread(run);
      thread.start();
      while (thread.getState() == Thread.State.NEW) Thread.onSpinWait();
      QueueManager third = session.createQueueManager();
      closed("QueueManager", second::disconnectAll);
      if (thread.isAlive()) third.disconnectAll(); // the run had not begun
      assertFalse(run.get());
    }
  }

  @Test
  void scenario_45_queues_outlive_nothing() throws Exception {
    Session session = session(affine(2));
    QueueManager queues = session.createQueueManager(new QueueOptions().buffers(1));
    InputQueue in = queues.inputQueue("x");
    CompletableFuture<Void> first = in.enqueue(numbers(in, 0));
    // The queue is full, so this producer waits until the session is closed.
    FutureTask<RuntimeException> producer =
        new FutureTask<>(
            () -> assertThrows(RuntimeException.class, () -> in.enqueue(numbers(in, 1))));
    Thread thread = new Thread(producer);
    thread.start();
    while (thread.getState() == Thread.State.NEW) Thread.onSpinWait();
    session.close();
    assertThrows(CancellationException.class, first::join);
    RuntimeException refused = producer.get();
    assertTrue(
        refused instanceof IllegalStateException
            || ((PoprtException) refused).code() == ErrorCode.CANCELLED,
        refused.toString());
    closed("Session", () -> in.enqueue(FloatBuffer.allocate(8)));
    closed("Session", queues::disconnectAll);
    closed("Session", in::capacity);
    assertDevicesFree(4);
  }
}
