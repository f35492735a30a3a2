import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.FloatBuffer;
import java.nio.file.Path;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.poprt.Bindings;
import org.poprt.Compiler;
import org.poprt.CompilerOptions;
import org.poprt.DataType;
import org.poprt.DeviceManager;
import org.poprt.ErrorCode;
import org.poprt.Executable;
import org.poprt.ModelRunner;
import org.poprt.PoprtException;
import org.poprt.RuntimeConfig;
import org.poprt.Session;
import org.poprt.SessionOptions;

/** Helpers of the scenario tests. */
@Timeout(120)
abstract class Scenarios {
  static final Path MODELS = Path.of(System.getProperty("poprt.test.models"));

  @TempDir Path folder;

  static Executable compile(String model, CompilerOptions options) {
    try (Compiler compiler = new Compiler(options)) {
      return compiler.compile(MODELS.resolve(model));
    }
  }

  static Executable affine(long rows) {
    return compile("affine.onnx", new CompilerOptions().inputShape("x", rows, 4));
  }

  static ModelRunner runner(Executable executable) {
    try (executable) {
      return new ModelRunner(executable, new RuntimeConfig().threads(1));
    }
  }

  static Session session(Executable executable) {
    try (executable) {
      return new Session(executable, new SessionOptions().threads(1));
    }
  }

  static ModelRunner affineRunner() {
    return runner(affine(2));
  }

  static ModelRunner slowRunner() {
    return runner(compile("slow.onnx", new CompilerOptions()));
  }

  /** Memory of one run of affine, 8 floats from {@code first} on. */
  static final class Client {
    final FloatBuffer x;
    final FloatBuffer y;
    final Bindings bindings;
    final float first;

    Client(ModelRunner runner, float first) {
      this.first = first;
      x = runner.inputs().get(0).allocate().asFloatBuffer();
      y = runner.outputs().get(0).allocate().asFloatBuffer();
      for (int i = 0; i < 8; i++) x.put(i, first + i);
      bindings = runner.bindings().input("x", x).output("y", y);
    }

    void check() {
      for (int i = 0; i < 8; i++) assertEquals(2 * (first + i) + 1, y.get(i));
    }
  }

  static Bindings slowBindings(ModelRunner runner) {
    FloatBuffer x = runner.inputs().get(0).allocate().asFloatBuffer();
    for (int i = 0; i < x.capacity(); i++) x.put(i, 1);
    return runner.bindings().input(0, x).output(0, runner.outputs().get(0).allocate());
  }

  static void fails(ErrorCode code, org.junit.jupiter.api.function.Executable call, String... words) {
    PoprtException e = assertThrows(PoprtException.class, call);
    assertEquals(code, e.code(), e.getMessage());
    for (String word : words)
      assertTrue(e.getMessage().contains(word), word + " is not in: " + e.getMessage());
  }

  static void closed(String what, org.junit.jupiter.api.function.Executable call) {
    IllegalStateException e = assertThrows(IllegalStateException.class, call);
    assertEquals(what + " is closed", e.getMessage());
  }

  static void checkAffine(Executable executable) {
    assertEquals("[x f32[2,4]]", executable.inputs().toString());
    assertEquals("[y f32[2,4]]", executable.outputs().toString());
    assertEquals(32, executable.inputs().get(0).byteSize());
    assertEquals(8, executable.outputs().get(0).elementCount());
    assertArrayEquals(new long[] {2, 4}, executable.inputs().get(0).shape());
    assertEquals(DataType.F32, executable.inputs().get(0).dataType());
  }

  /** Waits until the devices are free; a runner returns its device when its last run is over. */
  static void assertDevicesFree(int count) throws InterruptedException {
    try (DeviceManager manager = new DeviceManager(count)) {
      for (long id = 0; id < count; id++)
        for (int tries = 0; ; tries++) {
          try {
            manager.getSpecificDevice(id).close();
            break;
          } catch (PoprtException e) {
            if (tries == 3000) throw e;
            Thread.sleep(10);
          }
        }
    }
  }
}
