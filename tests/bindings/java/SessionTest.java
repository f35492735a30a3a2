import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.poprt.CompilerOptions;
import org.poprt.Device;
import org.poprt.DeviceManager;
import org.poprt.ErrorCode;
import org.poprt.Executable;
import org.poprt.InputHandler;
import org.poprt.OutputHandler;
import org.poprt.Poprt;
import org.poprt.PoprtException;
import org.poprt.Session;
import org.poprt.SessionOptions;

/** Sessions with handlers. */
class SessionTest extends Scenarios {
  /** Gives x = run, run + 1 ... and counts its calls. */
  static final class Numbers implements InputHandler {
    final List<Thread> threads = new ArrayList<>();
    int run;
    int fetched;
    int prefetched;
    int invalidated;
    boolean early;

    @Override
    public boolean fetch(ByteBuffer data) {
      threads.add(Thread.currentThread());
      fetched++;
      for (int i = 0; i < 8; i++) data.putFloat(4 * i, run + i);
      return true;
    }

    @Override
    public boolean prefetch(ByteBuffer data) {
      if (!early) return false;
      for (int i = 0; i < 8; i++) data.putFloat(4 * i, run + i);
      prefetched++;
      return true;
    }

    @Override
    public void complete() {
      run++;
    }

    @Override
    public void invalidatePrefetched() {
      invalidated++;
    }
  }

  private static float[] floats(ByteBuffer data) {
    float[] values = new float[data.remaining() / 4];
    data.asFloatBuffer().get(values);
    return values;
  }

  static float[] expected(int first) {
    float[] values = new float[8];
    for (int i = 0; i < 8; i++) values[i] = 2 * (first + i) + 1;
    return values;
  }

  @Test
  void scenario_34_session() {
    try (Session session = session(affine(2))) {
      assertTrue(session.isLoaded());
      assertEquals("[x f32[2,4]]", session.userInputs().toString());
      assertEquals("[y f32[2,4]]", session.userOutputs().toString());
      fails(ErrorCode.FAILED_PRECONDITION, session::verifyConnected, "'x'", "'y'");
      fails(ErrorCode.FAILED_PRECONDITION, session::runMainPrograms, "'x'", "'y'");
      Numbers numbers = new Numbers();
      List<float[]> taken = new ArrayList<>();
      session.setUserInputHandler("x", numbers);
      session.setUserOutputHandler("y", data -> taken.add(floats(data)));
      session.verifyConnected();
      session.runLoadPrograms();
      session.runMainPrograms();
      numbers.early = true;
      session.runMainPrograms();
      session.runMainPrograms();
      session.runPrograms(1);
      session.runSavePrograms();
      assertEquals(4, taken.size());
      for (int i = 0; i < 4; i++) assertTrue(Arrays.equals(expected(i), taken.get(i)), "run " + i);
      assertEquals(2, numbers.fetched);
      assertEquals(3, numbers.prefetched);
      for (Thread thread : numbers.threads) assertSame(Thread.currentThread(), thread);
      session.unloadFromDevice();
      assertEquals(1, numbers.invalidated);
      assertFalse(session.isLoaded());
      fails(ErrorCode.FAILED_PRECONDITION, session::runMainPrograms, "on no device");
      session.reload();
      session.runMainPrograms();
      assertTrue(Arrays.equals(expected(4), taken.get(4)));
      fails(ErrorCode.NOT_FOUND, () -> session.setUserInputHandler("nope", numbers), "'nope'", "'x'");
      fails(ErrorCode.NOT_FOUND, () -> session.runPrograms(1, 9), "9");
      fails(ErrorCode.NOT_FOUND, () -> session.runPrograms(-1));
      session.setUserInputHandler("x", null);
      fails(ErrorCode.FAILED_PRECONDITION, session::runMainPrograms, "'x'");
    }
  }

  @Test
  void scenario_35_no_data_and_exceptions() throws Exception {
    try (Session session = session(affine(2))) {
      boolean[] refuse = {true};
      session.setUserInputHandler("x", data -> !refuse[0]);
      session.setUserOutputHandler("y", data -> true);
      fails(ErrorCode.CANCELLED, session::runMainPrograms);
      refuse[0] = false;
      session.runMainPrograms();
      RuntimeException mine = new RuntimeException("thrown by the test");
      session.setUserInputHandler(
          "x",
          data -> {
            throw mine;
          });
      assertSame(mine, assertThrows(RuntimeException.class, session::runMainPrograms));
      assertEquals(ErrorCode.CANCELLED, ((PoprtException) mine.getSuppressed()[0]).code());
      session.setUserInputHandler("x", data -> true);
      Error error = new AssertionError("of an output");
      session.setUserOutputHandler(
          "y",
          data -> {
            throw error;
          });
      assertSame(error, assertThrows(AssertionError.class, session::runMainPrograms));
      session.setUserOutputHandler("y", data -> true);
      session.runMainPrograms();
    }
  }

  /** Waits for data that never comes. */
  static final class Patient implements InputHandler {
    final CountDownLatch waiting = new CountDownLatch(1);
    private final CountDownLatch interrupted = new CountDownLatch(1);

    @Override
    public boolean fetch(ByteBuffer data) {
      waiting.countDown();
      try {
        interrupted.await();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      return false;
    }

    @Override
    public void interrupt() {
      interrupted.countDown();
    }
  }

  @Test
  void scenario_36_stop_ends_a_run_that_waits() throws Exception {
    try (Session session = session(affine(2))) {
      Patient patient = new Patient();
      session.setUserInputHandler("x", patient);
      session.setUserOutputHandler("y", data -> true);
      FutureTask<Boolean> run = new FutureTask<>(session::runMainPrograms);
      Thread thread = new Thread(run);
      thread.start();
      patient.waiting.await();
      session.stop();
      assertFalse(run.get());
      assertFalse(session.runMainPrograms());
      fails(ErrorCode.CANCELLED, session::runSavePrograms, "stopped");
      session.setUserInputHandler("x", data -> true);
      session.reload();
      assertTrue(session.runMainPrograms());
      // A handler may stop its session.
      session.setUserInputHandler(
          "x",
          data -> {
            session.stop();
            return true;
          });
      assertFalse(session.runMainPrograms());
    }
  }

  /** Counts the calls, and waits for an interruption if it is full. */
  private static final class Sink implements OutputHandler {
    final CountDownLatch waiting = new CountDownLatch(1);
    final CountDownLatch interrupted = new CountDownLatch(1);
    boolean full;
    int taken;
    int completed;

    @Override
    public boolean take(ByteBuffer data) {
      taken++;
      if (!full) return true;
      waiting.countDown();
      try {
        return interrupted.await(60, TimeUnit.SECONDS) && false;
      } catch (InterruptedException e) {
        return true;
      }
    }

    @Override
    public void complete() {
      completed++;
    }

    @Override
    public void interrupt() {
      interrupted.countDown();
    }
  }

  @Test
  void scenario_115_events_of_an_output() throws Exception {
    try (Session session = session(affine(2))) {
      Sink sink = new Sink();
      session.setUserInputHandler("x", data -> true);
      session.setUserOutputHandler("y", sink);
      for (int i = 0; i < 3; i++) session.runMainPrograms();
      assertEquals(3, sink.taken);
      assertEquals(3, sink.completed);
      assertEquals(1, sink.interrupted.getCount());
      sink.full = true;
      FutureTask<Boolean> run = new FutureTask<>(session::runMainPrograms);
      new Thread(run).start();
      sink.waiting.await();
      session.stop();
      assertFalse(run.get(30, TimeUnit.SECONDS));
      assertEquals(0, sink.interrupted.getCount());
      assertEquals(4, sink.taken);
    }
  }

  @Test
  void scenario_37_predicates() {
    List<String> asked = new ArrayList<>();
    SessionOptions options =
        new SessionOptions()
            .threads(1)
            .userAnchors(
                (name, output, programs) -> {
                  asked.add(name + output + Arrays.toString(programs));
                  return output;
                });
    try (Executable executable = affine(2);
        Session session = new Session(executable, options)) {
      assertEquals(List.of("xfalse[1]", "ytrue[1]"), asked);
      assertEquals(List.of(), session.userInputs());
      assertEquals(1, session.userOutputs().size());
      List<float[]> taken = new ArrayList<>();
      session.setUserOutputHandler("y", data -> taken.add(floats(data)));
      session.runMainPrograms(); // zeros replace the rejected input
      assertTrue(Arrays.equals(new float[] {1, 1, 1, 1, 1, 1, 1, 1}, taken.get(0)));
      RuntimeException mine = new RuntimeException("thrown by the test");
      SessionOptions failing =
          new SessionOptions()
              .userAnchors(
                  (name, output, programs) -> {
                    throw mine;
                  });
      assertSame(mine, assertThrows(RuntimeException.class, () -> new Session(executable, failing)));
    }
  }

  @Test
  void scenario_38_weights() {
    Executable executable = compile("weights.onnx", new CompilerOptions().variableWeights(true));
    try (Session session = session(executable)) {
      assertEquals("[x f32[2,4]]", session.userInputs().toString());
      List<float[]> taken = new ArrayList<>();
      session.setUserInputHandler(
          "x",
          data -> {
            for (int i = 0; i < 8; i++) data.putFloat(4 * i, i);
            return true;
          });
      session.setUserOutputHandler("y", data -> taken.add(floats(data)));
      session.runMainPrograms();
      assertTrue(Arrays.equals(new float[] {1, 3, 7, 13, 5, 11, 19, 29}, taken.get(0)));
      session.updateWeights("w", FloatBuffer.wrap(new float[] {5, 5, 5, 5}));
      session.runMainPrograms();
      assertTrue(Arrays.equals(new float[] {1, 6, 11, 16, 21, 26, 31, 36}, taken.get(1)));
      FloatBuffer value = FloatBuffer.allocate(4);
      session.readWeights("w", value);
      assertEquals(FloatBuffer.wrap(new float[] {5, 5, 5, 5}), value);
      fails(ErrorCode.NOT_FOUND, () -> session.updateWeights("x", value), "'x'", "'w'");
      FloatBuffer three = FloatBuffer.allocate(3);
      fails(ErrorCode.INVALID_ARGUMENT, () -> session.updateWeights("w", three), "16", "12");
      fails(ErrorCode.INVALID_ARGUMENT, () -> session.readWeights("w", three), "16", "12");
    }
  }

  @Test
  void scenario_39_the_next_session_takes_the_device() {
    try (DeviceManager manager = new DeviceManager();
        Device device = manager.getDevice(1);
        Executable executable = affine(2)) {
      SessionOptions options = new SessionOptions().threads(1).device(device);
      Session first = new Session(executable, options);
      Session second = new Session(executable, options.exclusive(true));
      assertFalse(first.isLoaded());
      assertTrue(second.isLoaded());
      fails(ErrorCode.FAILED_PRECONDITION, () -> first.bindToDevice(device), "another session");
      second.close();
      first.bindToDevice(device);
      assertTrue(first.isLoaded());
      first.close();
      try (Session deferred =
          new Session(executable, new SessionOptions().threads(1).deferred(true))) {
        assertFalse(deferred.isLoaded());
        deferred.bindToDevice();
        assertTrue(deferred.isLoaded());
      }
    }
  }

  @Test
  void scenario_40_a_session_is_closed() throws Exception {
    Executable executable = affine(2);
    Session session = new Session(executable, new SessionOptions().threads(1));
    executable.close();
    Patient patient = new Patient();
    session.setUserInputHandler("x", patient);
    session.setUserOutputHandler("y", data -> true);
    FutureTask<Boolean> run = new FutureTask<>(session::runMainPrograms);
    new Thread(run).start();
    patient.waiting.await();
    session.close();
    session.close();
    assertFalse(run.get());
    closed("Session", session::runMainPrograms);
    closed("Session", session::stop);
    closed("Session", () -> session.setUserInputHandler("x", null));
    closed("Session", session::createQueueManager);
    assertEquals("x", session.userInputs().get(0).name());
    assertDevicesFree(4);
  }

  @Test
  void scenario_41_telemetry_of_a_session() {
    try (Executable executable = affine(2);
        Session session = new Session(executable, new SessionOptions().threads(1).telemetry(true))) {
      session.setUserInputHandler("x", data -> true);
      session.setUserOutputHandler("y", data -> true);
      session.runMainPrograms();
      String json = Poprt.readTelemetry().replaceAll("\\s", "");
      long pid = ProcessHandle.current().pid();
      assertTrue(json.contains("\"pid\":" + pid) && json.contains("\"runs\":1"), json);
    }
  }

  @Test
  void scenario_58_profile_of_a_session() {
    try (Executable executable = affine(2);
        Session session = new Session(executable, new SessionOptions().threads(1).profile(true))) {
      session.setUserInputHandler("x", data -> true);
      session.setUserOutputHandler("y", data -> true);
      for (int i = 0; i < 3; i++) session.runMainPrograms();
      String json = session.profile().replaceAll("\\s", "");
      assertTrue(json.contains("\"runs\":3") && json.contains("\"kernel\""), json);
      session.unloadFromDevice();
      fails(ErrorCode.FAILED_PRECONDITION, session::profile, "device");
    }
    try (Session session = session(affine(2))) {
      fails(ErrorCode.FAILED_PRECONDITION, session::profile, "profiling");
    }
  }
}
