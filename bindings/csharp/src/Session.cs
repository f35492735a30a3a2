using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Threading;

namespace Poprt
{
    /// <summary>
    /// A model on a device whose inputs and outputs use handlers or queues, and whose programs the caller runs. A <see
    /// cref="ModelRunner"/> is simpler.
    /// </summary>
    /// <remarks>
    /// Any thread may use a session. Runs, loading and changes of handlers wait for each other. Handlers are called on
    /// the thread that runs programs; <see cref="StreamHandler"/> names the exceptions. A session that is not exclusive
    /// loses its device to the next one that binds it, and then fails with FailedPrecondition until Reload or
    /// BindToDevice. A process that exits stops running programs, and waits for them up to 10 s.
    /// </remarks>
    public sealed unsafe class Session : IDisposable
    {
        private readonly RawSession raw;
        private readonly object changing = new object();
        private readonly TargetNumbers numbers = new TargetNumbers();

        /// <summary>The handlers by anchor; no other object refers to them.</summary>
        private readonly Dictionary<string, StreamHandler> handlers = new Dictionary<string, StreamHandler>();
        private QueueManager queues;

        /// <summary>Creates a session of a model, which may be disposed of afterwards.</summary>
        /// <exception cref="PoprtException">Unavailable: all devices are busy; NotFound: no suitable device exists;
        /// FailedPrecondition: another session uses the given device exclusively, the device does not suit the
        /// executable, or a kernel is missing; InvalidArgument: options; ResourceExhausted.</exception>
        public Session(Executable executable, SessionOptions options = null)
        {
            Argument.Given(executable, nameof(executable));
            Running.Watch();
            options = options ?? new SessionOptions();
            AnchorPredicate predicate = options.UserAnchors;
            long asked = predicate == null ? 0 : Targets.Add(predicate);
            try
            {
                using (var rawOptions = new RawSessionOptions())
                {
                    options.Fill(rawOptions);
                    if (asked != 0) rawOptions.set_predicate(Targets.Accepts, asked);
                    raw = new RawSession(executable.Raw, rawOptions);
                    GC.KeepAlive(options);
                }
            }
            finally
            {
                Targets.Remove(asked);
                GC.KeepAlive(predicate);
                Rethrow(true);
            }
            UserInputs = Anchor.List(raw.user_input_count(), raw.user_input_anchor);
            UserOutputs = Anchor.List(raw.user_output_count(), raw.user_output_anchor);
        }

        internal RawSession Raw
        {
            get { return raw; }
        }

        /// <summary>Inputs that the caller must serve, in the model's order. A mask <c>poprt.real.DIM</c> of a model at
        /// several shapes is not one of them: the session fills it with ones, so that every place of the shape that
        /// <c>poprt.bucket</c> selects is real. A caller that pads its inputs sets a handler for it.</summary>
        public IReadOnlyList<Anchor> UserInputs { get; }

        /// <summary>Outputs that the caller must serve, in the model's order.</summary>
        public IReadOnlyList<Anchor> UserOutputs { get; }

        /// <summary>Whether the session is on a device. False before one was acquired, after unloading, and if another
        /// session uses the device.</summary>
        public bool IsLoaded
        {
            get { return raw.is_loaded(); }
        }

        /// <summary>Loads the session on a device; null is its current one, else that of the options, else a free one.
        /// Unloads the session that uses the device.</summary>
        /// <exception cref="PoprtException">As for the constructor.</exception>
        public void BindToDevice(Device device = null)
        {
            Call(() =>
            {
                if (device == null) raw.bind_to_any_device();
                else raw.bind_to_device(device.Raw);
            });
            GC.KeepAlive(device);
        }

        /// <summary>Loads again: the state is the initial one, and the session is no longer stopped. Updated weights
        /// are kept.</summary>
        /// <exception cref="PoprtException">As for the constructor.</exception>
        public void Reload()
        {
            Call(raw.load_again);
        }

        /// <summary>Frees the device. Running programs end with Cancelled.</summary>
        public void UnloadFromDevice()
        {
            Call(raw.unload_from_device);
        }

        /// <summary>Ends runs soon with Cancelled (RunMainPrograms returns false instead), and later ones until Reload
        /// or BindToDevice. Handlers may call it.</summary>
        public void Stop()
        {
            Call(raw.stop);
        }

        /// <summary>Sets the handler of an input; null removes it.</summary>
        /// <exception cref="PoprtException">NotFound: no input has the name; FailedPrecondition: the metadata has no
        /// handle for the anchor.</exception>
        public void SetUserInputHandler(string name, InputHandler handler)
        {
            Set("in " + name, handler, number =>
            {
                if (handler == null) raw.set_input_handler(name, 0, 0, 0, 0, 0, 0);
                else raw.set_input_handler(name, Targets.Prefetch, Targets.Fetch, Targets.Complete, Targets.Invalidate,
                    Targets.Interrupt, number);
            });
        }

        /// <summary>Sets the handler of an output; null removes it.</summary>
        /// <exception cref="PoprtException">NotFound: no output has the name; FailedPrecondition: the metadata has no
        /// handle for the anchor.</exception>
        public void SetUserOutputHandler(string name, OutputHandler handler)
        {
            SetOutput(name, handler);
        }

        /// <summary>Sets the handler of an input: a function that writes each transfer.</summary>
        /// <exception cref="PoprtException">NotFound: no input has the name; FailedPrecondition: the metadata has no
        /// handle for the anchor.</exception>
        public void SetUserInputHandler(string name, StreamTransfer fetch)
        {
            SetUserInputHandler(name, new InputFunction(fetch));
        }

        /// <summary>Sets the handler of an output: a function that reads each transfer.</summary>
        /// <exception cref="PoprtException">NotFound: no output has the name; FailedPrecondition: the metadata has no
        /// handle for the anchor.</exception>
        public void SetUserOutputHandler(string name, StreamTransfer take)
        {
            SetOutput(name, new OutputFunction(take));
        }

        private void SetOutput(string name, StreamHandler handler)
        {
            Set("out " + name, handler, number =>
            {
                if (handler == null) raw.set_output_handler(name, 0, 0, 0, 0);
                else raw.set_output_handler(name, Targets.Fetch, Targets.Complete, Targets.Interrupt, number);
            });
        }

        private void Set(string key, StreamHandler handler, Action<long> set)
        {
            lock (changing)
            {
                long number = handler == null ? 0 : Targets.Add(handler);
                bool isSet = false;
                try
                {
                    Call(() =>
                    {
                        set(number);
                        isSet = true;
                    });
                }
                finally // the previous handler may have thrown; the new one is set in any case
                {
                    if (isSet) Keep(key, handler, number);
                    else Targets.Remove(number);
                }
            }
        }

        /// <summary>Keeps the handler. Native code no longer refers to the previous one, which is removed.</summary>
        private void Keep(string key, StreamHandler handler, long number)
        {
            numbers.Replace(key, number);
            if (handler == null) handlers.Remove(key);
            else handlers[key] = handler;
        }

        /// <summary>Runs the load programs.</summary>
        /// <exception cref="PoprtException">Cancelled: stopped, or no data; FailedPrecondition: anchors are not
        /// connected, or it is on no device.</exception>
        public void RunLoadPrograms()
        {
            Run(raw.run_load_programs);
        }

        /// <summary>Runs the main programs once; each stream is transferred once for each device iteration and replica
        /// of the executable.</summary>
        /// <returns>False if Stop or DisconnectAll ended the programs or prevented them from running, so that a thread
        /// which calls this in a loop ends without an exception.</returns>
        /// <exception cref="PoprtException">Cancelled: a handler had no data, or the session left its device;
        /// FailedPrecondition: anchors are not connected, or it is on no device.</exception>
        public bool RunMainPrograms()
        {
            bool ran = false;
            Run(() => ran = raw.run_main_programs_unless_stopped());
            return ran;
        }

        /// <summary>Runs the save programs.</summary>
        /// <exception cref="PoprtException">As for RunLoadPrograms.</exception>
        public void RunSavePrograms()
        {
            Run(raw.run_save_programs);
        }

        /// <summary>Runs programs by PopEF's indices, in this order.</summary>
        /// <exception cref="PoprtException">NotFound, and as for RunLoadPrograms.</exception>
        public void RunPrograms(params int[] indices)
        {
            var values = new long[Argument.Given(indices, nameof(indices)).Length + 1];
            Array.Copy(indices, values, indices.Length);
            Run(() =>
            {
                fixed (long* first = values) raw.run_programs(first, indices.Length);
            });
        }

        // <functions:session> made from capi/functions.toml by tests/lint/functions.py --write
        /// <summary>Checks that every anchor that the user serves has a handler or a queue. Since 0.1.</summary>
        /// <exception cref="PoprtException">FailedPrecondition: some have none; the message names them.</exception>
        public void VerifyConnected()
        {
            Call(raw.verify_connected);
        }

        /// <summary>A JSON object with the times of every instruction since the session was last loaded on a device, in
        /// the format of the runner's profile. Since 1.0.</summary>
        /// <exception cref="PoprtException">FailedPrecondition: the session was created without the option
        /// <c>profile</c>, or is on no device.</exception>
        public string Profile()
        {
            return raw.profile();
        }
        // </functions:session>

        /// <summary>Returns the blobs of the model; see <see cref="Executable.PopefModel"/>. Since 1.0.</summary>
        /// <returns>An independent model, which must be disposed of.</returns>
        public PopefModel PopefModel()
        {
            return new PopefModel(raw.popef_model());
        }

        /// <summary>Replaces the value of an input that has data in the executable, by copy, for later runs.</summary>
        /// <exception cref="PoprtException">NotFound; InvalidArgument: the size.</exception>
        public void UpdateWeights<T>(string name, ReadOnlySpan<T> value) where T : struct
        {
            ReadOnlySpan<byte> bytes = MemoryMarshal.AsBytes(value.Slice(0, Math.Min(1, value.Length)));
            fixed (byte* first = &MemoryMarshal.GetReference(bytes))
                raw.update_weights(name, (long)first, (long)value.Length * Element<T>.Bytes);
        }

        /// <summary>Copies the value of an input that has data in the executable.</summary>
        /// <exception cref="PoprtException">As for UpdateWeights.</exception>
        public void ReadWeights<T>(string name, Span<T> value) where T : struct
        {
            Span<byte> bytes = MemoryMarshal.AsBytes(value.Slice(0, Math.Min(1, value.Length)));
            fixed (byte* first = &MemoryMarshal.GetReference(bytes))
                raw.read_weights(name, (long)first, (long)value.Length * Element<T>.Bytes);
        }

        /// <summary>Creates a queue for each anchor that QueueOptions.UserAnchors selects. Earlier queues are closed:
        /// their waiting elements are cancelled, and so is a run that waits for them.</summary>
        /// <exception cref="PoprtException">InvalidArgument: the options; earlier queues then stay open.</exception>
        public QueueManager CreateQueueManager(QueueOptions options = null)
        {
            options = options ?? new QueueOptions();
            lock (changing)
            {
                var made = new QueueManager(this, options.OnTimeout);
                long number = options.OnTimeout == null ? 0 : Targets.Add(made);
                AnchorPredicate predicate = options.UserAnchors;
                long asked = predicate == null ? 0 : Targets.Add(predicate);
                try
                {
                    using (var rawOptions = new RawQueueOptions())
                    {
                        options.Fill(rawOptions, number);
                        if (asked != 0) rawOptions.set_predicate(Targets.Accepts, asked);
                        if (queues != null) queues.Close();
                        Call(() => made.Open(raw.create_queue_manager(rawOptions)));
                    }
                }
                catch
                {
                    Targets.Remove(number);
                    if (queues != null) queues.KeepIfOpen();
                    throw;
                }
                finally
                {
                    Targets.Remove(asked);
                    GC.KeepAlive(predicate);
                }
                numbers.Replace("queues", number);
                queues = made;
                return made;
            }
        }

        /// <summary>Stops the session, as Stop does, and frees it when the running programs have ended. Waiting
        /// elements of queues are cancelled. A second call has no effect.</summary>
        public void Dispose()
        {
            try
            {
                Stop();
            }
            catch (ObjectDisposedException)
            {
                // This is not the first call.
            }
            finally
            {
                Targets.Call(raw.Dispose); // freeing the session calls handlers
            }
        }

        /// <summary>Calls the library, and rethrows exceptions of handlers.</summary>
        private void Call(Action what)
        {
            try
            {
                what();
            }
            finally
            {
                GC.KeepAlive(this); // also keeps the handlers
                Rethrow(false);
            }
        }

        private void Run(Action what)
        {
            Running.Enter(raw);
            try
            {
                Call(what);
            }
            finally
            {
                Running.Leave(raw);
            }
        }

        private void Rethrow(bool dispose)
        {
            try
            {
                Targets.Rethrow();
            }
            catch
            {
                if (dispose && raw != null) raw.Dispose();
                throw;
            }
        }
    }

    /// <summary>The sessions in calls that may block or call managed code. They are stopped when the process exits,
    /// because no such call may be running then.</summary>
    internal static class Running
    {
        private const int PatienceMs = 10000;
        private static readonly List<RawSession> sessions = new List<RawSession>();
        private static bool leaving;

        static Running()
        {
            AppDomain.CurrentDomain.ProcessExit += Leave;
            AppDomain.CurrentDomain.DomainUnload += Leave;
        }

        /// <summary>Runs the static constructor, which installs the exit handlers, because the process may exit before
        /// the first call.</summary>
        internal static void Watch()
        {
        }

        internal static void Enter(RawSession session)
        {
            lock (sessions)
            {
                if (leaving) throw new PoprtException(ErrorCode.Cancelled, "the process ends");
                sessions.Add(session);
            }
        }

        internal static void Leave(RawSession session)
        {
            lock (sessions)
            {
                sessions.Remove(session);
                if (sessions.Count == 0) Monitor.PulseAll(sessions);
            }
        }

        private static void Leave(object sender, EventArgs e)
        {
            RawSession[] now;
            lock (sessions)
            {
                leaving = true;
                now = sessions.ToArray();
            }
            foreach (RawSession session in now)
                try
                {
                    session.stop();
                }
                catch (ObjectDisposedException)
                {
                    // The session ends in any case.
                }
            DateTime until = DateTime.UtcNow.AddMilliseconds(PatienceMs);
            lock (sessions)
                while (sessions.Count != 0 && DateTime.UtcNow < until) Monitor.Wait(sessions, 100);
        }
    }
}
