using System;
using System.Collections.Generic;

namespace Poprt
{
    /// <summary>Element types. The summary of each type contains the C# type that holds an element. Values are stored
    /// densely, row-major, little-endian.</summary>
    public enum DataType
    {
        /// <summary>Unknown.</summary>
        Undefined = 0,
        /// <summary>float</summary>
        F32 = 1,
        /// <summary>double</summary>
        F64 = 2,
        /// <summary>ushort with <see cref="Float16"/>, or System.Half.</summary>
        F16 = 3,
        /// <summary>The upper half of a float: ushort.</summary>
        BF16 = 4,
        /// <summary>sbyte</summary>
        S8 = 5,
        /// <summary>byte</summary>
        U8 = 6,
        /// <summary>short</summary>
        S16 = 7,
        /// <summary>ushort</summary>
        U16 = 8,
        /// <summary>int</summary>
        S32 = 9,
        /// <summary>uint</summary>
        U32 = 10,
        /// <summary>long</summary>
        S64 = 11,
        /// <summary>ulong</summary>
        U64 = 12,
        /// <summary>bool or byte</summary>
        Bool = 13,
        /// <summary>8-bit float of ONNX: byte.</summary>
        F8E4M3FN = 14,
        /// <summary>8-bit float of ONNX: byte.</summary>
        F8E4M3FNUZ = 15,
        /// <summary>8-bit float of ONNX: byte.</summary>
        F8E5M2 = 16,
        /// <summary>8-bit float of ONNX: byte.</summary>
        F8E5M2FNUZ = 17,
        /// <summary>8-bit float of the IPU, 4 bits of exponent: byte.</summary>
        F8143 = 18,
        /// <summary>8-bit float of the IPU, 5 bits of exponent: byte.</summary>
        F8152 = 19,
        /// <summary>Two elements per byte, low nibble first.</summary>
        S4 = 20,
        /// <summary>Two elements per byte, low nibble first.</summary>
        U4 = 21,
        /// <summary>Four elements per byte, low bits first.</summary>
        S2 = 22,
        /// <summary>Four elements per byte, low bits first.</summary>
        U2 = 23,
        /// <summary>Two elements per byte.</summary>
        F4E2M1 = 24,
        /// <summary>Text.</summary>
        String = 25,
        /// <summary>Two floats.</summary>
        C64 = 26,
        /// <summary>Two doubles.</summary>
        C128 = 27,
        /// <summary>A power of two, 2^(code - 127).</summary>
        F8E8M0 = 28,
        /// <summary>The generic 8-bit float of PopEF, in PopEF files only: byte.</summary>
        F8 = 29
    }

    /// <summary>A named input or output of a model. Immutable, and independent of the object that returned
    /// it.</summary>
    public sealed class Anchor
    {
        private readonly long[] shape;

        private Anchor(RawAnchor raw)
        {
            Name = raw.name();
            int number = raw.dtype();
            DataType = Enum.IsDefined(typeof(DataType), number) ? (DataType)number : DataType.Undefined;
            DataTypeName = poprt_raw.raw_dtype_name(number);
            shape = new long[raw.rank()];
            for (int i = 0; i < shape.Length; i++) shape[i] = raw.dimension(i);
            ByteSize = raw.bytes();
        }

        internal static IReadOnlyList<Anchor> List(long count, Func<long, RawAnchor> at)
        {
            var anchors = new Anchor[count];
            for (long i = 0; i < count; i++) anchors[i] = new Anchor(at(i));
            return Array.AsReadOnly(anchors);
        }

        /// <summary>Its name in the model.</summary>
        public string Name { get; }

        /// <summary>Type of its elements.</summary>
        public DataType DataType { get; }

        /// <summary>The name of the type in the C library and in messages, such as "f32".</summary>
        public string DataTypeName { get; }

        /// <summary>Its dimensions; empty for a scalar. One is -1 if runs may have any size there, because the shapes are
        /// compiled on demand.</summary>
        public IReadOnlyList<long> Shape
        {
            get { return Array.AsReadOnly(shape); }
        }

        /// <summary>Product of the dimensions; meaningless if one is -1.</summary>
        public long ElementCount
        {
            get
            {
                long count = 1;
                foreach (long dimension in shape) count *= dimension;
                return count;
            }
        }

        /// <summary>The number of bytes that a run reads or writes for the anchor; 0 if a dimension is -1.</summary>
        public long ByteSize { get; }

        /// <summary>A description such as "x f32[2,4]".</summary>
        public override string ToString()
        {
            return Name + " " + DataTypeName + "[" + string.Join(",", shape) + "]";
        }

        /// <summary>Returns whether elements of a .NET type are accepted. Bytes are accepted for every type.</summary>
        internal bool Takes(Type element)
        {
            return Takes(DataType, element);
        }

        internal static bool Takes(DataType type, Type element)
        {
            if (element == typeof(byte)) return true;
            switch (type)
            {
                case DataType.F32: case DataType.C64: return element == typeof(float);
                case DataType.F64: case DataType.C128: return element == typeof(double);
                case DataType.S8: return element == typeof(sbyte);
                case DataType.S16: return element == typeof(short);
                case DataType.U16: case DataType.BF16: return element == typeof(ushort);
                case DataType.F16: return element == typeof(ushort) || element.FullName == "System.Half";
                case DataType.S32: return element == typeof(int);
                case DataType.U32: return element == typeof(uint);
                case DataType.S64: return element == typeof(long);
                case DataType.U64: return element == typeof(ulong);
                case DataType.Bool: return element == typeof(bool);
                default: return false;
            }
        }
    }
}
