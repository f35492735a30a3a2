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
        /// The number of bytes that these classes have copied between memory of the program and memory of runs. It is zero
        /// because memory is pinned and used in place. Inputs and outputs that Run copies are not counted. The counter
        /// exists for comparison with other languages.
        /// </summary>
        public static long BytesCopied
        {
            get { return poprt_raw.raw_bytes_copied(); }
        }

        /// <summary>The activity of sessions and runners that publish it (POPRT_TELEMETRY=1 in their environment): a
        /// JSON array with an object for each.</summary>
        /// <param name="folder">The folder of the telemetry; "": the default folder.</param>
        /// <exception cref="PoprtException">PermissionDenied or InvalidArgument: the default folder cannot be used.
        /// Another folder that is missing or may not be read counts as empty.</exception>
        public static string ReadTelemetry(string folder = "")
        {
            return poprt_raw.raw_telemetry_read(folder);
        }

        /// <summary>
        /// The library's messages, which go to stderr if there is no handler. Since 1.0.
        /// </summary>
        /// <remarks>
        /// Each handler is called on a separate thread, in the order of the messages, and may call the library. Its
        /// exceptions are written to Console.Error, and it still receives later messages. A handler that is 10 000
        /// messages late loses some, and a warning reports it. Removing a handler waits until earlier messages are
        /// delivered, except on the handler's thread.
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

        /// <summary>Sets the level of messages to stderr or to handlers of Logged: TRACE, DEBUG, INFO, WARNING, ERROR,
        /// CRITICAL or OFF, in upper or lower case.</summary>
        /// <exception cref="PoprtException">InvalidArgument: another name.</exception>
        public static void SetLogLevel(string level)
        {
            poprt_raw.raw_set_log_level(level);
        }

        /// <summary>Called before the first native call. Refuses a libpoprt that is older than the one with which the
        /// wrapper was built, or of another major version.</summary>
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
