using System;
using System.Runtime.InteropServices;
using System.Threading;

namespace Poprt
{
    /// <summary>What is told that it is over, on the thread of <see cref="Ended"/>.</summary>
    internal interface IEnded
    {
        void Done(int code, string message);
    }

    /// <summary>The thread that runs and elements of queues which are over are handed to: threads of the library run no
    /// managed code.</summary>
    internal static class Ended
    {
        private const int PatienceMs = 10000;
        private static readonly long list = Start();

        /// <summary>What native code calls, with what Expect has returned.</summary>
        internal static readonly long Function = poprt_raw.raw_ended_done_fn();

        /// <summary>Native code will call the function once. A process that ends waits for what is waited for.</summary>
        internal static long Expect(GCHandle self, bool waitedFor)
        {
            return poprt_raw.raw_ended_expect(list, GCHandle.ToIntPtr(self).ToInt64(), waitedFor);
        }

        /// <summary>It will not.</summary>
        internal static void Forget(long expected)
        {
            poprt_raw.raw_ended_forget(list, expected);
        }

        private static long Start()
        {
            long made = poprt_raw.raw_ended_new();
            var thread = new Thread(() => Tell(made)) { IsBackground = true, Name = "poprt" };
            thread.Start();
            // Then the runtime takes its memory back, which runs in flight still use.
            EventHandler leave = (sender, e) =>
            {
                poprt_raw.raw_ended_close(made, PatienceMs);
                thread.Join(PatienceMs);
            };
            AppDomain.CurrentDomain.ProcessExit += leave;
            AppDomain.CurrentDomain.DomainUnload += leave;
            return made;
        }

        private static void Tell(long from)
        {
            for (;;)
            {
                long self = poprt_raw.raw_ended_take(from);
                if (self == 0) return;
                GCHandle handle = GCHandle.FromIntPtr(new IntPtr(self));
                var over = (IEnded)handle.Target;
                handle.Free();
                int code = poprt_raw.raw_ended_code(from);
                over.Done(code, code == 0 ? "" : poprt_raw.raw_ended_message(from));
            }
        }
    }
}
