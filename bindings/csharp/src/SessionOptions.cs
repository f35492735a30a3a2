using System;

namespace Poprt
{
    /// <summary>How a <see cref="Session"/> is made. Zero and null mean the default.</summary>
    public sealed class SessionOptions
    {
        /// <summary>Compute threads; 0: POPRT_THREADS, or all CPUs. Results are equal for any number.</summary>
        public int Threads { get; set; }

        /// <summary>Whether to time every instruction, for <see cref="Session.Profile"/>; slower. Since 1.0.</summary>
        public bool EnableProfile { get; set; }

        /// <summary>The device; null: any free one that fits.</summary>
        public Device Device { get; set; }

        /// <summary>Whether the device is taken by BindToDevice or the first run, not when the session is
        /// made.</summary>
        public bool Deferred { get; set; }

        /// <summary>Whether other sessions cannot take the device; else whoever binds it next does.</summary>
        public bool Exclusive { get; set; }

        /// <summary>Whether to publish what it does, as POPRT_TELEMETRY=1 does; see
        /// <see cref="Library.ReadTelemetry"/>.</summary>
        public bool Telemetry { get; set; }

        /// <summary>How long to wait for a device when none is free; zero: not at all.</summary>
        public TimeSpan DeviceWaitTimeout { get; set; }

        /// <summary>Between attempts to get one; zero: 6 seconds.</summary>
        public TimeSpan DeviceWaitSleep { get; set; }

        /// <summary>Which anchors handlers or queues serve; null: those of main programs and of none, without
        /// data.</summary>
        public AnchorPredicate UserAnchors { get; set; }

        internal void Fill(RawSessionOptions raw)
        {
            raw.set_threads(Threads);
            raw.set_profile(EnableProfile);
            raw.set_deferred(Deferred);
            raw.set_exclusive(Exclusive);
            raw.set_telemetry(Telemetry);
            raw.set_wait(DeviceWaitTimeout == TimeSpan.Zero ? 0 : 1, RuntimeConfig.Nanoseconds(DeviceWaitTimeout),
                RuntimeConfig.Nanoseconds(DeviceWaitSleep));
            if (Device != null) raw.set_device(Device.Raw);
        }
    }

    /// <summary>How the queues of a <see cref="QueueManager"/> are made.</summary>
    public sealed class QueueOptions
    {
        /// <summary>Elements that fit into a queue, rounded up to a power of two; 0: 16.</summary>
        public int Buffers { get; set; }

        /// <summary>How long a run waits for an input before OnTimeout is called.</summary>
        public TimeSpan Timeout { get; set; }

        /// <summary>Called on the running thread, again and again; may enqueue to the queue, for example padding. When
        /// it throws, the session is stopped and the run throws it. Null: never.</summary>
        public Action<InputQueue> OnTimeout { get; set; }

        /// <summary>Which anchors get a queue; null: those that the session wants served.</summary>
        public AnchorPredicate UserAnchors { get; set; }

        internal void Fill(RawQueueOptions raw, long queues)
        {
            raw.set_buffers(Buffers);
            raw.set_timeout(RuntimeConfig.Nanoseconds(Timeout), OnTimeout == null ? 0 : Targets.Timeout, queues);
        }
    }
}
