package org.poprt;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * The contents of one or several PopEF files. The files are mapped, so do not change a file while
 * it is used (replacing it by renaming is safe).
 *
 * <p>Immutable: any number of threads may use one. Models and mapped payloads remain valid after it
 * is closed.
 */
public final class PopefReader implements AutoCloseable {
  private final Handle<RawPopefReader> handle;

  private PopefReader(RawPopefReader raw) {
    handle = Handle.of(this, raw, RawPopefReader::delete);
  }

  /**
   * Finds the blobs of files.
   *
   * @param files PopEF files
   * @return their contents
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}, {@link ErrorCode#PERMISSION_DENIED},
   * {@link ErrorCode#DATA_LOSS} (not a PopEF file, damaged) or {@link
   * ErrorCode#FAILED_PRECONDITION} (a newer version, or a duplicate executable)
   */
  public static PopefReader open(Path... files) {
    Objects.requireNonNull(files, "files");
    RawPopefReader raw = new RawPopefReader();
    try {
      for (Path file : files) raw.parse_file(file.toString());
    } catch (Throwable e) {
      raw.delete();
      throw e;
    }
    return new PopefReader(raw);
  }

  /**
   * Finds the blobs of a file in memory; the bytes are copied.
   *
   * @param bytes its remaining bytes are read; its position does not change
   * @return its contents
   * @throws PoprtException as {@link #open(Path...)}
   */
  public static PopefReader open(ByteBuffer bytes) {
    ByteBuffer direct = Memory.direct(bytes);
    RawPopefReader raw = new RawPopefReader();
    try {
      raw.parse_bytes(Memory.address(direct), direct.remaining());
    } catch (Throwable e) {
      raw.delete();
      throw e;
    } finally {
      Reference.reachabilityFence(direct);
    }
    return new PopefReader(raw);
  }

  /**
   * Finds the blobs of PopEF data in a channel that can be read by position, of any size. Headers
   * are read now, and payloads on request, on the requesting thread. The channel must stay open,
   * and its bytes must not change, until the reader and its models are closed. An exception while
   * the headers are read is the cause of the {@link PoprtException}.
   *
   * @param channel the PopEF data, from its beginning; no other code may move its position
   * meanwhile
   * @return its contents
   * @throws PoprtException as {@link #open(Path...)}
   * @since 1.0
   */
  public static PopefReader open(SeekableByteChannel channel) {
    Source source = new Source(channel);
    RawPopefReader raw = new RawPopefReader();
    try {
      raw.parse_source(
          channel.size(),
          poprt_raw.raw_read_fn(),
          poprt_raw.raw_release_fn(),
          poprt_raw.raw_callback(source));
    } catch (IOException e) {
      raw.delete();
      throw new UncheckedIOException(e);
    } catch (PoprtException e) {
      raw.delete();
      throw source.thrown == null ? e : e.causedBy(source.thrown);
    } catch (RuntimeException e) {
      raw.delete();
      throw e;
    }
    return new PopefReader(raw);
  }

  /** The source that the native code reads, one call at a time. */
  private static final class Source extends RawCallbacks {
    private final SeekableByteChannel channel;
    private Throwable thrown;

    Source(SeekableByteChannel channel) {
      this.channel = channel;
    }

    @Override
    boolean read(long offset, ByteBuffer into) {
      try {
        channel.position(offset);
        while (into.hasRemaining()) if (channel.read(into) < 0) return false;
        return true;
      } catch (Throwable e) {
        thrown = e;
        return false;
      }
    }
  }

  /**
   * Blobs of a type.
   *
   * @param type the type
   * @return an unmodifiable list, in the order of the files
   */
  public List<PopefBlob> blobs(PopefBlob.Type type) {
    try (Use<RawPopefReader> use = handle.use()) {
      int number = type.number();
      RawPopefReader raw = use.raw();
      return PopefBlob.list(this, handle, type, raw.count(number), i -> raw.blob(number, i));
    }
  }

  /**
   * Returns the metadata of the executables.
   *
   * @return a new list of copies, in the order of the files
   */
  public List<PopefMetadata> metadata() {
    try (Use<RawPopefReader> use = handle.use()) {
      List<PopefMetadata> list = new ArrayList<>();
      for (long i = 0; i < use.raw().count(PopefMetadata.BLOB_TYPE); i++)
        list.add(new PopefMetadata(use.raw().metadata(i)));
      return list;
    }
  }

  /**
   * The model of the only executable.
   *
   * @return the executable with all blobs that belong to it
   * @throws PoprtException as {@link #model(String)}
   */
  public PopefModel model() {
    return model("");
  }

  /**
   * The model of an executable.
   *
   * @param executable the name of the executable; "": the only one
   * @return the executable with all blobs that belong to it
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION} (no such executable, several
   *     and no name, no metadata for it or more than one) or {@link ErrorCode#DATA_LOSS} (data that
   *     does not fit its anchor)
   */
  public PopefModel model(String executable) {
    try (Use<RawPopefReader> use = handle.use()) {
      return new PopefModel(RawPopefModel.create(use.raw(), executable));
    }
  }

  /**
   * The models of all executables.
   *
   * @return a new list, in the order of the files
   * @throws PoprtException as {@link #model(String)}
   */
  public List<PopefModel> models() {
    try (Use<RawPopefReader> use = handle.use()) {
      RawPopefModels all = new RawPopefModels(use.raw());
      try {
        List<PopefModel> models = new ArrayList<>();
        for (long i = 0; i < all.count(); i++) models.add(new PopefModel(all.take(i)));
        return models;
      } finally {
        all.delete();
      }
    }
  }

  /**
   * Warnings about unusual data that is not an error.
   *
   * @return a line for each
   */
  public List<String> warnings() {
    try (Use<RawPopefReader> use = handle.use()) {
      return List.of(use.raw().warnings().lines().toArray(String[]::new));
    }
  }

  /** Frees the reader. A second call has no effect. */
  @Override
  public void close() {
    handle.close();
  }
}
