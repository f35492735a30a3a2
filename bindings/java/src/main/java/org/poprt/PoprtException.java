package org.poprt;

import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** An error of the library: a code and a message of one line. */
public final class PoprtException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** The kind of error. */
  private final ErrorCode code;

  /** The names of options, which are made when a message first contains one: most do not. */
  private static final class Spelling {
    static final Pattern OPTION = Pattern.compile("`(\\w+)`");
    // <options:names> made from capi/option_fields.toml by tests/lint/option_fields.py --write
    static final Map<String, String> NAMES =
        Map.ofEntries(
            Map.entry("after_pass", "afterPass"),
            Map.entry("allow_links", "allowLinks"),
            Map.entry("at_once", "atOnce"),
            Map.entry("auto_reset", "autoReset"),
            Map.entry("batch_axis", "batchAxis"),
            Map.entry("batch_size", "batchSize"),
            Map.entry("batch_size_timeout", "batchSizeTimeout"),
            Map.entry("batch_size_timeout_ns", "batchSizeTimeout"),
            Map.entry("batching_dim", "batchingDim"),
            Map.entry("cache_path", "cachePath"),
            Map.entry("compile_batch_size", "compileBatchSize"),
            Map.entry("convert_version", "convertVersion"),
            Map.entry("data_parallel_timeout", "dataParallelTimeout"),
            Map.entry("data_parallel_timeout_ns", "dataParallelTimeout"),
            Map.entry("deferred", "deferred"),
            Map.entry("device", "device"),
            Map.entry("device_wait_sleep", "deviceWaitSleep"),
            Map.entry("device_wait_sleep_ns", "deviceWaitSleep"),
            Map.entry("device_wait_timeout", "deviceWaitTimeout"),
            Map.entry("device_wait_timeout_ns", "deviceWaitTimeout"),
            Map.entry("dynamic_group", "dynamicGroup"),
            Map.entry("dynamic_input_name", "dynamicInput"),
            Map.entry("embed_source", "embedSource"),
            Map.entry("enable_engine_caching", "enableEngineCaching"),
            Map.entry("exclusive", "exclusive"),
            Map.entry("faults", "faults"),
            Map.entry("flush_on_waiting_outputs", "flushOnWaitingOutputs"),
            Map.entry("frozen_inputs", "frozenInput"),
            Map.entry("input_lengths", "inputLength"),
            Map.entry("input_shape", "inputShape"),
            Map.entry("input_shapes", "inputShape"),
            Map.entry("is_batch_size_timeout_enabled", "isBatchSizeTimeoutEnabled"),
            Map.entry("load", "load"),
            Map.entry("max_padding", "maxPadding"),
            Map.entry("max_shape_memory", "maxShapeMemory"),
            Map.entry("max_shapes", "maxShapes"),
            Map.entry("max_tensor_size", "maxTensorSize"),
            Map.entry("max_valid_num", "maxValidNum"),
            Map.entry("no_validate_io_params", "validateIoParams"),
            Map.entry("no_verify", "verify"),
            Map.entry("not_thread_safe", "threadSafe"),
            Map.entry("opaque_blobs", "opaqueBlob"),
            Map.entry("options", "option"),
            Map.entry("outputs", "outputs"),
            Map.entry("overlap_io", "overlapIo"),
            Map.entry("passes", "passes"),
            Map.entry("precision", "precision"),
            Map.entry("predicate", "userAnchors"),
            Map.entry("profile", "profile"),
            Map.entry("progress", "progress"),
            Map.entry("queue_depth", "queueDepth"),
            Map.entry("replica_devices", "replicaDevice"),
            Map.entry("replication_factor", "replicationFactor"),
            Map.entry("request_tracepoints_buffer_size", "requestTracepointsBufferSize"),
            Map.entry("rewrite_limit", "rewriteLimit"),
            Map.entry("ring_buffer_size_multiplier", "ringBufferSizeMultiplier"),
            Map.entry("shape_sets", "shapeSets"),
            Map.entry("shapes", "shapes"),
            Map.entry("shared_devices", "sharedDevices"),
            Map.entry("skip_passes", "skipPasses"),
            Map.entry("stop_after", "stopAfter"),
            Map.entry("strict", "strict"),
            Map.entry("telemetry", "telemetry"),
            Map.entry("threads", "threads"),
            Map.entry("timeout", "timeout"),
            Map.entry("timeout_ns", "timeout"),
            Map.entry("use_batching_dim", "batchingDim"),
            Map.entry("use_replica", "replica"),
            Map.entry("variable_weights", "variableWeights"),
            Map.entry("verify", "verify"),
            Map.entry("wait_sleep_ns", "deviceWaitSleep"),
            Map.entry("wait_strategy", "deviceWaitTimeout"),
            Map.entry("wait_timeout_ns", "deviceWaitTimeout"),
            Map.entry("winograd", "winograd")
        );
    // </options:names>
  }

  /** The kind of PopEF error. */
  private final PopefError popefError;

  PoprtException(ErrorCode code, String message) {
    this(code, PopefError.NONE, message, null, true);
  }

  private PoprtException(
      ErrorCode code,
      PopefError popefError,
      String message,
      Throwable cause,
      boolean withStackTrace) {
    super(message, cause, true, withStackTrace);
    this.code = code;
    this.popefError = popefError;
  }

  /** Called by the native code. */
  static PoprtException of(int code, int popefError, byte[] message) {
    return new PoprtException(
        ErrorCode.of(code),
        PopefError.of(popefError),
        spellOptions(Utf8.string(message)),
        null,
        true);
  }

  /**
   * The same error with a cause. initCause() cannot set it, because the constructor has set the
   * cause to null.
   */
  PoprtException causedBy(Throwable cause) {
    PoprtException made = new PoprtException(code, popefError, getMessage(), cause, true);
    made.setStackTrace(getStackTrace());
    return made;
  }

  /**
   * Creates the error of a run on a thread that did not start the run. Its stack trace is omitted
   * because it would only contain the executor's frames, and collecting it takes longer than the
   * rest. A waiting thread gets an exception around it with its own stack trace.
   */
  static PoprtException ofRun(int code, byte[] message) {
    return new PoprtException(
        ErrorCode.of(code), PopefError.NONE, spellOptions(Utf8.string(message)), null, false);
  }

  /**
   * Replaces names of options in the spelling of the library, such as {@code `batch_size`}, by
   * those of Java, such as {@code batchSize}. An option that only exists by name keeps it.
   */
  private static String spellOptions(String message) {
    if (message.indexOf('`') < 0) return message;
    return Spelling.OPTION
        .matcher(message)
        .replaceAll(
            m -> Matcher.quoteReplacement(Spelling.NAMES.getOrDefault(m.group(1), m.group())));
  }

  /**
   * The kind of error.
   *
   * @return the code; {@link ErrorCode#UNKNOWN} for one of a newer library
   */
  public ErrorCode code() {
    return code;
  }

  /**
   * The kind of PopEF error, because the code does not distinguish a missing link from a newer
   * file.
   *
   * @return {@link PopefError#NONE} for other errors
   */
  public PopefError popefError() {
    return popefError;
  }
}
