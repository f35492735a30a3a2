import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.function.Consumer;

/**
 * Applications of a server that are deployed several times, each with a class loader that loads
 * the libraries. This class does not use the package, so that its class loader does not load them.
 *
 * <p>Reload MODELS JAR CLASSES
 */
final class Reload {
  private Reload() {}

  /** What an application does, in its class loader. */
  public static final class Application implements Consumer<String> {
    @Override
    public void accept(String models) {
      try (org.poprt.ModelRunner runner =
          new org.poprt.ModelRunner(
              new org.poprt.Compiler(new org.poprt.CompilerOptions().inputShape("x", 2, 4))
                  .compile(Path.of(models, "affine.onnx")),
              new org.poprt.RuntimeConfig().threads(1))) {
        org.poprt.Bindings bindings = runner.bindings();
        bindings.input("x", java.nio.FloatBuffer.allocate(8));
        bindings.output("y", java.nio.FloatBuffer.allocate(8));
        runner.executeAsync(bindings).join();
        bindings.close();
        try {
          runner.run(java.util.Map.of("nowhere", new float[2][4]));
          throw new AssertionError("no exception");
        } catch (org.poprt.PoprtException e) {
          if (!e.getMessage().contains("there is no input 'nowhere'")) throw e;
        }
      }
    }
  }

  private static WeakReference<ClassLoader> deploy(String models, URL[] path) throws Exception {
    try (URLClassLoader loader = new URLClassLoader(path, ClassLoader.getPlatformClassLoader())) {
      @SuppressWarnings("unchecked")
      Consumer<String> application =
          (Consumer<String>)
              loader.loadClass("Reload$Application").getDeclaredConstructor().newInstance();
      application.accept(models);
      return new WeakReference<>(loader);
    }
  }

  public static void main(String[] args) throws Exception {
    URL[] path = {Path.of(args[1]).toUri().toURL(), Path.of(args[2]).toUri().toURL()};
    for (int round = 0; round < 3; round++) {
      WeakReference<ClassLoader> loader = deploy(args[0], path);
      for (int i = 0; i < 200 && loader.get() != null; i++) {
        System.gc();
        Thread.sleep(20);
      }
      if (loader.get() != null) throw new AssertionError("the class loader is not collected");
    }
  }
}
