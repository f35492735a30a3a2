package org.poprt;

import java.lang.reflect.Array;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.Arrays;
import java.util.Objects;

/**
 * Elements with a shape: the inputs and outputs of {@link ModelRunner#run}.
 *
 * @since 1.0
 */
public final class Tensor {
  private final DataType dataType; // null: that of the input, which the buffer must fit
  private final long[] shape;
  private int known; // number of leading dimensions that an array has
  private final Buffer buffer;

  Tensor(DataType dataType, long[] shape, Buffer buffer) {
    this.dataType = dataType;
    this.shape = shape;
    this.known = shape.length;
    this.buffer = buffer;
  }

  /**
   * A tensor of a buffer, which is only copied if it is on the heap.
   *
   * @param buffer elements row by row, from its position to its limit
   * @param shape dimensions, which a run compares with those of the input; none for a scalar
   * @return the tensor
   * @throws IllegalArgumentException if a dimension is negative, or there are more than 2^63 - 1
   *     elements
   */
  public static Tensor of(Buffer buffer, long... shape) {
    Objects.requireNonNull(buffer, "buffer");
    long count = 1;
    boolean large = false;
    boolean empty = false;
    for (long dimension : shape) {
      if (dimension < 0)
        throw new IllegalArgumentException("a dimension is negative: " + text(shape));
      empty |= dimension == 0;
      large |= Math.multiplyHigh(count, dimension) != 0 || count * dimension < 0;
      count *= dimension;
    }
    if (large && !empty) throw new IllegalArgumentException("the shape is too large: " + text(shape));
    return new Tensor(null, shape.clone(), buffer);
  }

  private static String text(long[] shape) {
    return Arrays.toString(shape).replace(" ", "");
  }

  /**
   * A tensor of an array, or of nested arrays of equal length: {@code float[][]} has two
   * dimensions. Its elements are copied. An array without rows, such as {@code new float[0][8]},
   * has rows of any size.
   *
   * @param array an array of float, double, byte, short, int, long or boolean, in any number of
   *     dimensions; the last dimension of complex numbers has two elements; or a buffer of a
   *     scalar, because the compiler selects this method for a buffer without dimensions
   * @return the tensor
   * @throws IllegalArgumentException if it is not such an array, or its rows differ in length
   */
  public static Tensor of(Object array) {
    Objects.requireNonNull(array, "array");
    if (array instanceof Buffer) return of((Buffer) array, new long[0]);
    int rank = 0;
    Class<?> type = array.getClass();
    while (type.isArray()) {
      rank++;
      type = type.getComponentType();
    }
    if (rank == 0 || !type.isPrimitive() || type == char.class)
      throw new IllegalArgumentException(
          "expected an array of numbers, given " + array.getClass().getSimpleName());
    long[] shape = new long[rank];
    Object at = array;
    for (int i = 0; i < rank; i++) {
      shape[i] = length(at, i);
      if (shape[i] == 0) break;
      at = Array.get(at, 0);
    }
    long count = 1;
    for (long dimension : shape) count *= dimension;
    ByteBuffer bytes = Memory.allocate(count * bytesOf(type));
    put(array, shape, 0, bytes);
    bytes.flip();
    Tensor made = new Tensor(typeOf(type), shape, view(typeOf(type), bytes));
    while (made.known > 1 && shape[made.known - 2] == 0) made.known--;
    return made;
  }

  /**
   * Returns the dimensions. The rows of an array without rows have unknown dimensions, so those of
   * the anchor are used.
   */
  long[] shapeFor(Anchor anchor) {
    long[] full = shape.clone();
    long[] expected = anchor == null ? new long[0] : anchor.shape();
    if (expected.length == full.length)
      for (int i = known; i < full.length; i++) full[i] = Math.max(0, expected[i]);
    return full;
  }

  private static int bytesOf(Class<?> type) {
    if (type == byte.class || type == boolean.class) return 1;
    if (type == short.class) return 2;
    return type == float.class || type == int.class ? 4 : 8;
  }

  private static DataType typeOf(Class<?> type) {
    if (type == byte.class) return DataType.S8;
    if (type == boolean.class) return DataType.BOOL;
    if (type == short.class) return DataType.S16;
    if (type == float.class) return DataType.F32;
    if (type == int.class) return DataType.S32;
    return type == long.class ? DataType.S64 : DataType.F64;
  }

  private static int length(Object array, int d) {
    if (array == null)
      throw new IllegalArgumentException("an array of dimension " + d + " is null");
    return Array.getLength(array);
  }

  private static void put(Object array, long[] shape, int d, ByteBuffer to) {
    int length = length(array, d);
    if (length != shape[d])
      throw new IllegalArgumentException(
          "rows differ in length: " + shape[d] + " and " + length + " in dimension " + d);
    if (d + 1 < shape.length) {
      for (int i = 0; i < length; i++) put(Array.get(array, i), shape, d + 1, to);
      return;
    }
    int start = to.position();
    if (array instanceof float[]) to.asFloatBuffer().put((float[]) array);
    if (array instanceof double[]) to.asDoubleBuffer().put((double[]) array);
    if (array instanceof int[]) to.asIntBuffer().put((int[]) array);
    if (array instanceof long[]) to.asLongBuffer().put((long[]) array);
    if (array instanceof short[]) to.asShortBuffer().put((short[]) array);
    if (array instanceof byte[]) to.duplicate().put((byte[]) array);
    if (array instanceof boolean[])
      for (int i = 0; i < length; i++) to.put(start + i, (byte) (((boolean[]) array)[i] ? 1 : 0));
    to.position(start + length * bytesOf(array.getClass().getComponentType()));
  }

  static Buffer view(DataType type, ByteBuffer bytes) {
    ByteBuffer ordered = bytes.slice().order(ByteOrder.nativeOrder());
    switch (type) {
      case F32:
      case C64:
        return ordered.asFloatBuffer();
      case F64:
      case C128:
        return ordered.asDoubleBuffer();
      case F16:
      case BF16:
      case S16:
      case U16:
        return ordered.asShortBuffer();
      case S32:
      case U32:
        return ordered.asIntBuffer();
      case S64:
      case U64:
        return ordered.asLongBuffer();
      default:
        return ordered;
    }
  }

  /**
   * Type of its elements.
   *
   * @return the type; null if the tensor was made of a buffer, which a run accepts if it fits the
   *     type of the input
   */
  public DataType dataType() {
    return dataType;
  }

  /**
   * Its dimensions.
   *
   * @return a copy; empty for a scalar
   */
  public long[] shape() {
    return shape.clone();
  }

  /**
   * Its elements, row by row.
   *
   * @return the buffer of its type, such as a {@code FloatBuffer} for f32; not a copy
   */
  public Buffer buffer() {
    return buffer;
  }

  /**
   * Its elements as an array with its dimensions, such as a {@code float[][]}. The last dimension of
   * complex numbers has two elements. Elements smaller than a byte are packed, so that their bytes
   * have one dimension.
   *
   * @param <T> the array's type
   * @param type the class of the array, such as {@code float[][].class}
   * @return a copy
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} when type or number of
   *     dimensions differ
   */
  public <T> T array(Class<T> type) {
    int rank = 0;
    Class<?> element = type;
    while (element.isArray()) {
      rank++;
      element = element.getComponentType();
    }
    long[] sizes = sizes();
    if (rank != sizes.length || !element.isPrimitive() || !holds(element))
      throw new PoprtException(
          ErrorCode.INVALID_ARGUMENT,
          "the tensor is " + this + ", requested " + type.getSimpleName());
    int[] dimensions = new int[rank];
    for (int i = 0; i < rank; i++) dimensions[i] = Math.toIntExact(sizes[i]);
    Object made = Array.newInstance(element, dimensions);
    Buffer from =
        buffer instanceof ByteBuffer ? ((ByteBuffer) buffer).duplicate() : duplicate(buffer);
    get(made, sizes, 0, from);
    return type.cast(made);
  }

  /** The dimensions of an array of the elements. */
  private long[] sizes() {
    if (dataType == DataType.C64 || dataType == DataType.C128) {
      long[] sizes = Arrays.copyOf(shape, shape.length + 1);
      sizes[shape.length] = 2;
      return sizes;
    }
    boolean packed = dataType != null && dataType.bits() < 8;
    return packed ? new long[] {buffer.remaining()} : shape;
  }

  private boolean holds(Class<?> element) {
    if (buffer instanceof FloatBuffer) return element == float.class;
    if (buffer instanceof DoubleBuffer) return element == double.class;
    if (buffer instanceof IntBuffer) return element == int.class;
    if (buffer instanceof LongBuffer) return element == long.class;
    if (buffer instanceof ShortBuffer) return element == short.class;
    return element == (dataType == DataType.BOOL ? boolean.class : byte.class);
  }

  private static Buffer duplicate(Buffer buffer) {
    if (buffer instanceof FloatBuffer) return ((FloatBuffer) buffer).duplicate();
    if (buffer instanceof DoubleBuffer) return ((DoubleBuffer) buffer).duplicate();
    if (buffer instanceof IntBuffer) return ((IntBuffer) buffer).duplicate();
    if (buffer instanceof LongBuffer) return ((LongBuffer) buffer).duplicate();
    return ((ShortBuffer) buffer).duplicate();
  }

  private static void get(Object to, long[] sizes, int d, Buffer from) {
    if (d + 1 < sizes.length) {
      for (int i = 0; i < sizes[d]; i++) get(Array.get(to, i), sizes, d + 1, from);
      return;
    }
    if (to instanceof float[]) ((FloatBuffer) from).get((float[]) to);
    if (to instanceof double[]) ((DoubleBuffer) from).get((double[]) to);
    if (to instanceof int[]) ((IntBuffer) from).get((int[]) to);
    if (to instanceof long[]) ((LongBuffer) from).get((long[]) to);
    if (to instanceof short[]) ((ShortBuffer) from).get((short[]) to);
    if (to instanceof byte[]) ((ByteBuffer) from).get((byte[]) to);
    if (to instanceof boolean[])
      for (int i = 0; i < sizes[d]; i++) ((boolean[]) to)[i] = ((ByteBuffer) from).get() != 0;
  }

  /** A description such as {@code f32[2,4]}. */
  @Override
  public String toString() {
    return (dataType == null ? "" : dataType) + Arrays.toString(shape).replace(" ", "");
  }
}
