package org.poprt;

import java.util.List;

/** An input of a model that consists of the bytes of several inputs in order. */
public final class HostConcat {
  private final String tensor;
  private final List<String> inputs;
  private long[] shape = {};
  private long[] sizes = {};
  private long bytes;

  /**
   * Describes the inputs to join.
   *
   * @param tensor the model's input
   * @param inputs the inputs that runs bind in its place
   */
  public HostConcat(String tensor, String... inputs) {
    this.tensor = tensor;
    this.inputs = List.of(inputs);
  }

  /**
   * Sets the expected shape of the joined tensor.
   *
   * @param dimensions the dimensions; without this call, they are not checked
   * @return this
   */
  public HostConcat shape(long... dimensions) {
    shape = dimensions.clone();
    return this;
  }

  /**
   * Sets the expected size of the joined tensor.
   *
   * @param size bytes; 0, the default: not checked
   * @return this
   */
  public HostConcat bytes(long size) {
    bytes = size;
    return this;
  }

  /**
   * Sets the numbers of bytes of the inputs.
   *
   * @param each one number of bytes for each input; without this call, the parts are equal
   * @return this
   * @throws IllegalArgumentException when there are more or fewer
   */
  public HostConcat sizes(long... each) {
    if (each.length != inputs.size())
      throw new IllegalArgumentException(
          "'" + tensor + "' has " + inputs.size() + " inputs, given " + each.length + " sizes");
    sizes = each.clone();
    return this;
  }

  void fill(RawHostConcats raw) {
    raw.add(tensor);
    inputs.forEach(raw::add_input);
    if (shape.length > 0) raw.set_shape(shape, shape.length);
    if (sizes.length > 0) raw.set_sizes(sizes, sizes.length);
    raw.set_bytes(bytes);
  }
}
