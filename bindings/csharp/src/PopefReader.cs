using System;
using System.Collections.Generic;
using System.IO;
using System.Runtime.InteropServices;

namespace Poprt
{
    /// <summary>The kind of a <see cref="PopefBlob"/>.</summary>
    public enum PopefBlobType
    {
        /// <summary>A program.</summary>
        Executable = 1,
        /// <summary>The value of one anchor.</summary>
        Tensor = 3,
        /// <summary>A sequence of values of one anchor.</summary>
        Feed = 4,
        /// <summary>Bytes without a defined format.</summary>
        Opaque = 5
    }

    /// <summary>The contents of one or several PopEF files.</summary>
    /// <remarks>
    /// The files are mapped, so do not change a file while it is used (replacing it by renaming is safe). Immutable:
    /// any number of threads may use one. Models and mapped payloads remain valid after it is disposed of.
    /// </remarks>
    public sealed unsafe class PopefReader : IDisposable
    {
        private readonly RawPopefReader raw;

        private PopefReader(RawPopefReader raw)
        {
            this.raw = raw;
        }

        /// <summary>Finds the blobs of files.</summary>
        /// <exception cref="PoprtException">NotFound, PermissionDenied; DataLoss: not a PopEF file, damaged;
        /// FailedPrecondition: a newer version, or a duplicate executable.</exception>
        public static PopefReader Open(params string[] paths)
        {
            var raw = new RawPopefReader();
            try
            {
                foreach (string path in Argument.Given(paths, nameof(paths))) raw.parse_file(path);
            }
            catch
            {
                raw.Dispose();
                throw;
            }
            return new PopefReader(raw);
        }

        /// <summary>Finds the blobs of a file in memory; the bytes are copied.</summary>
        /// <exception cref="PoprtException">As for files.</exception>
        public static PopefReader Open(ReadOnlySpan<byte> bytes)
        {
            var raw = new RawPopefReader();
            try
            {
                fixed (byte* first = &MemoryMarshal.GetReference(bytes)) raw.parse_bytes((long)first, bytes.Length);
            }
            catch
            {
                raw.Dispose();
                throw;
            }
            return new PopefReader(raw);
        }

        /// <summary>Finds the blobs of PopEF data in a stream of any size that can seek. Headers are read now, and
        /// payloads on request, on the requesting thread. Since 1.0.</summary>
        /// <param name="stream">The PopEF data, from the beginning of the stream. It must stay open, its bytes must not
        /// change, and no other code may move its position until the reader and its models are disposed of. The call
        /// that requests a payload throws the exceptions of the stream.</param>
        /// <exception cref="PoprtException">As for files.</exception>
        public static PopefReader Open(Stream stream)
        {
            long size = Argument.Given(stream, nameof(stream)).Length;
            var raw = new RawPopefReader();
            try
            {
                Targets.Call(() => raw.parse_source(size, Targets.Read, Targets.Released, Targets.AddSource(stream)));
            }
            catch
            {
                raw.Dispose();
                throw;
            }
            return new PopefReader(raw);
        }

        /// <summary>Blobs of a type, in the order of the files.</summary>
        public IReadOnlyList<PopefBlob> Blobs(PopefBlobType type)
        {
            return PopefBlob.List(raw.swigCPtr, type, raw.count((int)type), i => raw.blob((int)type, i));
        }

        /// <summary>The metadata of the executables: new copies in the order of the files.</summary>
        public IReadOnlyList<PopefMetadata> Metadata()
        {
            using (new Keep(raw.swigCPtr))
            {
                var list = new PopefMetadata[raw.count(PopefMetadata.BlobType)];
                for (int i = 0; i < list.Length; i++) list[i] = new PopefMetadata(raw.metadata(i));
                return Array.AsReadOnly(list);
            }
        }

        /// <summary>Returns an executable with all blobs that belong to it.</summary>
        /// <param name="executable">The name of the executable; "": the only one.</param>
        /// <exception cref="PoprtException">FailedPrecondition: no such executable, several and no name, no metadata for
        /// it or more than one; DataLoss: data that does not fit its anchor.</exception>
        public PopefModel Model(string executable = "")
        {
            return new PopefModel(RawPopefModel.create(raw, executable));
        }

        /// <summary>The models of all executables, in the order of the files.</summary>
        /// <exception cref="PoprtException">As for one.</exception>
        public IReadOnlyList<PopefModel> Models()
        {
            using (var all = new RawPopefModels(raw))
            {
                var list = new PopefModel[all.count()];
                for (int i = 0; i < list.Length; i++) list[i] = new PopefModel(all.take(i));
                return Array.AsReadOnly(list);
            }
        }

        /// <summary>Warnings about unusual data that is not an error, one line each.</summary>
        public string[] Warnings()
        {
            return raw.warnings().Split(new[] { '\n' }, StringSplitOptions.RemoveEmptyEntries);
        }

        /// <summary>Frees the object. A second call has no effect.</summary>
        public void Dispose()
        {
            raw.Dispose();
        }

        /// <summary>Keeps the owner of borrowed data during a using block.</summary>
        internal struct Keep : IDisposable
        {
            private readonly SafeHandle handle;

            internal Keep(SafeHandle handle)
            {
                bool taken = false;
                handle.DangerousAddRef(ref taken);
                this.handle = handle;
            }

            public void Dispose()
            {
                handle.DangerousRelease();
            }
        }
    }

    /// <summary>One executable of a <see cref="PopefReader"/> with all blobs that belong to it.</summary>
    /// <remarks>
    /// The reader may be disposed of. If there are several tensor blobs for one anchor, one that is linked to the
    /// executable takes precedence, and a later one over an earlier one. Any number of threads may use one.
    /// </remarks>
    public sealed class PopefModel : IDisposable
    {
        private readonly RawPopefModel raw;

        internal RawPopefModel Raw
        {
            get { return raw; }
        }

        internal PopefModel(RawPopefModel raw)
        {
            this.raw = raw;
            Metadata = new PopefMetadata(raw.metadata());
            UserInputs = UserAnchors(PopefDirection.HostToDevice);
            UserOutputs = UserAnchors(PopefDirection.DeviceToHost);
        }

        private IReadOnlyList<PopefAnchor> UserAnchors(PopefDirection direction)
        {
            var anchors = new PopefAnchor[raw.user_anchor_count((int)direction)];
            for (int i = 0; i < anchors.Length; i++)
                anchors[i] = Metadata.Anchors[(int)raw.user_anchor((int)direction, i)];
            return Array.AsReadOnly(anchors);
        }

        /// <summary>A copy of the metadata of the executable.</summary>
        public PopefMetadata Metadata { get; }

        /// <summary>The inputs of the main programs without data, which the caller must serve.</summary>
        public IReadOnlyList<PopefAnchor> UserInputs { get; }

        /// <summary>Outputs of the main programs.</summary>
        public IReadOnlyList<PopefAnchor> UserOutputs { get; }

        /// <summary>The program.</summary>
        public PopefBlob Executable
        {
            get { return Blobs(PopefBlobType.Executable)[0]; }
        }

        /// <summary>Its blobs of a type: one executable, at most one tensor or feed for each anchor, its opaque
        /// blobs.</summary>
        public IReadOnlyList<PopefBlob> Blobs(PopefBlobType type)
        {
            return PopefBlob.List(raw.swigCPtr, type, raw.count((int)type), i => raw.blob((int)type, i));
        }

        /// <summary>Warnings about parts that were ignored when the model was created, one line each.</summary>
        public string[] Warnings()
        {
            return raw.warnings().Split(new[] { '\n' }, StringSplitOptions.RemoveEmptyEntries);
        }

        /// <summary>Frees the object. A second call has no effect.</summary>
        public void Dispose()
        {
            raw.Dispose();
        }
    }

    /// <summary>A part of a PopEF file.</summary>
    /// <remarks>
    /// When the <see cref="PopefReader"/> or <see cref="PopefModel"/> that returned it is disposed of, the payload is
    /// no longer available. Any number of threads may use one.
    /// </remarks>
    public sealed unsafe class PopefBlob
    {
        private readonly SafeHandle owner;
        private readonly RawPopefBlob raw;
        private readonly long[] shape;

        private PopefBlob(SafeHandle owner, PopefBlobType type, RawPopefBlob raw)
        {
            this.owner = owner;
            this.raw = raw;
            Type = type;
            Name = raw.name();
            Executable = raw.executable();
            DataType = PopefAnchor.TypeOf(raw.dtype());
            shape = new long[raw.rank()];
            for (int i = 0; i < shape.Length; i++) shape[i] = raw.dimension(i);
            TensorCount = raw.tensor_count();
            ByteSize = raw.bytes();
            IsCompressed = raw.compressed();
        }

        internal static IReadOnlyList<PopefBlob> List(SafeHandle owner, PopefBlobType type, long count,
            Func<long, RawPopefBlob> at)
        {
            using (new PopefReader.Keep(owner))
            {
                var blobs = new PopefBlob[count];
                for (long i = 0; i < count; i++) blobs[i] = new PopefBlob(owner, type, at(i));
                return Array.AsReadOnly(blobs);
            }
        }

        /// <summary>The kind of the blob.</summary>
        public PopefBlobType Type { get; }

        /// <summary>Its name; of tensors and feeds: the anchor's.</summary>
        public string Name { get; }

        /// <summary>The executable to which it belongs; "": it is an executable, or belongs to all with such an
        /// anchor.</summary>
        public string Executable { get; }

        /// <summary>Type of the elements of a tensor or feed.</summary>
        public DataType DataType { get; }

        /// <summary>Dimensions of a tensor, or of each of a feed; empty for a scalar.</summary>
        public IReadOnlyList<long> Shape
        {
            get { return Array.AsReadOnly(shape); }
        }

        /// <summary>The number of consecutive tensors in a feed.</summary>
        public long TensorCount { get; }

        /// <summary>Bytes of the payload, decompressed.</summary>
        public long ByteSize { get; }

        /// <summary>Whether its payload is compressed in the file. Only executables may be.</summary>
        public bool IsCompressed { get; }

        /// <summary>Fills the memory with a part of the payload from an offset on.</summary>
        /// <exception cref="PoprtException">OutOfRange: the payload ends before; DataLoss: a compressed one is
        /// damaged.</exception>
        /// <exception cref="ObjectDisposedException">The reader or model is disposed of.</exception>
        public void Read(long offset, Span<byte> into)
        {
            using (new PopefReader.Keep(owner))
            fixed (byte* first = &MemoryMarshal.GetReference(into))
            {
                long address = (long)first;
                int bytes = into.Length;
                Targets.Call(() => raw.read(offset, address, bytes));
            }
        }

        /// <summary>A copy of the payload.</summary>
        /// <exception cref="OverflowException">It does not fit in an array.</exception>
        /// <exception cref="PoprtException">As for Read.</exception>
        public byte[] ToArray()
        {
            var bytes = new byte[checked((int)ByteSize)];
            Read(0, bytes);
            return bytes;
        }

        /// <summary>The payload in the mapped file. It is copied only if it is compressed, or if it comes from a
        /// stream.</summary>
        /// <exception cref="PoprtException">As for Read.</exception>
        /// <exception cref="ObjectDisposedException">The reader or model is disposed of.</exception>
        public PopefPayload Map()
        {
            using (new PopefReader.Keep(owner))
            {
                RawPopefPayload payload = null;
                Targets.Call(() => payload = raw.map_payload());
                return new PopefPayload(payload);
            }
        }

        /// <summary>A description such as "Tensor w 16 bytes".</summary>
        public override string ToString()
        {
            return Type + " " + Name + " " + ByteSize + " bytes";
        }
    }

    /// <summary>The payload of a blob in memory. It remains valid after the reader or model is disposed
    /// of.</summary>
    /// <remarks>Spans of it are valid until it is disposed of or collected: use them in its using block.</remarks>
    public sealed unsafe class PopefPayload : IDisposable
    {
        private readonly RawPopefPayload raw;

        internal PopefPayload(RawPopefPayload raw)
        {
            this.raw = raw;
            Length = raw.bytes();
        }

        /// <summary>Number of bytes.</summary>
        public long Length { get; }

        /// <summary>All bytes; valid until this object is disposed of or collected.</summary>
        /// <exception cref="OverflowException">There are 2 GiB or more: take slices.</exception>
        /// <exception cref="ObjectDisposedException">It is disposed of.</exception>
        public ReadOnlySpan<byte> Span
        {
            get { return Slice(0, checked((int)Length)); }
        }

        /// <summary>Some bytes, from an offset on; valid until this object is disposed of or collected.</summary>
        /// <exception cref="ArgumentOutOfRangeException">The payload ends before.</exception>
        /// <exception cref="ObjectDisposedException">It is disposed of.</exception>
        public ReadOnlySpan<byte> Slice(long offset, int length)
        {
            if (offset < 0 || offset > Length) throw new ArgumentOutOfRangeException(nameof(offset));
            if (length < 0 || length > Length - offset) throw new ArgumentOutOfRangeException(nameof(length));
            return new ReadOnlySpan<byte>((void*)(raw.address() + offset), length);
        }

        /// <summary>Frees the object. A second call has no effect.</summary>
        public void Dispose()
        {
            raw.Dispose();
        }
    }
}
