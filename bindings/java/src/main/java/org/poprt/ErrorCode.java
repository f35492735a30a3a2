package org.poprt;

/** The kinds of errors: the codes of gRPC and Abseil. */
public enum ErrorCode {
  /** A run was cancelled, or its runner was stopped. */
  CANCELLED(1),
  /** An unknown error of a device, or a code that this version of the classes does not know. */
  UNKNOWN(2),
  /** An argument is wrong: a size, a shape, a type, an ill-formed model. */
  INVALID_ARGUMENT(3),
  /** A time limit has passed. */
  DEADLINE_EXCEEDED(4),
  /** A file, a name or a device does not exist. */
  NOT_FOUND(5),
  /** The object exists already. */
  ALREADY_EXISTS(6),
  /** A file may not be read or written. */
  PERMISSION_DENIED(7),
  /** There is not enough memory, disk space or threads. */
  RESOURCE_EXHAUSTED(8),
  /** The state does not allow the call: another version, a device in use, profiling that is off. */
  FAILED_PRECONDITION(9),
  /** The operation was aborted, for example a run by an error of the program on the device. */
  ABORTED(10),
  /** A number is out of its range. */
  OUT_OF_RANGE(11),
  /** An operator, type, opset, option or operation that the library does not support. */
  UNIMPLEMENTED(12),
  /** An error of the library, or one of a device that cannot be repaired. */
  INTERNAL(13),
  /** All devices are busy, or a device must be reset; trying again later may help. */
  UNAVAILABLE(14),
  /** A file is damaged, or has another format. */
  DATA_LOSS(15);

  private final int number;

  ErrorCode(int number) {
    this.number = number;
  }

  /**
   * The number that the C library has for it.
   *
   * @return 1 to 15
   */
  public int number() {
    return number;
  }

  static ErrorCode of(int number) {
    for (ErrorCode code : values()) if (code.number == number) return code;
    return UNKNOWN;
  }
}
