package org.poprt;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The metadata of an executable in a PopEF file, which describes how to run it. Only one thread at
 * a time may use it. A reader returns copies, and the lists and maps may be changed.
 */
public final class PopefMetadata {
  static final int BLOB_TYPE = 2;
  private static final int ENGINE_OPTIONS = 1;
  private static final int DEVICE_OPTIONS = 2;
  private static final int LOAD = 1;
  private static final int MAIN = 2;
  private static final int SAVE = 3;

  // tests/lint/popef_fields.py generates these from core/popef/metadata.toml.
  // <popef:members>
  private static final int REPLICATION_FACTOR = 1;
  private static final int NUM_IPUS = 2;
  private static final int IPU_VERSION = 3;
  private static final int IS_POD = 4;
  private static final int NUM_PROCESSES = 5;
  private static final int IS_INFERENCE = 6;
  private static final int DEVICE_ITERATIONS = 7;

  private final long[] fields = {
    0,
    1, // REPLICATION_FACTOR
    1, // NUM_IPUS
    2, // IPU_VERSION
    0, // IS_POD
    1, // NUM_PROCESSES
    1, // IS_INFERENCE
    1, // DEVICE_ITERATIONS
  };
  private String executable = "";
  private String seedHandle = "";
  // </popef:members>
  private final List<Map.Entry<String, String>> engineOptions = new ArrayList<>();
  private final List<Map.Entry<String, String>> deviceOptions = new ArrayList<>();
  private final List<Long> loadPrograms = new ArrayList<>();
  private final List<Long> mainPrograms = new ArrayList<>();
  private final List<Long> savePrograms = new ArrayList<>();
  private final SortedMap<Long, String> programNames = new TreeMap<>();
  private final List<PopefAnchor> anchors = new ArrayList<>();

  /** One replica on one IPU of version 2, inference, one iteration, everything else empty. */
  public PopefMetadata() {}

  PopefMetadata(RawPopefMetadata raw) {
    for (int field = 1; field < fields.length; field++) fields[field] = raw.field(field);
    readTexts(raw);
    readOptions(raw, ENGINE_OPTIONS, engineOptions);
    readOptions(raw, DEVICE_OPTIONS, deviceOptions);
    readFlow(raw, LOAD, loadPrograms);
    readFlow(raw, MAIN, mainPrograms);
    readFlow(raw, SAVE, savePrograms);
    for (long i = 0; i < raw.program_count(); i++)
      programNames.put(raw.program_index(i), raw.program_name(i));
    for (long i = 0; i < raw.anchor_count(); i++) {
      RawPopefAnchor anchor = raw.anchor(i);
      try {
        anchors.add(new PopefAnchor(anchor));
      } finally {
        anchor.delete();
      }
    }
  }

  private static void readOptions(
      RawPopefMetadata raw, int which, List<Map.Entry<String, String>> to) {
    for (long i = 0; i < raw.option_count(which); i++)
      to.add(Map.entry(raw.option_name(which, i), raw.option_value(which, i)));
  }

  private static void readFlow(RawPopefMetadata raw, int which, List<Long> to) {
    for (long i = 0; i < raw.flow_count(which); i++) to.add(raw.flow_program(which, i));
  }

  void fill(RawPopefMetadata raw) {
    for (int field = 1; field < fields.length; field++) raw.set_field(field, fields[field]);
    fillTexts(raw);
    for (Map.Entry<String, String> option : engineOptions)
      raw.add_option(ENGINE_OPTIONS, option.getKey(), option.getValue());
    for (Map.Entry<String, String> option : deviceOptions)
      raw.add_option(DEVICE_OPTIONS, option.getKey(), option.getValue());
    setFlow(raw, LOAD, loadPrograms);
    setFlow(raw, MAIN, mainPrograms);
    setFlow(raw, SAVE, savePrograms);
    programNames.forEach((program, name) -> raw.set_program(checked(program), name));
    for (PopefAnchor anchor : anchors) {
      RawPopefAnchor given = anchor.raw();
      try {
        raw.add_anchor(given);
      } finally {
        given.delete();
      }
    }
  }

  private static void setFlow(RawPopefMetadata raw, int which, List<Long> programs) {
    long[] indices = programs.stream().mapToLong(PopefMetadata::checked).toArray();
    raw.set_flow(which, indices, indices.length);
  }

  /** Checks that the index of a program has 32 bits. */
  static long checked(long program) {
    if (program < 0 || program > 0xffffffffL)
      throw new PoprtException(ErrorCode.INVALID_ARGUMENT, "no program can have index " + program);
    return program;
  }

  // tests/lint/popef_fields.py generates these from core/popef/metadata.toml.
  // <popef:accessors>
  /**
   * Name of the executable that the metadata describes.
   *
   * @return its value; default ""
   * @since 0.1
   */
  public String executable() {
    return executable;
  }

  /**
   * Sets {@link #executable()}.
   *
   * @param value default ""
   * @return this
   * @since 0.1
   */
  public PopefMetadata executable(String value) {
    executable = value;
    return this;
  }

  /**
   * Number of replicas that are compiled in.
   *
   * @return its value; default 1
   * @since 0.1
   */
  public long replicationFactor() {
    return fields[REPLICATION_FACTOR];
  }

  /**
   * Sets {@link #replicationFactor()}.
   *
   * @param value default 1
   * @return this
   * @since 0.1
   */
  public PopefMetadata replicationFactor(long value) {
    fields[REPLICATION_FACTOR] = value;
    return this;
  }

  /**
   * Number of IPUs that all replicas use together.
   *
   * @return its value; default 1
   * @since 0.1
   */
  public long numIpus() {
    return fields[NUM_IPUS];
  }

  /**
   * Sets {@link #numIpus()}.
   *
   * @param value default 1
   * @return this
   * @since 0.1
   */
  public PopefMetadata numIpus(long value) {
    fields[NUM_IPUS] = value;
    return this;
  }

  /**
   * Version of the IPU that the executable was compiled for: 1, 2 or 21.
   *
   * @return its value; default 2
   * @since 0.1
   */
  public long ipuVersion() {
    return fields[IPU_VERSION];
  }

  /**
   * Sets {@link #ipuVersion()}.
   *
   * @param value default 2
   * @return this
   * @since 0.1
   */
  public PopefMetadata ipuVersion(long value) {
    fields[IPU_VERSION] = value;
    return this;
  }

  /**
   * Whether the executable is for a POD.
   *
   * @return its value; default false
   * @since 0.1
   */
  public boolean isPod() {
    return fields[IS_POD] != 0;
  }

  /**
   * Sets {@link #isPod()}.
   *
   * @param value default false
   * @return this
   * @since 0.1
   */
  public PopefMetadata pod(boolean value) {
    fields[IS_POD] = value ? 1 : 0;
    return this;
  }

  /**
   * Number of host processes that work together.
   *
   * @return its value; default 1
   * @since 0.1
   */
  public long numProcesses() {
    return fields[NUM_PROCESSES];
  }

  /**
   * Sets {@link #numProcesses()}.
   *
   * @param value default 1
   * @return this
   * @since 0.1
   */
  public PopefMetadata numProcesses(long value) {
    fields[NUM_PROCESSES] = value;
    return this;
  }

  /**
   * Whether the executable is for inference.
   *
   * @return its value; default true
   * @since 0.1
   */
  public boolean isInference() {
    return fields[IS_INFERENCE] != 0;
  }

  /**
   * Sets {@link #isInference()}.
   *
   * @param value default true
   * @return this
   * @since 0.1
   */
  public PopefMetadata inference(boolean value) {
    fields[IS_INFERENCE] = value ? 1 : 0;
    return this;
  }

  /**
   * Number of transfers of each stream in one run of the main programs.
   *
   * @return its value; default 1
   * @since 0.1
   */
  public long deviceIterations() {
    return fields[DEVICE_ITERATIONS];
  }

  /**
   * Sets {@link #deviceIterations()}.
   *
   * @param value default 1
   * @return this
   * @since 0.1
   */
  public PopefMetadata deviceIterations(long value) {
    fields[DEVICE_ITERATIONS] = value;
    return this;
  }

  /**
   * Handle of the stream of the random seed; empty if there is none.
   *
   * @return its value; default ""
   * @since 0.1
   */
  public String seedHandle() {
    return seedHandle;
  }

  /**
   * Sets {@link #seedHandle()}.
   *
   * @param value default ""
   * @return this
   * @since 0.1
   */
  public PopefMetadata seedHandle(String value) {
    seedHandle = value;
    return this;
  }

  private void readTexts(RawPopefMetadata raw) {
    executable = raw.executable();
    seedHandle = raw.seed_handle();
  }

  private void fillTexts(RawPopefMetadata raw) {
    raw.set_executable(executable);
    raw.set_seed_handle(seedHandle);
  }
  // </popef:accessors>

  /**
   * Options for the engine that runs it.
   *
   * @return names with values
   */
  public List<Map.Entry<String, String>> engineOptions() {
    return engineOptions;
  }

  /**
   * Options for choosing a device.
   *
   * @return names with values
   */
  public List<Map.Entry<String, String>> deviceOptions() {
    return deviceOptions;
  }

  /**
   * Programs to run once, before all others.
   *
   * @return their indices, in order
   */
  public List<Long> loadPrograms() {
    return loadPrograms;
  }

  /**
   * Programs to run repeatedly.
   *
   * @return their indices, in order
   */
  public List<Long> mainPrograms() {
    return mainPrograms;
  }

  /**
   * Programs that return state to the host.
   *
   * @return their indices, in order
   */
  public List<Long> savePrograms() {
    return savePrograms;
  }

  /**
   * Readable names of programs, by index.
   *
   * @return the names of those programs that have one
   */
  public SortedMap<Long, String> programNames() {
    return programNames;
  }

  /**
   * Its host-visible tensors.
   *
   * @return the anchors, in the order of the file
   */
  public List<PopefAnchor> anchors() {
    return anchors;
  }
}
