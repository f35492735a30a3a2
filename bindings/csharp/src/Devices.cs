using System;

namespace Poprt
{
    /// <summary>The emulated IPUs of the process. All managers see the same ones. Thread-safe.</summary>
    public sealed class DeviceManager : IDisposable
    {
        private readonly RawDeviceManager raw;

        /// <summary>A manager of the first devices.</summary>
        /// <param name="deviceCount">How many it sees; 0: POPRT_DEVICES, or 4.</param>
        /// <exception cref="PoprtException">InvalidArgument: outside 0 to 1024.</exception>
        public DeviceManager(int deviceCount = 0)
        {
            raw = new RawDeviceManager(deviceCount);
        }

        /// <summary>How many devices there are, busy ones included.</summary>
        public long DeviceCount
        {
            get { return raw.device_count(); }
        }

        /// <summary>What the emulator stands for, such as "ipu21".</summary>
        public string IpuHardwareVersion
        {
            get { return raw.ipu_hardware_version(); }
        }

        /// <summary>A free device of one IPU; more do not exist yet.</summary>
        /// <exception cref="PoprtException">Unavailable: all are busy.</exception>
        public Device GetDevice(long numIpus = 1)
        {
            return new Device(raw.get_device(numIpus));
        }

        /// <summary>The device with a number, 0 to DeviceCount - 1.</summary>
        /// <exception cref="PoprtException">NotFound, Unavailable.</exception>
        public Device GetSpecificDevice(long id)
        {
            return new Device(raw.get_specific_device(id));
        }

        /// <summary>Frees it; devices live on. A second time does nothing.</summary>
        public void Dispose()
        {
            raw.Dispose();
        }
    }

    /// <summary>A device that is held: nobody else gets it until it and all runners on it are disposed of.</summary>
    public sealed class Device : IDisposable
    {
        internal Device(RawDevice raw)
        {
            Raw = raw;
            Id = raw.device_id();
            IpuVersion = raw.ipu_version();
        }

        internal RawDevice Raw { get; }

        /// <summary>Its number.</summary>
        public long Id { get; }

        /// <summary>What the emulator stands for: 21 for "ipu21".</summary>
        public int IpuVersion { get; }

        /// <summary>Gives it back; a runner on it keeps it until then. A second time does nothing.</summary>
        public void Dispose()
        {
            Raw.Dispose();
        }
    }
}
