using System;
using System.Text;

namespace Poprt
{
    /// <summary>Checks of required arguments.</summary>
    internal static class Argument
    {
        internal static T Given<T>(T value, string name) where T : class
        {
            if (value == null) throw new ArgumentNullException(name);
            return value;
        }
    }

    /// <summary>Converts strings to and from the form of the C library.</summary>
    internal static unsafe class Utf8
    {
        /// <summary>Refuses a text that C would end at its first zero character.</summary>
        internal static string Checked(string text, string argument)
        {
            if (text == null) throw new ArgumentNullException(argument);
            if (text.IndexOf('\0') >= 0)
                throw new ArgumentException("argument '" + argument + "' contains the character \\0");
            return text;
        }

        /// <summary>Copies zero-terminated text of the library.</summary>
        internal static string String(IntPtr text)
        {
            if (text == IntPtr.Zero) return "";
            var bytes = (byte*)text;
            int size = 0;
            while (bytes[size] != 0) size++;
            return Encoding.UTF8.GetString(bytes, size);
        }

        /// <summary>Copies and frees a poprt_string.</summary>
        internal static string Take(IntPtr text)
        {
            long handle = text.ToInt64();
            try
            {
                int size = checked((int)poprt_raw.raw_text_bytes(handle));
                return Encoding.UTF8.GetString((byte*)poprt_raw.raw_text_address(handle), size);
            }
            finally
            {
                poprt_raw.raw_free_text(handle);
            }
        }
    }
}
