using System;
using System.Threading;

namespace Poprt
{
    /// <summary>How grave a message of the library is, from unimportant on.</summary>
    public enum LogLevel
    {
        /// <summary>Every step.</summary>
        Trace = 0,
        /// <summary>For who looks for a mistake.</summary>
        Debug = 1,
        /// <summary>What was done.</summary>
        Info = 2,
        /// <summary>Something is odd.</summary>
        Warning = 3,
        /// <summary>Something failed.</summary>
        Error = 4,
        /// <summary>Nothing goes on.</summary>
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
            thread = new Thread(Tell) { IsBackground = true, Name = "poprt log" };
            thread.Start();
            AppDomain.CurrentDomain.ProcessExit += Leave; // no thread may be on its way into managed code then
            AppDomain.CurrentDomain.DomainUnload += Leave;
        }

        internal Action<LogLevel, string> Handler { get; }

        public void Dispose()
        {
            AppDomain.CurrentDomain.ProcessExit -= Leave;
            AppDomain.CurrentDomain.DomainUnload -= Leave;
            raw.close();
            if (Thread.CurrentThread == thread) return; // which frees it when it ends
            thread.Join();
            raw.Dispose();
        }

        private void Leave(object sender, EventArgs e)
        {
            raw.close();
            thread.Join(PatienceMs);
        }

        private void Tell()
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
