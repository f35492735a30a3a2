package org.poprt;

/** The emulated IPUs of the process. All managers see the same ones. Thread-safe. */
public final class DeviceManager implements AutoCloseable {
  private final Handle<RawDeviceManager> handle;

  /**
   * As many devices as POPRT_DEVICES says, or 16384.
   *
   * @throws PoprtException when POPRT_DEVICES is no number
   */
  public DeviceManager() {
    this(0);
  }

  /**
   * A manager of the first devices.
   *
   * @param deviceCount how many it sees; 0: POPRT_DEVICES, or 16384
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} outside 0 to 1048576
   */
  public DeviceManager(int deviceCount) {
    this(deviceCount, "", "");
  }

  /**
   * A manager of some devices.
   *
   * @param deviceCount how many there are; 0: POPRT_DEVICES, or 16384
   * @param visible numbers of those that it sees, as in "0,2-3"; "": POPRT_VISIBLE_DEVICES, or all
   * @param shared "1" or an absolute folder: with the processes that say the same; "0": with none;
   *     "": POPRT_SHARED_DEVICES
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} for something else
   * @since 1.0
   */
  public DeviceManager(int deviceCount, String visible, String shared) {
    RawDeviceManager raw = new RawDeviceManager(deviceCount, visible, shared);
    handle = Handle.of(this, raw, RawDeviceManager::delete);
  }

  /**
   * How many devices there are, busy ones included.
   *
   * @return the number
   */
  public long deviceCount() {
    try (Use<RawDeviceManager> use = handle.use()) {
      return use.raw().device_count();
    }
  }

  /**
   * A free device.
   *
   * @param numIpus its IPUs
   * @return the device
   * @throws PoprtException with {@link ErrorCode#UNAVAILABLE} when all are busy
   */
  public Device getDevice(long numIpus) {
    try (Use<RawDeviceManager> use = handle.use()) {
      return new Device(use.raw().get_device(numIpus));
    }
  }

  /**
   * The device with a number.
   *
   * @param id 0 to {@link #deviceCount} - 1
   * @return the device
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND} or {@link ErrorCode#UNAVAILABLE}
   */
  public Device getSpecificDevice(long id) {
    try (Use<RawDeviceManager> use = handle.use()) {
      return new Device(use.raw().get_specific_device(id));
    }
  }

  /**
   * A device as requested; waits as the request says.
   *
   * @param request what it must be
   * @return the device
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND} (none can ever fit) or {@link
   *     ErrorCode#UNAVAILABLE} (those that fit are busy)
   */
  public Device acquire(DeviceRequest request) {
    RawDeviceRequest raw = new RawDeviceRequest();
    try (Use<RawDeviceManager> use = handle.use()) {
      request.fill(raw);
      if (request.executable == null) return new Device(use.raw().acquire(raw, request.id));
      try (Use<RawExecutable> model = request.executable.use()) {
        return new Device(use.raw().acquire_for(model.raw(), raw, request.id));
      }
    } finally {
      raw.delete();
    }
  }

  /**
   * An IPU model: a device of its own, which nobody waits for. Results are those of any device.
   *
   * @param numIpus its IPUs
   * @param ipuVersion 1, 2 or 21; 0: 2
   * @param tilesPerIpu 0: what the version has
   * @return the device
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} for another version or count
   */
  public Device createIpuModelDevice(long numIpus, int ipuVersion, long tilesPerIpu) {
    try (Use<RawDeviceManager> use = handle.use()) {
      return new Device(use.raw().create_ipu_model_device(numIpus, ipuVersion, tilesPerIpu));
    }
  }

  /**
   * As {@link #createIpuModelDevice}, with 4 tiles for each IPU.
   *
   * @param numIpus its IPUs
   * @param ipuVersion 1, 2 or 21; 0: 2
   * @return the device
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} for another version or count
   */
  public Device createSmallIpuModelDevice(long numIpus, int ipuVersion) {
    try (Use<RawDeviceManager> use = handle.use()) {
      return new Device(use.raw().create_small_ipu_model_device(numIpus, ipuVersion));
    }
  }

  /**
   * The numbers of the devices.
   *
   * @return in ascending order, busy ones included
   */
  public long[] deviceIds() {
    try (Use<RawDeviceManager> use = handle.use()) {
      long[] ids = new long[Math.toIntExact(use.raw().device_count())];
      for (int i = 0; i < ids.length; i++) ids[i] = use.raw().device_id(i);
      return ids;
    }
  }

  /**
   * What the emulator stands for.
   *
   * @return such as "ipu21"
   */
  public String ipuHardwareVersion() {
    try (Use<RawDeviceManager> use = handle.use()) {
      return use.raw().ipu_hardware_version();
    }
  }

  /** Frees it; devices live on. A second time does nothing. */
  @Override
  public void close() {
    handle.close();
  }
}
