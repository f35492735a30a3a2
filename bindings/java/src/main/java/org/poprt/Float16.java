package org.poprt;

import java.nio.FloatBuffer;
import java.nio.ShortBuffer;

/** 16-bit floats (IEEE 754 binary16) in shorts. */
public final class Float16 {
  private Float16() {}

  /**
   * The nearest 16-bit float, ties to even; from 65520 on infinity.
   *
   * @param value any value
   * @return its bits
   */
  public static short fromFloat(float value) {
    int bits = Float.floatToRawIntBits(value);
    int sign = (bits >>> 16) & 0x8000;
    int magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) {
      int payload = (magnitude >>> 13) & 0x3ff;
      return (short) (sign | 0x7c00 | (payload != 0 ? payload : 0x200));
    }
    if (magnitude >= 0x477ff000) return (short) (sign | 0x7c00);
    if (magnitude < 0x38800000) {
      // Below 2^-14 the step is 2^-24: adding 0.5 leaves the rounded multiple in the low bits.
      float rounded = Float.intBitsToFloat(magnitude) + 0.5f;
      return (short) (sign | (Float.floatToRawIntBits(rounded) - 0x3f000000));
    }
    int odd = (magnitude >>> 13) & 1;
    return (short) (sign | ((magnitude - 0x38000000 + 0xfff + odd) >>> 13));
  }

  /**
   * The same value as a 32-bit float.
   *
   * @param half the bits of a 16-bit float
   * @return its value, exactly
   */
  public static float toFloat(short half) {
    int sign = (half & 0x8000) << 16;
    int exponent = (half >>> 10) & 0x1f;
    int fraction = half & 0x3ff;
    if (exponent == 0) {
      float value = fraction * 0x1p-24f;
      return sign == 0 ? value : -value;
    }
    if (exponent == 31) return Float.intBitsToFloat(sign | 0x7f800000 | fraction << 13);
    return Float.intBitsToFloat(sign | (exponent + 112) << 23 | fraction << 13);
  }

  /**
   * Converts the remaining values of {@code from} and moves both positions past them.
   *
   * @param from values
   * @param to receives their 16-bit floats
   */
  public static void convert(FloatBuffer from, ShortBuffer to) {
    while (from.hasRemaining()) to.put(fromFloat(from.get()));
  }

  /**
   * Converts the remaining 16-bit floats of {@code from} and moves both positions past them.
   *
   * @param from 16-bit floats
   * @param to receives their values
   */
  public static void convert(ShortBuffer from, FloatBuffer to) {
    while (from.hasRemaining()) to.put(toFloat(from.get()));
  }
}
