import java.nio.FloatBuffer;
import java.nio.file.Path;
import org.poprt.Bindings;
import org.poprt.Executable;
import org.poprt.ModelRunner;
import org.poprt.Poprt;
import org.poprt.RuntimeConfig;

/** BindingBench MODEL ROUNDS RUNS: nanoseconds of one execute, the fastest round, and bytes copied. */
final class BindingBench {
  private BindingBench() {}

  public static void main(String[] args) {
    int rounds = Integer.parseInt(args[1]);
    int runs = Integer.parseInt(args[2]);
    try (Executable executable = Executable.open(Path.of(args[0]));
        ModelRunner runner = new ModelRunner(executable, new RuntimeConfig().threads(1));
        Bindings bindings = runner.bindings()) {
      FloatBuffer x = runner.inputs().get(0).allocate().asFloatBuffer().put(0, 3);
      FloatBuffer y = runner.outputs().get(0).allocate().asFloatBuffer();
      bindings.input(0, x).output(0, y);
      double best = Double.MAX_VALUE;
      for (int round = 0; round < rounds; round++) {
        long start = System.nanoTime();
        for (int i = 0; i < runs; i++) runner.execute(bindings);
        best = Math.min(best, (double) (System.nanoTime() - start) / runs);
      }
      if (y.get(0) != 7) throw new AssertionError("2 * 3 + 1 is " + y.get(0));
      System.out.println(best + " " + Poprt.bytesCopied());
    }
  }
}
