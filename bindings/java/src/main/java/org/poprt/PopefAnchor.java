package org.poprt;

import java.util.Arrays;

/** A host-visible tensor of a model, which {@link PopefMetadata} describes. */
public final class PopefAnchor {
  /** The direction of the stream. */
  public enum Direction {
    /** It has data but no stream. */
    NONE,
    /** An input. */
    HOST_TO_DEVICE,
    /** An output. */
    DEVICE_TO_HOST
  }

  private final String name;
  private final Direction direction;
  private final DataType dataType;
  private final long[] shape;
  private String handle = "";
  private long[] programs = {};
  private boolean perReplica;

  /**
   * Creates an anchor without a stream handle that no program uses.
   *
   * @param name the name in the model and of its tensor or feed blob
   * @param direction the direction of its stream
   * @param dataType the type of its elements
   * @param shape the dimensions of one transfer; none for a scalar
   */
  public PopefAnchor(String name, Direction direction, DataType dataType, long... shape) {
    this.name = name;
    this.direction = direction;
    this.dataType = dataType;
    this.shape = shape.clone();
  }

  PopefAnchor(RawPopefAnchor raw) {
    name = raw.name();
    int type = raw.anchor_type();
    direction = type < Direction.values().length ? Direction.values()[type] : Direction.NONE;
    dataType = DataType.of(raw.dtype());
    shape = new long[(int) raw.rank()];
    for (int i = 0; i < shape.length; i++) shape[i] = raw.dimension(i);
    handle = raw.handle();
    programs = new long[(int) raw.program_count()];
    for (int i = 0; i < programs.length; i++) programs[i] = raw.program(i);
    perReplica = raw.is_per_replica();
  }

  /** The caller deletes it. */
  RawPopefAnchor raw() {
    for (long program : programs) PopefMetadata.checked(program);
    RawPopefAnchor raw = new RawPopefAnchor(name, handle, direction.ordinal());
    raw.set_tensor(dataType.number(), shape, shape.length);
    raw.set_programs(programs, programs.length);
    raw.set_is_per_replica(perReplica);
    return raw;
  }

  /**
   * Its name in the model, and that of its tensor or feed blob.
   *
   * @return the name
   */
  public String name() {
    return name;
  }

  /**
   * The direction of the stream.
   *
   * @return the direction
   */
  public Direction direction() {
    return direction;
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
   * Dimensions of one transfer.
   *
   * @return a copy; empty for a scalar
   */
  public long[] shape() {
    return shape.clone();
  }

  /**
   * Bytes of one transfer.
   *
   * @return number of bytes; 0 for text and unknown types
   * @throws ArithmeticException when a file has dimensions whose product does not fit in a long
   */
  public long byteSize() {
    long bits = dataType.bits();
    for (long dimension : shape) bits = Math.multiplyExact(bits, dimension);
    return bits / 8 + (bits % 8 == 0 ? 0 : 1);
  }

  /**
   * The handle of its stream.
   *
   * @return "" when no callback can be connected
   */
  public String handle() {
    return handle;
  }

  /**
   * Sets the handle of its stream.
   *
   * @param stream default ""
   * @return this
   */
  public PopefAnchor handle(String stream) {
    handle = stream;
    return this;
  }

  /**
   * Indices of the programs that use the stream.
   *
   * @return a copy
   */
  public long[] programs() {
    return programs.clone();
  }

  /**
   * Sets the programs that use the stream.
   *
   * @param indices default none
   * @return this
   */
  public PopefAnchor programs(long... indices) {
    programs = indices.clone();
    return this;
  }

  /**
   * Whether the first dimension is the replication factor.
   *
   * @return usually false
   */
  public boolean isPerReplica() {
    return perReplica;
  }

  /**
   * Sets whether the first dimension is the replication factor.
   *
   * @param on default false
   * @return this
   */
  public PopefAnchor perReplica(boolean on) {
    perReplica = on;
    return this;
  }

  /** A description such as {@code x f32[2,4]}. */
  @Override
  public String toString() {
    return name + " " + dataType + Arrays.toString(shape).replace(" ", "");
  }
}
