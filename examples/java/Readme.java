import java.nio.file.Path;
import java.util.Map;
import org.poprt.*;

class Readme {
  public static void main(String[] args) {
    try (ModelRunner runner = new ModelRunner(Path.of("digits.onnx"))) {
      for (int batch : new int[] {1, 8}) {
        Map<String, Tensor> outputs = runner.run(Map.of("image", new float[batch][1][8][8]));
        float[][] scores = outputs.get("scores").array(float[][].class);
        System.out.println("scores [" + scores.length + ", 10]: " + scores[0][0] + " ...");
      }
    }
  }
}
