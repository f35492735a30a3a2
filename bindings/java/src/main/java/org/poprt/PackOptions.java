package org.poprt;

import java.time.Duration;
import java.util.List;

/** How a {@link PackRunner} packs. */
public final class PackOptions {
  /** How the row of an item is chosen if items must not continue in the next row. */
  public enum Algorithm {
    /** Into the last row, or a new one. */
    NEXT_FIT,
    /** Into the first row with room. */
    FIRST_FIT
  }

  private final String dynamicInput;
  private final Duration timeout;
  private long maxValidNum;
  private String unpackInfo = "";
  private String mask = "";
  private List<String> dynamicGroup = List.of();
  private Algorithm algorithm = Algorithm.NEXT_FIT;
  private boolean dataAcrossRows = true;
  private long compileBatchSize;
  private boolean paddingRemove;
  private boolean prefetchDatastreams = true;
  private long delimiterNum;

  /**
   * Creates options for a model that records the packed inputs ({@code pack_args}), or whose mask
   * or, without a {@link #mask}, first input is of variable length.
   *
   * @param timeout the time from the first item of a pack until its submission; whole microseconds,
   * at least one
   */
  public PackOptions(Duration timeout) {
    this("", timeout);
  }

  /**
   * Creates options for a model with the given input of variable length.
   *
   * @param dynamicInput name of the input of variable length
   * @param timeout the time from the first item of a pack until its submission; whole microseconds,
   * at least one
   */
  public PackOptions(String dynamicInput, Duration timeout) {
    this.dynamicInput = dynamicInput;
    this.timeout = timeout;
  }

  /**
   * Sets the number of items of a pack.
   *
   * @param items 0, the default: as many as fit
   * @return this
   */
  public PackOptions maxValidNum(long items) {
    maxValidNum = items;
    return this;
  }

  /**
   * The input that contains lengths.
   *
   * @param name the name of an s32 input; "", the default: as recorded in the model, or none
   * @return this
   */
  public PackOptions unpackInfoInput(String name) {
    unpackInfo = name;
    return this;
  }

  /**
   * Sets the input that masks positions.
   *
   * @param name "", the default: none
   * @return this
   */
  public PackOptions mask(String name) {
    mask = name;
    return this;
  }

  /**
   * Further inputs of the same length. Inputs that have the rows and positions of the dynamic input
   * can be omitted.
   *
   * @param names default none
   * @return this
   */
  public PackOptions dynamicGroup(String... names) {
    dynamicGroup = List.of(names);
    return this;
  }

  /**
   * Sets how the row of an item is chosen if items must not continue in the next row.
   *
   * @param which default {@link Algorithm#NEXT_FIT}
   * @return this
   */
  public PackOptions algorithm(Algorithm which) {
    algorithm = which;
    return this;
  }

  /**
   * Sets whether items may continue in the next row.
   *
   * @param on default true
   * @return this
   */
  public PackOptions dataAcrossRows(boolean on) {
    dataAcrossRows = on;
    return this;
  }

  /**
   * Rows of the compiled batch.
   *
   * @param rows 0, the default: the first dimension of the dynamic input
   * @return this
   */
  public PackOptions compileBatchSize(long rows) {
    compileBatchSize = rows;
    return this;
  }

  /**
   * Whether to remove the padding of requests, which the mask marks.
   *
   * @param on default false
   * @return this
   */
  public PackOptions paddingRemove(boolean on) {
    paddingRemove = on;
    return this;
  }

  /**
   * Whether inputs of the next pack are prepared while one runs.
   *
   * @param on default true
   * @return this
   */
  public PackOptions prefetchDatastreams(boolean on) {
    prefetchDatastreams = on;
    return this;
  }

  /**
   * Zeros between two items.
   *
   * @param zeros default 0
   * @return this
   */
  public PackOptions delimiterNum(long zeros) {
    delimiterNum = zeros;
    return this;
  }

  void fill(RawPackOptions raw) {
    raw.set_timeout(Times.nanos(timeout) / 1000);
    raw.set_max_valid_num(maxValidNum);
    raw.set_inputs(dynamicInput, unpackInfo, mask);
    dynamicGroup.forEach(raw::add_dynamic);
    raw.set_algorithm(algorithm.ordinal());
    raw.set_data_across_rows(dataAcrossRows);
    raw.set_compile_batch_size(compileBatchSize);
    raw.set_padding_remove(paddingRemove);
    raw.set_prefetch_datastreams(prefetchDatastreams);
    raw.set_delimiter_num(delimiterNum);
  }
}
