using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.IO;
using System.Runtime.ExceptionServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Poprt
{
    /// <summary>
    /// The targets of callbacks of sessions and of writers of streams, by number. Native code holds no reference, so a
    /// session is collected even if its handlers refer to it. A removed number has no target.
    /// </summary>
    /// <remarks>
    /// Sessions call on the thread that has called them, which is a managed thread. Rethrow rethrows the exceptions
    /// there.
    /// </remarks>
    internal static unsafe class Targets
    {
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int AcceptsFn(IntPtr name, int isOutput, IntPtr programs, UIntPtr count, IntPtr self);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate void TimeoutFn(IntPtr queue, IntPtr self);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int TransferFn(IntPtr data, UIntPtr bytes, IntPtr self);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate void EventFn(IntPtr self);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int WriteFn(IntPtr data, UIntPtr bytes, IntPtr self);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int ReadFn(ulong offset, IntPtr data, UIntPtr bytes, IntPtr self);

        // Native code keeps their addresses.
        private static readonly AcceptsFn onAccepts = OnAccepts;
        private static readonly TimeoutFn onTimeout = OnTimeout;
        private static readonly TransferFn onFetch = (data, bytes, self) => OnTransfer(data, bytes, self, false);
        private static readonly TransferFn onPrefetch = (data, bytes, self) => OnTransfer(data, bytes, self, true);
        private static readonly EventFn onComplete = self => OnEvent(self, stream => stream.Complete());
        private static readonly EventFn onInvalidate = self => OnEvent(self, stream => stream.InvalidatePrefetched());
        private static readonly EventFn onInterrupt = self => OnEvent(self, stream => stream.Interrupt());

        private static readonly WriteFn onWrite = OnWrite;
        private static readonly ReadFn onRead = OnRead;

        internal static readonly long Accepts = Address(onAccepts);
        internal static readonly long Timeout = Address(onTimeout);
        internal static readonly long Fetch = Address(onFetch);
        internal static readonly long Prefetch = Address(onPrefetch);
        internal static readonly long Complete = Address(onComplete);
        internal static readonly long Invalidate = Address(onInvalidate);
        internal static readonly long Interrupt = Address(onInterrupt);
        internal static readonly long Write = Address(onWrite);
        internal static readonly long Read = Address(onRead);
        internal static readonly long Released = poprt_raw.raw_released_fn();

        private static readonly ConcurrentDictionary<long, WeakReference> targets =
            new ConcurrentDictionary<long, WeakReference>();
        private static readonly ConcurrentDictionary<long, Stream> sources = new ConcurrentDictionary<long, Stream>();
        private static long last;

        [ThreadStatic]
        private static Exception thrown;

        /// <summary>Adds a target, which is found until Remove as long as it is referenced.</summary>
        internal static long Add(object target)
        {
            long number = Interlocked.Increment(ref last);
            targets[number] = new WeakReference(target);
            return number;
        }

        internal static void Remove(long number)
        {
            WeakReference gone;
            targets.TryRemove(number, out gone);
        }

        /// <summary>Adds a source of PopEF data, which is kept until native code has released it and another source is
        /// added.</summary>
        internal static long AddSource(Stream source)
        {
            Stream gone;
            for (long released; (released = poprt_raw.raw_released_take()) != 0;) sources.TryRemove(released, out gone);
            long number = Interlocked.Increment(ref last);
            sources[number] = source;
            return number;
        }

        /// <summary>Calls the library, and rethrows exceptions of callbacks.</summary>
        internal static void Call(Action what)
        {
            try
            {
                what();
            }
            finally
            {
                Rethrow();
            }
        }

        /// <summary>Rethrows exceptions of callbacks of this thread.</summary>
        internal static void Rethrow()
        {
            Exception e = thrown;
            thrown = null;
            if (e != null) ExceptionDispatchInfo.Capture(e).Throw();
        }

        private static long Address(Delegate function)
        {
            return Marshal.GetFunctionPointerForDelegate(function).ToInt64();
        }

        private static T Find<T>(IntPtr self) where T : class
        {
            WeakReference target;
            return targets.TryGetValue(self.ToInt64(), out target) ? (T)target.Target : null;
        }

        private static void Keep(Exception e)
        {
            thrown = thrown ?? e;
        }

        private static int OnTransfer(IntPtr data, UIntPtr bytes, IntPtr self, bool prefetch)
        {
            try
            {
                var stream = Find<StreamHandler>(self);
                if (stream == null) return 1;
                var span = new Span<byte>((void*)data, checked((int)bytes.ToUInt64()));
                return stream.Transfer(span, prefetch) ? 0 : 1;
            }
            catch (Exception e)
            {
                Keep(e);
                return 1;
            }
        }

        private static void OnEvent(IntPtr self, Action<StreamHandler> call)
        {
            try
            {
                var stream = Find<StreamHandler>(self);
                if (stream != null) call(stream);
            }
            catch (Exception e)
            {
                Keep(e);
            }
        }

        private static int OnAccepts(IntPtr name, int isOutput, IntPtr programs, UIntPtr count, IntPtr self)
        {
            try
            {
                var predicate = Find<AnchorPredicate>(self);
                var list = new int[checked((int)count.ToUInt64())];
                for (int i = 0; i < list.Length; i++) list[i] = ((int*)programs)[i];
                return predicate != null && predicate(Utf8.String(name), isOutput != 0, list) ? 1 : 0;
            }
            catch (Exception e)
            {
                Keep(e);
                return 0;
            }
        }

        private static int OnWrite(IntPtr data, UIntPtr bytes, IntPtr self)
        {
            try
            {
                var stream = Find<Stream>(self);
                if (stream == null) return 1;
                var part = new byte[Math.Min(bytes.ToUInt64(), 1 << 16)];
                for (ulong done = 0; done < bytes.ToUInt64(); done += (ulong)part.Length)
                {
                    int size = (int)Math.Min(bytes.ToUInt64() - done, (ulong)part.Length);
                    Marshal.Copy(new IntPtr(data.ToInt64() + (long)done), part, 0, size);
                    stream.Write(part, 0, size);
                }
                return 0;
            }
            catch (Exception e)
            {
                Keep(e);
                return 1;
            }
        }

        private static int OnRead(ulong offset, IntPtr data, UIntPtr bytes, IntPtr self)
        {
            try
            {
                Stream stream;
                if (!sources.TryGetValue(self.ToInt64(), out stream)) return 1;
                stream.Position = checked((long)offset);
                var part = new byte[Math.Min(bytes.ToUInt64(), 1 << 16)];
                for (ulong done = 0; done < bytes.ToUInt64();)
                {
                    int size = stream.Read(part, 0, (int)Math.Min(bytes.ToUInt64() - done, (ulong)part.Length));
                    if (size <= 0) return 1;
                    Marshal.Copy(part, 0, new IntPtr(data.ToInt64() + (long)done), size);
                    done += (ulong)size;
                }
                return 0;
            }
            catch (Exception e)
            {
                Keep(e);
                return 1;
            }
        }

        private static void OnTimeout(IntPtr queue, IntPtr self)
        {
            try
            {
                var queues = Find<QueueManager>(self);
                if (queues != null) queues.TimedOut(Utf8.String(queue));
            }
            catch (Exception e)
            {
                Keep(e);
            }
        }
    }

    /// <summary>The numbers of the targets of one session, which are removed with it.</summary>
    internal sealed class TargetNumbers
    {
        private readonly Dictionary<string, long> numbers = new Dictionary<string, long>();

        ~TargetNumbers()
        {
            foreach (long number in numbers.Values) Targets.Remove(number);
        }

        internal void Replace(string key, long number)
        {
            long old;
            if (numbers.TryGetValue(key, out old)) Targets.Remove(old);
            numbers[key] = number;
        }
    }
}
