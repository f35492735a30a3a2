using System;
using System.Threading;

namespace Poprt
{
    /// <summary>The emulated IPUs of the process. Managers with the same <c>shared</c> have the same ones.
    /// Thread-safe.</summary>
    public sealed class DeviceManager : IDisposable
    {
        private readonly RawDeviceManager raw;

        /// <summary>Creates a manager of the first devices.</summary>
        /// <param name="deviceCount">The number of devices; 0: POPRT_DEVICES, or 16384.</param>
        /// <exception cref="PoprtException">InvalidArgument: outside 0 to 1048576, or POPRT_DEVICES is not a number
        /// from 1 to 1048576.</exception>
        public DeviceManager(int deviceCount = 0) : this(deviceCount, "")
        {
        }

        /// <summary>Creates a manager of selected devices. Since 1.0.</summary>
        /// <param name="deviceCount">The number of devices; 0: POPRT_DEVICES, or 16384.</param>
        /// <param name="visible">Numbers of the visible devices, as in "0,2-3"; "": POPRT_VISIBLE_DEVICES, or
        /// all.</param>
        /// <param name="shared">"1" or an absolute folder: shared with the processes that use the same value; "0": not
        /// shared; "": POPRT_SHARED_DEVICES.</param>
        /// <exception cref="PoprtException">InvalidArgument: another value; PermissionDenied: the shared folder is of
        /// another user or cannot be made.</exception>
        public DeviceManager(int deviceCount, string visible, string shared = "")
        {
            raw = new RawDeviceManager(deviceCount, visible, shared);
        }

        /// <summary>The number of devices, including busy ones.</summary>
        public long DeviceCount
        {
            get { return raw.device_count(); }
        }

        /// <summary>The emulated hardware version, such as "ipu21".</summary>
        public string IpuHardwareVersion
        {
            get { return raw.ipu_hardware_version(); }
        }

        /// <summary>Acquires a free device, without waiting.</summary>
        /// <exception cref="PoprtException">Unavailable: all are busy; NotFound: fewer IPUs are visible; InvalidArgument: the
        /// number.</exception>
        public Device GetDevice(long numIpus = 1)
        {
            return new Device(raw.get_device(numIpus));
        }

        /// <summary>Acquires the device with a number, one of DeviceIds, without waiting.</summary>
        /// <exception cref="PoprtException">NotFound, Unavailable.</exception>
        public Device GetSpecificDevice(long id)
        {
            return new Device(raw.get_specific_device(id));
        }

        /// <summary>The numbers of the devices in ascending order, including busy ones.</summary>
        public long[] DeviceIds
        {
            get
            {
                var ids = new long[raw.device_count()];
                for (int i = 0; i < ids.Length; i++) ids[i] = raw.device_id(i);
                return ids;
            }
        }

        /// <summary>Acquires a device that meets a request; waits as the request specifies.</summary>
        /// <exception cref="PoprtException">NotFound: no visible device can ever be suitable; Unavailable: the suitable
        /// devices are busy; InvalidArgument: the request.</exception>
        public Device Acquire(DeviceRequest request)
        {
            using (var rawRequest = new RawDeviceRequest())
            {
                Argument.Given(request, nameof(request)).Fill(rawRequest);
                return new Device(request.Executable == null
                    ? raw.acquire(rawRequest, request.Id)
                    : raw.acquire_for(request.Executable.Raw, rawRequest, request.Id));
            }
        }

        /// <summary>Creates an IPU model: a separate device that is never busy. Results are those of any
        /// device.</summary>
        /// <param name="numIpus">The number of its IPUs.</param>
        /// <param name="ipuVersion">1, 2 or 21; 0: 2.</param>
        /// <param name="tilesPerIpu">The number of tiles of each IPU; 0: that of the version.</param>
        /// <exception cref="PoprtException">InvalidArgument: another version or count.</exception>
        public Device CreateIpuModelDevice(long numIpus = 1, int ipuVersion = 0, long tilesPerIpu = 0)
        {
            return new Device(raw.create_ipu_model_device(numIpus, ipuVersion, tilesPerIpu));
        }

        /// <summary>As CreateIpuModelDevice, with 4 tiles for each IPU.</summary>
        /// <exception cref="PoprtException">InvalidArgument: another version or count.</exception>
        public Device CreateSmallIpuModelDevice(long numIpus = 1, int ipuVersion = 0)
        {
            return new Device(raw.create_small_ipu_model_device(numIpus, ipuVersion));
        }

        /// <summary>Frees the manager; devices remain valid. A second call has no effect.</summary>
        public void Dispose()
        {
            raw.Dispose();
        }
    }

    /// <summary>Requirements for a device; see <see cref="DeviceManager.Acquire"/>.</summary>
    public sealed class DeviceRequest
    {
        private const int WaitWithTimeout = 1, WaitForever = 2;

        /// <summary>Number of IPUs; 0: 1, or the number that the executable needs.</summary>
        public long NumIpus { get; set; }

        /// <summary>Tiles that each IPU must have.</summary>
        public long MinTiles { get; set; }

        /// <summary>Version of the IPU; 0: any; 21 is a C600 IPU.</summary>
        public int IpuVersion { get; set; }

        /// <summary>Whether remote buffers are needed.</summary>
        public bool RemoteBuffers { get; set; }

        /// <summary>The model that the device must fit.</summary>
        public Executable Executable { get; set; }

        /// <summary>The device with a number; -1: any.</summary>
        public long Id { get; set; } = -1;

        /// <summary>The time to wait while all suitable devices are busy; null: no waiting; Timeout.InfiniteTimeSpan:
        /// until one is free.</summary>
        public TimeSpan? Wait { get; set; }

        /// <summary>The time between two checks of devices that other processes use; zero: 15 seconds.</summary>
        public TimeSpan Sleep { get; set; }

        internal void Fill(RawDeviceRequest raw)
        {
            raw.num_ipus = NumIpus;
            raw.min_tiles = MinTiles;
            raw.ipu_version = IpuVersion;
            raw.remote_buffers = RemoteBuffers ? 1 : 0;
            raw.wait_sleep_ns = RuntimeConfig.Nanoseconds(Sleep);
            if (Wait == null) return;
            bool forever = Wait.Value == Timeout.InfiniteTimeSpan;
            raw.wait_strategy = forever ? WaitForever : WaitWithTimeout;
            raw.wait_timeout_ns = forever ? 0 : RuntimeConfig.Nanoseconds(Wait.Value);
        }
    }

    /// <summary>An acquired device. No other code can acquire it until it and all runners and sessions on it are
    /// disposed of, except that an IPU model is never busy.</summary>
    public sealed class Device : IDisposable
    {
        internal Device(RawDevice raw)
        {
            Raw = raw;
            Id = raw.device_id();
            IpuVersion = raw.ipu_version();
        }

        internal RawDevice Raw { get; }

        /// <summary>The number of its IPUs.</summary>
        public long NumIpus
        {
            get { return Raw.num_ipus(); }
        }

        /// <summary>Tiles of each IPU, such as 1472.</summary>
        public long TilesPerIpu
        {
            get { return Raw.tiles_per_ipu(); }
        }

        /// <summary>Whether it is an IPU model.</summary>
        public bool IsIpuModel
        {
            get { return Raw.is_ipu_model(); }
        }

        /// <summary>Its number, the first of its IPUs; -1 for an IPU model.</summary>
        public long Id { get; }

        /// <summary>The emulated version: 21 for "ipu21".</summary>
        public int IpuVersion { get; }

        /// <summary>Releases the device; a runner or session on it keeps it until that is disposed of. A second call
        /// has no effect.</summary>
        public void Dispose()
        {
            Raw.Dispose();
        }
    }
}
