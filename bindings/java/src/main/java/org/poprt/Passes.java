package org.poprt;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Passes on an ONNX model in memory, in the order in which they are added. Used by one thread.
 *
 * <pre>{@code
 * byte[] made = new Passes().add("eliminate_identity").add("remove_outputs", Map.of("outputs", "y")).apply(onnx);
 * }</pre>
 *
 * @since 1.0
 */
public final class Passes {
  private final List<String> names = new ArrayList<>();
  private final List<Map<String, String>> arguments = new ArrayList<>();
  private boolean sort;
  private boolean verify = true;
  private boolean allowLinks;
  private boolean strict;
  private long rewriteLimit;
  private String folder = "";

  /** An empty list of passes. */
  public Passes() {}

  /**
   * Adds a pass that needs no arguments.
   *
   * @param name a name in {@link #list()}
   * @return this
   */
  public Passes add(String name) {
    return add(name, Map.of());
  }

  /**
   * Adds a pass.
   *
   * @param name a name in {@link #list()}
   * @param arguments by name; a flag is "True" or "False"; names are separated by commas, words by
   *     line feeds
   * @return this
   */
  public Passes add(String name, Map<String, String> arguments) {
    names.add(name);
    this.arguments.add(new LinkedHashMap<>(arguments));
    return this;
  }

  /**
   * Whether to order the passes by their dependencies, which are added, instead of using the given
   * order.
   *
   * @param on whether to do so
   * @return this
   */
  public Passes sort(boolean on) {
    sort = on;
    return this;
  }

  /**
   * Whether to verify the graph after each pass. The default is true.
   *
   * @param on whether to do so
   * @return this
   */
  public Passes verify(boolean on) {
    verify = on;
    return this;
  }

  /**
   * Whether external data may be reached through links. Only for trusted models.
   *
   * @param on whether to do so
   * @return this
   */
  public Passes allowLinks(boolean on) {
    allowLinks = on;
    return this;
  }

  /**
   * Whether warnings about a model are errors.
   *
   * @param on whether to do so
   * @return this
   */
  public Passes strict(boolean on) {
    strict = on;
    return this;
  }

  /**
   * Stops rewriting after this number of rewrites.
   *
   * @param rewrites 0: no limit
   * @return this
   */
  public Passes rewriteLimit(long rewrites) {
    rewriteLimit = rewrites;
    return this;
  }

  /**
   * Sets the folder of external data.
   *
   * @param path the path of the folder; "" forbids external data
   * @return this
   */
  public Passes folder(String path) {
    folder = path;
    return this;
  }

  /**
   * Checks names and arguments, without a model.
   *
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND} (a pass) or {@link
   *     ErrorCode#INVALID_ARGUMENT} (an argument)
   */
  public void check() {
    RawPasses raw = raw();
    try {
      raw.check();
    } finally {
      raw.delete();
    }
  }

  /**
   * Returns the names in a valid order, with the passes that must run before them.
   *
   * @return names
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND} (a pass), or {@link
   *     ErrorCode#FAILED_PRECONDITION} when passes exclude each other
   */
  public List<String> sorted() {
    RawPasses raw = raw();
    try {
      String text = raw.in_order();
      return text.isEmpty() ? List.of() : Arrays.asList(text.split("\n"));
    } finally {
      raw.delete();
    }
  }

  /**
   * Runs the passes. The output of passes that inspect the model is printed to {@link System#out}.
   *
   * @param onnx the bytes of an ONNX model; the remaining bytes are read, its position does not
   * change
   * @return the bytes of the resulting model
   * @throws PoprtException for errors of a pass or of the import of the model
   */
  public byte[] apply(ByteBuffer onnx) {
    RawPasses raw = raw();
    ByteBuffer direct = Memory.direct(onnx);
    try {
      RawPassResult result = raw.apply_to(Memory.address(direct), direct.remaining(), folder);
      try {
        System.out.print(result.text());
        byte[] bytes = new byte[Math.toIntExact(result.bytes())];
        Memory.view(result.address(), result.bytes()).get(bytes);
        return bytes;
      } finally {
        result.delete();
      }
    } finally {
      Reference.reachabilityFence(direct);
      raw.delete();
    }
  }

  /**
   * Returns all passes with their descriptions.
   *
   * @return a JSON array
   */
  public static String list() {
    return RawPasses.list_json();
  }

  private RawPasses raw() {
    RawPasses raw = new RawPasses();
    for (int i = 0; i < names.size(); i++) {
      raw.add(names.get(i));
      arguments.get(i).forEach(raw::add_argument);
    }
    raw.set_sort(sort);
    raw.set_verify(verify);
    raw.set_allow_links(allowLinks);
    raw.set_strict(strict);
    raw.set_rewrite_limit(rewriteLimit);
    return raw;
  }
}
