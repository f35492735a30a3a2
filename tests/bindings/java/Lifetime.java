import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.poprt.Bindings;
import org.poprt.Compiler;
import org.poprt.CompilerOptions;
import org.poprt.DeviceManager;
import org.poprt.ErrorCode;
import org.poprt.Executable;
import org.poprt.InputQueue;
import org.poprt.ModelRunner;
import org.poprt.Poprt;
import org.poprt.PoprtException;
import org.poprt.QueueManager;
import org.poprt.RuntimeConfig;
import org.poprt.Session;
import org.poprt.SessionOptions;

/**
 * Scenarios 26, 27 and 50 of tests/bindings/README.md, which need a separate process.
 *
 * <p>Lifetime cycles|sessions|leak|exit|exit_session MODELS
 */
final class Lifetime {
  private Lifetime() {}

  public static void main(String[] args) throws IOException, InterruptedException {
    if (args[0].equals("cycles")) cycles(Path.of(args[1], "affine.onnx"), Lifetime::run);
    else if (args[0].equals("sessions")) cycles(Path.of(args[1], "affine.onnx"), Lifetime::serve);
    else if (args[0].equals("leak")) cycles(Path.of(args[1], "affine.onnx"), Lifetime::leak);
    else if (args[0].equals("exit_session")) exitSession(Path.of(args[1], "affine.onnx"));
    else exit(Path.of(args[1], "slow.onnx"));
  }

  private interface Cycle {
    void run() throws InterruptedException;
  }

  /**
   * A leak grows in each cycle, but the memory that a virtual machine and malloc keep for later use
   * reaches a limit. So only memory that grows in each of three rounds is a leak.
   */
  private static void cycles(Path model, Cycle cycle) throws IOException, InterruptedException {
    System.load(System.getProperty("poprt.test.trim"));
    cycles(1000, model, cycle);
    long before = residentKiB();
    for (int round = 1; ; round++) {
      cycles(3000, model, cycle);
      long after = residentKiB();
      System.out.println("resident " + before + " KiB, 3 000 cycles later " + after);
      if (after <= before + MOST_KIB) break;
      if (round == 3) throw new AssertionError("memory grows");
      before = after;
    }
  }

  private static final long MOST_KIB = 6 << 10;

  private static void cycles(int count, Path model, Cycle cycle) throws InterruptedException {
    for (int i = 0; i < count; i++) {
      // A new executable now and then, because compiling is slow.
      if (i % 1000 == 0)
        shared = new Compiler(new CompilerOptions().inputShape("x", 2, 4)).compile(model);
      cycle.run();
    }
  }

  private static Executable shared;

  /** Runs once and closes nothing. */
  private static void run() throws InterruptedException {
    // Devices are released by collections only, so a wait for one is short.
    RuntimeConfig config = new RuntimeConfig().threads(1).deviceWaitTimeout(Duration.ofMillis(10));
    ModelRunner runner = create(() -> new ModelRunner(shared, config));
    FloatBuffer x = runner.inputs().get(0).allocate().asFloatBuffer().put(0, 3);
    FloatBuffer y = runner.outputs().get(0).allocate().asFloatBuffer();
    Bindings bindings = runner.bindings().input(0, x).output(0, y);
    runner.execute(bindings);
    if (y.get(0) != 7) throw new AssertionError("2 * 3 + 1 is " + y.get(0));
  }

  /** Handlers refer to their session, and an element is left in a queue. */
  private static void serve() throws InterruptedException {
    Session session = create(() -> new Session(shared, new SessionOptions().threads(1)));
    float[] y = new float[1];
    session.setUserInputHandler(
        "x",
        data -> {
          data.putFloat(0, 3);
          return session.userInputs().size() == 1;
        });
    session.setUserOutputHandler(
        "y",
        data -> {
          y[0] = data.getFloat(0);
          return session.userInputs().size() == 1;
        });
    session.runMainPrograms();
    if (y[0] != 7) throw new AssertionError("2 * 3 + 1 is " + y[0]);
    QueueManager queues = session.createQueueManager();
    InputQueue in = queues.inputQueue("x");
    in.enqueue(in.anchor().allocate());
    queues.outputQueue("y").enqueue(in.anchor().allocate());
    session.runMainPrograms();
    in.enqueue(in.anchor().allocate());
  }

  private static final List<ByteBuffer> KEPT = new ArrayList<>();

  /** Leaks 4 KiB in each cycle, which {@link #cycles} has to find. */
  private static void leak() {
    KEPT.add(ByteBuffer.allocateDirect(4096));
  }

  /** A forgotten object keeps its device until it is collected. */
  private static <T> T create(Supplier<T> make) throws InterruptedException {
    for (int tries = 0; ; tries++)
      try {
        return make.get();
      } catch (PoprtException e) {
        if (e.code() != ErrorCode.UNAVAILABLE || tries == MOST_TRIES) throw e;
        collect();
      }
  }

  /** These tries take more than a minute, because the thread that frees objects may wait for a processor. */
  private static final int MOST_TRIES = 3000;

  private static void collect() throws InterruptedException {
    System.gc();
    Thread.sleep(20);
  }

  private static void waitForDevices() throws InterruptedException {
    try (DeviceManager manager = new DeviceManager()) {
      for (long id = 0; id < manager.deviceCount(); id++)
        for (int tries = 0; ; tries++)
          try {
            manager.getSpecificDevice(id).close();
            break;
          } catch (PoprtException e) {
            if (tries == MOST_TRIES) throw e;
            collect();
          }
    }
  }

  /**
   * The memory in use. Up to 256 runners wait for the collector at any time (22 MiB), and malloc keeps
   * their memory in a pool for each thread; neither is a leak.
   */
  private static long residentKiB() throws IOException, InterruptedException {
    waitForDevices();
    for (int i = 0; i < 5; i++) collect();
    trim();
    String pages = Files.readString(Path.of("/proc/self/statm")).split(" ")[1];
    return Long.parseLong(pages) * 4096 >> 10;
  }

  /** Calls glibc's malloc_trim; the script that runs this program compiles the library. */
  private static native void trim();

  private static void exit(Path model) {
    ModelRunner runner =
        new ModelRunner(new Compiler().compile(model), new RuntimeConfig().threads(1));
    for (int i = 0; i < 8; i++)
      runner.executeAsync(
          runner
              .bindings()
              .input(0, runner.inputs().get(0).allocate())
              .output(0, runner.outputs().get(0).allocate()));
    Poprt.subscribeLog((level, message) -> {}); // the thread that receives messages waits
    System.out.println("leaving with runs in flight");
  }

  /** Daemon threads run with handlers, wait for an element, or wait for room in a queue. */
  private static void exitSession(Path model) throws InterruptedException {
    shared = new Compiler(new CompilerOptions().inputShape("x", 2, 4)).compile(model);
    Session busy = new Session(shared, new SessionOptions().threads(1));
    busy.setUserInputHandler("x", data -> true);
    busy.setUserOutputHandler("y", data -> true);
    Session waiting = new Session(shared, new SessionOptions().threads(1));
    waiting.createQueueManager();
    Session full = new Session(shared, new SessionOptions().threads(1));
    InputQueue queue = full.createQueueManager().inputQueue("x");
    CountDownLatch begun = new CountDownLatch(3);
    List<BooleanSupplier> calls =
        List.of(
            busy::runMainPrograms,
            waiting::runMainPrograms,
            () -> queue.enqueue(queue.anchor().allocate()) != null);
    for (BooleanSupplier call : calls) {
      Thread thread =
          new Thread(
              () -> {
                begun.countDown();
                while (call.getAsBoolean()) {}
              });
      thread.setDaemon(true);
      thread.start();
    }
    begun.await();
    System.out.println("leaving with sessions that run");
  }
}
