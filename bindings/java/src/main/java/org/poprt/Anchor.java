package org.poprt;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.function.LongFunction;

/** A named input or output of a model. Immutable, and independent of the object that returns it. */
public final class Anchor {
  private final String name;
  private final DataType dataType;
  private final long[] shape;
  private final long byteSize;

  private Anchor(RawAnchor raw) {
    name = raw.name();
    dataType = DataType.of(raw.dtype());
    shape = new long[(int) raw.rank()];
    for (int i = 0; i < shape.length; i++) shape[i] = raw.dimension(i);
    byteSize = raw.bytes();
  }

  static List<Anchor> list(long count, LongFunction<RawAnchor> at) {
    List<Anchor> anchors = new ArrayList<>();
    for (long i = 0; i < count; i++) anchors.add(new Anchor(at.apply(i)));
    return Collections.unmodifiableList(anchors);
  }

  /**
   * Its name in the model.
   *
   * @return the name
   */
  public String name() {
    return name;
  }

  /**
   * Type of its elements.
   *
   * @return the type
   */
  public DataType dataType() {
    return dataType;
  }

  /**
   * Its dimensions. One is -1 if runs may have any size there, because the shapes are compiled on
   * demand.
   *
   * @return a copy; empty for a scalar
   */
  public long[] shape() {
    return shape.clone();
  }

  /**
   * Product of the dimensions.
   *
   * @return number of elements; meaningless if a dimension is -1
   */
  public long elementCount() {
    long count = 1;
    for (long dimension : shape) count *= dimension;
    return count;
  }

  /**
   * Bytes that a run reads or writes for it.
   *
   * @return number of bytes; 0 if a dimension is -1
   */
  public long byteSize() {
    return byteSize;
  }

  /**
   * Allocates memory that a run uses without a copy: a direct buffer in native order, aligned to 64
   * bytes and filled with zeros.
   *
   * @return a buffer with {@link #byteSize} bytes
   * @throws PoprtException with {@link ErrorCode#RESOURCE_EXHAUSTED} for 2 GiB or more, which is
   * too large for one buffer
   */
  public ByteBuffer allocate() {
    if (byteSize > Integer.MAX_VALUE - 128)
      throw new PoprtException(
          ErrorCode.RESOURCE_EXHAUSTED,
          "'" + name + "' has " + byteSize + " bytes; a Java buffer holds less than 2 GiB");
    int size = (int) byteSize;
    ByteBuffer aligned = ByteBuffer.allocateDirect((size + 63) / 64 * 64 + 64).alignedSlice(64);
    return aligned.limit(size).slice().order(ByteOrder.nativeOrder());
  }

  /** A description such as {@code x f32[2,4]}. */
  @Override
  public String toString() {
    return name + " " + dataType + Arrays.toString(shape).replace(" ", "");
  }
}
