package org.poprt;

/**
 * The estimated cost of a model on a real IPU: cycles, memory of the tiles, and whether the model
 * fits, from {@link Compiler#estimate}. An estimate reads no value of a tensor and measures
 * nothing.
 *
 * <p>Immutable. An unreferenced object is freed by the garbage collector.
 *
 * @since 1.0
 */
public final class Estimate implements AutoCloseable {
  private final Handle<RawEstimate> handle;

  Estimate(RawEstimate raw) {
    handle = Handle.of(this, raw, RawEstimate::delete);
  }

  // <functions:estimate> made from capi/functions.toml by tests/lint/functions.py --write
  /**
   * The name of the chip.
   *
   * @return text
   * @since 1.0
   */
  public String target() {
    try (Use<RawEstimate> use = use()) {
      return use.raw().target();
    }
  }

  /**
   * The cycles of the device for one batch.
   *
   * @return a number
   * @since 1.0
   */
  public long cycles() {
    try (Use<RawEstimate> use = use()) {
      return use.raw().cycles();
    }
  }

  /**
   * The number of samples of one batch.
   *
   * @return a number
   * @since 1.0
   */
  public long samples() {
    try (Use<RawEstimate> use = use()) {
      return use.raw().samples();
    }
  }

  /**
   * The time of the device for one batch.
   *
   * @return a number
   * @since 1.0
   */
  public double milliseconds() {
    try (Use<RawEstimate> use = use()) {
      return use.raw().milliseconds();
    }
  }

  /**
   * The time from batch to batch in the steady state, with the transfers of the host.
   *
   * @return a number
   * @since 1.0
   */
  public double periodMilliseconds() {
    try (Use<RawEstimate> use = use()) {
      return use.raw().period_milliseconds();
    }
  }

  /**
   * The time of a batch that runs alone, with the transfers of the host.
   *
   * @return a number
   * @since 1.0
   */
  public double latencyMilliseconds() {
    try (Use<RawEstimate> use = use()) {
      return use.raw().latency_milliseconds();
    }
  }

  /**
   * The time of the transfers of one batch between the host and the chip.
   *
   * @return a number
   * @since 1.0
   */
  public double hostMilliseconds() {
    try (Use<RawEstimate> use = use()) {
      return use.raw().host_milliseconds();
    }
  }

  /**
   * The samples per second in the steady state.
   *
   * @return a number
   * @since 1.0
   */
  public double throughput() {
    try (Use<RawEstimate> use = use()) {
      return use.raw().throughput();
    }
  }

  /**
   * The fraction of the largest number of half-precision products that the chip could compute in
   * the same cycles.
   *
   * @return a number
   * @since 1.0
   */
  public double utilization() {
    try (Use<RawEstimate> use = use()) {
      return use.raw().utilization();
    }
  }

  /**
   * The bytes that the busiest tile needs, with gaps between its variables.
   *
   * @return a number
   * @since 1.0
   */
  public long tileBytes() {
    try (Use<RawEstimate> use = use()) {
      return use.raw().tile_bytes();
    }
  }

  /**
   * The bytes of a tile of the chip.
   *
   * @return a number
   * @since 1.0
   */
  public long availableBytes() {
    try (Use<RawEstimate> use = use()) {
      return use.raw().available_bytes();
    }
  }

  /**
   * Whether the memory of every tile suffices, and the host has room for the buffers of every
   * stream.
   *
   * @return false if a tile or the host has too little memory
   * @since 1.0
   */
  public boolean fits() {
    try (Use<RawEstimate> use = use()) {
      return use.raw().fits();
    }
  }

  /**
   * How well the cycles are known: calibrated, checked or unchecked, and the error that was
   * measured for programs of this class.
   *
   * @return text
   * @since 1.0
   */
  public String cycleQuality() {
    try (Use<RawEstimate> use = use()) {
      return use.raw().cycle_quality();
    }
  }

  /**
   * How well the bytes are known: calibrated, checked or unchecked, and the error that was
   * measured.
   *
   * @return text
   * @since 1.0
   */
  public String memoryQuality() {
    try (Use<RawEstimate> use = use()) {
      return use.raw().memory_quality();
    }
  }

  /**
   * How well the times of the host are known: calibrated, checked or unchecked, and the error that
   * was measured.
   *
   * @return text
   * @since 1.0
   */
  public String hostQuality() {
    try (Use<RawEstimate> use = use()) {
      return use.raw().host_quality();
    }
  }

  /**
   * All numbers of the estimate as a JSON object, the output of
   * {@code poprt_exec estimate --json --verbose}. Later versions may add keys.
   *
   * @return text
   * @since 1.0
   */
  public String json() {
    try (Use<RawEstimate> use = use()) {
      return use.raw().json();
    }
  }

  /**
   * The estimate as text for people. The format may change.
   *
   * @return text
   * @since 1.0
   */
  public String report() {
    try (Use<RawEstimate> use = use()) {
      return use.raw().report();
    }
  }

  /**
   * A picture as SVG: memory by tile, memory over time, phases of the operations, and cycles by
   * operator.
   *
   * @return text
   * @since 1.0
   */
  public String svg() {
    try (Use<RawEstimate> use = use()) {
      return use.raw().svg();
    }
  }
  // </functions:estimate>

  /** Frees the estimate. A second call has no effect. */
  @Override
  public void close() {
    handle.close();
  }

  private Use<RawEstimate> use() {
    return handle.use();
  }
}
