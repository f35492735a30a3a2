package org.poprt;

/** An error of the library: a code and one line of facts. */
public final class PoprtException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** What kind of error it is. */
  private final ErrorCode code;

  PoprtException(ErrorCode code, String message) {
    super(message);
    this.code = code;
  }

  /** Called by the native code. */
  static PoprtException of(int code, byte[] message) {
    return new PoprtException(ErrorCode.of(code), Utf8.string(message));
  }

  /**
   * What kind of error it is.
   *
   * @return the code; {@link ErrorCode#UNKNOWN} for one of a newer library
   */
  public ErrorCode code() {
    return code;
  }
}
