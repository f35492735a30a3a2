using System;
using System.Collections.Generic;
using System.IO;
using System.Runtime.InteropServices;

namespace Poprt
{
    /// <summary>The behaviour of a <see cref="PopefWriter"/> for an existing file.</summary>
    public enum PopefMode
    {
        /// <summary>The new file replaces the existing one when the new one is finished.</summary>
        Truncate = 0,
        /// <summary>Blobs are appended to it.</summary>
        Append = 1
    }

    /// <summary>A feed of <see cref="PopefWriter.BeginFeeds"/>: a sequence of values of one anchor.</summary>
    public sealed class PopefFeed
    {
        /// <summary>Describes a feed.</summary>
        /// <param name="name">The name of the anchor.</param>
        /// <param name="tensors">Number of values.</param>
        /// <param name="dataType">The type of their elements.</param>
        /// <param name="shape">The dimensions of each value.</param>
        public PopefFeed(string name, long tensors, DataType dataType, params long[] shape)
        {
            Name = name;
            Tensors = tensors;
            DataType = dataType;
            Shape = (long[])Argument.Given(shape, nameof(shape)).Clone();
        }

        /// <summary>The name of the anchor.</summary>
        public string Name { get; }

        /// <summary>The number of values.</summary>
        public long Tensors { get; }

        /// <summary>The type of their elements.</summary>
        public DataType DataType { get; }

        internal long[] Shape { get; }
    }

    /// <summary>Writes a PopEF file or stream blob by blob. One thread at a time.</summary>
    /// <remarks>
    /// Beginning the next blob finishes the last one, and <see cref="Finish"/> finishes the file. Without Finish, an
    /// existing file keeps or regains its contents. If a blob cannot be finished (wrong size, full disk), the writer
    /// has failed, and all other calls fail.
    /// </remarks>
    public sealed unsafe class PopefWriter : IDisposable
    {
        private readonly RawPopefWriter raw;
        private readonly Stream stream; // native code refers to it by number
        private readonly TargetNumbers numbers = new TargetNumbers();
        private RawPopefBlobWriter blob;

        /// <summary>Writes a new file, or appends to an existing one.</summary>
        /// <exception cref="PoprtException">NotFound: the folder does not exist; PermissionDenied: the file cannot
        /// be created; ResourceExhausted: the disk is full; Unavailable: another writer appends to the file; DataLoss:
        /// the file to append to is not PopEF.</exception>
        public PopefWriter(string path, PopefMode mode = PopefMode.Truncate)
        {
            raw = RawPopefWriter.create_file(path, (int)mode);
        }

        /// <summary>Writes to a stream, from front to back. Each blob is kept in memory until it is finished.</summary>
        /// <remarks>If the stream throws, the writer has failed, and the called method throws the same
        /// exception.</remarks>
        /// <param name="stream">The stream, which the writer does not close.</param>
        public PopefWriter(Stream stream)
        {
            if (stream == null) throw new ArgumentNullException("stream");
            this.stream = stream;
            long number = Targets.Add(stream);
            numbers.Replace("stream", number);
            raw = RawPopefWriter.create_stream(Targets.Write, number);
        }

        /// <summary>Makes a native call that may write, and rethrows exceptions of the stream.</summary>
        private void Writing(Action call)
        {
            try
            {
                call();
            }
            catch (PoprtException e)
            {
                if (stream != null && e.Code == ErrorCode.Cancelled) Targets.Rethrow();
                throw;
            }
            finally
            {
                GC.KeepAlive(this); // keeps the writer of the blob and the stream during the call
            }
        }

        /// <summary>Writes metadata.</summary>
        /// <exception cref="PoprtException">InvalidArgument: an invalid value; and as for
        /// BeginExecutable.</exception>
        public void WriteMetadata(PopefMetadata metadata)
        {
            using (var given = new RawPopefMetadata())
            {
                metadata.Fill(given);
                Writing(() => raw.add_metadata(given));
            }
        }

        /// <summary>Begins an executable.</summary>
        /// <param name="name">The name of the executable.</param>
        /// <param name="compress">Whether to compress it; readers then copy it instead of mapping it.</param>
        /// <exception cref="PoprtException">FailedPrecondition: no name, or a duplicate name of an executable; a writer
        /// that is finished or has failed; InvalidArgument: the last blob is incomplete; ResourceExhausted.</exception>
        public void BeginExecutable(string name, bool compress = false)
        {
            using (var info = new RawPopefBlobInfo((int)PopefBlobType.Executable, name, ""))
            {
                info.set_compressed(compress);
                Begin(info);
            }
        }

        /// <summary>Begins the value of one anchor.</summary>
        /// <param name="name">The name of the anchor.</param>
        /// <param name="dataType">The type of its elements.</param>
        /// <param name="shape">Its dimensions; empty for a scalar.</param>
        /// <param name="executable">The executable to which it belongs; "": all with such an anchor.</param>
        /// <exception cref="PoprtException">As for BeginExecutable; InvalidArgument: a type that PopEF
        /// lacks.</exception>
        public void BeginTensor(string name, DataType dataType, ReadOnlySpan<long> shape, string executable = "")
        {
            Begin(PopefBlobType.Tensor, name, executable, dataType, shape, 0);
        }

        /// <summary>Begins a sequence of values of one anchor.</summary>
        /// <param name="name">The name of the anchor.</param>
        /// <param name="tensors">Number of values.</param>
        /// <param name="dataType">The type of their elements.</param>
        /// <param name="shape">The dimensions of each value.</param>
        /// <param name="executable">The executable to which it belongs; "": all with such an anchor.</param>
        /// <exception cref="PoprtException">As for BeginTensor.</exception>
        public void BeginFeed(string name, long tensors, DataType dataType, ReadOnlySpan<long> shape, string executable = "")
        {
            Begin(PopefBlobType.Feed, name, executable, dataType, shape, tensors);
        }

        /// <summary>Begins a blob of bytes without a defined format.</summary>
        /// <param name="name">The name of the blob.</param>
        /// <param name="executable">The executable to which it belongs; "": all.</param>
        /// <exception cref="PoprtException">As for BeginExecutable.</exception>
        public void BeginOpaque(string name, string executable = "")
        {
            using (var info = new RawPopefBlobInfo((int)PopefBlobType.Opaque, name, executable)) Begin(info);
        }

        /// <summary>Begins several feeds that are written alternately, as a data loader produces them. WriteFeed writes
        /// to them by their numbers.</summary>
        /// <param name="feeds">The feeds, in the order of their numbers.</param>
        /// <param name="executable">The executable to which they belong; "": all with such anchors.</param>
        /// <exception cref="PoprtException">As for BeginTensor.</exception>
        public void BeginFeeds(IEnumerable<PopefFeed> feeds, string executable = "")
        {
            using (var group = new RawPopefFeeds())
            {
                foreach (PopefFeed feed in feeds)
                {
                    using (var info = new RawPopefBlobInfo((int)PopefBlobType.Feed, feed.Name, executable))
                    {
                        fixed (long* first = feed.Shape)
                            info.set_tensor((int)feed.DataType, first, feed.Shape.Length);
                        info.set_tensor_count(feed.Tensors);
                        group.add(info);
                    }
                }
                Begin(() => raw.begin_feeds(group));
            }
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
            Begin(() => raw.begin(info));
        }

        private void Begin(Func<RawPopefBlobWriter> begin)
        {
            RawPopefBlobWriter next = null;
            Writing(() => next = begin());
            if (blob != null) blob.Dispose();
            blob = next;
        }

        /// <summary>Appends elements to the blob that was begun last.</summary>
        /// <exception cref="PoprtException">InvalidArgument: more than the blob takes; FailedPrecondition: no blob was
        /// begun, or it is finished; ResourceExhausted.</exception>
        public void Write<T>(ReadOnlySpan<T> elements) where T : struct
        {
            WriteFeed(0, elements);
        }

        /// <summary>Appends elements to a feed that BeginFeeds began.</summary>
        /// <param name="feed">The number of the feed, from 0.</param>
        /// <param name="elements">The elements, which are copied.</param>
        /// <exception cref="PoprtException">As for Write; InvalidArgument: no such feed.</exception>
        public void WriteFeed<T>(int feed, ReadOnlySpan<T> elements) where T : struct
        {
            if (blob == null)
                throw new PoprtException(ErrorCode.FailedPrecondition, "no blob of the PopEF file was begun");
            ReadOnlySpan<byte> bytes = MemoryMarshal.AsBytes(elements.Slice(0, Math.Min(1, elements.Length)));
            fixed (byte* first = &MemoryMarshal.GetReference(bytes))
                blob.write(feed, (long)first, (long)elements.Length * Element<T>.Bytes);
            GC.KeepAlive(this);
        }

        /// <summary>Finishes the last blob and the file, and makes the file visible. A second call has no
        /// effect.</summary>
        /// <exception cref="PoprtException">InvalidArgument: the last blob is incomplete; FailedPrecondition: the writer
        /// has failed before; ResourceExhausted.</exception>
        public void Finish()
        {
            Writing(raw.close);
        }

        /// <summary>Frees the writer; an unfinished file is not written. A second call has no effect.</summary>
        public void Dispose()
        {
            if (blob != null) blob.Dispose();
            raw.Dispose();
        }
    }
}
