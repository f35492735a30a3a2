import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.ShortBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.junit.jupiter.api.Test;
import org.poprt.AnchorPredicate;
import org.poprt.Bindings;
import org.poprt.Compiler;
import org.poprt.CompilerOptions;
import org.poprt.Device;
import org.poprt.ErrorCode;
import org.poprt.DeviceManager;
import org.poprt.DeviceRequest;
import org.poprt.Executable;
import org.poprt.Float16;
import org.poprt.InputHandler;
import org.poprt.ModelRunner;
import org.poprt.OutputHandler;
import org.poprt.PopefModel;
import org.poprt.PopefReader;
import org.poprt.QueueManager;
import org.poprt.QueueOptions;
import org.poprt.RequestOptions;
import org.poprt.RuntimeConfig;
import org.poprt.Session;
import org.poprt.SessionOptions;

/**
 * Guarantees of the binding for every object: new memory replaces the old, every 16-bit float is the same number on both sides,
 * and objects are closed in any order and refuse any use afterwards (scenarios 75 to 78).
 */
class ContractTest extends Scenarios {
  private static FloatBuffer heap(int count, float first) {
    FloatBuffer values = FloatBuffer.allocate(count);
    for (int i = 0; i < count; i++) values.put(i, first + i);
    return values;
  }

  private static FloatBuffer direct(int count, float first) {
    ByteBuffer bytes = ByteBuffer.allocateDirect(4 * count).order(ByteOrder.nativeOrder());
    return bytes.asFloatBuffer().put(heap(count, first)).flip();
  }

  private static void twicePlusOne(FloatBuffer x, FloatBuffer y) {
    for (int i = 0; i < x.capacity(); i++) assertEquals(2 * x.get(i) + 1, y.get(i), "element " + i);
  }

  private static void all(FloatBuffer y, float value) {
    for (int i = 0; i < y.capacity(); i++) assertEquals(value, y.get(i), "element " + i);
  }

  private static FloatBuffer sevens(boolean onHeap) {
    FloatBuffer values = onHeap ? FloatBuffer.allocate(8) : direct(8, 0);
    for (int i = 0; i < 8; i++) values.put(i, 7);
    return values;
  }

  @Test
  void scenario_75_new_memory_replaces_the_old() {
    try (ModelRunner runner = affineRunner()) {
      for (int kinds = 0; kinds < 16; kinds++)
        for (boolean byName : new boolean[] {true, false}) {
          FloatBuffer x = (kinds & 1) == 0 ? heap(8, 1) : direct(8, 1);
          FloatBuffer y = sevens((kinds & 2) == 0);
          FloatBuffer x2 = (kinds & 4) == 0 ? heap(8, 50) : direct(8, 50);
          FloatBuffer y2 = sevens((kinds & 8) == 0);
          try (Bindings b = runner.bindings()) {
            bind(b, byName, x, y);
            runner.execute(b);
            twicePlusOne(x, y);
            FloatBuffer before = FloatBuffer.allocate(8).put(y.duplicate()).flip();
            bind(b, byName, x2, y2);
            x.put(0, 1000);
            runner.execute(b);
            twicePlusOne(x2, y2);
            assertEquals(before, y);
            x2.put(3, -5);
            runner.executeAsync(b).join();
            twicePlusOne(x2, y2);
            bind(b, byName, x, null); // only the input
            runner.execute(b);
            twicePlusOne(x, y2);
            assertEquals(before, y);
            bind(b, byName, null, y); // only the output
            y2.put(0, 7);
            runner.execute(b);
            twicePlusOne(x, y);
            assertEquals(7, y2.get(0));
          }
        }
    }
  }

  private static void bind(Bindings b, boolean byName, FloatBuffer x, FloatBuffer y) {
    if (x != null && byName) b.input("x", x);
    else if (x != null) b.input(0, x);
    if (y != null && byName) b.output("y", y);
    else if (y != null) b.output(0, y);
  }

  @Test
  void scenario_75_memory_of_another_size() {
    try (ModelRunner runner = affineRunner();
        Bindings b = runner.bindings().input("x", heap(8, 0)).output("y", FloatBuffer.allocate(8))) {
      for (int batches : new int[] {3, 1, 2}) {
        FloatBuffer x = heap(8 * batches, 5), y = FloatBuffer.allocate(8 * batches);
        b.input("x", x).output("y", y);
        runner.execute(b);
        twicePlusOne(x, y);
      }
    }
  }

  @Test
  void scenario_75_one_array_may_be_bound_twice() {
    try (ModelRunner runner = affineRunner();
        Bindings b = runner.bindings()) {
      FloatBuffer both = heap(8, 0);
      b.input("x", both).output("y", both);
      runner.execute(b);
      twicePlusOne(heap(8, 0), both);
      FloatBuffer x = heap(8, 20);
      b.input("x", x); // the array is still that of the output
      runner.execute(b);
      twicePlusOne(x, both);
      FloatBuffer y = FloatBuffer.allocate(8);
      b.input("x", both).output("y", y); // from here on, the array is only that of the input
      both.put(0, 4);
      runner.execute(b);
      twicePlusOne(both, y);
    }
  }

  @Test
  void scenario_75_a_run_in_flight_keeps_its_memory() {
    try (ModelRunner runner = slowRunner()) {
      FloatBuffer x = FloatBuffer.allocate(512 * 512), old = FloatBuffer.allocate(512 * 512);
      for (int i = 0; i < x.capacity(); i++) x.put(i, 1);
      FloatBuffer now = FloatBuffer.allocate(512 * 512);
      Bindings b = runner.bindings().input(0, x).output(0, old);
      CompletableFuture<Void> run = runner.executeAsync(b);
      b.output(0, now);
      run.join();
      all(old, 1);
      all(now, 0);
      b.close();
    }
  }

  @Test
  void scenario_22_a_run_that_has_ended_cannot_be_cancelled() {
    try (ModelRunner runner = affineRunner()) {
      Client client = new Client(runner, 0);
      CompletableFuture<Void> run = runner.executeAsync(client.bindings);
      run.join();
      for (int i = 0; i < 2; i++) {
        assertEquals(false, run.cancel(true));
        assertEquals(false, run.isCancelled());
      }
      run.join();
      client.check();
    }
  }

  @Test
  void scenario_21_sizes_of_nothing_and_of_too_much() {
    try (ModelRunner runner = runner(affine(0))) {
      assertEquals(0, runner.inputs().get(0).allocate().capacity());
      var y = runner.run(Map.of("x", FloatBuffer.allocate(0))).get("y");
      assertEquals(0, y.buffer().capacity());
      assertArrayEquals(new long[] {0, 4}, y.shape());
      FloatBuffer outside = direct(0, 0);
      runner.execute(Map.of("x", outside), Map.of("y", direct(0, 0)));
    }
    try (Executable large = affine(1 << 28)) {
      assertEquals(1L << 32, large.inputs().get(0).byteSize());
      assertEquals(1L << 30, large.inputs().get(0).elementCount());
      fails(ErrorCode.RESOURCE_EXHAUSTED, () -> large.inputs().get(0).allocate(), "x", "4294967296", "2 GiB");
    }
    try (Executable executable = affine(2);
        PopefModel model = executable.popefModel()) {
      var program = model.executable();
      assertEquals(0, program.map(0, 0).capacity());
      assertEquals(0, program.map(program.byteSize(), 0).capacity());
      fails(ErrorCode.OUT_OF_RANGE, () -> program.map(program.byteSize(), 1));
      fails(ErrorCode.OUT_OF_RANGE, () -> program.map(-1, 0));
      fails(ErrorCode.OUT_OF_RANGE, () -> program.map(0, -1));
    }
  }

  /** The value of a code, computed from the definition of half precision. */
  private static double halfValue(int code) {
    int exponent = code >> 10 & 31;
    double fraction = code & 1023;
    double sign = code >= 0x8000 ? -1 : 1;
    if (exponent == 31) return fraction == 0 ? sign * Double.POSITIVE_INFINITY : Double.NaN;
    return sign * (exponent == 0 ? fraction * Math.pow(2, -24) : (1 + fraction / 1024) * Math.pow(2, exponent - 15));
  }

  @Test
  void scenario_76_every_half_is_its_value_and_back() {
    for (int code = 0; code < 65536; code++) {
      float value = (float) halfValue(code);
      float found = Float16.toFloat((short) code);
      if (Float.isNaN(value)) {
        assertTrue(Float.isNaN(found));
        int back = Float16.fromFloat(found) & 0xffff;
        assertTrue(Double.isNaN(halfValue(back)), Integer.toHexString(code));
        assertEquals(code >> 15, back >> 15); // the sign
        assertEquals(code & 0x3ff, back & 0x3ff); // the payload
      } else {
        assertEquals(Float.floatToRawIntBits(value), Float.floatToRawIntBits(found), Integer.toHexString(code));
        assertEquals((short) code, Float16.fromFloat(value), Integer.toHexString(code));
      }
    }
    for (int bits : new int[] {0x7f800001, 0x7fc00000, 0xff801fff, 0x7fffffff})
      assertTrue(Double.isNaN(halfValue(Float16.fromFloat(Float.intBitsToFloat(bits)) & 0xffff)));
  }

  @Test
  void scenario_76_ties_round_to_even() {
    for (int code = 0; code < 0x7c00; code++) {
      double next = code == 0x7bff ? 65536 : halfValue(code + 1);
      float middle = (float) ((halfValue(code) + next) / 2);
      String what = Integer.toHexString(code);
      for (int sign : new int[] {0, 0x8000}) {
        float signed = sign == 0 ? middle : -middle;
        assertEquals((short) (sign | code + (code & 1)), Float16.fromFloat(signed), what);
        float less = sign == 0 ? Math.nextDown(signed) : Math.nextUp(signed);
        assertEquals((short) (sign | code), Float16.fromFloat(less), what);
        float more = sign == 0 ? Math.nextUp(signed) : Math.nextDown(signed);
        assertEquals((short) (sign | code + 1), Float16.fromFloat(more), what);
      }
    }
    for (float large : new float[] {65536, 1e6f, Float.MAX_VALUE, Float.POSITIVE_INFINITY}) {
      assertEquals(0x7c00, Float16.fromFloat(large));
      assertEquals((short) 0xfc00, Float16.fromFloat(-large));
    }
    assertEquals(0, Float16.fromFloat(Float.MIN_VALUE));
  }

  @Test
  void scenario_76_runs_take_and_return_every_code() {
    try (ModelRunner runner = runner(compile("floats.onnx", new CompilerOptions()))) {
      ShortBuffer codes = ShortBuffer.allocate(65536);
      for (int code = 0; code < 65536; code++) codes.put(code, (short) code);
      FloatBuffer values = FloatBuffer.allocate(65536);
      Float16.convert(codes.duplicate(), values.duplicate());
      FloatBuffer halfValues = FloatBuffer.allocate(65536), brainValues = FloatBuffer.allocate(65536);
      ShortBuffer halves = ShortBuffer.allocate(65536), brains = ShortBuffer.allocate(65536);
      Map<String, Buffer> inputs = Map.of("half", codes, "brain", codes, "value", values);
      Map<String, Buffer> outputs =
          Map.of("half_value", halfValues, "brain_value", brainValues, "value_half", halves, "value_brain", brains);
      runner.execute(inputs, outputs);
      for (int code = 0; code < 65536; code++) {
        if (!Double.isNaN(halfValue(code))) {
          assertEquals((float) halfValue(code), halfValues.get(code));
          assertEquals((short) code, halves.get(code));
        }
        float brain = Float.intBitsToFloat(code << 16);
        if (Float.isNaN(brain)) assertTrue(Float.isNaN(brainValues.get(code)));
        else if (Math.abs(brain) >= Float.MIN_NORMAL) assertEquals(brain, brainValues.get(code));
      }
      runner.execute(Map.of("half", codes, "brain", codes, "value", brainValues), outputs);
      for (int code = 0; code < 65536; code++) {
        float brain = Float.intBitsToFloat(code << 16);
        if (Math.abs(brain) >= Float.MIN_NORMAL) assertEquals((short) code, brains.get(code)); // false for NaN
      }
    }
  }

  @Test
  void scenario_76_all_remaining_values_are_converted() {
    FloatBuffer from = FloatBuffer.wrap(new float[] {9, 1, -2, 9});
    ShortBuffer to = ShortBuffer.allocate(4);
    Float16.convert(from.position(1).limit(3), to.position(1));
    assertEquals(3, from.position());
    assertEquals(3, to.position());
    assertArrayEquals(new short[] {0, 0x3c00, (short) 0xc000, 0}, to.array());
    FloatBuffer back = FloatBuffer.allocate(2);
    Float16.convert(to.position(1).limit(3), back);
    assertArrayEquals(new float[] {1, -2}, back.array());
  }

  /** One object of each class that can be closed, each made from those before it. */
  private Map<String, AutoCloseable> objects() {
    Map<String, AutoCloseable> made = new LinkedHashMap<>();
    DeviceManager manager = new DeviceManager(0);
    Executable executable = affine(2);
    Device device = manager.getDevice(1);
    ModelRunner runner = new ModelRunner(executable, new RuntimeConfig().threads(1).device(device));
    made.put("Executable", executable);
    made.put("Device", device);
    made.put("DeviceManager", manager);
    made.put("ModelRunner", runner);
    made.put("Bindings", runner.bindings().input("x", heap(8, 0)).output("y", FloatBuffer.allocate(8)));
    made.put("Session", new Session(executable, new SessionOptions().threads(1)));
    return made;
  }

  private static void permute(List<String> names, int from, List<List<String>> all) {
    if (from == names.size()) all.add(List.copyOf(names));
    for (int i = from; i < names.size(); i++) {
      Collections.swap(names, from, i);
      permute(names, from + 1, all);
      Collections.swap(names, from, i);
    }
  }

  @Test
  void scenario_77_objects_close_in_any_order() throws Exception {
    List<List<String>> orders = new ArrayList<>();
    permute(new ArrayList<>(objectsClosed().keySet()), 0, orders);
    assertEquals(720, orders.size());
    Collections.shuffle(orders, new java.util.Random(77));
    for (List<String> order : orders.subList(0, 120)) {
      Map<String, AutoCloseable> made = objects();
      CompletableFuture<Void> run = ((ModelRunner) made.get("ModelRunner")).executeAsync((Bindings) made.get("Bindings"));
      for (String name : order) {
        made.get(name).close();
        made.get(name).close();
      }
      run.join();
    }
    assertDevicesFree(4);
  }

  private Map<String, AutoCloseable> objectsClosed() throws Exception {
    Map<String, AutoCloseable> made = objects();
    made.put("Compiler", new Compiler());
    Path file = folder.resolve("affine.popef");
    try (Executable executable = affine(2)) {
      executable.save(file);
    }
    PopefReader reader = PopefReader.open(file);
    made.put("PopefReader", reader);
    made.put("PopefModel", reader.model(""));
    for (AutoCloseable one : made.values()) one.close();
    made.keySet().removeAll(List.of("Compiler", "PopefReader", "PopefModel"));
    return made;
  }

  /** An argument of a type for a call that fails before it uses it. */
  private Object argument(Class<?> type) {
    if (type == int.class) return 0;
    if (type == long.class) return 0L;
    if (type == boolean.class) return false;
    if (type == int[].class) return new int[] {0};
    if (type == String.class) return "x";
    if (type == Path.class) return folder.resolve("never");
    if (type == Buffer.class) return heap(8, 0);
    if (type == ByteBuffer.class) return ByteBuffer.allocate(8);
    if (type == Map.class) return Map.of("x", heap(8, 0));
    if (type == Duration.class) return Duration.ofSeconds(1);
    if (type == Executor.class) return (Executor) Runnable::run;
    if (type == RequestOptions.class) return new RequestOptions();
    if (type == QueueOptions.class) return new QueueOptions();
    if (type == DeviceRequest.class) return new DeviceRequest();
    if (type == InputHandler.class) return (InputHandler) data -> true;
    if (type == OutputHandler.class) return (OutputHandler) data -> true;
    if (type == AnchorPredicate.class) return (AnchorPredicate) (name, output, programs) -> true;
    return null;
  }

  /** Methods that work on a closed object: their result is known since it was made, or they do nothing. */
  private static final List<String> WITHOUT_ERROR =
      List.of(
          "close", "toString", "hashCode", "equals", "getClass", "notify", "notifyAll", "wait", "inputs", "outputs", "name",
          "userInputs", "userOutputs", "id", "ipuVersion", "numIpus", "tilesPerIpu", "isIpuModel", "bindings");

  @Test
  void scenario_78_no_method_works_afterwards() throws Exception {
    Map<String, AutoCloseable> made = objects();
    ModelRunner open = affineRunner();
    made.put("Compiler", new Compiler());
    Path file = folder.resolve("affine.popef");
    ((Executable) made.get("Executable")).save(file);
    made.put("PopefReader", PopefReader.open(file));
    for (AutoCloseable one : made.values()) one.close();
    List<String> wrong = new ArrayList<>();
    int checked = 0;
    for (AutoCloseable closed : made.values())
      for (Method method : closed.getClass().getMethods()) {
        if (Modifier.isStatic(method.getModifiers()) || WITHOUT_ERROR.contains(method.getName())) continue;
        Object[] arguments = new Object[method.getParameterCount()];
        for (int i = 0; i < arguments.length; i++) {
          Class<?> type = method.getParameterTypes()[i];
          arguments[i] = type == Bindings.class ? open.bindings() : type == Device.class ? made.get("Device") : argument(type);
        }
        checked++;
        try {
          Object result = method.invoke(closed, arguments);
          wrong.add(method + " returned " + result);
        } catch (InvocationTargetException e) {
          if (!(e.getCause() instanceof IllegalStateException) || !e.getCause().getMessage().endsWith("is closed"))
            wrong.add(method + ": " + e.getCause());
        }
      }
    open.close();
    assertEquals(List.of(), wrong, String.join("\n", wrong));
    assertTrue(checked > 60, "only " + checked);
  }

  @Test
  void scenario_78_neither_does_an_object_that_needs_it() {
    Executable executable = affine(2);
    Device device = new DeviceManager(0).getDevice(1);
    ModelRunner runner = runner(affine(2));
    Bindings bindings = runner.bindings();
    Session session = session(affine(2));
    QueueManager queues = session.createQueueManager();
    bindings.close();
    device.close();
    closed("Bindings", () -> runner.execute(bindings));
    closed("Bindings", () -> runner.executeAsync(bindings));
    closed("Device", () -> new ModelRunner(executable, new RuntimeConfig().device(device)));
    closed("Device", () -> new ModelRunner(executable, new RuntimeConfig().replicaDevice(0, device)));
    closed("Device", () -> new Session(executable, new SessionOptions().device(device)));
    closed("Device", () -> session.bindToDevice(device));
    executable.close();
    closed("Executable", () -> new ModelRunner(executable, new RuntimeConfig()));
    closed("Executable", () -> new Session(executable));
    closed("Executable", () -> Executable.fuse(List.of(executable)));
    closed("Executable", () -> new DeviceManager(0).acquire(new DeviceRequest().executable(executable)));
    session.close();
    closed("Session", () -> queues.inputQueue("x"));
    runner.close();
    closed("ModelRunner", () -> runner.execute(Map.of(), Map.of()));
  }
}
