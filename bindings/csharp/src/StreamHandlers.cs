using System;

namespace Poprt
{
    /// <summary>Writes or reads the bytes of one transfer. False means that there is no data, and the run ends with
    /// Cancelled.</summary>
    /// <param name="data">The bytes, which are only valid during the call.</param>
    public delegate bool StreamTransfer(Span<byte> data);

    /// <summary>Selects the anchors of a session that handlers or queues serve. Called once for each anchor, while a
    /// session or its queues are created, on that thread.</summary>
    /// <param name="name">The name of the anchor.</param>
    /// <param name="isOutput">Whether it is an output.</param>
    /// <param name="programs">PopEF's indices of the programs that use it.</param>
    /// <returns>If false, no queue is created for the anchor or, if a session is created, an input is zeros and an
    /// output is discarded.</returns>
    public delegate bool AnchorPredicate(string name, bool isOutput, int[] programs);

    /// <summary>
    /// A handler of one anchor of a session; see <see cref="InputHandler"/> and <see cref="OutputHandler"/>. Unless a
    /// method states otherwise, it is called on the thread that runs programs. It must not call the session, except
    /// <see cref="Session.Stop"/>. An exception ends the run, which rethrows it.
    /// </summary>
    public abstract class StreamHandler
    {
        internal StreamHandler()
        {
        }

        /// <summary>Called when the transfer is finished. The next call is for the next transfer.</summary>
        public virtual void Complete()
        {
        }

        /// <summary>Called if the prefetched transfer will not be used, also on a thread that unloads the session or
        /// replaces the handler.</summary>
        public virtual void InvalidatePrefetched()
        {
        }

        /// <summary>Makes a transfer that waits return false. Called on any thread of the process.</summary>
        public virtual void Interrupt()
        {
        }

        internal abstract bool Transfer(Span<byte> data, bool prefetch);
    }

    /// <summary>Provides the data of one input of a session.</summary>
    public abstract class InputHandler : StreamHandler
    {
        /// <summary>Waits for the next transfer and writes it. False means that there is none, and the run ends with
        /// Cancelled.</summary>
        /// <param name="data">The bytes, which are only valid during the call.</param>
        public abstract bool Fetch(Span<byte> data);

        /// <summary>Writes the next transfer if it is available; repeated calls write the same one until Complete. If
        /// false, Fetch will be called.</summary>
        /// <param name="data">The bytes, which are only valid during the call.</param>
        public virtual bool Prefetch(Span<byte> data)
        {
            return false;
        }

        internal override bool Transfer(Span<byte> data, bool prefetch)
        {
            return prefetch ? Prefetch(data) : Fetch(data);
        }
    }

    /// <summary>Receives the data of one output of a session.</summary>
    public abstract class OutputHandler : StreamHandler
    {
        /// <summary>Receives the transfer. If false, the run ends with Cancelled.</summary>
        /// <param name="data">The bytes, which are only valid during the call.</param>
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
