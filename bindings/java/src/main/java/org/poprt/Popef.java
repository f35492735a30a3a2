package org.poprt;

import java.nio.file.Path;

/** Describes PopEF files. {@link PopefReader} reads them. */
public final class Popef {
  private Popef() {}

  /** The details that {@link #dump} prints. */
  public enum Format {
    /** Blobs and user anchors. */
    SUMMARY,
    /** Everything in the metadata. */
    METADATA,
    /** Also the header of every blob. */
    ALL,
    /** All of the above, as JSON. */
    JSON,
    /** Anchors that the caller must serve. */
    USER_ANCHORS,
    /** Whether the checksums of all blobs are right, in one line. Since 1.0. */
    VERIFY
  }

  /**
   * Describes a file.
   *
   * @param file a PopEF file
   * @param format the details and the form
   * @return text, or JSON
   * @throws PoprtException when there is no such file or it is damaged
   */
  public static String dump(Path file, Format format) {
    return poprt_raw.raw_popef_dump(file.toString(), format.ordinal());
  }

  /**
   * Writes the data of a tensor blob to a NumPy file.
   *
   * @param file a PopEF file
   * @param name the name of the tensor
   * @param executable the model of the data; "" for any
   * @param npy the file to write
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND} when there is no such blob
   */
  public static void exportTensor(Path file, String name, String executable, Path npy) {
    poprt_raw.raw_popef_export_tensor(file.toString(), name, executable, npy.toString());
  }

  /**
   * Writes the data of a feed blob to a NumPy file; its first dimension is the number of tensors.
   *
   * @param file a PopEF file
   * @param name the name of the feed
   * @param executable the model of the data; "" for any
   * @param npy the file to write
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND} when there is no such blob
   */
  public static void exportFeed(Path file, String name, String executable, Path npy) {
    poprt_raw.raw_popef_export_feed(file.toString(), name, executable, npy.toString());
  }
}
