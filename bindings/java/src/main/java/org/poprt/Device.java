package org.poprt;

/** A device that is held: nobody else gets it until it and all runners on it are closed. */
public final class Device implements AutoCloseable {
  private final Handle<RawDevice> handle;
  private final long id;
  private final int ipuVersion;

  Device(RawDevice raw) {
    handle = Handle.of(this, raw, RawDevice::delete);
    id = raw.device_id();
    ipuVersion = raw.ipu_version();
  }

  /**
   * Its number.
   *
   * @return 0 to {@link DeviceManager#deviceCount} - 1
   */
  public long id() {
    return id;
  }

  /**
   * What the emulator stands for.
   *
   * @return 21 for "ipu21"
   */
  public int ipuVersion() {
    return ipuVersion;
  }

  /** Gives it back; a runner on it keeps it until then. A second time does nothing. */
  @Override
  public void close() {
    handle.close();
  }

  Use<RawDevice> use() {
    return handle.use();
  }
}
