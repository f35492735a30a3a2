package org.poprt;

/** How a {@link ModelRunner} runs. */
public final class RuntimeConfig {
  int threads;
  boolean profile;
  int queueDepth;
  Device device;

  /** The defaults. */
  public RuntimeConfig() {}

  /**
   * Compute threads. Results are equal for any number.
   *
   * @param count 0, the default: POPRT_THREADS from the environment, or all CPUs
   * @return this
   */
  public RuntimeConfig threads(int count) {
    threads = count;
    return this;
  }

  /**
   * Whether to time every instruction, for {@link ModelRunner#profile}; slower.
   *
   * @param on default false
   * @return this
   */
  public RuntimeConfig profile(boolean on) {
    profile = on;
    return this;
  }

  /**
   * Asynchronous runs in flight before {@link ModelRunner#executeAsync} blocks.
   *
   * @param depth 0, the default: 64
   * @return this
   */
  public RuntimeConfig queueDepth(int depth) {
    queueDepth = depth;
    return this;
  }

  /**
   * The device to run on.
   *
   * @param device null, the default: any free one
   * @return this
   */
  public RuntimeConfig device(Device device) {
    this.device = device;
    return this;
  }
}
