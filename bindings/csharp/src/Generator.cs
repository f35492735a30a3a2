using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;

namespace Poprt
{
    /// <summary>How a <see cref="Generator"/> compiles and runs a model. Since 1.0.</summary>
    public sealed class GeneratorOptions
    {
        /// <summary>The most tokens of a text, including its prompt. 0: the context of the model, at most
        /// 2048.</summary>
        public long MaxLength { get; set; }

        /// <summary>The number of sequences that one step computes together. 0: 1.</summary>
        public long Slots { get; set; }

        /// <summary>The number of tokens of a prompt that one run computes. 0: 32 and 128.</summary>
        public long Prefill { get; set; }

        /// <summary>Compute threads. 0: POPRT_THREADS from the environment, or all CPUs.</summary>
        public int Threads { get; set; }

        /// <summary>Whether a sequence uses tokens that an earlier or another one left on the device, if its prompt
        /// begins with them. Logits may then differ in the last bits.</summary>
        public bool ReusePrefixes { get; set; }

        /// <summary>The most tokens of the input of an encoder. 0: the context of the model, at most 512.</summary>
        public long EncoderLength { get; set; }

        /// <summary>Recurrent states that are not found by their names: "past=present,...", with "%d" for a
        /// number.</summary>
        public string States { get; set; } = "";

        /// <summary>How caches of keys and values are stored: "int8": in 8 bits, so that results differ slightly; "":
        /// in the precision of the model.</summary>
        public string CachePrecision { get; set; } = "";
    }

    /// <summary>A language model on a device, which generates texts of tokens. Since 1.0.</summary>
    /// <remarks>
    /// Any number of threads may use one. Its sequences run together: a sequence joins when a slot is free and leaves
    /// when it ends. Sequences continue to work after the generator is disposed of.
    /// </remarks>
    public sealed class Generator : IDisposable
    {
        private readonly RawGenerator raw;

        /// <summary>
        /// Compiles and loads a model: a folder of onnxruntime-genai or optimum, an ONNX file with past and present
        /// keys and values, or a PopEF file of <see cref="Save"/>.
        /// </summary>
        /// <exception cref="PoprtException">NotFound; DataLoss: a damaged file; Unimplemented: an operator, or inputs
        /// and outputs without a known meaning; InvalidArgument: options; FailedPrecondition: a PopEF file that is not
        /// for a generator; Unavailable: all devices are busy; ResourceExhausted.</exception>
        public Generator(string path, GeneratorOptions options = null)
        {
            GeneratorOptions o = options ?? new GeneratorOptions();
            raw = RawGenerator.create(Argument.Given(path, nameof(path)), o.MaxLength, o.Slots, o.Prefill, o.Threads,
                o.ReusePrefixes, o.EncoderLength, o.States ?? "", o.CachePrecision ?? "");
        }

        /// <summary>Makes a text that has not started and begins with the prompt.</summary>
        /// <exception cref="PoprtException">InvalidArgument: a token is outside of the vocabulary.</exception>
        public Sequence NewSequence(params long[] prompt)
        {
            var sequence = new Sequence(raw.new_sequence());
            foreach (long token in Argument.Given(prompt, nameof(prompt))) sequence.Append(token);
            return sequence;
        }

        // <functions:generator> made from capi/functions.toml by tests/lint/functions.py --write
        /// <summary>The most tokens of a text, including its prompt. Since 1.0.</summary>
        public long MaxLength
        {
            get { return raw.max_length(); }
        }

        /// <summary>The number of sequences that one step computes together. Since 1.0.</summary>
        public long Slots
        {
            get { return raw.slots(); }
        }

        /// <summary>The number of tokens that the model knows. A token is a number from 0 to this one, exclusive. Since
        /// 1.0.</summary>
        public long Vocabulary
        {
            get { return raw.vocabulary(); }
        }

        /// <summary>A JSON object with the numbers of slots, sequences, tokens, steps and seconds since the generator
        /// was created. Thread-safe. Since 1.0.</summary>
        public string Statistics()
        {
            return raw.statistics();
        }

        /// <summary>Writes a PopEF file, from which a generator is created without compiling. The file is written
        /// completely or not at all, and replaces an existing file. Since 1.0.</summary>
        /// <param name="path">The PopEF file.</param>
        /// <exception cref="PoprtException">NotFound: the folder does not exist.</exception>
        /// <exception cref="PoprtException">PermissionDenied: the file cannot be created.</exception>
        /// <exception cref="PoprtException">ResourceExhausted: the disk is full.</exception>
        public void Save(string path)
        {
            raw.save(path);
        }
        // </functions:generator>

        /// <summary>Releases the generator; sequences keep it alive.</summary>
        public void Dispose()
        {
            raw.Dispose();
        }
    }

    /// <summary>One text of a <see cref="Generator"/>. One thread at a time uses it, except that any thread may call
    /// <see cref="Cancel"/> and <see cref="Dispose"/>. Since 1.0.</summary>
    public sealed class Sequence : IDisposable
    {
        private readonly RawSequence raw;
        private volatile bool closed;

        internal Sequence(RawSequence raw)
        {
            this.raw = raw;
        }

        // Returns the result of a call. Throws if another thread has disposed of the sequence while the call waited.
        private T Result<T>(Func<T> call)
        {
            T value = call();
            if (closed) throw new ObjectDisposedException(nameof(Sequence));
            return value;
        }

        /// <summary>Waits for the rest of the text and returns its tokens.</summary>
        /// <exception cref="PoprtException">As <see cref="Next"/>.</exception>
        public long[] ReadAll()
        {
            var tokens = new List<long>();
            for (long token = Next(-1); token >= 0; token = Next(-1)) tokens.Add(token);
            return tokens.ToArray();
        }

        /// <summary>The text so far, as <see cref="Save"/> writes it to a file. Since 1.0.</summary>
        /// <exception cref="PoprtException">FailedPrecondition: the sequence has not started; Unimplemented: a beam
        /// search.</exception>
        /// <exception cref="OverflowException">The bytes do not fit in an array.</exception>
        public byte[] SaveBytes()
        {
            using (RawBlob blob = raw.save_bytes())
            {
                var bytes = new byte[checked((int)blob.bytes())];
                Marshal.Copy((IntPtr)blob.address(), bytes, 0, bytes.Length);
                return bytes;
            }
        }

        /// <summary>Reads the bytes of <see cref="SaveBytes"/> or of a file instead of a prompt and options, as
        /// <see cref="Restore"/> does. They are copied. Since 1.0.</summary>
        /// <exception cref="PoprtException">DataLoss: they are damaged or truncated; FailedPrecondition: the sequence
        /// has started, or has a prompt or options, or they are of another model, build or size.</exception>
        public unsafe void RestoreBytes(ReadOnlySpan<byte> bytes)
        {
            fixed (byte* first = &MemoryMarshal.GetReference(bytes)) raw.restore_bytes((long)first, bytes.Length);
        }

        // <functions:sequence> made from capi/functions.toml by tests/lint/functions.py --write
        /// <summary>Appends a token to the prompt. For a model whose encoder takes tokens, it is the input of the
        /// encoder. Since 1.0.</summary>
        /// <param name="token">The token.</param>
        /// <exception cref="PoprtException">InvalidArgument: the token is outside of the vocabulary.</exception>
        /// <exception cref="PoprtException">FailedPrecondition: the sequence has started, or continues a saved
        /// text.</exception>
        public void Append(long token)
        {
            raw.append(token);
        }

        /// <summary>Sets an option: <c>temperature</c> (0, the default: the most probable token), <c>top_k</c> (0:
        /// all), <c>top_p</c> (1: all), <c>min_p</c>, <c>repetition_penalty</c> (1: none), <c>seed</c>,
        /// <c>max_new_tokens</c> (0: until the maximum length), <c>min_new_tokens</c>, <c>ignore_stop</c> (1: the stop
        /// tokens of the model do not end the text), <c>time_limit</c> (seconds; 0: none), <c>wait_for_logits</c> (1:
        /// the text waits before each token, so that the caller can change the logits), <c>num_beams</c> (1: no beam
        /// search; each beam needs a slot), <c>num_return_sequences</c> (texts of a beam search), <c>length_penalty</c>
        /// (1; a score is divided by the length to this power), <c>early_stopping</c> (of a beam search; 0: when no
        /// better text is likely, 1: when <c>num_beams</c> texts have ended, 2: when no better text is possible). Since
        /// 1.0.</summary>
        /// <param name="name">The name of the option.</param>
        /// <param name="value">Its value.</param>
        /// <exception cref="PoprtException">NotFound: no option has the name; the message lists the names.</exception>
        /// <exception cref="PoprtException">InvalidArgument: the option does not accept the value.</exception>
        /// <exception cref="PoprtException">FailedPrecondition: the sequence has started, or continues a saved
        /// text.</exception>
        public void SetOption(string name, double value)
        {
            raw.set_option(name, value);
        }

        /// <summary>Adds a token that ends the text. It is the last token that is returned. Since 1.0.</summary>
        /// <param name="token">The token.</param>
        /// <exception cref="PoprtException">InvalidArgument: the token is outside of the vocabulary.</exception>
        /// <exception cref="PoprtException">FailedPrecondition: the sequence has started, or continues a saved
        /// text.</exception>
        public void AddStopToken(long token)
        {
            raw.add_stop_token(token);
        }

        /// <summary>Adds a token that is never chosen. Since 1.0.</summary>
        /// <param name="token">The token.</param>
        /// <exception cref="PoprtException">InvalidArgument: the token is outside of the vocabulary.</exception>
        /// <exception cref="PoprtException">FailedPrecondition: the sequence has started, or continues a saved
        /// text.</exception>
        public void AddBadToken(long token)
        {
            raw.add_bad_token(token);
        }

        /// <summary>Starts the text. The call does not wait; the text waits until a slot is free. Since 1.0.</summary>
        /// <exception cref="PoprtException">InvalidArgument: the prompt is empty, the encoder has no input, or options
        /// exclude each other.</exception>
        /// <exception cref="PoprtException">OutOfRange: the prompt has as many tokens as a text may have, or the input
        /// of the encoder is too long.</exception>
        /// <exception cref="PoprtException">FailedPrecondition: the sequence has started.</exception>
        public void Start()
        {
            raw.start();
        }

        /// <summary>The next token, for which the call waits; -1 at the end of the text. If a run of the device has
        /// failed, the call after the last token fails with its error. Since 1.0.</summary>
        /// <param name="timeoutNs">How long to wait, in nanoseconds; negative: without limit.</param>
        /// <exception cref="PoprtException">DeadlineExceeded: there is no token in time.</exception>
        /// <exception cref="PoprtException">FailedPrecondition: the sequence has not started, waits until the caller
        /// resumes it, or has no token that may be chosen.</exception>
        public long Next(long timeoutNs)
        {
            return Result(() => raw.next(timeoutNs));
        }

        /// <summary>The logarithm of the probability that the model gives the token that was returned last, before
        /// penalties and temperature. 0 before the first token. Since 1.0.</summary>
        public double LogProbability
        {
            get { return Result(raw.log_probability); }
        }

        /// <summary>Why the text has ended: <c>stop</c> (a stop token), <c>length</c> (the maximum number of tokens),
        /// <c>deadline</c> (its time limit), <c>cancelled</c>, <c>error</c>; empty while it continues. A text ends
        /// before its last tokens are read. Since 1.0.</summary>
        public string FinishReason()
        {
            return Result(raw.finish_reason);
        }

        /// <summary>Ends the text before its next token. Any thread may call it. Since 1.0.</summary>
        public void Cancel()
        {
            raw.cancel();
        }

        /// <summary>The number of logits of the next token, for which the call waits with the option
        /// <c>wait_for_logits</c>; 0 at the end of the text. Since 1.0.</summary>
        /// <param name="timeoutNs">How long to wait, in nanoseconds; negative: without limit.</param>
        /// <exception cref="PoprtException">DeadlineExceeded: there are no logits in time.</exception>
        /// <exception cref="PoprtException">FailedPrecondition: the sequence was started without the option, or has not
        /// started.</exception>
        public long WaitLogits(long timeoutNs)
        {
            return Result(() => raw.wait_logits(timeoutNs));
        }

        /// <summary>The logit of a token, after the call that waits for the logits. 0 if there is none. Since
        /// 1.0.</summary>
        /// <param name="token">The token.</param>
        public double Logit(long token)
        {
            return Result(() => raw.logit(token));
        }

        /// <summary>Changes the logit of a token, after the call that waits for the logits. Since 1.0.</summary>
        /// <param name="token">The token.</param>
        /// <param name="value">Its logit.</param>
        /// <exception cref="PoprtException">InvalidArgument: the token is outside of the vocabulary.</exception>
        /// <exception cref="PoprtException">FailedPrecondition: the sequence does not wait.</exception>
        public void SetLogit(long token, double value)
        {
            raw.set_logit(token, value);
        }

        /// <summary>Chooses the next token from the logits, which the caller may have changed. Since 1.0.</summary>
        /// <exception cref="PoprtException">FailedPrecondition: the sequence does not wait.</exception>
        public void Resume()
        {
            raw.resume();
        }

        /// <summary>Appends a token to the prompt of the decoder, for a model with an encoder. Without it, the decoder
        /// starts with the tokens that the configuration of the model states. Since 1.0.</summary>
        /// <param name="token">The token.</param>
        /// <exception cref="PoprtException">InvalidArgument: the token is outside of the vocabulary, or the model has
        /// no encoder.</exception>
        /// <exception cref="PoprtException">FailedPrecondition: the sequence has started, or continues a saved
        /// text.</exception>
        public void AppendDecoder(long token)
        {
            raw.append_decoder(token);
        }

        /// <summary>Appends an element to the features of an encoder, such as the spectrogram of Whisper, in row-major
        /// order. Since 1.0.</summary>
        /// <param name="value">The element.</param>
        /// <exception cref="PoprtException">InvalidArgument: the encoder takes no features.</exception>
        /// <exception cref="PoprtException">OutOfRange: there are as many as the encoder takes.</exception>
        /// <exception cref="PoprtException">FailedPrecondition: the sequence has started, or continues a saved
        /// text.</exception>
        public void AppendFeature(double value)
        {
            raw.append_feature(value);
        }

        /// <summary>Reads the features of an encoder from a .npy file of NumPy. Their number must be that of the
        /// encoder. Since 1.0.</summary>
        /// <param name="path">The .npy file.</param>
        /// <exception cref="PoprtException">NotFound: the file does not exist.</exception>
        /// <exception cref="PoprtException">InvalidArgument: it is not a complete .npy file of floating-point numbers,
        /// the number differs, or the encoder takes no features.</exception>
        /// <exception cref="PoprtException">FailedPrecondition: the sequence has started, or continues a saved
        /// text.</exception>
        public void ReadFeatures(string path)
        {
            raw.read_features(path);
        }

        /// <summary>Whether a beam search has another text. The call waits for the end of the search and goes to that
        /// text, whose tokens are then the next ones. Since 1.0.</summary>
        /// <exception cref="PoprtException">FailedPrecondition: the sequence has not started, or has no token that may
        /// be chosen.</exception>
        public bool NextText()
        {
            return Result(raw.next_text);
        }

        /// <summary>Writes the text so far to a file: its state on the device, its options and the tokens that were not
        /// read. A sequence that restores the file continues it with the same tokens. The text goes on here. The file
        /// is written completely or not at all, and replaces an existing file. Since 1.0.</summary>
        /// <param name="path">The file.</param>
        /// <exception cref="PoprtException">FailedPrecondition: the sequence has not started.</exception>
        /// <exception cref="PoprtException">Unimplemented: the sequence is a beam search.</exception>
        /// <exception cref="PoprtException">NotFound: the folder does not exist.</exception>
        /// <exception cref="PoprtException">PermissionDenied: the file cannot be created.</exception>
        /// <exception cref="PoprtException">ResourceExhausted: the disk is full.</exception>
        public void Save(string path)
        {
            raw.save(path);
        }

        /// <summary>Reads a saved text instead of a prompt and options. Starting the sequence continues the text. The
        /// generator must have the same model and sizes. The time limit begins again. Since 1.0.</summary>
        /// <param name="path">The file.</param>
        /// <exception cref="PoprtException">NotFound: the file does not exist.</exception>
        /// <exception cref="PoprtException">DataLoss: the file is damaged or truncated.</exception>
        /// <exception cref="PoprtException">FailedPrecondition: the sequence has started, or has a prompt or options;
        /// or the file is of another model, build or size.</exception>
        public void Restore(string path)
        {
            raw.restore(path);
        }

        /// <summary>The score of the current text of a beam search: the sum of its log-probabilities divided by its
        /// length to the power <c>length_penalty</c>. 0 before the end and for other sequences. Since 1.0.</summary>
        public double Score
        {
            get { return Result(raw.score); }
        }
        // </functions:sequence>

        /// <summary>Cancels the text if it continues. A call of another thread that waits for it throws
        /// <see cref="ObjectDisposedException"/>.</summary>
        public void Dispose()
        {
            closed = true;
            try
            {
                raw.cancel(); // the handle is released after the last call
            }
            catch (ObjectDisposedException)
            {
                // The sequence was disposed of before.
            }
            raw.Dispose();
        }
    }
}
