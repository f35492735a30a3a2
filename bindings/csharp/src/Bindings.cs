using System;
using System.Buffers;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Threading;

namespace Poprt
{
    /// <summary>Bytes of one element in memory (not as it would be marshalled: a bool has one).</summary>
    internal static class Element<T> where T : struct
    {
        internal static readonly int Bytes = MemoryMarshal.AsBytes(new Span<T>(new T[1])).Length;
    }

    /// <summary>Memory that stays where it is until nobody uses it any more.</summary>
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
            memory.Dispose(); // it was forgotten
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
    /// Memory is pinned while it is bound, and used where it is: what is written to it later is what the next run reads.
    /// The type of its elements must be that of the anchor; bytes hold elements of any type. Several threads may run
    /// with one at the same time when each of them may overwrite the outputs; usually each has its own.
    /// </remarks>
    public sealed unsafe class Bindings : IDisposable
    {
        private static long nothing; // where memory of no bytes lies

        private readonly IReadOnlyList<Anchor> inputs;
        private readonly IReadOnlyList<Anchor> outputs;
        private readonly Dictionary<string, Pin> pins = new Dictionary<string, Pin>();
        private bool disposed;

        internal Bindings(IReadOnlyList<Anchor> inputs, IReadOnlyList<Anchor> outputs)
        {
            this.inputs = inputs;
            this.outputs = outputs;
            Raw = new RawBindings();
        }

        internal RawBindings Raw { get; }

        /// <summary>Binds an input by name. A name that the model does not have is an error of the run.</summary>
        /// <exception cref="PoprtException">InvalidArgument: the type of the elements differs.</exception>
        public Bindings Input<T>(string name, ReadOnlyMemory<T> memory) where T : struct
        {
            Check(Find(inputs, name), typeof(T), "input");
            Bind("in " + name, memory, (address, bytes) => Raw.set_input(name, address, bytes));
            return this;
        }

        /// <summary>Binds an input by its position in <see cref="ModelRunner.Inputs"/>.</summary>
        /// <exception cref="PoprtException">InvalidArgument: the type of the elements differs.</exception>
        public Bindings Input<T>(int index, ReadOnlyMemory<T> memory) where T : struct
        {
            Check(Find(inputs, index), typeof(T), "input");
            Bind("in #" + index, memory, (address, bytes) => Raw.set_input_at(index, address, bytes));
            return this;
        }

        /// <summary>Binds an output by name.</summary>
        /// <exception cref="PoprtException">InvalidArgument: the type of the elements differs.</exception>
        public Bindings Output<T>(string name, Memory<T> memory) where T : struct
        {
            Check(Find(outputs, name), typeof(T), "output");
            Bind<T>("out " + name, memory, (address, bytes) => Raw.set_output(name, address, bytes));
            return this;
        }

        /// <summary>Binds an output by its position in <see cref="ModelRunner.Outputs"/>.</summary>
        /// <exception cref="PoprtException">InvalidArgument: the type of the elements differs.</exception>
        public Bindings Output<T>(int index, Memory<T> memory) where T : struct
        {
            Check(Find(outputs, index), typeof(T), "output");
            Bind<T>("out #" + index, memory, (address, bytes) => Raw.set_output_at(index, address, bytes));
            return this;
        }

        /// <summary>
        /// Which replica runs are for, counted from 0, so that they meet the state (caches) that earlier runs have left
        /// there; one that the runner does not have is an error of the run. Without, a run goes to any. Since 1.0.
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
            return Input(name, new ReadOnlyMemory<T>(memory));
        }

        /// <summary>Binds an array as an input.</summary>
        /// <exception cref="PoprtException">InvalidArgument: the type of the elements differs.</exception>
        public Bindings Input<T>(int index, T[] memory) where T : struct
        {
            return Input(index, new ReadOnlyMemory<T>(memory));
        }

        /// <summary>Binds an array as an output.</summary>
        /// <exception cref="PoprtException">InvalidArgument: the type of the elements differs.</exception>
        public Bindings Output<T>(string name, T[] memory) where T : struct
        {
            return Output(name, new Memory<T>(memory));
        }

        /// <summary>Binds an array as an output.</summary>
        /// <exception cref="PoprtException">InvalidArgument: the type of the elements differs.</exception>
        public Bindings Output<T>(int index, T[] memory) where T : struct
        {
            return Output(index, new Memory<T>(memory));
        }

        /// <summary>Binds a one-dimensional array whose type is known when the program runs.</summary>
        internal void Bind(string name, Array memory, bool input)
        {
            if (memory is float[]) Bind(name, (float[])memory, input);
            else if (memory is double[]) Bind(name, (double[])memory, input);
            else if (memory is int[]) Bind(name, (int[])memory, input);
            else if (memory is uint[]) Bind(name, (uint[])memory, input);
            else if (memory is long[]) Bind(name, (long[])memory, input);
            else if (memory is ulong[]) Bind(name, (ulong[])memory, input);
            else if (memory is byte[]) Bind(name, (byte[])memory, input);
            else if (memory is sbyte[]) Bind(name, (sbyte[])memory, input);
            else if (memory is short[]) Bind(name, (short[])memory, input);
            else if (memory is ushort[]) Bind(name, (ushort[])memory, input);
            else if (memory is bool[]) Bind(name, (bool[])memory, input);
            else
                throw new ArgumentException((input ? "input" : "output") + " '" + name
                    + "': expected an array of one dimension, given " + memory.GetType().Name + "; Run takes others");
        }

        private void Bind<T>(string name, T[] memory, bool input) where T : struct
        {
            if (input) Input(name, memory);
            else Output(name, memory);
        }

        /// <summary>Lets the memory go; runs in flight keep theirs. A second time does nothing.</summary>
        public void Dispose()
        {
            lock (pins)
            {
                disposed = true;
                Raw.Dispose();
                foreach (Pin pin in pins.Values) pin.Release();
                pins.Clear();
            }
        }

        /// <summary>The pins, each acquired: the caller releases them.</summary>
        internal Pin[] Acquire()
        {
            lock (pins)
            {
                if (disposed) throw new ObjectDisposedException(nameof(Bindings));
                var all = new Pin[pins.Count];
                pins.Values.CopyTo(all, 0);
                foreach (Pin pin in all) pin.Acquire();
                return all;
            }
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
            }
        }
    }
}
