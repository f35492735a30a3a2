using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;

namespace Poprt
{
    /// <summary>One output of <see cref="ModelRunner.Run"/>: elements with a shape. Since 1.0.</summary>
    public sealed class Tensor
    {
        private readonly byte[] bytes;
        private readonly long[] shape;

        internal Tensor(string name, DataType dataType, string dataTypeName, long[] shape, byte[] bytes)
        {
            Name = name;
            DataType = dataType;
            DataTypeName = dataTypeName;
            this.shape = shape;
            this.bytes = bytes;
        }

        /// <summary>Name of the output.</summary>
        public string Name { get; }

        /// <summary>Type of its elements.</summary>
        public DataType DataType { get; }

        /// <summary>The name of the type in messages, such as "f32".</summary>
        public string DataTypeName { get; }

        /// <summary>Its dimensions; empty for a scalar.</summary>
        public IReadOnlyList<long> Shape
        {
            get { return System.Array.AsReadOnly(shape); }
        }

        /// <summary>Its elements, row by row; not a copy.</summary>
        /// <exception cref="PoprtException">InvalidArgument: elements of another type.</exception>
        public ReadOnlySpan<T> Span<T>() where T : struct
        {
            Check(typeof(T));
            return MemoryMarshal.Cast<byte, T>(bytes);
        }

        /// <summary>A copy of its elements as an array with its dimensions, such as a float[,]; for a scalar an array
        /// of one element. The last dimension of complex numbers has two elements. Elements smaller than a byte are
        /// packed, so that the array of their bytes has one dimension.</summary>
        /// <exception cref="PoprtException">InvalidArgument: elements of another type.</exception>
        public Array ToArray<T>() where T : struct
        {
            Check(typeof(T));
            Array made = System.Array.CreateInstance(typeof(T), Dimensions(Element<T>.Bytes));
            if (bytes.Length == 0) return made;
            if (typeof(T).IsPrimitive)
            {
                Buffer.BlockCopy(bytes, 0, made, 0, bytes.Length);
                return made;
            }
            GCHandle pin = GCHandle.Alloc(made, GCHandleType.Pinned); // of System.Half, which is not primitive
            try
            {
                Marshal.Copy(bytes, 0, pin.AddrOfPinnedObject(), bytes.Length);
            }
            finally
            {
                pin.Free();
            }
            return made;
        }

        /// <summary>The dimensions of an array of elements of that size. If an element of the tensor needs several, as a
        /// complex number needs two floats, they are the last dimension. Elements smaller than a byte are packed, so the
        /// array has one dimension.</summary>
        private long[] Dimensions(int size)
        {
            long count = 1;
            foreach (long d in shape) count *= d;
            long elements = bytes.Length / size;
            if (elements == count) return shape.Length == 0 ? new[] { 1L } : shape;
            if (count == 0 || elements % count != 0) return new[] { elements };
            var dimensions = new long[shape.Length + 1];
            shape.CopyTo(dimensions, 0);
            dimensions[shape.Length] = elements / count;
            return dimensions;
        }

        private void Check(Type element)
        {
            if (Anchor.Takes(DataType, element)) return;
            throw new PoprtException(ErrorCode.InvalidArgument,
                "output '" + Name + "' holds " + DataTypeName + ", requested " + element.Name + " elements");
        }

        /// <summary>A description such as "y f32[2,4]".</summary>
        public override string ToString()
        {
            return Name + " " + DataTypeName + "[" + string.Join(",", shape) + "]";
        }

        private static long Bits(Anchor anchor)
        {
            return poprt_raw.raw_dtype_bits((int)anchor.DataType);
        }

        /// <summary>The type as which elements of an array are passed to an anchor.</summary>
        private static DataType TypeOf(string name, Type element, Anchor anchor)
        {
            if (anchor != null && element != typeof(byte) && anchor.Takes(element)) return anchor.DataType;
            if (anchor != null && element == typeof(byte) && anchor.DataType != DataType.Bool
                && anchor.DataType != DataType.S8 && Bits(anchor) <= 8) return anchor.DataType;
            if (element == typeof(float)) return DataType.F32;
            if (element == typeof(double)) return DataType.F64;
            if (element == typeof(sbyte)) return DataType.S8;
            if (element == typeof(byte)) return DataType.U8;
            if (element == typeof(short)) return DataType.S16;
            if (element == typeof(ushort)) return DataType.U16;
            if (element == typeof(int)) return DataType.S32;
            if (element == typeof(uint)) return DataType.U32;
            if (element == typeof(long)) return DataType.S64;
            if (element == typeof(ulong)) return DataType.U64;
            if (element == typeof(bool)) return DataType.Bool;
            throw new ArgumentException("input '" + name + "': expected an array of numbers, given " + element.Name + " elements");
        }

        /// <summary>Adds a copy of an input; the caller frees its pin after the run.</summary>
        internal static unsafe GCHandle Add(RawTensors tensors, string name, Array value, Anchor anchor)
        {
            if (value == null) throw new ArgumentException("input '" + name + "': expected an array, given null");
            DataType type = TypeOf(name, value.GetType().GetElementType(), anchor);
            byte[] copy = BytesOf(value);
            int rank = value.Rank;
            long* dimensions = stackalloc long[rank];
            for (int d = 0; d < rank; d++) dimensions[d] = value.GetLongLength(d);
            // The parts of complex numbers are the last dimension.
            if ((type == DataType.C64 || type == DataType.C128) && dimensions[rank - 1] == 2) rank--;
            // .NET has no array without dimensions, so a scalar is an array of one element.
            if (anchor != null && anchor.Shape.Count == 0 && rank == 1 && value.Length == 1) rank = 0;
            // Bytes of packed elements have no shape to compare.
            if (anchor != null && type == anchor.DataType && Bits(anchor) < 8)
            {
                type = DataType.Undefined;
                rank = 0;
            }
            GCHandle pin = GCHandle.Alloc(copy.Length == 0 ? new byte[1] : copy, GCHandleType.Pinned);
            try
            {
                tensors.add(name, pin.AddrOfPinnedObject().ToInt64(), copy.Length, (int)type, dimensions, rank);
                return pin;
            }
            catch
            {
                pin.Free();
                throw;
            }
        }

        private static byte[] BytesOf(Array value)
        {
            if (value.GetType().GetElementType().IsPrimitive)
            {
                var bytes = new byte[Buffer.ByteLength(value)];
                Buffer.BlockCopy(value, 0, bytes, 0, bytes.Length);
                return bytes;
            }
            var halves = new byte[checked(2 * value.Length)]; // of System.Half, which is not primitive
            if (halves.Length == 0) return halves;
            GCHandle pin = GCHandle.Alloc(value, GCHandleType.Pinned);
            try
            {
                Marshal.Copy(pin.AddrOfPinnedObject(), halves, 0, halves.Length);
            }
            finally
            {
                pin.Free();
            }
            return halves;
        }

        internal static unsafe Tensor Copy(RawOutputs made, long index)
        {
            var shape = new long[made.rank(index)];
            for (int d = 0; d < shape.Length; d++) shape[d] = made.dimension(index, d);
            var bytes = new byte[made.bytes(index)];
            if (bytes.Length > 0) Marshal.Copy(new IntPtr(made.address(index)), bytes, 0, bytes.Length);
            int number = made.dtype(index);
            DataType type = Enum.IsDefined(typeof(DataType), number) ? (DataType)number : DataType.Undefined;
            return new Tensor(made.name(index), type, poprt_raw.raw_dtype_name(number), shape, bytes);
        }
    }
}
