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
 * What one or several PopEF files hold. Payloads stay in the files, which are mapped: do not change
 * a file while it is used (replacing it by renaming is fine).
 *
 * <p>Immutable: any number of threads may use one. Models and mapped payloads go on when it is
 * closed.
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
   * @return what they hold together
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}, {@link ErrorCode#PERMISSION_DENIED},
   *     {@link ErrorCode#DATA_LOSS} (not a PopEF file, damaged) or {@link
   *     ErrorCode#FAILED_PRECONDITION} (of a newer version; an executable is there twice)
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
   * @param bytes what remains of it is read; its position stays
   * @return what it holds
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
   * Finds the blobs of PopEF in anything that can be read by position, of any size: headers are read
   * now, payloads when they are asked for, on the thread that asks. The channel must stay open, and
   * its bytes must not change, until all that was read from it is closed. What it throws while the
   * headers are read is the cause of the {@link PoprtException}.
   *
   * @param channel where PopEF lies, from its beginning on; nobody else may move its position
   *     meanwhile
   * @return what it holds
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
    } catch (RuntimeException e) {
      raw.delete();
      if (source.thrown != null) e.initCause(source.thrown);
      throw e;
    }
    return new PopefReader(raw);
  }

  /** What the native code reads, one call at a time. */
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
   * @param type which
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
   * What the files say about their executables.
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
   * @return the executable with all that belongs to it
   * @throws PoprtException as {@link #model(String)}
   */
  public PopefModel model() {
    return model("");
  }

  /**
   * The model of an executable.
   *
   * @param executable its name; "": the only one
   * @return the executable with all that belongs to it
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
   * What was odd but no error.
   *
   * @return a line for each
   */
  public List<String> warnings() {
    try (Use<RawPopefReader> use = handle.use()) {
      return List.of(use.raw().warnings().lines().toArray(String[]::new));
    }
  }

  /** Frees it. A second time does nothing. */
  @Override
  public void close() {
    handle.close();
  }
}
