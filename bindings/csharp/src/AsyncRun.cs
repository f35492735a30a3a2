using System;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

namespace Poprt
{
    /// <summary>A run in flight. Native code refers to it, and therefore to the pins, until the run is
    /// complete.</summary>
    internal sealed class AsyncRun : IEnded
    {
        private readonly TaskCompletionSource<bool> source =
            new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
        private readonly RawRunner runner;
        private Bindings bindings; // null if none are acquired
        private Pin[] pins;
        private RawRun run;
        private bool over;
        private CancellationTokenRegistration registration;

        private AsyncRun(RawRunner runner)
        {
            this.runner = runner;
        }

        internal static Task Submit(RawRunner runner, Bindings bindings, CancellationToken cancellation,
            RawRequestOptions options)
        {
            bool held = false;
            RawRunner.getCPtr(runner).DangerousAddRef(ref held); // Release ends this reference
            var me = new AsyncRun(runner);
            GCHandle self = default(GCHandle);
            long expected = 0;
            RawRun submitted;
            try
            {
                me.pins = bindings.Acquire();
                me.bindings = bindings;
                self = GCHandle.Alloc(me);
                expected = Ended.Expect(self, true);
                submitted = options == null
                    ? runner.execute_async(bindings.Raw, Ended.Function, expected)
                    : runner.execute_async_with(bindings.Raw, options, Ended.Function, expected);
            }
            catch
            {
                if (expected != 0) Ended.Forget(expected);
                if (self.IsAllocated) self.Free();
                me.Release();
                throw;
            }
            me.Submitted(submitted, cancellation);
            return me.source.Task;
        }

        private void Submitted(RawRun submitted, CancellationToken cancellation)
        {
            lock (source)
            {
                if (!over) run = submitted;
            }
            if (run == null)
            {
                submitted.Dispose();
                return;
            }
            if (!cancellation.CanBeCanceled) return;
            CancellationTokenRegistration made = cancellation.Register(() => Cancel(cancellation));
            lock (source)
            {
                registration = made;
                if (!over) return;
            }
            made.Dispose();
        }

        /// <summary>Cancels the run if it has not begun. The native call is made without the lock, because it calls
        /// back. The SafeHandle keeps the run alive during the call.</summary>
        private void Cancel(CancellationToken cancellation)
        {
            try
            {
                // A run that has begun is not cancelled: its memory is in use, and the task ends with it.
                if (run.cancel()) source.TrySetCanceled(cancellation);
            }
            catch (ObjectDisposedException)
            {
                // It is already complete.
            }
        }

        /// <summary>Releases the memory and the runner, which is freed when it is disposed of and has no
        /// runs.</summary>
        private void Release()
        {
            if (bindings != null) bindings.Release(pins);
            runner.swigOwned.DangerousRelease();
        }

        public void Done(int code, string message)
        {
            lock (source)
            {
                over = true;
                if (run != null) run.Dispose();
            }
            Release();
            if (code == 0) source.TrySetResult(true);
            else if (code == (int)ErrorCode.Cancelled) source.TrySetCanceled();
            else source.TrySetException(new PoprtException(PoprtException.CodeOf(code), message));
            registration.Dispose();
        }
    }
}
