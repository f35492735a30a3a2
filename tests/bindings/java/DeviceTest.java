import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.time.Duration;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.poprt.Device;
import org.poprt.DeviceManager;
import org.poprt.DeviceRequest;
import org.poprt.ErrorCode;
import org.poprt.Executable;
import org.poprt.ModelRunner;
import org.poprt.Poprt;
import org.poprt.RunnerCounters;
import org.poprt.RuntimeConfig;

/** Devices, statistics, version. Scenarios of tests/bindings/README.md, then features of Java only. */
class DeviceTest extends Scenarios {
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

  @Test
  void scenario_33_counters_of_a_runner() {
    RuntimeConfig config = new RuntimeConfig().threads(1).replicationFactor(2);
    try (Executable executable = affine(2);
        ModelRunner runner = new ModelRunner(executable, config)) {
      Client c = new Client(runner, 0);
      for (int i = 0; i < 3; i++) runner.execute(c.bindings);
      RunnerCounters all = runner.counters();
      assertEquals(3, all.submitted());
      assertEquals(3, all.completed());
      assertEquals(3, all.batches());
      assertEquals(3, all.latencyCount());
      assertEquals(0, all.failed() + all.cancelled() + all.timedOut() + all.inFlight());
      assertEquals(2, all.replicas());
      assertEquals(3, LongStream.of(all.latencyBuckets()).sum());
      assertFalse(all.latencyP50().isZero());
      assertTrue(all.latencyP50().compareTo(all.latencyP99()) <= 0, all.toString());
      assertTrue(all.latencyMax().compareTo(all.latencyTotal()) <= 0, all.toString());
      assertTrue(all.toString().contains("completed=3, failed=0"), all.toString());
      assertEquals(3, runner.counters(0).completed() + runner.counters(1).completed());
      fails(ErrorCode.NOT_FOUND, () -> runner.counters(2), "replica 2", "has 2");
      ModelRunner closed = runner(executable);
      closed.close();
      assertThrows(IllegalStateException.class, closed::counters);
    }
  }

  @Test
  void scenario_57_telemetry_of_a_runner() {
    RuntimeConfig config = new RuntimeConfig().threads(1).telemetry(true);
    String pid = "\"pid\":" + ProcessHandle.current().pid();
    try (Executable executable = affine(2);
        ModelRunner silent = new ModelRunner(executable, new RuntimeConfig().threads(1))) {
      silent.execute(new Client(silent, 0).bindings);
      assertFalse(Poprt.readTelemetry().replaceAll("\\s", "").contains(pid));
      try (ModelRunner runner = new ModelRunner(executable, config)) {
        runner.execute(new Client(runner, 0).bindings);
        String json = Poprt.readTelemetry().replaceAll("\\s", "");
        assertTrue(json.contains(pid) && json.contains("\"completed\":1"), json);
      }
    }
  }

  @Test
  void scenario_60_further_options_of_a_runner() {
    try (DeviceManager manager = new DeviceManager();
        Device device = manager.getSpecificDevice(3);
        Device small = manager.createSmallIpuModelDevice(1, 21);
        Executable executable = affine(2)) {
      assertEquals(4, small.tilesPerIpu());
      try (DeviceManager some = new DeviceManager(6, "1,3-4", "0")) {
        assertArrayEquals(new long[] {1, 3, 4}, some.deviceIds());
      }
      fails(ErrorCode.INVALID_ARGUMENT, () -> new DeviceManager(0, "", "relative/folder"));
      FloatBuffer x = FloatBuffer.wrap(new float[] {0, 1, 2, 3, 4, 5, 6, 7});
      RuntimeConfig config =
          new RuntimeConfig().threads(1).frozenInput("x", x).replicaDevice(0, device);
      try (ModelRunner runner = new ModelRunner(executable, config)) {
        fails(ErrorCode.FAILED_PRECONDITION, () -> new ModelRunner(executable, config));
        x.put(0, 100); // the runner has copied x
        assertTrue(runner.inputHasData(0));
        FloatBuffer y = FloatBuffer.allocate(8);
        runner.execute(Map.of(), Map.of("y", y));
        for (int i = 0; i < 8; i++) assertEquals(2 * i + 1, y.get(i));
      }
      RuntimeConfig failing = new RuntimeConfig().threads(1).faults("recoverable_runtime_error@2");
      try (ModelRunner runner = new ModelRunner(executable, failing)) {
        assertFalse(runner.inputHasData(0));
        Client c = new Client(runner, 0);
        runner.execute(c.bindings);
        fails(ErrorCode.UNAVAILABLE, () -> runner.execute(c.bindings));
      }
      FloatBuffer wrong = FloatBuffer.allocate(7);
      fails(
          ErrorCode.INVALID_ARGUMENT,
          () -> new ModelRunner(executable, new RuntimeConfig().frozenInput("x", wrong)),
          "x",
          "28");
      IntBuffer integers = IntBuffer.allocate(8);
      fails(
          ErrorCode.INVALID_ARGUMENT,
          () -> new ModelRunner(executable, new RuntimeConfig().frozenInput("x", integers)),
          "'x' is f32",
          "Int");
    }
  }
}
