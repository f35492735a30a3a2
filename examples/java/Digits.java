import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.poprt.Bindings;
import org.poprt.Compiler;
import org.poprt.CompilerOptions;
import org.poprt.Executable;
import org.poprt.ModelRunner;

/**
 * Compiles the digits model and classifies handwritten digits with it.
 *
 * <pre>Digits MODEL.onnx IMAGES.idx3-ubyte LABELS.idx1-ubyte</pre>
 */
final class Digits {
  private static final int BATCH = 8;
  private static final int PIXELS = 8 * 8;
  private static final int CLASSES = 10;

  private Digits() {}

  /** Returns the bytes of an IDX file after its header. */
  private static byte[] payload(Path file, int rank) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    return Arrays.copyOfRange(bytes, 4 + 4 * rank, bytes.length);
  }

  private static int best(FloatBuffer scores, int row) {
    int best = 0;
    for (int c = 1; c < CLASSES; c++)
      if (scores.get(row * CLASSES + c) > scores.get(row * CLASSES + best)) best = c;
    return best;
  }

  public static void main(String[] args) throws IOException {
    if (args.length != 3) {
      System.err.println("usage: Digits MODEL.onnx IMAGES.idx3-ubyte LABELS.idx1-ubyte");
      System.exit(2);
    }
    byte[] images = payload(Path.of(args[1]), 3);
    byte[] labels = payload(Path.of(args[2]), 1);
    int correct = 0;
    try (Compiler compiler = new Compiler(new CompilerOptions().batchSize(BATCH, 0));
        Executable executable = compiler.compile(Path.of(args[0]));
        ModelRunner runner = new ModelRunner(executable);
        Bindings memory = runner.bindings()) {
      FloatBuffer image = runner.inputs().get(0).allocate().asFloatBuffer();
      FloatBuffer scores = runner.outputs().get(0).allocate().asFloatBuffer();
      memory.input("image", image).output("scores", scores); // once; nothing is copied
      for (int first = 0; first < labels.length; first += BATCH) {
        int count = Math.min(BATCH, labels.length - first);
        for (int i = 0; i < count * PIXELS; i++)
          image.put(i, images[first * PIXELS + i] / 16f); // pixels are 0 to 16
        runner.execute(memory);
        for (int i = 0; i < count; i++) if (best(scores, i) == labels[first + i]) correct++;
      }
    }
    double accuracy = (double) correct / labels.length;
    System.out.printf("f32: %d held-out images, accuracy %.4f%n", labels.length, accuracy);
  }
}
