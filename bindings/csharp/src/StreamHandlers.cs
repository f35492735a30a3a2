using System;

namespace Poprt
{
    /// <summary>Moves the bytes of one transfer; false: there is no data, and the run ends with Cancelled.</summary>
    /// <param name="data">Only valid during the call.</param>
    public delegate bool StreamTransfer(Span<byte> data);

    /// <summary>Which anchors of a session handlers or queues serve: asked once for each anchor, while a session or its
    /// queues are made, on that thread.</summary>
    /// <param name="name">Of the anchor.</param>
    /// <param name="isOutput">Whether it is an output.</param>
    /// <param name="programs">That use it: PopEF's indices.</param>
    /// <returns>False: an input is zeros, an output is dropped.</returns>
    public delegate bool AnchorPredicate(string name, bool isOutput, int[] programs);

    /// <summary>
    /// Serves one anchor of a session; see <see cref="InputHandler"/> and <see cref="OutputHandler"/>. Called on the
    /// thread that runs programs. It must not call the session, except <see cref="Session.Stop"/>. What it throws ends
    /// the run, which throws it.
    /// </summary>
    public abstract class StreamHandler
    {
        internal StreamHandler()
        {
        }

        /// <summary>The transfer was made: go on to the next one.</summary>
        public virtual void Complete()
        {
        }

        /// <summary>What was prefetched will not be used.</summary>
        public virtual void InvalidatePrefetched()
        {
        }

        /// <summary>Makes a transfer that waits return false. Called on any thread of the process.</summary>
        public virtual void Interrupt()
        {
        }

        internal abstract bool Transfer(Span<byte> data, bool prefetch);
    }

    /// <summary>Gives a session the data of one input.</summary>
    public abstract class InputHandler : StreamHandler
    {
        /// <summary>Writes the next transfer, waiting for it; false: there is none, and the run ends with
        /// Cancelled.</summary>
        /// <param name="data">Only valid during the call.</param>
        public abstract bool Fetch(Span<byte> data);

        /// <summary>Writes the next transfer if it is there already; the same one again until Complete. False: Fetch
        /// will be called.</summary>
        /// <param name="data">Only valid during the call.</param>
        public virtual bool Prefetch(Span<byte> data)
        {
            return false;
        }

        internal override bool Transfer(Span<byte> data, bool prefetch)
        {
            return prefetch ? Prefetch(data) : Fetch(data);
        }
    }

    /// <summary>Takes the data of one output of a session.</summary>
    public abstract class OutputHandler : StreamHandler
    {
        /// <summary>Takes the transfer; false: the run ends with Cancelled.</summary>
        /// <param name="data">Only valid during the call.</param>
        public abstract bool Take(ReadOnlySpan<byte> data);

        internal override bool Transfer(Span<byte> data, bool prefetch)
        {
            return Take(data);
        }
    }

    internal sealed class InputFunction : InputHandler
    {
        private readonly StreamTransfer fetch;

        internal InputFunction(StreamTransfer fetch)
        {
            this.fetch = fetch;
        }

        public override bool Fetch(Span<byte> data)
        {
            return fetch(data);
        }
    }

    internal sealed class OutputFunction : StreamHandler
    {
        private readonly StreamTransfer take;

        internal OutputFunction(StreamTransfer take)
        {
            this.take = take;
        }

        internal override bool Transfer(Span<byte> data, bool prefetch)
        {
            return take(data);
        }
    }
}
