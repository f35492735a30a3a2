package org.poprt;

/**
 * The emulated IPUs of the process. Managers with the same {@code shared} have the same ones.
 * Thread-safe.
 */
public final class DeviceManager implements AutoCloseable {
  private final Handle<RawDeviceManager> handle;

  /**
   * Creates a manager of POPRT_DEVICES devices, or 16384.
   *
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} if POPRT_DEVICES is not a number
   *     from 1 to 1048576, or another variable of the environment is wrong
   */
  public DeviceManager() {
    this(0);
  }

  /**
   * Creates a manager of the first devices.
   *
   * @param deviceCount the number of devices; 0: POPRT_DEVICES, or 16384
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} outside 0 to 1048576
   */
  public DeviceManager(int deviceCount) {
    this(deviceCount, "", "");
  }

  /**
   * Creates a manager of selected devices.
   *
   * @param deviceCount the number of devices; 0: POPRT_DEVICES, or 16384
   * @param visible numbers of the visible devices, as in "0,2-3"; "": POPRT_VISIBLE_DEVICES, or all
   * @param shared "1" or an absolute folder: shared with the processes that use the same value;
   * "0": not shared; "": POPRT_SHARED_DEVICES
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} for other values, or {@link
   *     ErrorCode#PERMISSION_DENIED} if the shared folder is of another user or cannot be made
   * @since 1.0
   */
  public DeviceManager(int deviceCount, String visible, String shared) {
    RawDeviceManager raw = new RawDeviceManager(deviceCount, visible, shared);
    handle = Handle.of(this, raw, RawDeviceManager::delete);
  }

  /**
   * Returns the number of devices, including busy ones.
   *
   * @return the number
   */
  public long deviceCount() {
    try (Use<RawDeviceManager> use = handle.use()) {
      return use.raw().device_count();
    }
  }

  /**
   * Acquires a free device, without waiting.
   *
   * @param numIpus the number of its IPUs
   * @return the device
   * @throws PoprtException with {@link ErrorCode#UNAVAILABLE} (all are busy), {@link
   *     ErrorCode#NOT_FOUND} (fewer are visible) or {@link ErrorCode#INVALID_ARGUMENT} (the number)
   */
  public Device getDevice(long numIpus) {
    try (Use<RawDeviceManager> use = handle.use()) {
      return new Device(use.raw().get_device(numIpus));
    }
  }

  /**
   * Acquires the device with a number, without waiting.
   *
   * @param id one of {@link #deviceIds}
   * @return the device
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND} or {@link ErrorCode#UNAVAILABLE}
   */
  public Device getSpecificDevice(long id) {
    try (Use<RawDeviceManager> use = handle.use()) {
      return new Device(use.raw().get_specific_device(id));
    }
  }

  /**
   * Acquires a device that meets a request; waits as the request specifies.
   *
   * @param request the requirements
   * @return the device
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND} (no visible device can ever be
   * suitable), {@link ErrorCode#UNAVAILABLE} (the suitable devices are busy) or {@link
   * ErrorCode#INVALID_ARGUMENT} (the request)
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
   * Creates an IPU model: a separate device that is never busy. Results are those of any device.
   *
   * @param numIpus the number of its IPUs
   * @param ipuVersion 1, 2 or 21; 0: 2
   * @param tilesPerIpu the number of tiles of each IPU; 0: that of the version
   * @return the device
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} for another version or count
   */
  public Device createIpuModelDevice(long numIpus, int ipuVersion, long tilesPerIpu) {
    try (Use<RawDeviceManager> use = handle.use()) {
      return new Device(use.raw().create_ipu_model_device(numIpus, ipuVersion, tilesPerIpu));
    }
  }

  /**
   * Creates an IPU model with 4 tiles for each IPU; see {@link #createIpuModelDevice}.
   *
   * @param numIpus the number of its IPUs
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
   * @return the numbers in ascending order, including those of busy devices
   */
  public long[] deviceIds() {
    try (Use<RawDeviceManager> use = handle.use()) {
      long[] ids = new long[Math.toIntExact(use.raw().device_count())];
      for (int i = 0; i < ids.length; i++) ids[i] = use.raw().device_id(i);
      return ids;
    }
  }

  /**
   * The emulated hardware version.
   *
   * @return the name of the version, such as "ipu21"
   */
  public String ipuHardwareVersion() {
    try (Use<RawDeviceManager> use = handle.use()) {
      return use.raw().ipu_hardware_version();
    }
  }

  /** Frees the manager; devices remain valid. A second call has no effect. */
  @Override
  public void close() {
    handle.close();
  }
}
