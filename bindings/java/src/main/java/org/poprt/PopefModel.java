package org.poprt;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * One executable of a {@link PopefReader} with all blobs that belong to it. The reader may be
 * closed.
 *
 * <p>If there are several tensor blobs for one anchor, one that is linked to the executable takes
 * precedence, and a later one over an earlier one. Any number of threads may use one.
 */
public final class PopefModel implements AutoCloseable {
  private final Handle<RawPopefModel> handle;
  private final PopefMetadata metadata;
  private final List<PopefAnchor> inputs;
  private final List<PopefAnchor> outputs;

  PopefModel(RawPopefModel raw) {
    handle = Handle.of(this, raw, RawPopefModel::delete);
    metadata = new PopefMetadata(raw.metadata());
    inputs = userAnchors(raw, PopefAnchor.Direction.HOST_TO_DEVICE);
    outputs = userAnchors(raw, PopefAnchor.Direction.DEVICE_TO_HOST);
  }

  private List<PopefAnchor> userAnchors(RawPopefModel raw, PopefAnchor.Direction direction) {
    List<PopefAnchor> list = new ArrayList<>();
    for (long i = 0; i < raw.user_anchor_count(direction.ordinal()); i++)
      list.add(metadata.anchors().get((int) raw.user_anchor(direction.ordinal(), i)));
    return Collections.unmodifiableList(list);
  }

  /**
   * Returns the metadata of the executable.
   *
   * @return a copy, made once
   */
  public PopefMetadata metadata() {
    return metadata;
  }

  /**
   * The inputs of the main programs without data, which the caller must serve.
   *
   * @return an unmodifiable list
   */
  public List<PopefAnchor> userInputs() {
    return inputs;
  }

  /**
   * Outputs of the main programs.
   *
   * @return an unmodifiable list
   */
  public List<PopefAnchor> userOutputs() {
    return outputs;
  }

  /**
   * The program.
   *
   * @return its blob
   */
  public PopefBlob executable() {
    return blobs(PopefBlob.Type.EXECUTABLE).get(0);
  }

  /**
   * The blobs of a type: one executable, at most one tensor or feed for each anchor, opaque blobs.
   *
   * @param type the type
   * @return an unmodifiable list
   */
  public List<PopefBlob> blobs(PopefBlob.Type type) {
    try (Use<RawPopefModel> use = handle.use()) {
      int number = type.number();
      RawPopefModel raw = use.raw();
      return PopefBlob.list(this, handle, type, raw.count(number), i -> raw.blob(number, i));
    }
  }

  /**
   * Warnings about parts that were ignored when the model was created.
   *
   * @return a line for each
   */
  public List<String> warnings() {
    try (Use<RawPopefModel> use = handle.use()) {
      return List.of(use.raw().warnings().lines().toArray(String[]::new));
    }
  }

  Use<RawPopefModel> use() {
    return handle.use();
  }

  /** Frees the model. A second call has no effect. */
  @Override
  public void close() {
    handle.close();
  }
}
