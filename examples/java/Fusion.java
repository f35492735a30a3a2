import java.nio.FloatBuffer;
import java.nio.ShortBuffer;
import java.nio.file.Path;
import java.util.Map;
import org.poprt.Executable;
import org.poprt.Float16;
import org.poprt.ModelRunner;

/**
 * Runs the two models of a fused executable (examples/model_fusion).
 *
 * <pre>Fusion EXECUTABLE.popef</pre>
 */
final class Fusion {
  private Fusion() {}

  public static void main(String[] args) {
    if (args.length != 1) {
      System.err.println("usage: Fusion EXECUTABLE.popef");
      System.exit(2);
    }
    try (Executable executable = Executable.open(Path.of(args[0]));
        ModelRunner runner = new ModelRunner(executable)) {
      FloatBuffer sum = FloatBuffer.allocate(2);
      runner.execute(
          Map.of(
              "graph0/X", FloatBuffer.wrap(new float[] {1, 1}),
              "graph0/Y", FloatBuffer.wrap(new float[] {2, 2})),
          Map.of("graph0/O", sum));
      System.out.printf("graph0: %.0f, %.0f%n", sum.get(0), sum.get(1));

      ShortBuffer row = ShortBuffer.allocate(3); // fp16
      runner.execute(
          Map.of("graph1/X", ShortBuffer.wrap(new short[] {0})), Map.of("graph1/O", row));
      System.out.printf(
          "graph1: %.0f, %.1f, %.0f%n",
          Float16.toFloat(row.get(0)), Float16.toFloat(row.get(1)), Float16.toFloat(row.get(2)));
    }
  }
}
