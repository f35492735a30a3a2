import java.nio.*;
import java.nio.file.Path;
import java.util.Map;
import org.poprt.*;
import org.poprt.Compiler;

class Readme {
  public static void main(String[] args) {
    try (Compiler compiler = new Compiler(new CompilerOptions().batchSize(8, 0));
        Executable model = compiler.compile(Path.of("digits.onnx"));
        ModelRunner runner = new ModelRunner(model)) {
      FloatBuffer image = runner.inputs().get(0).allocate().asFloatBuffer();
      FloatBuffer scores = runner.outputs().get(0).allocate().asFloatBuffer();
      runner.execute(Map.of("image", image), Map.of("scores", scores));
      System.out.println(runner.outputs().get(0) + ": " + scores.get(0) + " " + scores.get(1) + " ...");
    }
  }
}
