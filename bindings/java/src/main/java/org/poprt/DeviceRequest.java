package org.poprt;

import java.time.Duration;

/** Requirements for a device; see {@link DeviceManager#acquire}. */
public final class DeviceRequest {
  private static final int WAIT_WITH_TIMEOUT = 1;
  private static final int WAIT_FOREVER = 2;

  private long numIpus;
  private long minTiles;
  private int ipuVersion;
  private boolean remoteBuffers;
  private int waitStrategy;
  private Duration timeout = Duration.ZERO;
  private Duration sleep = Duration.ZERO;
  Executable executable;
  long id = -1;

  /** A request for any device, without waiting. */
  public DeviceRequest() {}

  /**
   * Number of IPUs.
   *
   * @param count 0, the default: 1, or the number that the executable needs
   * @return this
   */
  public DeviceRequest numIpus(long count) {
    numIpus = count;
    return this;
  }

  /**
   * Tiles that each IPU must have.
   *
   * @param tiles default 0
   * @return this
   */
  public DeviceRequest minTiles(long tiles) {
    minTiles = tiles;
    return this;
  }

  /**
   * Version of the IPU.
   *
   * @param version 0, the default: any; 21 is a C600 IPU
   * @return this
   */
  public DeviceRequest ipuVersion(int version) {
    ipuVersion = version;
    return this;
  }

  /**
   * Whether remote buffers are needed.
   *
   * @param needed default false
   * @return this
   */
  public DeviceRequest remoteBuffers(boolean needed) {
    remoteBuffers = needed;
    return this;
  }

  /**
   * The model that the device must fit.
   *
   * @param executable null, the default: none
   * @return this
   */
  public DeviceRequest executable(Executable executable) {
    this.executable = executable;
    return this;
  }

  /**
   * The device with a number.
   *
   * @param id -1, the default: any
   * @return this
   */
  public DeviceRequest id(long id) {
    this.id = id;
    return this;
  }

  /**
   * Waits while all suitable devices are busy.
   *
   * @param timeout the longest waiting time
   * @return this
   */
  public DeviceRequest waitFor(Duration timeout) {
    waitStrategy = WAIT_WITH_TIMEOUT;
    this.timeout = timeout;
    return this;
  }

  /**
   * Waits until a suitable device is free.
   *
   * @return this
   */
  public DeviceRequest waitForever() {
    waitStrategy = WAIT_FOREVER;
    return this;
  }

  /**
   * The time between two checks of devices that other processes use.
   *
   * @param sleep 0, the default: 15 seconds
   * @return this
   */
  public DeviceRequest sleep(Duration sleep) {
    this.sleep = sleep;
    return this;
  }

  void fill(RawDeviceRequest raw) {
    raw.setNum_ipus(numIpus);
    raw.setMin_tiles(minTiles);
    raw.setIpu_version(ipuVersion);
    raw.setRemote_buffers(remoteBuffers ? 1 : 0);
    raw.setWait_strategy(waitStrategy);
    raw.setWait_timeout_ns(Times.nanos(timeout));
    raw.setWait_sleep_ns(Times.nanos(sleep));
  }
}
