using System;
using System.Threading;

namespace Poprt
{
    /// <summary>The severity of a message of the library, in increasing order.</summary>
    public enum LogLevel
    {
        /// <summary>Every step.</summary>
        Trace = 0,
        /// <summary>Details for debugging.</summary>
        Debug = 1,
        /// <summary>Information about completed actions.</summary>
        Info = 2,
        /// <summary>An unusual condition.</summary>
        Warning = 3,
        /// <summary>A failure.</summary>
        Error = 4,
        /// <summary>A failure that prevents further work.</summary>
        Critical = 5
    }

    /// <summary>A handler of <see cref="Library.Logged"/> with the thread that calls it.</summary>
    internal sealed class LogSubscription : IDisposable
    {
        private const int PatienceMs = 10000;
        private readonly RawLog raw = new RawLog();
        private readonly Thread thread;

        internal LogSubscription(Action<LogLevel, string> handler)
        {
            Handler = handler;
            thread = new Thread(Notify) { IsBackground = true, Name = "poprt log" };
            thread.Start();
            AppDomain.CurrentDomain.ProcessExit += Leave; // no thread may enter managed code afterwards
            AppDomain.CurrentDomain.DomainUnload += Leave;
        }

        internal Action<LogLevel, string> Handler { get; }

        public void Dispose()
        {
            AppDomain.CurrentDomain.ProcessExit -= Leave;
            AppDomain.CurrentDomain.DomainUnload -= Leave;
            raw.close();
            if (Thread.CurrentThread == thread) return; // the thread still uses raw, which its finalizer frees
            thread.Join();
            raw.Dispose();
        }

        private void Leave(object sender, EventArgs e)
        {
            raw.close();
            thread.Join(PatienceMs);
        }

        private void Notify()
        {
            while (raw.take())
                try
                {
                    Handler((LogLevel)raw.level(), raw.text());
                }
                catch (Exception e)
                {
                    Console.Error.WriteLine("poprt: a handler of Library.Logged has thrown: " + e);
                }
        }
    }
}
