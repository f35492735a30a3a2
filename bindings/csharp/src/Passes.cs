using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;

namespace Poprt
{
    /// <summary>Passes on an ONNX model in memory, in the order in which they are added. Used by one thread. Since 1.0.
    /// </summary>
    public sealed unsafe class Passes
    {
        private readonly List<KeyValuePair<string, IDictionary<string, string>>> calls =
            new List<KeyValuePair<string, IDictionary<string, string>>>();

        /// <summary>Whether to order the passes by their dependencies, which are added, instead of using the given
        /// order.</summary>
        public bool Sort { get; set; }

        /// <summary>Whether to verify the graph after each pass.</summary>
        public bool Verify { get; set; } = true;

        /// <summary>Whether external data may be reached through links. Only for trusted models.</summary>
        public bool AllowLinks { get; set; }

        /// <summary>Whether warnings about a model are errors.</summary>
        public bool Strict { get; set; }

        /// <summary>The number of rewrites after which rewriting stops; 0: no limit.</summary>
        public long RewriteLimit { get; set; }

        /// <summary>The folder of external data; empty: external data is an error.</summary>
        public string Folder { get; set; } = "";

        /// <summary>Adds a pass. Arguments by name: a flag is "True" or "False"; names are separated by commas, words
        /// by line feeds.
        /// </summary>
        public Passes Add(string name, IDictionary<string, string> arguments = null)
        {
            calls.Add(new KeyValuePair<string, IDictionary<string, string>>(
                name, arguments ?? new Dictionary<string, string>()));
            return this;
        }

        /// <summary>Checks names and arguments, without a model.</summary>
        /// <exception cref="PoprtException">NotFound: a pass; InvalidArgument: an argument.</exception>
        public void Check()
        {
            using (RawPasses raw = Raw()) raw.check();
        }

        /// <summary>The names in a valid order, with the passes that must run before them.</summary>
        /// <exception cref="PoprtException">NotFound: a pass; FailedPrecondition: they exclude each other.</exception>
        public IReadOnlyList<string> Sorted()
        {
            using (RawPasses raw = Raw())
                return raw.in_order().Split(new[] { '\n' }, StringSplitOptions.RemoveEmptyEntries);
        }

        /// <summary>Runs the passes on the bytes of an ONNX model and returns the bytes of the result. The output of
        /// passes that inspect the model is written to Console.Out.</summary>
        /// <exception cref="PoprtException">Errors of a pass or of the import of the model.</exception>
        public byte[] Apply(ReadOnlySpan<byte> onnx)
        {
            byte nothing = 0; // the address of an empty model, because null means that there is no model
            using (RawPasses raw = Raw())
            fixed (byte* first = &MemoryMarshal.GetReference(onnx))
            using (RawPassResult result = raw.apply_to(onnx.IsEmpty ? (long)&nothing : (long)first, onnx.Length, Folder))
            {
                Console.Write(result.text());
                var bytes = new byte[checked((int)result.bytes())];
                Marshal.Copy((IntPtr)result.address(), bytes, 0, bytes.Length);
                return bytes;
            }
        }

        /// <summary>All passes with their descriptions as JSON.</summary>
        public static string List()
        {
            return RawPasses.list_json();
        }

        private RawPasses Raw()
        {
            var raw = new RawPasses();
            foreach (var call in calls)
            {
                raw.add(call.Key);
                foreach (var argument in call.Value) raw.add_argument(argument.Key, argument.Value);
            }
            raw.set_sort(Sort);
            raw.set_verify(Verify);
            raw.set_allow_links(AllowLinks);
            raw.set_strict(Strict);
            raw.set_rewrite_limit(RewriteLimit);
            return raw;
        }
    }
}
