using System;

namespace Poprt
{
    /// <summary>16-bit floats (IEEE 754 binary16) as ushort, for platforms without System.Half.</summary>
    public static unsafe class Float16
    {
        /// <summary>The nearest 16-bit float, ties to even; from 65520 on infinity.</summary>
        public static ushort FromSingle(float value)
        {
            uint bits = *(uint*)&value;
            uint sign = (bits >> 16) & 0x8000;
            uint magnitude = bits & 0x7fffffff;
            if (magnitude > 0x7f800000)
            {
                uint payload = (magnitude >> 13) & 0x3ff;
                return (ushort)(sign | 0x7c00 | (payload != 0 ? payload : 0x200));
            }
            if (magnitude >= 0x477ff000) return (ushort)(sign | 0x7c00);
            if (magnitude < 0x38800000)
            {
                // Below 2^-14 the step is 2^-24: adding 0.5 leaves the rounded multiple in the low bits.
                float rounded = *(float*)&magnitude + 0.5f;
                return (ushort)(sign | (*(uint*)&rounded - 0x3f000000));
            }
            uint odd = (magnitude >> 13) & 1;
            return (ushort)(sign | ((magnitude - 0x38000000 + 0xfff + odd) >> 13));
        }

        /// <summary>The same value as a 32-bit float, exactly.</summary>
        public static float ToSingle(ushort half)
        {
            uint sign = (uint)(half & 0x8000) << 16;
            uint exponent = (uint)(half >> 10) & 0x1f;
            uint fraction = (uint)half & 0x3ff;
            if (exponent == 0)
            {
                float value = fraction * 5.9604644775390625e-8f; // 2^-24
                return sign == 0 ? value : -value;
            }
            uint bits = exponent == 31 ? sign | 0x7f800000 | fraction << 13 : sign | (exponent + 112) << 23 | fraction << 13;
            return *(float*)&bits;
        }

        /// <summary>Converts all values.</summary>
        /// <exception cref="ArgumentException">The destination is shorter.</exception>
        public static void Convert(ReadOnlySpan<float> from, Span<ushort> to)
        {
            if (to.Length < from.Length) throw new ArgumentException("the destination is shorter");
            for (int i = 0; i < from.Length; i++) to[i] = FromSingle(from[i]);
        }

        /// <summary>Converts all values.</summary>
        /// <exception cref="ArgumentException">The destination is shorter.</exception>
        public static void Convert(ReadOnlySpan<ushort> from, Span<float> to)
        {
            if (to.Length < from.Length) throw new ArgumentException("the destination is shorter");
            for (int i = 0; i < from.Length; i++) to[i] = ToSingle(from[i]);
        }
    }
}
