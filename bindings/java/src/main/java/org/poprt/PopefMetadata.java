package org.poprt;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * How an executable is to be run: what a PopEF file says about it. A value for one thread at a time;
 * what a reader gives is a copy, and the lists and maps may be changed.
 */
public final class PopefMetadata {
  static final int BLOB_TYPE = 2;
  private static final int REPLICATION_FACTOR = 1;
  private static final int NUM_IPUS = 2;
  private static final int IPU_VERSION = 3;
  private static final int IS_POD = 4;
  private static final int NUM_PROCESSES = 5;
  private static final int IS_INFERENCE = 6;
  private static final int DEVICE_ITERATIONS = 7;
  private static final int ENGINE_OPTIONS = 1;
  private static final int DEVICE_OPTIONS = 2;
  private static final int LOAD = 1;
  private static final int MAIN = 2;
  private static final int SAVE = 3;

  private final long[] fields = {0, 1, 1, 2, 0, 1, 1, 1};
  private String executable = "";
  private String seedHandle = "";
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
    executable = raw.executable();
    seedHandle = raw.seed_handle();
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
    raw.set_executable(executable);
    raw.set_seed_handle(seedHandle);
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

  /** Indices of programs have 32 bits. */
  static long checked(long program) {
    if (program < 0 || program > 0xffffffffL)
      throw new PoprtException(ErrorCode.INVALID_ARGUMENT, "no program can have index " + program);
    return program;
  }

  private PopefMetadata set(int field, long value) {
    fields[field] = value;
    return this;
  }

  /**
   * Name of the executable that it is for.
   *
   * @return that of the executable's blob
   */
  public String executable() {
    return executable;
  }

  /**
   * Names the executable that it is for.
   *
   * @param name that of the executable's blob
   * @return this
   */
  public PopefMetadata executable(String name) {
    executable = name;
    return this;
  }

  /**
   * Stream handle of the random seed.
   *
   * @return "" when there is none
   */
  public String seedHandle() {
    return seedHandle;
  }

  /**
   * Names the stream of the random seed.
   *
   * @param handle default "": there is none
   * @return this
   */
  public PopefMetadata seedHandle(String handle) {
    seedHandle = handle;
    return this;
  }

  /**
   * Replicas that are compiled in.
   *
   * @return 1 or more
   */
  public long replicationFactor() {
    return fields[REPLICATION_FACTOR];
  }

  /**
   * Says how many replicas are compiled in.
   *
   * @param replicas default 1
   * @return this
   */
  public PopefMetadata replicationFactor(long replicas) {
    return set(REPLICATION_FACTOR, replicas);
  }

  /**
   * IPUs of all replicas together.
   *
   * @return 1 or more
   */
  public long numIpus() {
    return fields[NUM_IPUS];
  }

  /**
   * Says how many IPUs all replicas need together.
   *
   * @param count default 1
   * @return this
   */
  public PopefMetadata numIpus(long count) {
    return set(NUM_IPUS, count);
  }

  /**
   * What it was compiled for.
   *
   * @return 1, 2 or 21
   */
  public long ipuVersion() {
    return fields[IPU_VERSION];
  }

  /**
   * Says what it was compiled for.
   *
   * @param version 1, 2 or 21; default 2
   * @return this
   */
  public PopefMetadata ipuVersion(long version) {
    return set(IPU_VERSION, version);
  }

  /**
   * Whether it is for a POD.
   *
   * @return usually false
   */
  public boolean isPod() {
    return fields[IS_POD] != 0;
  }

  /**
   * Says whether it is for a POD.
   *
   * @param on default false
   * @return this
   */
  public PopefMetadata pod(boolean on) {
    return set(IS_POD, on ? 1 : 0);
  }

  /**
   * Host processes that work together.
   *
   * @return 1 or more
   */
  public long numProcesses() {
    return fields[NUM_PROCESSES];
  }

  /**
   * Says how many host processes work together.
   *
   * @param count default 1
   * @return this
   */
  public PopefMetadata numProcesses(long count) {
    return set(NUM_PROCESSES, count);
  }

  /**
   * Whether it is for inference.
   *
   * @return false for training
   */
  public boolean isInference() {
    return fields[IS_INFERENCE] != 0;
  }

  /**
   * Says whether it is for inference.
   *
   * @param on default true
   * @return this
   */
  public PopefMetadata inference(boolean on) {
    return set(IS_INFERENCE, on ? 1 : 0);
  }

  /**
   * Transfers of each stream in a run of the main programs.
   *
   * @return 1 or more
   */
  public long deviceIterations() {
    return fields[DEVICE_ITERATIONS];
  }

  /**
   * Says how many transfers each stream has in a run of the main programs.
   *
   * @param count default 1
   * @return this
   */
  public PopefMetadata deviceIterations(long count) {
    return set(DEVICE_ITERATIONS, count);
  }

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
   * Programs that bring state back.
   *
   * @return their indices, in order
   */
  public List<Long> savePrograms() {
    return savePrograms;
  }

  /**
   * Readable names of programs, by index.
   *
   * @return not every program needs one
   */
  public SortedMap<Long, String> programNames() {
    return programNames;
  }

  /**
   * Its host-visible tensors.
   *
   * @return in the order of the file
   */
  public List<PopefAnchor> anchors() {
    return anchors;
  }
}
