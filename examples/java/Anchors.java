import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.poprt.PopefAnchor;
import org.poprt.PopefModel;
import org.poprt.PopefReader;

/**
 * Prints the inputs and outputs of a PopEF file.
 *
 * <pre>Anchors MODEL.popef</pre>
 */
final class Anchors {
  private Anchors() {}

  private static void print(String kind, List<PopefAnchor> anchors) {
    for (PopefAnchor a : anchors) {
      String shape = Arrays.toString(a.shape()).replace(" ", "");
      System.out.println(
          kind + " " + a.name() + " " + a.dataType() + " " + shape + " " + a.byteSize() + " bytes");
    }
  }

  public static void main(String[] args) {
    if (args.length != 1) {
      System.err.println("usage: Anchors MODEL.popef");
      System.exit(2);
    }
    try (PopefReader reader = PopefReader.open(Path.of(args[0]))) {
      for (PopefModel model : reader.models()) {
        print("input", model.userInputs());
        print("output", model.userOutputs());
      }
    }
  }
}
