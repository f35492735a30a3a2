package org.poprt;

/** An error of the library: a code and a message of one line. */
public final class PoprtException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** The kind of error. */
  private final ErrorCode code;

  /**
   * The regular expressions, which are compiled when a message first contains an option, because
   * most do not.
   */
  private static final class Spelling {
    static final java.util.regex.Pattern OPTION = java.util.regex.Pattern.compile("`([a-z_]+)`");
    static final java.util.regex.Pattern WORD = java.util.regex.Pattern.compile("_([a-z])");
  }

  /** The kind of PopEF error. */
  private final PopefError popefError;

  PoprtException(ErrorCode code, String message) {
    this(code, PopefError.NONE, message, null, true);
  }

  private PoprtException(
      ErrorCode code,
      PopefError popefError,
      String message,
      Throwable cause,
      boolean withStackTrace) {
    super(message, cause, true, withStackTrace);
    this.code = code;
    this.popefError = popefError;
  }

  /** Called by the native code. */
  static PoprtException of(int code, int popefError, byte[] message) {
    return new PoprtException(
        ErrorCode.of(code),
        PopefError.of(popefError),
        spellOptions(Utf8.string(message)),
        null,
        true);
  }

  /**
   * The same error with a cause. initCause() cannot set it, because the constructor has set the
   * cause to null.
   */
  PoprtException causedBy(Throwable cause) {
    PoprtException made = new PoprtException(code, popefError, getMessage(), cause, true);
    made.setStackTrace(getStackTrace());
    return made;
  }

  /**
   * Creates the error of a run on a thread that did not start the run. Its stack trace is omitted
   * because it would only contain the executor's frames, and collecting it takes longer than the
   * rest. A waiting thread gets an exception around it with its own stack trace.
   */
  static PoprtException ofRun(int code, byte[] message) {
    return new PoprtException(
        ErrorCode.of(code), PopefError.NONE, spellOptions(Utf8.string(message)), null, false);
  }

  /**
   * Replaces names of options in the spelling of the library, such as {@code `batch_size`}, by
   * those of Java, such as {@code `batchSize`}.
   */
  private static String spellOptions(String message) {
    if (message.indexOf('`') < 0) return message;
    java.util.regex.Matcher option = Spelling.OPTION.matcher(message);
    StringBuilder text = new StringBuilder();
    while (option.find()) {
      String name = option.group(1).equals("input_shapes") ? "input_shape" : option.group(1);
      java.util.regex.Matcher word = Spelling.WORD.matcher(name);
      String spelled = word.replaceAll(m -> m.group(1).toUpperCase(java.util.Locale.ROOT));
      option.appendReplacement(text, java.util.regex.Matcher.quoteReplacement(spelled));
    }
    return option.appendTail(text).toString();
  }

  /**
   * The kind of error.
   *
   * @return the code; {@link ErrorCode#UNKNOWN} for one of a newer library
   */
  public ErrorCode code() {
    return code;
  }

  /**
   * The kind of PopEF error, because the code does not distinguish a missing link from a newer
   * file.
   *
   * @return {@link PopefError#NONE} for other errors
   */
  public PopefError popefError() {
    return popefError;
  }
}
