package org.poprt;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.util.function.Supplier;

/**
 * Writes a PopEF file or stream blob by blob. Beginning the next blob finishes the last one, and
 * {@link #finish} finishes the file. Without {@link #finish}, an existing file keeps or regains its
 * contents. If a blob cannot be finished (wrong size, full disk), the writer has failed, and all
 * other calls fail.
 *
 * <pre>
 * try (PopefWriter writer = new PopefWriter(Path.of("weights.popef"))) {
 *   writer.tensor("w", "", DataType.F32, 2, 3).write(values).finish();
 * }
 * </pre>
 */
public final class PopefWriter implements AutoCloseable {
  /** The behaviour for an existing file. */
  public enum Mode {
    /** The new file replaces the existing one when the new one is finished. */
    TRUNCATE,
    /** Blobs are appended to it. */
    APPEND
  }

  /** A feed of {@link #feeds}: a sequence of values of one anchor. */
  public static final class Feed {
    private final String name;
    private final long tensors;
    private final DataType dataType;
    private final long[] shape;

    /**
     * Describes a feed.
     *
     * @param name the name of the anchor
     * @param tensors number of values
     * @param dataType the type of their elements
     * @param shape the dimensions of each value
     */
    public Feed(String name, long tensors, DataType dataType, long... shape) {
      this.name = name;
      this.tensors = tensors;
      this.dataType = dataType;
      this.shape = shape.clone();
    }

    RawPopefBlobInfo info(String executable) {
      RawPopefBlobInfo info = new RawPopefBlobInfo(PopefBlob.Type.FEED.number(), name, executable);
      info.set_tensor(dataType.number(), shape, shape.length);
      info.set_tensor_count(tensors);
      return info;
    }
  }

  /** The target stream. Its exceptions are kept until the native call has ended. */
  private static final class Sink extends RawCallbacks {
    private final WritableByteChannel to;
    private Throwable thrown;

    Sink(OutputStream stream) {
      to = Channels.newChannel(stream);
    }

    @Override
    boolean write(ByteBuffer data) {
      try {
        while (data.hasRemaining()) to.write(data);
        return true;
      } catch (Throwable e) {
        thrown = e;
        return false;
      }
    }

    void rethrow() {
      Throwable e = thrown;
      thrown = null;
      if (e instanceof IOException) throw new UncheckedIOException((IOException) e);
      if (e instanceof RuntimeException) throw (RuntimeException) e;
      if (e instanceof Error) throw (Error) e;
    }
  }

  /** The writers of the file and of the active blob, which are freed together. */
  private static final class Raw {
    final RawPopefWriter file;
    final long callback; // 0: it writes to a file
    RawPopefBlobWriter blob;

    Raw(RawPopefWriter file, long callback) {
      this.file = file;
      this.callback = callback;
    }

    void blob(RawPopefBlobWriter next) {
      if (blob != null) blob.delete();
      blob = next;
    }

    void delete() {
      blob(null);
      file.delete();
      poprt_raw.raw_free_callback(callback);
    }
  }

  private final Handle<Raw> handle;
  private final Sink sink; // null: it writes to a file

  /**
   * Writes a new file.
   *
   * @param file the file to write
   * @throws PoprtException as {@link #PopefWriter(Path, Mode)}
   */
  public PopefWriter(Path file) {
    this(file, Mode.TRUNCATE);
  }

  /**
   * Writes a new file, or appends to an existing one.
   *
   * @param file the file to write
   * @param mode the behaviour for an existing file
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND} (the folder does not exist), {@link
   *     ErrorCode#PERMISSION_DENIED} (the file cannot be created), {@link
   *     ErrorCode#RESOURCE_EXHAUSTED} (the disk is full), {@link ErrorCode#UNAVAILABLE} (another
   *     writer appends to the file) or {@link ErrorCode#DATA_LOSS} (the file to append to is not
   *     PopEF)
   */
  public PopefWriter(Path file, Mode mode) {
    Raw raw = new Raw(RawPopefWriter.create_file(file.toString(), mode.ordinal()), 0);
    sink = null;
    handle = Handle.of(this, raw, Raw::delete);
  }

  /**
   * Writes to a stream, from front to back. Each blob is kept in memory until it is finished. If
   * the stream throws, the writer has failed, and the called method throws the same exception, or
   * an {@link UncheckedIOException} for an {@link IOException}.
   *
   * @param stream the stream, which the writer does not close
   */
  public PopefWriter(OutputStream stream) {
    sink = new Sink(stream);
    long callback = poprt_raw.raw_callback(sink);
    RawPopefWriter made = null;
    try {
      made = RawPopefWriter.create_stream(poprt_raw.raw_write_fn(), callback);
    } finally {
      if (made == null) poprt_raw.raw_free_callback(callback);
    }
    handle = Handle.of(this, new Raw(made, callback), Raw::delete);
  }

  /** Makes a native call that may write, and rethrows exceptions of the stream. */
  private <T> T writing(Supplier<T> call) {
    try {
      return call.get();
    } catch (PoprtException e) {
      if (sink != null && e.code() == ErrorCode.CANCELLED) sink.rethrow();
      throw e;
    }
  }

  /**
   * Writes metadata.
   *
   * @param about the metadata of an executable
   * @return this
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} (an invalid value), or as {@link
   *     #executable}
   */
  public synchronized PopefWriter metadata(PopefMetadata about) {
    try (Use<Raw> use = handle.use()) {
      RawPopefMetadata raw = new RawPopefMetadata();
      try {
        about.fill(raw);
        writing(
            () -> {
              use.raw().file.add_metadata(raw);
              return null;
            });
      } finally {
        raw.delete();
      }
    }
    return this;
  }

  /**
   * Begins an executable.
   *
   * @param name the name of the executable
   * @param compress whether to compress it; readers then copy it instead of mapping it
   * @return this
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION} (no name, or a duplicate name
   * of an executable; a writer that is finished or has failed), {@link ErrorCode#INVALID_ARGUMENT}
   * (the last blob is incomplete) or {@link ErrorCode#RESOURCE_EXHAUSTED}
   */
  public PopefWriter executable(String name, boolean compress) {
    return begin(PopefBlob.Type.EXECUTABLE, name, "", compress, null, new long[0], 0);
  }

  /**
   * Begins the value of one anchor.
   *
   * @param name the name of the anchor
   * @param executable the executable to which it belongs; "": all with such an anchor
   * @param dataType the type of its elements
   * @param shape its dimensions; none for a scalar
   * @return this
   * @throws PoprtException as {@link #executable}, and with {@link ErrorCode#INVALID_ARGUMENT} (a
   * type that PopEF lacks)
   */
  public PopefWriter tensor(String name, String executable, DataType dataType, long... shape) {
    return begin(PopefBlob.Type.TENSOR, name, executable, false, dataType, shape, 0);
  }

  /**
   * Begins a sequence of values of one anchor.
   *
   * @param name the name of the anchor
   * @param executable the executable to which it belongs; "": all with such an anchor
   * @param tensors number of values
   * @param dataType the type of their elements
   * @param shape the dimensions of each value
   * @return this
   * @throws PoprtException as {@link #tensor}
   */
  public PopefWriter feed(
      String name, String executable, long tensors, DataType dataType, long... shape) {
    return begin(PopefBlob.Type.FEED, name, executable, false, dataType, shape, tensors);
  }

  /**
   * Begins a blob of bytes without a defined format.
   *
   * @param name the name of the blob
   * @param executable the executable to which it belongs; "": all
   * @return this
   * @throws PoprtException as {@link #executable}
   */
  public PopefWriter opaque(String name, String executable) {
    return begin(PopefBlob.Type.OPAQUE, name, executable, false, null, new long[0], 0);
  }

  /**
   * Begins several feeds that are written alternately, as a data loader produces them.
   *
   * @param executable the executable to which they belong; "": all with such anchors
   * @param feeds the feeds, in the order of the numbers of {@link #write(int, ByteBuffer)}
   * @return this
   * @throws PoprtException as {@link #tensor}
   */
  public synchronized PopefWriter feeds(String executable, Feed... feeds) {
    RawPopefFeeds group = new RawPopefFeeds();
    try (Use<Raw> use = handle.use()) {
      for (Feed feed : feeds) {
        RawPopefBlobInfo info = feed.info(executable);
        group.add(info);
        info.delete();
      }
      use.raw().blob(writing(() -> use.raw().file.begin_feeds(group)));
    } finally {
      group.delete();
    }
    return this;
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
        use.raw().blob(writing(() -> use.raw().file.begin(info)));
      } finally {
        info.delete();
      }
    }
    return this;
  }

  /**
   * Appends bytes to the blob that was begun last.
   *
   * @param bytes its remaining bytes are written; its position does not change
   * @return this
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} (more than the blob takes),
   *     {@link ErrorCode#FAILED_PRECONDITION} (no blob was begun, or it is finished) or {@link
   *     ErrorCode#RESOURCE_EXHAUSTED}
   */
  public PopefWriter write(ByteBuffer bytes) {
    return write(0, bytes);
  }

  /**
   * Appends bytes to one of {@link #feeds}.
   *
   * @param feed the number of the feed, from 0
   * @param bytes its remaining bytes are written; its position does not change
   * @return this
   * @throws PoprtException as {@link #write(ByteBuffer)}, and with {@link
   *     ErrorCode#INVALID_ARGUMENT} (no such feed)
   */
  public synchronized PopefWriter write(int feed, ByteBuffer bytes) {
    ByteBuffer direct = Memory.direct(bytes);
    try (Use<Raw> use = handle.use()) {
      RawPopefBlobWriter blob = use.raw().blob;
      if (blob == null)
        throw new PoprtException(ErrorCode.FAILED_PRECONDITION, "no blob of the PopEF file was begun");
      blob.write(feed, Memory.address(direct), direct.remaining());
    } finally {
      Reference.reachabilityFence(direct);
    }
    return this;
  }

  /**
   * Finishes the last blob and the file, and makes the file visible. A second call has no effect.
   *
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} (the last blob is incomplete),
   * {@link ErrorCode#FAILED_PRECONDITION} (the writer has failed before) or {@link
   * ErrorCode#RESOURCE_EXHAUSTED}
   */
  public synchronized void finish() {
    try (Use<Raw> use = handle.use()) {
      writing(
          () -> {
            use.raw().file.close();
            return null;
          });
    }
  }

  /** Frees the writer; an unfinished file is not written. A second call has no effect. */
  @Override
  public void close() {
    handle.close();
  }
}
