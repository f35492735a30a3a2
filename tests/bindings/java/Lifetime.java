import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.poprt.Bindings;
import org.poprt.Compiler;
import org.poprt.CompilerOptions;
import org.poprt.DeviceManager;
import org.poprt.ErrorCode;
import org.poprt.Executable;
import org.poprt.ModelRunner;
import org.poprt.PoprtException;
import org.poprt.RuntimeConfig;

/**
 * Scenarios 26 and 27 of tests/bindings/README.md, which need a process of their own.
 *
 * <p>Lifetime cycles MODELS; Lifetime exit MODELS
 */
final class Lifetime {
  private Lifetime() {}

  public static void main(String[] args) throws IOException, InterruptedException {
    if (args[0].equals("cycles")) cycles(Path.of(args[1], "affine.onnx"));
    else exit(Path.of(args[1], "slow.onnx"));
  }

  private static void cycles(Path model) throws IOException, InterruptedException {
    long early = 0;
    for (int i = 1; i <= 10000; i++) {
      cycle(model, i % 1000 == 1);
      if (i == 1000) early = residentMiB();
    }
    long late = residentMiB();
    System.out.println("resident after 1 000 cycles " + early + " MiB, after 10 000 " + late);
    if (late > early + 32) throw new AssertionError("memory grows");
    waitForDevices();
  }

  private static Executable shared;

  /** Nothing is closed. A new executable now and then, because compiling is slow. */
  private static void cycle(Path model, boolean compile) throws InterruptedException {
    if (compile)
      shared = new Compiler(new CompilerOptions().inputShape("x", 2, 4)).compile(model);
    ModelRunner runner = create();
    FloatBuffer x = runner.inputs().get(0).allocate().asFloatBuffer().put(0, 3);
    FloatBuffer y = runner.outputs().get(0).allocate().asFloatBuffer();
    Bindings bindings = runner.bindings().input(0, x).output(0, y);
    runner.execute(bindings);
    if (y.get(0) != 7) throw new AssertionError("2 * 3 + 1 is " + y.get(0));
  }

  /** A runner that was forgotten keeps its device until it is collected. */
  private static ModelRunner create() throws InterruptedException {
    for (int tries = 0; ; tries++)
      try {
        return new ModelRunner(shared, new RuntimeConfig().threads(1));
      } catch (PoprtException e) {
        if (e.code() != ErrorCode.UNAVAILABLE || tries == 100) throw e;
        collect();
      }
  }

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
            if (tries == 100) throw e;
            collect();
          }
    }
  }

  private static long residentMiB() throws IOException, InterruptedException {
    for (int i = 0; i < 5; i++) collect();
    String pages = Files.readString(Path.of("/proc/self/statm")).split(" ")[1];
    return Long.parseLong(pages) * 4096 >> 20;
  }

  private static void exit(Path model) {
    ModelRunner runner =
        new ModelRunner(new Compiler().compile(model), new RuntimeConfig().threads(1));
    for (int i = 0; i < 8; i++)
      runner.executeAsync(
          runner
              .bindings()
              .input(0, runner.inputs().get(0).allocate())
              .output(0, runner.outputs().get(0).allocate()));
    System.out.println("leaving with runs in flight");
  }
}
