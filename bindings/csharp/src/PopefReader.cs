using System;
using System.Collections.Generic;
using System.IO;
using System.Runtime.InteropServices;

namespace Poprt
{
    /// <summary>What a <see cref="PopefBlob"/> holds.</summary>
    public enum PopefBlobType
    {
        /// <summary>A program.</summary>
        Executable = 1,
        /// <summary>The value of one anchor.</summary>
        Tensor = 3,
        /// <summary>A sequence of values of one anchor.</summary>
        Feed = 4,
        /// <summary>Bytes of whoever wrote them.</summary>
        Opaque = 5
    }

    /// <summary>What one or several PopEF files hold.</summary>
    /// <remarks>
    /// Payloads stay in the files, which are mapped: do not change a file while it is used (replacing it by renaming is
    /// fine). Immutable: any number of threads may use one. Models and mapped payloads go on when it is disposed of.
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
        /// FailedPrecondition: of a newer version; an executable is there twice.</exception>
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

        /// <summary>Finds the blobs of PopEF in a stream of any size that can seek: headers are read now, payloads when
        /// they are asked for, on the thread that asks. Since 1.0.</summary>
        /// <param name="stream">Where PopEF lies, from its beginning on. It must stay open, its bytes must not change
        /// and nobody else may move its position until all that was read from it is disposed of. What it throws comes
        /// out of the call that asks.</param>
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

        /// <summary>What the files say about their executables: new copies, in the order of the files.</summary>
        public IReadOnlyList<PopefMetadata> Metadata()
        {
            using (new Keep(raw.swigCPtr))
            {
                var list = new PopefMetadata[raw.count(PopefMetadata.BlobType)];
                for (int i = 0; i < list.Length; i++) list[i] = new PopefMetadata(raw.metadata(i));
                return Array.AsReadOnly(list);
            }
        }

        /// <summary>An executable with all that belongs to it.</summary>
        /// <param name="executable">Its name; "": the only one.</param>
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

        /// <summary>What was odd but no error, a line for each.</summary>
        public string[] Warnings()
        {
            return raw.warnings().Split(new[] { '\n' }, StringSplitOptions.RemoveEmptyEntries);
        }

        /// <summary>Frees it. A second time does nothing.</summary>
        public void Dispose()
        {
            raw.Dispose();
        }

        /// <summary>Keeps what lends something, for the time of a using block.</summary>
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

    /// <summary>One executable of a <see cref="PopefReader"/> with all that belongs to it.</summary>
    /// <remarks>
    /// Keeps what it needs of the reader, which may be disposed of. Of several tensor blobs for one anchor the last one
    /// wins, one tied to the executable before one that is not. Any number of threads may use one.
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

        /// <summary>What the file says about the executable: a copy.</summary>
        public PopefMetadata Metadata { get; }

        /// <summary>Inputs of the main programs for which there is no data: whoever runs it serves them.</summary>
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

        /// <summary>What was left out when it was made, a line for each.</summary>
        public string[] Warnings()
        {
            return raw.warnings().Split(new[] { '\n' }, StringSplitOptions.RemoveEmptyEntries);
        }

        /// <summary>Frees it. A second time does nothing.</summary>
        public void Dispose()
        {
            raw.Dispose();
        }
    }

    /// <summary>A part of a PopEF file.</summary>
    /// <remarks>
    /// When the <see cref="PopefReader"/> or <see cref="PopefModel"/> that gave it is disposed of, the payload cannot be
    /// asked for any more. Any number of threads may use one.
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

        /// <summary>What it holds.</summary>
        public PopefBlobType Type { get; }

        /// <summary>Its name; of tensors and feeds: the anchor's.</summary>
        public string Name { get; }

        /// <summary>The executable that it belongs to; "": it is one, or it is for every one with such an
        /// anchor.</summary>
        public string Executable { get; }

        /// <summary>Type of the elements of a tensor or feed.</summary>
        public DataType DataType { get; }

        /// <summary>Dimensions of a tensor, or of each of a feed; empty for a scalar.</summary>
        public IReadOnlyList<long> Shape
        {
            get { return Array.AsReadOnly(shape); }
        }

        /// <summary>How many tensors lie back to back in a feed.</summary>
        public long TensorCount { get; }

        /// <summary>Bytes of the payload, decompressed.</summary>
        public long ByteSize { get; }

        /// <summary>Whether the file has it compressed, as executables may be.</summary>
        public bool IsCompressed { get; }

        /// <summary>Reads a part of the payload, from an offset on, which fills the memory.</summary>
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

        /// <summary>The payload where it lies in the mapped file; only a compressed one is copied.</summary>
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

        /// <summary>For people, such as "Tensor w 16 bytes".</summary>
        public override string ToString()
        {
            return Type + " " + Name + " " + ByteSize + " bytes";
        }
    }

    /// <summary>A payload of a PopEF file where it lies, also when the reader or model is disposed of.</summary>
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

        /// <summary>Frees it. A second time does nothing.</summary>
        public void Dispose()
        {
            raw.Dispose();
        }
    }
}
