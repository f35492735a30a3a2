import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.poprt.Bindings;
import org.poprt.Compiler;
import org.poprt.CompilerOptions;
import org.poprt.Device;
import org.poprt.DeviceManager;
import org.poprt.Executable;
import org.poprt.ModelRunner;
import org.poprt.RuntimeConfig;

/** Closing in any order, and runs of several threads. Scenarios of tests/bindings/README.md, then features of Java only. */
class LifetimeTest extends Scenarios {
  @Test
  void scenario_14_free_in_odd_order() throws InterruptedException {
    Compiler compiler = new Compiler(new CompilerOptions().inputShape("x", 2, 4));
    Executable executable = compiler.compile(MODELS.resolve("affine.onnx"));
    DeviceManager manager = new DeviceManager();
    Device device = manager.getDevice(1);
    ModelRunner runner =
        new ModelRunner(executable, new RuntimeConfig().threads(1).device(device));
    Client c = new Client(runner, 0);
    CompletableFuture<Void> run = runner.executeAsync(c.bindings);
    compiler.close();
    executable.close();
    device.close();
    manager.close();
    runner.close();
    c.bindings.close();
    run.join();
    c.check();
    assertDevicesFree(4);
  }

  @Test
  void scenario_15_use_after_close() {
    Executable executable = affine(2);
    ModelRunner runner = new ModelRunner(executable, new RuntimeConfig().threads(1));
    Client c = new Client(runner, 0);
    runner.close();
    runner.close();
    executable.close();
    executable.close();
    closed("ModelRunner", () -> runner.execute(c.bindings));
    closed("ModelRunner", () -> runner.executeAsync(c.bindings));
    closed("ModelRunner", runner::stop);
    closed("Executable", executable::listing);
    closed("Executable", () -> new ModelRunner(executable));
    assertEquals("x", runner.inputs().get(0).name());
    c.bindings.close();
    c.bindings.close();
    closed("Bindings", () -> c.bindings.input("x", c.x));
    Compiler compiler = new Compiler();
    compiler.close();
    compiler.close();
    closed("Compiler", () -> compiler.compile(MODELS.resolve("slow.onnx")));
  }

  @Test
  void scenario_16_close_during_a_run() throws InterruptedException {
    ModelRunner runner = slowRunner();
    CountDownLatch running = new CountDownLatch(1);
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    AtomicInteger finished = new AtomicInteger();
    Thread thread =
        new Thread(
            () -> {
              try (Bindings bindings = slowBindings(runner)) {
                while (true) {
                  running.countDown();
                  runner.execute(bindings);
                  finished.incrementAndGet();
                }
              } catch (Throwable e) {
                thrown.set(e);
              }
            });
    thread.start();
    running.await();
    Thread.sleep(5);
    runner.close();
    thread.join();
    assertInstanceOf(IllegalStateException.class, thrown.get());
    assertDevicesFree(4);
  }

  @Test
  void scenario_17_two_threads() throws InterruptedException {
    try (ModelRunner runner = affineRunner()) {
      AtomicInteger right = new AtomicInteger();
      Thread[] threads = new Thread[2];
      for (int t = 0; t < 2; t++) {
        int offset = 1000 * t;
        threads[t] =
            new Thread(
                () -> {
                  for (int i = 0; i < 200; i++) {
                    Client c = new Client(runner, offset + i);
                    runner.execute(c.bindings);
                    c.check();
                    right.incrementAndGet();
                  }
                });
        threads[t].start();
      }
      for (Thread thread : threads) thread.join();
      assertEquals(400, right.get());
    }
  }
}
