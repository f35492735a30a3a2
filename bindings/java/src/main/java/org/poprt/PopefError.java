package org.poprt;

/** What kind of PopEF error a {@link PoprtException} is. */
public enum PopefError {
  /** An error of something else. */
  NONE,
  /** A file cannot be opened, read or written. */
  FILE,
  /** Bytes that are not what the format says. */
  FORMAT,
  /** The file needs a newer library. */
  VERSION,
  /** A name is there twice, or is missing. */
  LINK,
  /** A writer that is closed, replaced or has failed. */
  INACTIVE_WRITER,
  /** Data of another size than was announced. */
  SIZE;

  private static final PopefError[] ALL = values();

  static PopefError of(int number) {
    return number >= 0 && number < ALL.length ? ALL[number] : NONE;
  }
}
