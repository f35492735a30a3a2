package org.poprt;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ReadOnlyBufferException;
import java.nio.ShortBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * The memory of the inputs and outputs of runs, from {@link ModelRunner#bindings}: bound once, used
 * for any number of runs.
 *
 * <p>A direct buffer is used in place, from its position to its limit at the time of binding, so
 * the next run reads values that are written later. A buffer that is not direct is copied: an input
 * before each run, an output after it. Buffers must be in native byte order. The type of the buffer
 * must be that of the anchor ({@code FloatBuffer} for f32, {@code ShortBuffer} for f16 ...); a
 * {@code ByteBuffer} is accepted for every type.
 *
 * <p>Several threads may run with one object at the same time if its inputs are not changed. Their
 * runs overwrite each other's outputs, so usually each thread has its own object.
 */
public final class Bindings implements AutoCloseable {
  /** A heap buffer and the direct memory that runs use in its place. */
  private static final class Staged {
    final String key;
    final Buffer heap;
    final ByteBuffer direct;

    Staged(String key, Buffer heap, ByteBuffer direct) {
      this.key = key;
      this.heap = heap;
      this.direct = direct;
    }
  }

  /**
   * The objects that a run needs in addition to the addresses; immutable, so runs in flight may
   * keep it.
   */
  static final class Kept {
    private static final Staged[] NONE = {};

    /** Buffers that must not be collected: anchor or position, then the buffer. */
    private final Object[] buffers;

    private final Staged[] inputs;
    private final Staged[] outputs;

    private Kept(Object[] buffers, Staged[] inputs, Staged[] outputs) {
      this.buffers = buffers;
      this.inputs = inputs;
      this.outputs = outputs;
    }

    void before() {
      for (Staged s : inputs) Memory.read(s.heap, s.direct);
    }

    void after() {
      for (Staged s : outputs) Memory.write(s.direct, s.heap);
    }
  }

  private final Handle<RawBindings> handle =
      Handle.of(this, new RawBindings(), RawBindings::delete);
  private final List<Anchor> inputs;
  private final List<Anchor> outputs;
  private volatile Kept kept = new Kept(new Object[0], Kept.NONE, Kept.NONE);

  Bindings(List<Anchor> inputs, List<Anchor> outputs) {
    this.inputs = inputs;
    this.outputs = outputs;
  }

  /**
   * Binds an input by name. A name that the model does not have is an error of the run.
   *
   * @param name the name of the input
   * @param memory its elements, row by row
   * @return this
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} when the type differs
   * @throws IllegalArgumentException when the byte order is not the native one
   */
  public Bindings input(String name, Buffer memory) {
    bind(Objects.requireNonNull(name, "name"), -1, memory, true);
    return this;
  }

  /**
   * Binds an input by position.
   *
   * @param index the position in {@link ModelRunner#inputs}
   * @param memory its elements, row by row
   * @return this
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} when the type differs
   * @throws IllegalArgumentException when the byte order is not the native one
   */
  public Bindings input(int index, Buffer memory) {
    bind(null, index, memory, true);
    return this;
  }

  /**
   * Binds an output by name.
   *
   * @param name the name of the output
   * @param memory receives its elements
   * @return this
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} when the type differs
   * @throws IllegalArgumentException when the byte order is not the native one
   * @throws ReadOnlyBufferException when it cannot be written
   */
  public Bindings output(String name, Buffer memory) {
    bind(Objects.requireNonNull(name, "name"), -1, memory, false);
    return this;
  }

  /**
   * Binds an output by position.
   *
   * @param index the position in {@link ModelRunner#outputs}
   * @param memory receives its elements
   * @return this
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} when the type differs
   * @throws IllegalArgumentException when the byte order is not the native one
   * @throws ReadOnlyBufferException when it cannot be written
   */
  public Bindings output(int index, Buffer memory) {
    bind(null, index, memory, false);
    return this;
  }

  /**
   * Sets the replica whose state (caches) runs use. An unknown replica is an error of the run. By
   * default, any replica computes a run. Since 1.0.
   *
   * @param replica counted from 0
   * @return this
   * @throws IllegalArgumentException when it is negative
   */
  public Bindings replica(int replica) {
    if (replica < 0) throw new IllegalArgumentException("replica " + replica + " is negative");
    try (Use<RawBindings> use = use()) {
      use.raw().set_replica(replica);
    }
    return this;
  }

  /** Frees the object; the buffers remain. Runs in flight continue. A second call has no effect. */
  @Override
  public void close() {
    handle.close();
  }

  Use<RawBindings> use() {
    return handle.use();
  }

  Kept kept() {
    return kept;
  }

  private synchronized void bind(String name, int index, Buffer memory, boolean input) {
    check(name, index, memory, input);
    // Names may be any text, so keys of positions have another beginning.
    String key = (input ? "in" : "out") + (name != null ? " named " + name : " at " + index);
    Staged staged =
        memory.isDirect() ? null : new Staged(key, memory, Memory.allocate(Memory.bytes(memory)));
    Buffer used = staged == null ? memory : staged.direct;
    long address = Memory.address(used);
    long bytes = Memory.bytes(used);
    try (Use<RawBindings> use = handle.use()) {
      if (input && name != null) use.raw().set_input(name, address, bytes);
      else if (input) use.raw().set_input_at(index, address, bytes);
      else if (name != null) use.raw().set_output(name, address, bytes);
      else use.raw().set_output_at(index, address, bytes);
    }
    keep(key, memory, staged, input);
  }

  private void check(String name, int index, Buffer memory, boolean input) {
    Anchor anchor = null;
    List<Anchor> anchors = input ? inputs : outputs;
    for (int i = 0; i < anchors.size(); i++)
      if (name == null ? i == index : anchors.get(i).name().equals(name)) anchor = anchors.get(i);
    check(anchor, memory, input);
  }

  /** Throws if the buffer cannot be memory of the anchor, which is null if it is unknown. */
  static void check(Anchor anchor, Buffer memory, boolean input) {
    if (!input && memory.isReadOnly()) throw new ReadOnlyOutput(anchor);
    int elementBytes = Memory.elementBytes(memory);
    boolean ordered = Memory.order(memory) == ByteOrder.nativeOrder();
    if (!ordered && (elementBytes > 1 || anchor != null && anchor.dataType().bits() > 8))
      throw new IllegalArgumentException(
          (anchor != null ? "'" + anchor + "'" : "a tensor")
              + " needs a buffer in native byte order: call order(ByteOrder.nativeOrder())");
    if (anchor == null || fits(anchor.dataType(), memory)) return;
    throw new PoprtException(
        ErrorCode.INVALID_ARGUMENT,
        (input ? "input" : "output")
            + " '"
            + anchor.name()
            + "' is "
            + anchor.dataType()
            + ", the buffer given holds "
            + memory.getClass().getSimpleName().replaceAll("Direct|Heap|Buffer.*", "")
            + " elements");
  }

  /** The exception of NIO, which has no constructor with a message. */
  private static final class ReadOnlyOutput extends ReadOnlyBufferException {
    private static final long serialVersionUID = 1L;
    private final String message;

    ReadOnlyOutput(Anchor anchor) {
      message = (anchor == null ? "the output" : "output '" + anchor.name() + "'") + ": the buffer is read-only";
    }

    @Override
    public String getMessage() {
      return message;
    }
  }

  /**
   * Whether elements of a type that Java lacks are passed in an array whose own type is {@code
   * array}.
   */
  static boolean carries(DataType type, DataType array) {
    switch (array) {
      case S8:
        return type.bits() == 8 && type != DataType.BOOL;
      case S16:
        return type == DataType.U16 || type == DataType.F16 || type == DataType.BF16;
      case S32:
        return type == DataType.U32;
      case S64:
        return type == DataType.U64;
      default:
        return false;
    }
  }

  private static boolean fits(DataType type, Buffer memory) {
    if (memory instanceof ByteBuffer) return true;
    switch (type) {
      case F32:
        return memory instanceof FloatBuffer;
      case F64:
        return memory instanceof DoubleBuffer;
      case F16:
      case BF16:
      case S16:
      case U16:
        return memory instanceof ShortBuffer;
      case S32:
      case U32:
        return memory instanceof IntBuffer;
      case S64:
      case U64:
        return memory instanceof LongBuffer;
      case C64:
        return memory instanceof FloatBuffer;
      case C128:
        return memory instanceof DoubleBuffer;
      default:
        return false;
    }
  }

  private void keep(String key, Buffer memory, Staged staged, boolean input) {
    Kept old = kept;
    List<Object> buffers = new ArrayList<>();
    for (int i = 0; i < old.buffers.length; i += 2) {
      if (old.buffers[i].equals(key)) continue;
      buffers.add(old.buffers[i]);
      buffers.add(old.buffers[i + 1]);
    }
    buffers.add(key);
    buffers.add(memory);
    Staged[] inputsNow = change(old.inputs, key, input ? staged : null);
    Staged[] outputsNow = change(old.outputs, key, input ? null : staged);
    kept = new Kept(buffers.toArray(), inputsNow, outputsNow);
  }

  private static Staged[] change(Staged[] all, String without, Staged with) {
    List<Staged> now = new ArrayList<>();
    for (Staged s : all) if (!s.key.equals(without)) now.add(s);
    if (with != null) now.add(with);
    return now.toArray(Kept.NONE);
  }
}
