package org.poprt;

/**
 * An acquired device. No other code can acquire it until it and all runners and sessions on it are
 * closed, except that an IPU model is never busy.
 */
public final class Device implements AutoCloseable {
  private final Handle<RawDevice> handle;
  private final long id;
  private final int ipuVersion;
  private final long numIpus;
  private final long tilesPerIpu;
  private final boolean ipuModel;

  Device(RawDevice raw) {
    handle = Handle.of(this, raw, RawDevice::delete);
    id = raw.device_id();
    ipuVersion = raw.ipu_version();
    numIpus = raw.num_ipus();
    tilesPerIpu = raw.tiles_per_ipu();
    ipuModel = raw.is_ipu_model();
  }

  /**
   * Its number.
   *
   * @return one of {@link DeviceManager#deviceIds}, the first of its IPUs; -1 for an IPU model
   */
  public long id() {
    return id;
  }

  /**
   * The emulated version.
   *
   * @return 21 for "ipu21"
   */
  public int ipuVersion() {
    return ipuVersion;
  }

  /**
   * Its IPUs.
   *
   * @return 1 or more
   */
  public long numIpus() {
    return numIpus;
  }

  /**
   * Tiles of each IPU.
   *
   * @return a number, such as 1472
   */
  public long tilesPerIpu() {
    return tilesPerIpu;
  }

  /**
   * Whether it is an IPU model.
   *
   * @return false for the emulated IPUs of the process
   */
  public boolean isIpuModel() {
    return ipuModel;
  }

  /**
   * Releases the device; a runner or session on it keeps it until that is closed. A second call has
   * no effect.
   */
  @Override
  public void close() {
    handle.close();
  }

  Use<RawDevice> use() {
    return handle.use();
  }
}
