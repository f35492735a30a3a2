import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.poprt.Bindings;
import org.poprt.Compiler;
import org.poprt.CompilerOptions;
import org.poprt.DeviceManager;
import org.poprt.DeviceRequest;
import org.poprt.ErrorCode;
import org.poprt.LightRunner;
import org.poprt.ModelRunner;
import org.poprt.PackOptions;
import org.poprt.Popef;
import org.poprt.PopefMetadata;
import org.poprt.PopefReader;
import org.poprt.Poprt;
import org.poprt.RuntimeConfig;
import org.poprt.Session;
import org.poprt.SessionOptions;
import org.poprt.Tensor;

/** Mistakes of programs: the errors are those of Java, in the terms of the caller. */
class MisuseTest extends Scenarios {
  private static final List<Class<?>> CLASSES =
      List.of(
          org.poprt.Executable.class, Compiler.class, ModelRunner.class, LightRunner.class,
          Session.class, PopefReader.class, Poprt.class, Popef.class, Tensor.class);

  /** Null for each argument that is a reference, a zero for each other. */
  private static Object[] nulls(Executable call) {
    Object[] all = new Object[call.getParameterCount()];
    for (int i = 0; i < all.length; i++) {
      Class<?> type = call.getParameterTypes()[i];
      if (type == boolean.class) all[i] = false;
      else if (type == float.class) all[i] = 0f;
      else if (type == int.class) all[i] = 0;
      else if (type == long.class) all[i] = 0L;
      else if (type == short.class) all[i] = (short) 0;
    }
    return all;
  }

  /** The message of a call with only nulls, if it does not name the argument. */
  private static String careless(Executable call, Object instance) throws Exception {
    if (Arrays.stream(call.getParameterTypes()).allMatch(Class::isPrimitive)
        || call.getDeclaringClass() == Object.class
        || call.getName().equals("equals")) return null;
    try {
      Object made =
          call instanceof Method
              ? ((Method) call).invoke(instance, nulls(call))
              : ((java.lang.reflect.Constructor<?>) call).newInstance(nulls(call));
      if (made instanceof AutoCloseable) ((AutoCloseable) made).close();
    } catch (InvocationTargetException e) {
      String text = e.getCause().getMessage();
      if (!(e.getCause() instanceof NullPointerException)) return null;
      if (text == null && Runtime.version().feature() < 15) return null; // it has no message
      if (text == null || text.contains("<parameter") || text.contains("<local"))
        return call + ": " + text;
    }
    return null;
  }

  @Test
  void nullIsAnErrorThatNamesTheArgument(@TempDir Path folder) throws Exception {
    List<String> careless = new ArrayList<>();
    for (Class<?> type : CLASSES) {
      for (Method method : type.getMethods())
        if (Modifier.isStatic(method.getModifiers())) careless.add(careless(method, null));
      for (var made : type.getConstructors()) careless.add(careless(made, null));
    }
    try (org.poprt.Executable executable = affine(2);
        ModelRunner runner = new ModelRunner(executable, new RuntimeConfig().threads(1));
        Session session = new Session(executable, new SessionOptions().threads(1))) {
      executable.save(folder.resolve("affine.popef"));
      for (Object one :
          List.of(
              runner,
              executable,
              runner.bindings(),
              new Compiler(),
              new CompilerOptions(),
              new RuntimeConfig(),
              session,
              new SessionOptions(),
              session.createQueueManager(),
              new DeviceManager(),
              new DeviceRequest(),
              PopefReader.open(folder.resolve("affine.popef")),
              executable.popefModel(),
              new PopefMetadata(),
              new PackOptions(Duration.ofMillis(1))))
        for (Method method : one.getClass().getMethods())
          if (!Modifier.isStatic(method.getModifiers())) careless.add(careless(method, one));
    }
    careless.removeIf(text -> text == null);
    assertEquals(List.of(), careless, String.join("\n", careless));
  }

  @Test
  void nullInsideIsSaid() {
    try (ModelRunner runner = affineRunner()) {
      Map<String, Object> inputs = new HashMap<>();
      inputs.put("x", null);
      assertEquals(
          "input 'x': expected an array, a buffer or a Tensor, given null",
          assertThrows(IllegalArgumentException.class, () -> runner.run(inputs)).getMessage());
      Object rows = new float[][] {null, {1, 2}};
      assertEquals(
          "an array of dimension 1 is null",
          assertThrows(IllegalArgumentException.class, () -> Tensor.of(rows)).getMessage());
      Object later = new float[][] {{1, 2}, null};
      assertThrows(IllegalArgumentException.class, () -> Tensor.of(later));
    }
  }

  /** Without the check, the run would end without an executor, and the future would never be completed. */
  @Test
  void anExecutorThatIsNotThere() {
    try (ModelRunner runner = affineRunner()) {
      Bindings bindings = new Client(runner, 0).bindings;
      assertEquals(
          "executor",
          assertThrows(NullPointerException.class, () -> runner.executeAsync(bindings, null))
              .getMessage());
      runner.executeAsync(bindings).join();
    }
  }

  @Test
  void durationsHaveNoEndAndNoOverflow() {
    Duration endless = Duration.ofSeconds(Long.MAX_VALUE);
    try (ModelRunner runner = affineRunner()) {
      Client c = new Client(runner, 1);
      runner.executeAsync(c.bindings, Runnable::run, endless).join();
      c.check();
      assertTrue(
          assertThrows(
                  IllegalArgumentException.class,
                  () -> runner.executeAsync(c.bindings, Runnable::run, Duration.ofSeconds(-1)))
              .getMessage()
              .contains("timeout"));
    }
    RuntimeConfig config =
        new RuntimeConfig().threads(1).timeout(endless).deviceWaitTimeout(endless);
    try (org.poprt.Executable executable = affine(2);
        ModelRunner runner = new ModelRunner(executable, config)) {
      assertEquals(1, runner.inputs().size());
    }
  }

  @Test
  void positionsThatThereAreNot() {
    try (ModelRunner runner = affineRunner()) {
      for (int index : new int[] {-1, 1})
        fails(
            ErrorCode.NOT_FOUND,
            () -> runner.execute(runner.bindings().input(index, FloatBuffer.allocate(8))),
            "there is no input " + index + ";");
    }
  }

  @Test
  void objectsSayWhatTheyAre() {
    org.poprt.Executable executable = affine(2);
    ModelRunner runner = new ModelRunner(executable, new RuntimeConfig().threads(1));
    String anchors = ": x f32[2,4] -> y f32[2,4]";
    assertEquals("Executable affine" + anchors, executable.toString());
    assertEquals("ModelRunner" + anchors, runner.toString());
    executable.close();
    runner.close();
    assertEquals("ModelRunner" + anchors, runner.toString());
    assertEquals("Executable affine" + anchors, executable.toString());
  }

  /** Each step waits for the one before it; an exception ends its chain only. */
  @Test
  void chainsOfFutures() {
    try (ModelRunner runner = affineRunner()) {
      Client c = new Client(runner, 3);
      CompletableFuture<Void> chain = runner.executeAsync(c.bindings);
      for (int i = 0; i < 1000; i++)
        chain = chain.thenCompose(done -> runner.executeAsync(c.bindings, Runnable::run));
      CompletableFuture<Void> broken =
          chain.thenRun(
              () -> {
                throw new IllegalStateException("mine");
              });
      assertEquals(
          "mine", assertThrows(CompletionException.class, broken::join).getCause().getMessage());
      chain.thenCompose(done -> runner.executeAsync(c.bindings)).join();
      c.check();
    }
  }

  @Test
  void manyAreCancelledAtOnce() {
    try (ModelRunner runner = slowRunner();
        Bindings bindings = slowBindings(runner)) {
      List<CompletableFuture<Void>> futures =
          IntStream.range(0, 10000)
              .mapToObj(i -> runner.executeAsync(bindings))
              .collect(Collectors.toList());
      long cancelled = futures.stream().filter(f -> f.cancel(true)).count();
      assertTrue(cancelled > 5000, cancelled + " of 10 000 were cancelled");
      int ended = 0;
      for (CompletableFuture<Void> f : futures)
        try {
          f.join();
        } catch (CancellationException e) {
          ended++;
        }
      assertEquals(cancelled, ended);
    }
  }
}
