package org.poprt;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.ReadOnlyBufferException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.function.LongFunction;

/**
 * A part of a PopEF file. Keeps the {@link PopefReader} or {@link PopefModel} that returned it.
 * When that object is closed, the payload is no longer available. Any number of threads may use a
 * blob.
 */
public final class PopefBlob {
  /** The kind of a blob. */
  public enum Type {
    /** A program. */
    EXECUTABLE(1),
    /** The value of one anchor. */
    TENSOR(3),
    /** A sequence of values of one anchor. */
    FEED(4),
    /** Bytes without a defined format. */
    OPAQUE(5);

    private final int number;

    Type(int number) {
      this.number = number;
    }

    int number() {
      return number;
    }
  }

  private final Object owner; // keeps the owner alive
  private final Handle<?> handle;
  private final RawPopefBlob raw;
  private final Type type;
  private final String name;
  private final String executable;
  private final DataType dataType;
  private final long[] shape;
  private final long tensorCount;
  private final long byteSize;
  private final boolean compressed;

  private PopefBlob(Object owner, Handle<?> handle, Type type, RawPopefBlob raw) {
    this.owner = owner;
    this.handle = handle;
    this.raw = raw;
    this.type = type;
    name = raw.name();
    executable = raw.executable();
    dataType = DataType.of(raw.dtype());
    shape = new long[(int) raw.rank()];
    for (int i = 0; i < shape.length; i++) shape[i] = raw.dimension(i);
    tensorCount = raw.tensor_count();
    byteSize = raw.bytes();
    compressed = raw.compressed();
  }

  static List<PopefBlob> list(
      Object owner, Handle<?> handle, Type type, long count, LongFunction<RawPopefBlob> at) {
    List<PopefBlob> blobs = new ArrayList<>();
    for (long i = 0; i < count; i++) blobs.add(new PopefBlob(owner, handle, type, at.apply(i)));
    return Collections.unmodifiableList(blobs);
  }

  /**
   * The kind of the blob.
   *
   * @return the type
   */
  public Type type() {
    return type;
  }

  /**
   * Its name.
   *
   * @return the name; for tensors and feeds that of the anchor
   */
  public String name() {
    return name;
  }

  /**
   * The executable to which it belongs.
   *
   * @return "" for executables, and for data of every executable with such an anchor
   */
  public String executable() {
    return executable;
  }

  /**
   * Type of the elements of a tensor or feed.
   *
   * @return {@link DataType#UNDEFINED} for other blobs
   */
  public DataType dataType() {
    return dataType;
  }

  /**
   * Dimensions of a tensor, or of each of a feed.
   *
   * @return a copy; empty for a scalar
   */
  public long[] shape() {
    return shape.clone();
  }

  /**
   * The number of consecutive tensors in a feed.
   *
   * @return 0 for other blobs
   */
  public long tensorCount() {
    return tensorCount;
  }

  /**
   * Bytes of the payload, decompressed.
   *
   * @return number of bytes
   */
  public long byteSize() {
    return byteSize;
  }

  /**
   * Whether its payload is compressed in the file. Only executables may be.
   *
   * @return false for data
   */
  public boolean isCompressed() {
    return compressed;
  }

  /**
   * Reads a part of the payload.
   *
   * @param offset the distance from its beginning, in bytes
   * @param into its remaining bytes are filled; its position is then its limit
   * @throws PoprtException with {@link ErrorCode#OUT_OF_RANGE} when the payload ends before, or
   *     {@link ErrorCode#DATA_LOSS} when a compressed one is damaged
   * @throws ReadOnlyBufferException when {@code into} cannot be written
   */
  public void read(long offset, ByteBuffer into) {
    if (into.isReadOnly()) throw new ReadOnlyBufferException();
    ByteBuffer direct = into.isDirect() ? into : Memory.allocate(into.remaining());
    handle.acquire();
    try {
      raw.read(offset, Memory.address(direct), direct.remaining());
    } finally {
      handle.release();
      Reference.reachabilityFence(direct);
      Reference.reachabilityFence(owner);
    }
    if (direct == into) into.position(into.limit());
    else into.put(direct);
  }

  /**
   * A copy of the payload.
   *
   * @return a new array
   * @throws PoprtException with {@link ErrorCode#RESOURCE_EXHAUSTED} when it does not fit in an
   *     array, or {@link ErrorCode#DATA_LOSS}
   */
  public byte[] toBytes() {
    byte[] bytes = new byte[size()];
    read(0, ByteBuffer.wrap(bytes));
    return bytes;
  }

  /**
   * Returns the payload in the mapped file. It is copied only if it is compressed, or if it comes
   * from a channel.
   *
   * @return a read-only, little-endian buffer. It is valid as long as it, or a buffer derived from
   * it, is reachable, also after the reader or model is closed
   * @throws PoprtException with {@link ErrorCode#RESOURCE_EXHAUSTED} for 2 GiB or more, which is
   * too large for one buffer, or {@link ErrorCode#DATA_LOSS}
   */
  public ByteBuffer map() {
    return map(0, size());
  }

  /**
   * Returns a part of the payload, as {@link #map()} does.
   *
   * @param offset the distance from its beginning, in bytes
   * @param bytes the number of bytes
   * @return a buffer as that of {@link #map()}
   * @throws PoprtException with {@link ErrorCode#OUT_OF_RANGE} when the payload ends before
   */
  public ByteBuffer map(long offset, int bytes) {
    if (offset < 0 || bytes < 0 || offset > byteSize - bytes)
      throw new PoprtException(
          ErrorCode.OUT_OF_RANGE,
          "'" + name + "' has " + byteSize + " bytes; asked for " + bytes + " from " + offset + " on");
    if (bytes == 0) return ByteBuffer.allocate(0).asReadOnlyBuffer();
    RawPopefPayload payload;
    handle.acquire();
    try {
      payload = raw.map_payload();
    } finally {
      handle.release();
      Reference.reachabilityFence(owner);
    }
    // A buffer that is derived from a direct one keeps it reachable.
    ByteBuffer view = Memory.view(payload.address() + offset, bytes);
    Handle.CLEANER.register(view, payload::delete);
    return view.asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN);
  }

  private int size() {
    if (byteSize > Integer.MAX_VALUE - 8)
      throw new PoprtException(
          ErrorCode.RESOURCE_EXHAUSTED,
          "'" + name + "' has " + byteSize + " bytes; a Java array or buffer holds less than 2 GiB");
    return (int) byteSize;
  }

  /** A description such as {@code tensor w 16 bytes}. */
  @Override
  public String toString() {
    return type.name().toLowerCase(Locale.ROOT) + " " + name + " " + byteSize + " bytes";
  }
}
