using System;
using System.Runtime.InteropServices;

namespace Poprt
{
    /// <summary>What a <see cref="PopefWriter"/> does with a file that exists.</summary>
    public enum PopefMode
    {
        /// <summary>The new file takes its place when it is finished.</summary>
        Truncate = 0,
        /// <summary>Blobs are added to it.</summary>
        Append = 1
    }

    /// <summary>Writes a PopEF file blob by blob. One thread at a time.</summary>
    /// <remarks>
    /// Beginning the next blob finishes the last one, and <see cref="Finish"/> the file: without it a file stays, or
    /// becomes again, what it was. When a blob cannot be finished (wrong size, full disk) the writer has failed, and
    /// everything else fails too.
    /// </remarks>
    public sealed unsafe class PopefWriter : IDisposable
    {
        private readonly RawPopefWriter raw;
        private RawPopefBlobWriter blob;

        /// <summary>Writes a new file, or adds to one.</summary>
        /// <exception cref="PoprtException">NotFound: the folder; PermissionDenied; ResourceExhausted: disk full;
        /// Unavailable: another writer is adding; DataLoss: adding to what is no PopEF file.</exception>
        public PopefWriter(string path, PopefMode mode = PopefMode.Truncate)
        {
            raw = RawPopefWriter.create_file(path, (int)mode);
        }

        /// <summary>Writes metadata.</summary>
        /// <exception cref="PoprtException">InvalidArgument: a value that it cannot have; and as for
        /// BeginExecutable.</exception>
        public void WriteMetadata(PopefMetadata metadata)
        {
            using (var given = new RawPopefMetadata())
            {
                metadata.Fill(given);
                raw.add_metadata(given);
            }
            GC.KeepAlive(this); // the blob's writer must not be collected while the file's is used
        }

        /// <summary>Begins an executable.</summary>
        /// <param name="name">Of the executable.</param>
        /// <param name="compress">Whether the file has it compressed; then it cannot be used where it is mapped.</param>
        /// <exception cref="PoprtException">FailedPrecondition: no name, or an executable's for the second time; a writer
        /// that is finished or has failed; InvalidArgument: the last blob lacks bytes; ResourceExhausted.</exception>
        public void BeginExecutable(string name, bool compress = false)
        {
            using (var info = new RawPopefBlobInfo((int)PopefBlobType.Executable, name, ""))
            {
                info.set_compressed(compress);
                Begin(info);
            }
        }

        /// <summary>Begins the value of one anchor.</summary>
        /// <param name="name">Of the anchor.</param>
        /// <param name="dataType">Of its elements.</param>
        /// <param name="shape">Empty for a scalar.</param>
        /// <param name="executable">Which one it is for; "": every one with such an anchor.</param>
        /// <exception cref="PoprtException">As for BeginExecutable; InvalidArgument: a type that PopEF does not
        /// have.</exception>
        public void BeginTensor(string name, DataType dataType, ReadOnlySpan<long> shape, string executable = "")
        {
            Begin(PopefBlobType.Tensor, name, executable, dataType, shape, 0);
        }

        /// <summary>Begins a sequence of values of one anchor.</summary>
        /// <param name="name">Of the anchor.</param>
        /// <param name="tensors">How many.</param>
        /// <param name="dataType">Of their elements.</param>
        /// <param name="shape">Of each.</param>
        /// <param name="executable">Which one it is for; "": every one with such an anchor.</param>
        /// <exception cref="PoprtException">As for BeginTensor.</exception>
        public void BeginFeed(string name, long tensors, DataType dataType, ReadOnlySpan<long> shape, string executable = "")
        {
            Begin(PopefBlobType.Feed, name, executable, dataType, shape, tensors);
        }

        /// <summary>Begins bytes of your own.</summary>
        /// <param name="name">Of the blob.</param>
        /// <param name="executable">Which one it is for; "": every one.</param>
        /// <exception cref="PoprtException">As for BeginExecutable.</exception>
        public void BeginOpaque(string name, string executable = "")
        {
            using (var info = new RawPopefBlobInfo((int)PopefBlobType.Opaque, name, executable)) Begin(info);
        }

        private void Begin(PopefBlobType type, string name, string executable, DataType dataType, ReadOnlySpan<long> shape,
            long tensors)
        {
            using (var info = new RawPopefBlobInfo((int)type, name, executable))
            {
                fixed (long* first = &MemoryMarshal.GetReference(shape)) info.set_tensor((int)dataType, first, shape.Length);
                info.set_tensor_count(tensors);
                Begin(info);
            }
        }

        private void Begin(RawPopefBlobInfo info)
        {
            RawPopefBlobWriter next = raw.begin(info);
            if (blob != null) blob.Dispose();
            blob = next;
            GC.KeepAlive(this);
        }

        /// <summary>Appends elements to the blob that was begun last.</summary>
        /// <exception cref="PoprtException">InvalidArgument: more than the blob takes; FailedPrecondition: no blob was
        /// begun, or it is finished; ResourceExhausted.</exception>
        public void Write<T>(ReadOnlySpan<T> elements) where T : struct
        {
            if (blob == null)
                throw new PoprtException(ErrorCode.FailedPrecondition, "no blob of the PopEF file was begun");
            ReadOnlySpan<byte> bytes = MemoryMarshal.AsBytes(elements.Slice(0, Math.Min(1, elements.Length)));
            fixed (byte* first = &MemoryMarshal.GetReference(bytes))
                blob.write(0, (long)first, (long)elements.Length * Element<T>.Bytes);
            GC.KeepAlive(this);
        }

        /// <summary>Finishes the last blob and the file, which is there from now on. A second time does
        /// nothing.</summary>
        /// <exception cref="PoprtException">InvalidArgument: the last blob lacks bytes; FailedPrecondition: it has failed
        /// before; ResourceExhausted.</exception>
        public void Finish()
        {
            raw.close();
            GC.KeepAlive(this);
        }

        /// <summary>Frees it; what was not finished is not written. A second time does nothing.</summary>
        public void Dispose()
        {
            if (blob != null) blob.Dispose();
            raw.Dispose();
        }
    }
}
