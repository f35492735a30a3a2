package org.poprt;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;

/** Buffers as native memory. */
final class Memory {
  /** The address of empty memory. */
  private static final ByteBuffer NOTHING = ByteBuffer.allocateDirect(1);

  private Memory() {}

  static int elementBytes(Buffer buffer) {
    if (buffer instanceof ByteBuffer) return 1;
    if (buffer instanceof FloatBuffer || buffer instanceof IntBuffer) return 4;
    if (buffer instanceof ShortBuffer) return 2;
    if (buffer instanceof DoubleBuffer || buffer instanceof LongBuffer) return 8;
    throw new IllegalArgumentException(
        "a " + buffer.getClass().getSimpleName() + " holds no tensor elements");
  }

  static ByteOrder order(Buffer buffer) {
    if (buffer instanceof ByteBuffer) return ((ByteBuffer) buffer).order();
    if (buffer instanceof FloatBuffer) return ((FloatBuffer) buffer).order();
    if (buffer instanceof ShortBuffer) return ((ShortBuffer) buffer).order();
    if (buffer instanceof IntBuffer) return ((IntBuffer) buffer).order();
    if (buffer instanceof LongBuffer) return ((LongBuffer) buffer).order();
    return ((DoubleBuffer) buffer).order();
  }

  /** Returns the number of bytes from its position to its limit. */
  static long bytes(Buffer buffer) {
    return (long) buffer.remaining() * elementBytes(buffer);
  }

  /** Returns the address of the element at its position. The caller keeps the buffer reachable. */
  static long address(Buffer direct) {
    if (!direct.hasRemaining()) return poprt_raw.raw_buffer_address(NOTHING);
    return poprt_raw.raw_buffer_address(direct)
        + (long) direct.position() * elementBytes(direct);
  }

  static ByteBuffer view(long address, long bytes) {
    return (ByteBuffer) poprt_raw.raw_view(address, bytes);
  }

  static ByteBuffer allocate(long bytes) {
    return ByteBuffer.allocateDirect(Math.toIntExact(bytes)).order(ByteOrder.nativeOrder());
  }

  /** Returns a direct copy of the remaining elements. */
  static ByteBuffer staged(Buffer heap) {
    ByteBuffer copy = allocate(bytes(heap));
    read(heap, copy);
    return copy;
  }

  /** Returns the buffer itself if it is direct, else a direct copy. */
  static ByteBuffer direct(ByteBuffer bytes) {
    if (bytes.isDirect()) return bytes;
    ByteBuffer copy = allocate(bytes.remaining());
    return copy.put(bytes.duplicate()).flip();
  }

  /**
   * Copies the remaining elements of {@code from} to the position of {@code to}. Both positions
   * stay unchanged.
   */
  static void read(Buffer from, ByteBuffer to) {
    if (from instanceof ByteBuffer) to.duplicate().put(((ByteBuffer) from).duplicate());
    if (from instanceof FloatBuffer) to.asFloatBuffer().put(((FloatBuffer) from).duplicate());
    if (from instanceof ShortBuffer) to.asShortBuffer().put(((ShortBuffer) from).duplicate());
    if (from instanceof IntBuffer) to.asIntBuffer().put(((IntBuffer) from).duplicate());
    if (from instanceof LongBuffer) to.asLongBuffer().put(((LongBuffer) from).duplicate());
    if (from instanceof DoubleBuffer) to.asDoubleBuffer().put(((DoubleBuffer) from).duplicate());
    poprt_raw.raw_add_bytes_copied(to.remaining());
  }

  /** Copies the remaining bytes to the position of {@code to}. Both positions stay unchanged. */
  static void write(ByteBuffer from, Buffer to) {
    ByteBuffer source = from.duplicate().order(from.order());
    if (to instanceof ByteBuffer) ((ByteBuffer) to).duplicate().put(source);
    if (to instanceof FloatBuffer) ((FloatBuffer) to).duplicate().put(source.asFloatBuffer());
    if (to instanceof ShortBuffer) ((ShortBuffer) to).duplicate().put(source.asShortBuffer());
    if (to instanceof IntBuffer) ((IntBuffer) to).duplicate().put(source.asIntBuffer());
    if (to instanceof LongBuffer) ((LongBuffer) to).duplicate().put(source.asLongBuffer());
    if (to instanceof DoubleBuffer) ((DoubleBuffer) to).duplicate().put(source.asDoubleBuffer());
    poprt_raw.raw_add_bytes_copied(from.remaining());
  }
}
