using System;
using System.Runtime.InteropServices;
using System.Threading;

namespace Poprt
{
    /// <summary>An object that is notified of its completion on the thread of <see cref="Ended"/>.</summary>
    internal interface IEnded
    {
        void Done(int code, string message);
    }

    /// <summary>The thread that completes runs and elements of queues, because threads of the library run no managed
    /// code.</summary>
    internal static class Ended
    {
        private const int PatienceMs = 10000;
        private static readonly long list = Start();

        /// <summary>The function that native code calls with the result of Expect.</summary>
        internal static readonly long Function = poprt_raw.raw_ended_done_fn();

        /// <summary>Expects one call of the function by native code. A process that exits waits for it if
        /// `waitedFor`.</summary>
        internal static long Expect(GCHandle self, bool waitedFor)
        {
            return poprt_raw.raw_ended_expect(list, GCHandle.ToIntPtr(self).ToInt64(), waitedFor);
        }

        /// <summary>Removes what Expect has added, if native code will not call the function.</summary>
        internal static void Forget(long expected)
        {
            poprt_raw.raw_ended_forget(list, expected);
        }

        private static long Start()
        {
            long made = poprt_raw.raw_ended_new();
            var thread = new Thread(() => Notify(made)) { IsBackground = true, Name = "poprt" };
            thread.Start();
            // When the process exits, the runtime frees memory that runs in flight still use, so the exit waits for
            // these runs.
            EventHandler leave = (sender, e) =>
            {
                poprt_raw.raw_ended_close(made, PatienceMs);
                thread.Join(PatienceMs);
            };
            AppDomain.CurrentDomain.ProcessExit += leave;
            AppDomain.CurrentDomain.DomainUnload += leave;
            return made;
        }

        private static void Notify(long from)
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
