using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;

namespace Poprt
{
    /// <summary>The library as a whole.</summary>
    public static class Library
    {
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate void ErrorFn(int code, int popefError, IntPtr message);

        private static readonly ErrorFn onError = OnError; // native code keeps its address
        private static readonly List<LogSubscription> logged = new List<LogSubscription>();

        /// <summary>Version of the library, such as "1.0.0".</summary>
        public static string Version
        {
            get { return poprt_raw.raw_version_string(); }
        }

        /// <summary>
        /// Bytes that these classes have copied for runs since the start. They copy nothing: memory is pinned and used
        /// where it is. The counter is here for comparison with other languages.
        /// </summary>
        public static long BytesCopied
        {
            get { return poprt_raw.raw_bytes_copied(); }
        }

        /// <summary>What sessions and runners do that publish it (POPRT_TELEMETRY=1 in their environment): a JSON array
        /// with an object for each.</summary>
        /// <param name="folder">Where they publish it; "": the default folder.</param>
        /// <exception cref="PoprtException">The folder may not be read.</exception>
        public static string ReadTelemetry(string folder = "")
        {
            return poprt_raw.raw_telemetry_read(folder);
        }

        /// <summary>
        /// The library's messages, which go to stderr as long as there is no handler. Since 1.0.
        /// </summary>
        /// <remarks>
        /// Each handler is called on a thread of its own, in the order of the messages; it may call the library. What
        /// it throws is written to Console.Error, and later messages go to it again. One that is 10 000 messages behind
        /// loses some, and is told so. Removing a handler waits until it has got what was logged before, but not on its
        /// own thread.
        /// </remarks>
        public static event Action<LogLevel, string> Logged
        {
            add
            {
                if (value == null) return;
                lock (logged) logged.Add(new LogSubscription(value));
            }
            remove
            {
                LogSubscription last;
                lock (logged)
                {
                    int at = logged.FindLastIndex(s => s.Handler == value);
                    if (at < 0) return;
                    last = logged[at];
                    logged.RemoveAt(at);
                }
                last.Dispose();
            }
        }

        /// <summary>Which messages are logged, to stderr or to handlers of Logged: TRACE, DEBUG, INFO, WARNING, ERROR, CRITICAL or OFF.</summary>
        /// <exception cref="PoprtException">InvalidArgument: another name.</exception>
        public static void SetLogLevel(string level)
        {
            poprt_raw.raw_set_log_level(level);
        }

        /// <summary>Called before the first native call. Refuses a libpoprt that is older than what the wrapper was built
        /// with, or of another major version.</summary>
        internal static bool Start()
        {
            poprt_rawPINVOKE.raw_set_error_fn(Marshal.GetFunctionPointerForDelegate(onError).ToInt64());
            int header = poprt_rawPINVOKE.raw_header_version();
            int found = poprt_rawPINVOKE.raw_version();
            if (!poprt_rawPINVOKE.raw_version_fits(header, found))
                throw new DllNotFoundException("libpoprt.so.1 has version " + found + ", the C# wrapper was built with "
                    + header + ": install both from one build");
            return true;
        }

        private static void OnError(int code, int popefError, IntPtr message)
        {
            var error = new PoprtException(PoprtException.CodeOf(code), Utf8.String(message),
                PoprtException.PopefErrorOf(popefError));
            poprt_rawPINVOKE.SWIGPendingException.Set(error);
        }
    }
}
