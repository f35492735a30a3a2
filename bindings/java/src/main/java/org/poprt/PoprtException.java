package org.poprt;

/** An error of the library: a code and one line of facts. */
public final class PoprtException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** What kind of error it is. */
  private final ErrorCode code;

  /** What kind of PopEF error it is. */
  private final PopefError popefError;

  PoprtException(ErrorCode code, String message) {
    this(code, PopefError.NONE, message);
  }

  private PoprtException(ErrorCode code, PopefError popefError, String message) {
    super(message);
    this.code = code;
    this.popefError = popefError;
  }

  /** Called by the native code. */
  static PoprtException of(int code, int popefError, byte[] message) {
    return new PoprtException(
        ErrorCode.of(code), PopefError.of(popefError), Utf8.string(message));
  }

  static PoprtException of(int code, byte[] message) {
    return of(code, 0, message);
  }

  /**
   * What kind of error it is.
   *
   * @return the code; {@link ErrorCode#UNKNOWN} for one of a newer library
   */
  public ErrorCode code() {
    return code;
  }

  /**
   * What kind of PopEF error it is: a code alone does not tell a missing link from a newer file.
   *
   * @return {@link PopefError#NONE} for errors of something else
   */
  public PopefError popefError() {
    return popefError;
  }
}
