package org.poprt;

import java.util.Locale;

/** Element types. Values are stored densely, row-major, little-endian. */
public enum DataType {
  /** Unknown. */
  UNDEFINED(0),
  /** 32-bit float: {@code FloatBuffer}. */
  F32(1),
  /** 64-bit float: {@code DoubleBuffer}. */
  F64(2),
  /** 16-bit float: {@code ShortBuffer} with {@link Float16}. */
  F16(3),
  /** The upper half of a 32-bit float: {@code ShortBuffer}. */
  BF16(4),
  /** Signed byte: {@code ByteBuffer}. */
  S8(5),
  /** Unsigned byte: {@code ByteBuffer}. */
  U8(6),
  /** 16-bit integer: {@code ShortBuffer}. */
  S16(7),
  /** Unsigned 16-bit integer: {@code ShortBuffer}. */
  U16(8),
  /** 32-bit integer: {@code IntBuffer}. */
  S32(9),
  /** Unsigned 32-bit integer: {@code IntBuffer}. */
  U32(10),
  /** 64-bit integer: {@code LongBuffer}. */
  S64(11),
  /** Unsigned 64-bit integer: {@code LongBuffer}. */
  U64(12),
  /** One byte, 0 or 1: {@code ByteBuffer}. */
  BOOL(13),
  /** 8-bit float of ONNX. */
  F8E4M3FN(14),
  /** 8-bit float of ONNX. */
  F8E4M3FNUZ(15),
  /** 8-bit float of ONNX. */
  F8E5M2(16),
  /** 8-bit float of ONNX. */
  F8E5M2FNUZ(17),
  /** 8-bit float of the IPU, 4 bits of exponent. */
  F8143(18),
  /** 8-bit float of the IPU, 5 bits of exponent. */
  F8152(19),
  /** Two elements per byte, low nibble first. */
  S4(20),
  /** Two elements per byte, low nibble first. */
  U4(21),
  /** Four elements per byte, low bits first. */
  S2(22),
  /** Four elements per byte, low bits first. */
  U2(23),
  /** Two elements per byte. */
  F4E2M1(24),
  /** Text. */
  STRING(25),
  /** Two 32-bit floats. */
  C64(26),
  /** Two 64-bit floats. */
  C128(27),
  /** A power of two, 2^(code - 127). */
  F8E8M0(28),
  /** The generic 8-bit float of PopEF, in PopEF files only. */
  F8(29);

  private final int number;

  DataType(int number) {
    this.number = number;
  }

  static DataType of(int number) {
    for (DataType type : values()) if (type.number == number) return type;
    return UNDEFINED;
  }

  int number() {
    return number;
  }

  /**
   * Returns the size of one element.
   *
   * @return a number of bits; 0 for text and unknown types
   */
  public int bits() {
    return poprt_raw.raw_dtype_bits(number);
  }

  /**
   * The name in lower case, such as {@code f32}. The C library and its messages use the same names,
   * except {@code f8_143} and {@code f8_152}.
   */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
