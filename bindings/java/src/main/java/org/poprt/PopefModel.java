package org.poprt;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * One executable of a {@link PopefReader} with all that belongs to it. Keeps what it needs of the
 * reader, which may be closed.
 *
 * <p>Of several tensor blobs for one anchor the last one wins, one tied to the executable before one
 * that is not. Any number of threads may use one.
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
   * What the file says about the executable.
   *
   * @return a copy, made once
   */
  public PopefMetadata metadata() {
    return metadata;
  }

  /**
   * Inputs of the main programs for which there is no data: whoever runs it serves them.
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
   * Its blobs of a type: one executable, at most one tensor or feed for each anchor, its opaque
   * blobs.
   *
   * @param type which
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
   * What was left out when it was made.
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

  /** Frees it. A second time does nothing. */
  @Override
  public void close() {
    handle.close();
  }
}
