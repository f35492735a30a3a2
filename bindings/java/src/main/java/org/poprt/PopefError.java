package org.poprt;

/** The kind of PopEF error of a {@link PoprtException}. */
public enum PopefError {
  /** Not an error of a function for PopEF. */
  NONE,
  /** A file cannot be opened, read or written. */
  FILE,
  /** Bytes that violate the format. */
  FORMAT,
  /** The file needs a newer library. */
  VERSION,
  /** A name is duplicated or missing. */
  LINK,
  /** A writer that is closed, replaced or has failed. */
  INACTIVE_WRITER,
  /** Data with another size than declared. */
  SIZE;

  private static final PopefError[] ALL = values();

  static PopefError of(int number) {
    return number >= 0 && number < ALL.length ? ALL[number] : NONE;
  }
}
