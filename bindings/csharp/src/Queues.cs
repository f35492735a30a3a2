using System;
using System.Buffers;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Threading.Tasks;

namespace Poprt
{
    /// <summary>
    /// The queues of a <see cref="Session"/>, one for each anchor that QueueOptions.UserAnchors selects. The
    /// queues are closed when the session is disposed of or creates another QueueManager. All methods then throw
    /// ObjectDisposedException.
    /// </summary>
    public sealed class QueueManager
    {
        private readonly Session session;
        private readonly Action<InputQueue> onTimeout;
        private readonly Dictionary<string, InputQueue> inputs = new Dictionary<string, InputQueue>();
        private readonly Dictionary<string, OutputQueue> outputs = new Dictionary<string, OutputQueue>();
        private RawQueueManager raw;
        private volatile bool closed;

        internal QueueManager(Session session, Action<InputQueue> onTimeout)
        {
            this.session = session;
            this.onTimeout = onTimeout;
        }

        internal void Open(RawQueueManager made)
        {
            raw = made;
        }

        internal void Close()
        {
            closed = true;
        }

        /// <summary>The library closes earlier queues only if it accepts the options of those that replace
        /// them.</summary>
        internal void KeepIfOpen()
        {
            closed = !raw.is_open();
        }

        /// <summary>The queue of an input; always the same object.</summary>
        /// <exception cref="PoprtException">NotFound: no input has the name.</exception>
        public InputQueue InputQueue(string name)
        {
            lock (inputs)
            {
                InputQueue queue;
                if (inputs.TryGetValue(name, out queue)) return queue;
                Call(() => queue = new InputQueue(this, raw.input_queue(name)));
                return inputs[name] = queue;
            }
        }

        /// <summary>The queue of an output; always the same object.</summary>
        /// <exception cref="PoprtException">NotFound: no output has the name.</exception>
        public OutputQueue OutputQueue(string name)
        {
            lock (outputs)
            {
                OutputQueue queue;
                if (outputs.TryGetValue(name, out queue)) return queue;
                Call(() => queue = new OutputQueue(this, raw.output_queue(name)));
                return outputs[name] = queue;
            }
        }

        /// <summary>Cancels every waiting element, except for memory that the device is using. The queues stay in
        /// use.</summary>
        public void FlushAll()
        {
            Call(() => raw.flush_all());
        }

        /// <summary>Cancels every waiting element permanently: nothing can be enqueued afterwards, and runs find no
        /// data.</summary>
        public void DisconnectAll()
        {
            Call(() => raw.disconnect_all());
        }

        internal void TimedOut(string name)
        {
            try
            {
                onTimeout(InputQueue(name));
            }
            catch
            {
                session.Stop(); // otherwise the run would wait without end
                throw;
            }
        }

        internal void CallThatBlocks(Action what)
        {
            Running.Enter(session.Raw);
            try
            {
                Call(what);
            }
            finally
            {
                Running.Leave(session.Raw);
            }
        }

        /// <summary>Makes a call while the session is kept alive.</summary>
        internal void Call(Action what)
        {
            if (closed) throw new ObjectDisposedException(nameof(QueueManager));
            bool held = false;
            RawSession.Handle handle = RawSession.getCPtr(session.Raw);
            handle.DangerousAddRef(ref held);
            try
            {
                what();
            }
            finally
            {
                handle.DangerousRelease();
                GC.KeepAlive(session);
            }
        }
    }

    /// <summary>
    /// A queue of memory that a <see cref="Session"/> reads or writes, for one anchor. Any thread may use it.
    /// Continuations of its tasks may enqueue again.
    /// </summary>
    public abstract unsafe class Queue
    {
        private readonly QueueManager manager;
        private readonly RawQueue raw;
        private readonly bool isInput;

        internal Queue(QueueManager manager, RawQueue raw, bool isInput)
        {
            this.manager = manager;
            this.raw = raw;
            this.isInput = isInput;
            RawAnchor served = raw.anchor();
            if (served == null) throw new ObjectDisposedException(nameof(QueueManager)); // closed meanwhile
            Anchor = Anchor.List(1, i => served)[0];
        }

        /// <summary>The anchor of the queue.</summary>
        public Anchor Anchor { get; }

        /// <summary>The number of elements that fit into the queue: a power of two.</summary>
        public long Capacity
        {
            get { return Read(() => raw.capacity()); }
        }

        /// <summary>The number of waiting elements.</summary>
        public long ReadAvailable
        {
            get { return Read(() => raw.read_available()); }
        }

        private long Read(Func<long> what)
        {
            long answer = 0;
            manager.Call(() => answer = what());
            return answer;
        }

        internal Task Append<T>(ReadOnlyMemory<T> memory) where T : struct
        {
            Bindings.Check(Anchor, typeof(T), isInput ? "input" : "output");
            MemoryHandle pinned = memory.Pin();
            var element = new QueueElement(new Pin(pinned));
            GCHandle self = GCHandle.Alloc(element);
            long expected = Ended.Expect(self, false);
            long bytes = (long)memory.Length * Element<T>.Bytes;
            long address = memory.IsEmpty ? 0 : (long)pinned.Pointer;
            try
            {
                manager.CallThatBlocks(() =>
                {
                    if (isInput) raw.enqueue_input(address, bytes, Ended.Function, expected);
                    else raw.enqueue_output(address, bytes, Ended.Function, expected);
                });
            }
            catch
            {
                Ended.Forget(expected);
                self.Free();
                element.Release();
                throw;
            }
            return element.Task;
        }
    }

    /// <summary>A queue of memory for an input.</summary>
    public sealed class InputQueue : Queue
    {
        internal InputQueue(QueueManager manager, RawQueue raw) : base(manager, raw, true)
        {
        }

        /// <summary>
        /// Appends memory of any size: a part of a transfer, one, or several. Blocks while the queue is full. The
        /// memory is pinned and used in place, and must stay unchanged until the task ends.
        /// </summary>
        /// <returns>Ends when it was consumed; cancelled if it was discarded because the queue was flushed,
        /// disconnected or closed. Continuations run on the thread pool.</returns>
        /// <exception cref="PoprtException">Cancelled: disconnected, or full while the session was stopped;
        /// InvalidArgument: the type, or empty memory.</exception>
        public Task Enqueue<T>(ReadOnlyMemory<T> memory) where T : struct
        {
            return Append(memory);
        }

        /// <summary>Appends an array.</summary>
        /// <exception cref="PoprtException">As above.</exception>
        public Task Enqueue<T>(T[] memory) where T : struct
        {
            return Append(new ReadOnlyMemory<T>(memory));
        }
    }

    /// <summary>A queue of memory for an output.</summary>
    public sealed class OutputQueue : Queue
    {
        internal OutputQueue(QueueManager manager, RawQueue raw) : base(manager, raw, false)
        {
        }

        /// <summary>Appends memory of any size, which is written; otherwise as for an input.</summary>
        /// <returns>Ends when it was filled; cancelled as for an input.</returns>
        /// <exception cref="PoprtException">As for an input.</exception>
        public Task Enqueue<T>(Memory<T> memory) where T : struct
        {
            return Append<T>(memory);
        }

        /// <summary>Appends an array.</summary>
        /// <exception cref="PoprtException">As for an input.</exception>
        public Task Enqueue<T>(T[] memory) where T : struct
        {
            return Append<T>(new Memory<T>(memory));
        }
    }

    /// <summary>The object to which native code refers until an element is consumed, filled or returned.</summary>
    internal sealed class QueueElement : IEnded
    {
        private readonly TaskCompletionSource<bool> source =
            new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
        private readonly Pin pin;

        internal QueueElement(Pin pin)
        {
            this.pin = pin;
        }

        internal Task Task
        {
            get { return source.Task; }
        }

        internal void Release()
        {
            pin.Release();
        }

        public void Done(int code, string message)
        {
            Release();
            if (code == 0) source.TrySetResult(true);
            else source.TrySetCanceled();
        }
    }
}
