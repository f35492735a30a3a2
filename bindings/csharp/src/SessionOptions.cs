using System;

namespace Poprt
{
    /// <summary>Options of a <see cref="Session"/>. Zero and null mean the default.</summary>
    public sealed class SessionOptions
    {
        // <options:session> made from capi/option_fields.toml by tests/lint/option_fields.py --write
        /// <summary>Compute threads. Results are bit-equal for any number. 0: POPRT_THREADS from the environment, or
        /// all CPUs. Since 0.1.</summary>
        public int Threads { get; set; }

        /// <summary>Whether to measure the time of every instruction, which <see cref="Session.Profile"/> returns. Runs
        /// are slower. Default: false. Since 1.0.</summary>
        public bool Profile { get; set; }

        /// <summary><see cref="Profile"/> by its older name. Since 0.1.</summary>
        public bool EnableProfile
        {
            get { return Profile; }
            set { Profile = value; }
        }

        /// <summary>The device to run on. Null: any free device that fits the executable. Since 0.1.</summary>
        public Device Device { get; set; }

        /// <summary>Whether BindToDevice or the first run acquires the device, instead of the creation of the session.
        /// Default: false. Since 0.1.</summary>
        public bool Deferred { get; set; }

        /// <summary>Whether other sessions are refused the device. Otherwise the next session that binds the device
        /// unloads this one. Default: false. Since 0.1.</summary>
        public bool Exclusive { get; set; }

        /// <summary>Whether to publish the session's activity, as POPRT_TELEMETRY=1 does; see
        /// <see cref="Library.ReadTelemetry"/>. Default: false. Since 0.1.</summary>
        public bool Telemetry { get; set; }

        /// <summary>How long to wait for a device when none is free. Zero: fail at once. Since 0.1.</summary>
        public TimeSpan DeviceWaitTimeout { get; set; }

        /// <summary>How long to sleep between two checks of devices that other processes use. Zero: 15 s. Since
        /// 0.1.</summary>
        public TimeSpan DeviceWaitSleep { get; set; }

        /// <summary>A function that chooses the anchors that handlers or queues serve. Other inputs are zeros, other
        /// outputs are dropped. Null: the anchors without data that belong to a main program or to no program. Since
        /// 0.1.</summary>
        public AnchorPredicate UserAnchors { get; set; }

        private void FillFields(RawSessionOptions raw)
        {
            raw.set_threads(Threads);
            raw.set_profile(Profile);
            raw.set_deferred(Deferred);
            raw.set_exclusive(Exclusive);
            raw.set_telemetry(Telemetry);
        }
        // </options:session>

        internal void Fill(RawSessionOptions raw)
        {
            FillFields(raw);
            bool forever = DeviceWaitTimeout == System.Threading.Timeout.InfiniteTimeSpan;
            raw.set_wait(forever ? 2 : DeviceWaitTimeout == TimeSpan.Zero ? 0 : 1,
                forever ? 0 : RuntimeConfig.Nanoseconds(DeviceWaitTimeout), RuntimeConfig.Nanoseconds(DeviceWaitSleep));
            if (Device != null) raw.set_device(Device.Raw);
        }
    }

    /// <summary>Options of the queues of a <see cref="QueueManager"/>.</summary>
    public sealed class QueueOptions
    {
        /// <summary>Elements that fit into a queue, rounded up to a power of two; 0: 16.</summary>
        public int Buffers { get; set; }

        /// <summary>The time that a run waits for an input before OnTimeout is called; zero or
        /// Timeout.InfiniteTimeSpan: it is never called.</summary>
        public TimeSpan Timeout { get; set; }

        /// <summary>Called repeatedly on the running thread when a run has waited for Timeout. It may enqueue to the
        /// queue, for example padding. If it throws, the session is stopped and the run rethrows the exception. Null:
        /// no action.</summary>
        public Action<InputQueue> OnTimeout { get; set; }

        /// <summary>Selects the anchors with a queue; null: those that the caller must serve.</summary>
        public AnchorPredicate UserAnchors { get; set; }

        internal void Fill(RawQueueOptions raw, long queues)
        {
            raw.set_buffers(Buffers);
            bool never = OnTimeout == null || Timeout == System.Threading.Timeout.InfiniteTimeSpan;
            raw.set_timeout(never ? 0 : RuntimeConfig.Nanoseconds(Timeout), never ? 0 : Targets.Timeout, queues);
        }
    }
}
