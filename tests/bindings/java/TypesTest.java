import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.poprt.Anchor;
import org.poprt.Bindings;
import org.poprt.CompilerOptions;
import org.poprt.DataType;
import org.poprt.ErrorCode;
import org.poprt.ModelRunner;
import org.poprt.PoprtException;
import org.poprt.Tensor;

/** Every type of elements, as arrays and as buffers of every kind (scenario 79). */
class TypesTest extends Scenarios {
  private static ModelRunner types() {
    return runner(compile("types.onnx", new CompilerOptions()));
  }

  /** A 2 x 3 array for each input: the extremes of the type, and numbers that distinguish bytes, rows and columns. */
  private static Map<String, Object> arrays() {
    short[][] shorts = {{1, -2, 3}, {Short.MIN_VALUE, Short.MAX_VALUE, 0x1234}};
    int[][] ints = {{1, -2, 3}, {Integer.MIN_VALUE, Integer.MAX_VALUE, 0x12345678}};
    long[][] longs = {{1, -2, 3}, {Long.MIN_VALUE, Long.MAX_VALUE, 0x123456789abcdef0L}};
    byte[][] bytes = {{1, -2, 3}, {-128, 127, 0x12}};
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("f32", new float[][] {{1, -2, 0.5f}, {Float.MAX_VALUE, Float.MIN_NORMAL, 3}});
    all.put("f64", new double[][] {{1, -2, 0.5}, {Double.MAX_VALUE, Double.MIN_NORMAL, 3}});
    all.put("f16", new short[][] {{0x3c00, 0x4000, 0x7bff}, {0x0400, (short) 0xc000, 0x3555}});
    all.put("bf16", new short[][] {{0x3f80, 0x4000, 0x7f7f}, {0x0080, (short) 0xc000, 0x3eab}});
    all.put("s8", bytes);
    all.put("u8", bytes);
    all.put("s16", shorts);
    all.put("u16", shorts);
    all.put("s32", ints);
    all.put("u32", ints);
    all.put("s64", longs);
    all.put("u64", longs);
    all.put("bool", new boolean[][] {{true, false, true}, {true, true, false}});
    return all;
  }

  private static final Map<String, DataType> NAMES = new LinkedHashMap<>();

  static {
    for (DataType type : DataType.values()) NAMES.put(type.name().toLowerCase(java.util.Locale.ROOT), type);
  }

  private static Buffer buffer(String type, boolean direct) {
    Tensor tensor = Tensor.of(arrays().get(type));
    Buffer from = tensor.buffer();
    if (direct) return from;
    if (from instanceof FloatBuffer) return FloatBuffer.allocate(6).put((FloatBuffer) from).flip();
    if (from instanceof DoubleBuffer) return DoubleBuffer.allocate(6).put((DoubleBuffer) from).flip();
    if (from instanceof IntBuffer) return IntBuffer.allocate(6).put((IntBuffer) from).flip();
    if (from instanceof LongBuffer) return LongBuffer.allocate(6).put((LongBuffer) from).flip();
    if (from instanceof ShortBuffer) return ShortBuffer.allocate(6).put((ShortBuffer) from).flip();
    return ByteBuffer.allocate(6).put((ByteBuffer) from).flip();
  }

  private static Buffer empty(Buffer like, boolean direct) {
    int count = like.capacity();
    if (!direct && like instanceof FloatBuffer) return FloatBuffer.allocate(count);
    if (!direct && like instanceof DoubleBuffer) return DoubleBuffer.allocate(count);
    if (!direct && like instanceof IntBuffer) return IntBuffer.allocate(count);
    if (!direct && like instanceof LongBuffer) return LongBuffer.allocate(count);
    if (!direct && like instanceof ShortBuffer) return ShortBuffer.allocate(count);
    if (!direct) return ByteBuffer.allocate(count);
    ByteBuffer bytes = ByteBuffer.allocateDirect(8 * count).order(ByteOrder.nativeOrder());
    if (like instanceof FloatBuffer) return bytes.asFloatBuffer().slice().limit(count);
    if (like instanceof DoubleBuffer) return bytes.asDoubleBuffer().limit(count);
    if (like instanceof IntBuffer) return bytes.asIntBuffer().limit(count);
    if (like instanceof LongBuffer) return bytes.asLongBuffer().limit(count);
    if (like instanceof ShortBuffer) return bytes.asShortBuffer().limit(count);
    return bytes.limit(count);
  }

  @Test
  void scenario_79_arrays_of_every_type() {
    try (ModelRunner runner = types()) {
      Map<String, Tensor> outputs = runner.run(arrays());
      assertEquals(13, outputs.size());
      for (Map.Entry<String, Object> given : arrays().entrySet()) {
        Tensor found = outputs.get(given.getKey() + "_y");
        assertEquals(NAMES.get(given.getKey()), found.dataType());
        assertArrayEquals(new long[] {2, 3}, found.shape());
        assertArrayEquals((Object[]) given.getValue(), (Object[]) found.array(given.getValue().getClass()), given.getKey());
        assertEquals(given.getKey() + "[2,3]", found.toString());
        for (Object other : arrays().values())
          if (other.getClass() != given.getValue().getClass())
            assertThrows(PoprtException.class, () -> found.array(other.getClass()), given.getKey());
      }
    }
  }

  @Test
  void scenario_79_buffers_of_every_type() {
    try (ModelRunner runner = types()) {
      for (int kinds = 0; kinds < 4; kinds++) {
        Map<String, Buffer> in = new LinkedHashMap<>(), out = new LinkedHashMap<>();
        try (Bindings bindings = runner.bindings()) {
          for (String name : arrays().keySet()) {
            in.put(name, buffer(name, (kinds & 1) != 0));
            out.put(name, empty(in.get(name), (kinds & 2) != 0));
            bindings.input(name, in.get(name)).output(name + "_y", out.get(name));
          }
          runner.execute(bindings);
        }
        for (String name : arrays().keySet()) assertEquals(in.get(name), out.get(name).rewind(), name);
      }
    }
  }

  @Test
  void scenario_79_parts_of_buffers() {
    try (ModelRunner runner = types()) {
      Map<String, Buffer> in = new LinkedHashMap<>(), out = new LinkedHashMap<>();
      for (String name : arrays().keySet()) {
        in.put(name, buffer(name, true));
        out.put(name, empty(in.get(name), true));
      }
      LongBuffer longs = LongBuffer.allocate(9);
      for (int i = 0; i < 9; i++) longs.put(i, 100 + i);
      in.put("s64", longs.position(2).limit(8));
      LongBuffer taken = LongBuffer.allocate(9);
      Map<String, Buffer> outputs = new LinkedHashMap<>();
      out.forEach((name, memory) -> outputs.put(name + "_y", memory));
      outputs.put("s64_y", taken.position(1).limit(7));
      runner.execute(in, outputs);
      assertArrayEquals(new long[] {0, 102, 103, 104, 105, 106, 107, 0, 0}, taken.array());
    }
  }

  @Test
  void scenario_79_other_types_are_refused() {
    try (ModelRunner runner = types()) {
      for (Anchor anchor : runner.inputs())
        for (String given : arrays().keySet()) {
          Buffer memory = buffer(given, true);
          boolean same = memory.getClass() == buffer(anchor.name(), true).getClass() || memory instanceof ByteBuffer;
          for (boolean input : new boolean[] {true, false})
            try (Bindings b = runner.bindings()) {
              if (input) b.input(anchor.name(), memory);
              else b.output(anchor.name() + "_y", memory);
              assertTrue(same, anchor + " takes " + given);
            } catch (PoprtException e) {
              assertFalse(same, anchor + " refuses " + given);
              assertEquals(ErrorCode.INVALID_ARGUMENT, e.code());
              assertTrue(e.getMessage().contains(anchor.name()), e.getMessage());
            }
        }
    }
  }

  @Test
  void scenario_79_run_names_both_types() {
    List<String> given = List.of("f32", "f64", "s8", "s16", "s32", "s64", "bool"); // the names of types in messages about arrays
    try (ModelRunner runner = types()) {
      for (Map.Entry<String, Object> anchor : arrays().entrySet())
        for (String other : given) {
          if (arrays().get(other).getClass() == anchor.getValue().getClass()) continue;
          Map<String, Object> inputs = arrays();
          inputs.put(anchor.getKey(), arrays().get(other));
          fails(ErrorCode.INVALID_ARGUMENT, () -> runner.run(inputs), "'" + anchor.getKey() + "'", anchor.getKey() + "[2,3]",
              other + "[2,3]");
        }
    }
  }

  @Test
  void scenario_79_arrays_that_are_no_numbers() {
    for (Object wrong : List.of(new char[] {'a'}, new String[] {"a"}, 1, "a"))
      assertThrows(IllegalArgumentException.class, () -> Tensor.of(wrong));
    assertThrows(IllegalArgumentException.class, () -> Tensor.of(new float[][] {{1, 2}, {3}}));
    assertThrows(IllegalArgumentException.class, () -> Tensor.of(new float[][] {{1, 2}, null}));
    assertArrayEquals(new long[] {2, 0}, Tensor.of(new int[2][0]).shape());
    assertArrayEquals(new long[] {0, 0}, Tensor.of(new int[0][3]).shape());
  }
}
