package org.poprt;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/**
 * Writes a PopEF file blob by blob. Beginning the next blob finishes the last one, and {@link
 * #finish} the file: without it a file stays, or becomes again, what it was. When a blob cannot be
 * finished (wrong size, full disk) the writer has failed, and everything else fails too.
 *
 * <pre>
 * try (PopefWriter writer = new PopefWriter(Path.of("weights.popef"))) {
 *   writer.tensor("w", "", DataType.F32, 2, 3).write(values).finish();
 * }
 * </pre>
 */
public final class PopefWriter implements AutoCloseable {
  /** What happens to a file that exists. */
  public enum Mode {
    /** The new file takes its place when it is finished. */
    TRUNCATE,
    /** Blobs are added to it. */
    APPEND
  }

  /** The blob's writer lives as long as the file's. */
  private static final class Raw {
    final RawPopefWriter file;
    RawPopefBlobWriter blob;

    Raw(RawPopefWriter file) {
      this.file = file;
    }

    void blob(RawPopefBlobWriter next) {
      if (blob != null) blob.delete();
      blob = next;
    }

    void delete() {
      blob(null);
      file.delete();
    }
  }

  private final Handle<Raw> handle;

  /**
   * Writes a new file.
   *
   * @param file where
   * @throws PoprtException as {@link #PopefWriter(Path, Mode)}
   */
  public PopefWriter(Path file) {
    this(file, Mode.TRUNCATE);
  }

  /**
   * Writes a new file, or adds to one.
   *
   * @param file where
   * @param mode what happens to one that exists
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND} (the folder), {@link
   *     ErrorCode#PERMISSION_DENIED}, {@link ErrorCode#RESOURCE_EXHAUSTED} (disk full), {@link
   *     ErrorCode#UNAVAILABLE} (another writer is adding) or {@link ErrorCode#DATA_LOSS} (adding to
   *     what is no PopEF file)
   */
  public PopefWriter(Path file, Mode mode) {
    Raw raw = new Raw(RawPopefWriter.create_file(file.toString(), mode.ordinal()));
    handle = Handle.of(this, raw, Raw::delete);
  }

  /**
   * Writes metadata.
   *
   * @param about an executable
   * @return this
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} (a value that it cannot have), or
   *     as {@link #executable}
   */
  public synchronized PopefWriter metadata(PopefMetadata about) {
    try (Use<Raw> use = handle.use()) {
      RawPopefMetadata raw = new RawPopefMetadata();
      try {
        about.fill(raw);
        use.raw().file.add_metadata(raw);
      } finally {
        raw.delete();
      }
    }
    return this;
  }

  /**
   * Begins an executable.
   *
   * @param name of the executable
   * @param compress whether the file has it compressed; then it cannot be used where it is mapped
   * @return this
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION} (no name, or an executable's
   *     for the second time; a writer that is finished or has failed), {@link
   *     ErrorCode#INVALID_ARGUMENT} (the last blob lacks bytes) or {@link
   *     ErrorCode#RESOURCE_EXHAUSTED}
   */
  public PopefWriter executable(String name, boolean compress) {
    return begin(PopefBlob.Type.EXECUTABLE, name, "", compress, null, new long[0], 0);
  }

  /**
   * Begins the value of one anchor.
   *
   * @param name of the anchor
   * @param executable which one it is for; "": every one with such an anchor
   * @param dataType of its elements
   * @param shape none for a scalar
   * @return this
   * @throws PoprtException as {@link #executable}, and with {@link ErrorCode#INVALID_ARGUMENT} (a
   *     type that PopEF does not have)
   */
  public PopefWriter tensor(String name, String executable, DataType dataType, long... shape) {
    return begin(PopefBlob.Type.TENSOR, name, executable, false, dataType, shape, 0);
  }

  /**
   * Begins a sequence of values of one anchor.
   *
   * @param name of the anchor
   * @param executable which one it is for; "": every one with such an anchor
   * @param tensors how many
   * @param dataType of their elements
   * @param shape of each
   * @return this
   * @throws PoprtException as {@link #tensor}
   */
  public PopefWriter feed(
      String name, String executable, long tensors, DataType dataType, long... shape) {
    return begin(PopefBlob.Type.FEED, name, executable, false, dataType, shape, tensors);
  }

  /**
   * Begins bytes of your own.
   *
   * @param name of the blob
   * @param executable which one it is for; "": every one
   * @return this
   * @throws PoprtException as {@link #executable}
   */
  public PopefWriter opaque(String name, String executable) {
    return begin(PopefBlob.Type.OPAQUE, name, executable, false, null, new long[0], 0);
  }

  private synchronized PopefWriter begin(
      PopefBlob.Type type,
      String name,
      String executable,
      boolean compress,
      DataType dataType,
      long[] shape,
      long tensors) {
    try (Use<Raw> use = handle.use()) {
      RawPopefBlobInfo info = new RawPopefBlobInfo(type.number(), name, executable);
      try {
        info.set_compressed(compress);
        if (dataType != null) info.set_tensor(dataType.number(), shape, shape.length);
        info.set_tensor_count(tensors);
        use.raw().blob(use.raw().file.begin(info));
      } finally {
        info.delete();
      }
    }
    return this;
  }

  /**
   * Appends bytes to the blob that was begun last.
   *
   * @param bytes what remains of it is written; its position stays
   * @return this
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} (more than the blob takes),
   *     {@link ErrorCode#FAILED_PRECONDITION} (no blob was begun, or it is finished) or {@link
   *     ErrorCode#RESOURCE_EXHAUSTED}
   */
  public synchronized PopefWriter write(ByteBuffer bytes) {
    ByteBuffer direct = Memory.direct(bytes);
    try (Use<Raw> use = handle.use()) {
      RawPopefBlobWriter blob = use.raw().blob;
      if (blob == null)
        throw new PoprtException(ErrorCode.FAILED_PRECONDITION, "no blob of the PopEF file was begun");
      blob.write(0, Memory.address(direct), direct.remaining());
    } finally {
      Reference.reachabilityFence(direct);
    }
    return this;
  }

  /**
   * Finishes the last blob and the file, which is there from now on. A second time does nothing.
   *
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} (the last blob lacks bytes),
   *     {@link ErrorCode#FAILED_PRECONDITION} (it has failed before) or {@link
   *     ErrorCode#RESOURCE_EXHAUSTED}
   */
  public synchronized void finish() {
    try (Use<Raw> use = handle.use()) {
      use.raw().file.close();
    }
  }

  /** Frees it; what was not finished is not written. A second time does nothing. */
  @Override
  public void close() {
    handle.close();
  }
}
