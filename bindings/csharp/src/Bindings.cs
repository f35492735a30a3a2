using System;
using System.Buffers;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Threading;

namespace Poprt
{
    /// <summary>The size of one element in memory (not the marshalled size: a bool has one byte).</summary>
    internal static class Element<T> where T : struct
    {
        internal static readonly int Bytes = MemoryMarshal.AsBytes(new Span<T>(new T[1])).Length;
    }

    /// <summary>Memory that stays pinned until it is no longer used.</summary>
    internal sealed class Pin
    {
        private MemoryHandle memory;
        private int users = 1;

        internal Pin(MemoryHandle memory)
        {
            this.memory = memory;
        }

        ~Pin()
        {
            memory.Dispose(); // not all users have called Release
        }

        internal void Acquire()
        {
            Interlocked.Increment(ref users);
        }

        internal void Release()
        {
            if (Interlocked.Decrement(ref users) != 0) return;
            GC.SuppressFinalize(this);
            memory.Dispose();
        }
    }

    /// <summary>
    /// The memory of the inputs and outputs of runs, from <see cref="ModelRunner.CreateBindings"/>: bound once, used for
    /// any number of runs.
    /// </summary>
    /// <remarks>
    /// Memory is pinned while it is bound, and used in place: the next run reads values that are written later. The
    /// type of its elements must be that of the anchor. Bytes are accepted for every type. Several threads may run with
    /// one object at the same time. Their runs overwrite each other's outputs, so usually each thread has its own
    /// object.
    /// </remarks>
    public sealed unsafe class Bindings : IDisposable
    {
        private static long nothing; // the address of empty memory

        private readonly IReadOnlyList<Anchor> inputs;
        private readonly IReadOnlyList<Anchor> outputs;
        private readonly Dictionary<string, Pin> pins = new Dictionary<string, Pin>();
        private Pin[] all; // the same pins; null after a change
        private bool disposed;

        internal Bindings(IReadOnlyList<Anchor> inputs, IReadOnlyList<Anchor> outputs)
        {
            this.inputs = inputs;
            this.outputs = outputs;
            Raw = new RawBindings();
        }

        internal RawBindings Raw { get; }

        /// <summary>Binds an input by name. An unknown name is an error of the run.</summary>
        /// <exception cref="PoprtException">InvalidArgument: the type of the elements differs.</exception>
        public Bindings Input<T>(string name, ReadOnlyMemory<T> memory) where T : struct
        {
            Check(Find(inputs, name), typeof(T), "input");
            Bind("input named " + name, memory, (address, bytes) => Raw.set_input(name, address, bytes));
            return this;
        }

        /// <summary>Binds an input by its position in <see cref="ModelRunner.Inputs"/>.</summary>
        /// <exception cref="PoprtException">InvalidArgument: the type of the elements differs.</exception>
        public Bindings Input<T>(int index, ReadOnlyMemory<T> memory) where T : struct
        {
            Check(Find(inputs, index), typeof(T), "input");
            Bind("input at " + index, memory, (address, bytes) => Raw.set_input_at(index, address, bytes));
            return this;
        }

        /// <summary>Binds an output by name.</summary>
        /// <exception cref="PoprtException">InvalidArgument: the type of the elements differs.</exception>
        public Bindings Output<T>(string name, Memory<T> memory) where T : struct
        {
            Check(Find(outputs, name), typeof(T), "output");
            Bind<T>("output named " + name, memory, (address, bytes) => Raw.set_output(name, address, bytes));
            return this;
        }

        /// <summary>Binds an output by its position in <see cref="ModelRunner.Outputs"/>.</summary>
        /// <exception cref="PoprtException">InvalidArgument: the type of the elements differs.</exception>
        public Bindings Output<T>(int index, Memory<T> memory) where T : struct
        {
            Check(Find(outputs, index), typeof(T), "output");
            Bind<T>("output at " + index, memory, (address, bytes) => Raw.set_output_at(index, address, bytes));
            return this;
        }

        /// <summary>
        /// Sets the replica, counted from 0, whose state (caches) runs use. An unknown replica is an error of the run.
        /// By default, any replica computes a run. Since 1.0.
        /// </summary>
        /// <exception cref="ArgumentOutOfRangeException">It is negative.</exception>
        public Bindings Replica(int replica)
        {
            if (replica < 0) throw new ArgumentOutOfRangeException(nameof(replica));
            Raw.set_replica(replica);
            return this;
        }

        /// <summary>Binds an array as an input.</summary>
        /// <exception cref="PoprtException">InvalidArgument: the type of the elements differs.</exception>
        public Bindings Input<T>(string name, T[] memory) where T : struct
        {
            return Input(name, new ReadOnlyMemory<T>(Argument.Given(memory, nameof(memory))));
        }

        /// <summary>Binds an array as an input.</summary>
        /// <exception cref="PoprtException">InvalidArgument: the type of the elements differs.</exception>
        public Bindings Input<T>(int index, T[] memory) where T : struct
        {
            return Input(index, new ReadOnlyMemory<T>(Argument.Given(memory, nameof(memory))));
        }

        /// <summary>Binds an array as an output.</summary>
        /// <exception cref="PoprtException">InvalidArgument: the type of the elements differs.</exception>
        public Bindings Output<T>(string name, T[] memory) where T : struct
        {
            return Output(name, new Memory<T>(Argument.Given(memory, nameof(memory))));
        }

        /// <summary>Binds an array as an output.</summary>
        /// <exception cref="PoprtException">InvalidArgument: the type of the elements differs.</exception>
        public Bindings Output<T>(int index, T[] memory) where T : struct
        {
            return Output(index, new Memory<T>(Argument.Given(memory, nameof(memory))));
        }

        /// <summary>Binds a one-dimensional array whose type is known when the program runs.</summary>
        internal void Bind(string name, Array memory, bool input)
        {
            // Not `memory is int[]`, which is also true for uint[].
            Type type = memory.GetType();
            if (type == typeof(float[])) Bind(name, (float[])memory, input);
            else if (type == typeof(double[])) Bind(name, (double[])memory, input);
            else if (type == typeof(int[])) Bind(name, (int[])memory, input);
            else if (type == typeof(uint[])) Bind(name, (uint[])memory, input);
            else if (type == typeof(long[])) Bind(name, (long[])memory, input);
            else if (type == typeof(ulong[])) Bind(name, (ulong[])memory, input);
            else if (type == typeof(byte[])) Bind(name, (byte[])memory, input);
            else if (type == typeof(sbyte[])) Bind(name, (sbyte[])memory, input);
            else if (type == typeof(short[])) Bind(name, (short[])memory, input);
            else if (type == typeof(ushort[])) Bind(name, (ushort[])memory, input);
            else if (type == typeof(bool[])) Bind(name, (bool[])memory, input);
            else
                throw new ArgumentException((input ? "input" : "output") + " '" + name
                    + "': expected an array of one dimension, given " + memory.GetType().Name + "; Run takes others");
        }

        private void Bind<T>(string name, T[] memory, bool input) where T : struct
        {
            if (input) Input(name, memory);
            else Output(name, memory);
        }

        /// <summary>Releases the memory; runs in flight keep theirs. A second call has no effect.</summary>
        public void Dispose()
        {
            lock (pins)
            {
                disposed = true;
                Raw.Dispose();
                foreach (Pin pin in pins.Values) pin.Release();
                pins.Clear();
                all = null;
            }
        }

        /// <summary>Returns the pins. They and the native bindings exist until Release, also after Dispose.</summary>
        internal Pin[] Acquire()
        {
            lock (pins)
            {
                if (disposed) throw new ObjectDisposedException(nameof(Bindings));
                if (all == null)
                {
                    all = new Pin[pins.Count];
                    pins.Values.CopyTo(all, 0);
                }
                // If a handle is closed while a native call begins, the call fails, and Mono then does not release the
                // other handles of the call. This reference keeps the handle open.
                bool held = false;
                RawBindings.getCPtr(Raw).DangerousAddRef(ref held);
                foreach (Pin pin in all) pin.Acquire();
                return all;
            }
        }

        /// <summary>Ends a use of the pins that Acquire has returned.</summary>
        internal void Release(Pin[] acquired)
        {
            foreach (Pin pin in acquired) pin.Release();
            Raw.swigOwned.DangerousRelease();
        }

        internal static void Check(Anchor anchor, Type element, string kind)
        {
            if (anchor == null || anchor.Takes(element)) return;
            throw new PoprtException(ErrorCode.InvalidArgument, kind + " '" + anchor.Name + "' is "
                + anchor.DataTypeName + ", the memory given holds " + element.Name + " elements");
        }

        private static Anchor Find(IReadOnlyList<Anchor> anchors, string name)
        {
            foreach (Anchor anchor in anchors)
                if (anchor.Name == name) return anchor;
            return null;
        }

        private static Anchor Find(IReadOnlyList<Anchor> anchors, int index)
        {
            return index >= 0 && index < anchors.Count ? anchors[index] : null;
        }

        private void Bind<T>(string key, ReadOnlyMemory<T> memory, Action<long, long> set) where T : struct
        {
            lock (pins)
            {
                if (disposed) throw new ObjectDisposedException(nameof(Bindings));
                MemoryHandle handle = memory.Pin();
                var pin = new Pin(handle);
                long bytes = (long)memory.Length * Element<T>.Bytes;
                fixed (long* empty = &nothing)
                    set(memory.IsEmpty ? (long)empty : (long)handle.Pointer, bytes);
                if (pins.TryGetValue(key, out Pin old)) old.Release();
                pins[key] = pin;
                all = null;
            }
        }
    }
}
