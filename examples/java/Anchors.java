import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.poprt.Anchor;
import org.poprt.Executable;

/**
 * Prints what a PopEF file takes and gives.
 *
 * <pre>Anchors MODEL.popef</pre>
 */
final class Anchors {
  private Anchors() {}

  private static void print(String kind, List<Anchor> anchors) {
    for (Anchor a : anchors) {
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
    try (Executable executable = Executable.open(Path.of(args[0]))) {
      print("input", executable.inputs());
      print("output", executable.outputs());
    }
  }
}
