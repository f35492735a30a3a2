package org.poprt;

/** An error of the library: a code and one line of facts. */
public final class PoprtException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** What kind of error it is. */
  private final ErrorCode code;

  /** Compiled when a message first names an option: most do not. */
  private static final class Spelling {
    static final java.util.regex.Pattern OPTION = java.util.regex.Pattern.compile("`([a-z_]+)`");
    static final java.util.regex.Pattern WORD = java.util.regex.Pattern.compile("_([a-z])");
  }

  /** What kind of PopEF error it is. */
  private final PopefError popefError;

  PoprtException(ErrorCode code, String message) {
    this(code, PopefError.NONE, message, true);
  }

  private PoprtException(
      ErrorCode code, PopefError popefError, String message, boolean withStackTrace) {
    super(message, null, true, withStackTrace);
    this.code = code;
    this.popefError = popefError;
  }

  /** Called by the native code. */
  static PoprtException of(int code, int popefError, byte[] message) {
    return new PoprtException(
        ErrorCode.of(code), PopefError.of(popefError), spellOptions(Utf8.string(message)), true);
  }

  /**
   * What a run has ended with, told on a thread that did not ask for it: the frames there are the
   * executor's and say nothing, and to collect them takes longer than all the rest. Whoever waits
   * gets an exception around it, with his own.
   */
  static PoprtException ofRun(int code, byte[] message) {
    return new PoprtException(
        ErrorCode.of(code), PopefError.NONE, spellOptions(Utf8.string(message)), false);
  }

  /** Makes of {@code `batch_size`}, as the library has it, {@code batchSize}. */
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
