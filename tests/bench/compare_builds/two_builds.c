/* Two builds of libpoprt in one process, by turns: two_builds LIBRARY LIBRARY POPEF POPEF THREADS
 * SECONDS [INPUTS]
 *
 * Each library opens the PopEF file that its own compiler made, and both get the same inputs: the
 * files INPUTS/NAME, else random numbers. They run in pairs, and alternately one or the other is
 * the first of a pair. Five times, the median of second / first over SECONDS / 5 is taken. Prints
 * JSON: "ratio" (least, median, most of the five), "fastest" (of the fastest runs), "ms" (the
 * second's fastest), "pairs", "differ" (outputs that have other bits). */
#include <dlfcn.h>
#include <poprt/poprt.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kMost = 64, kBlocks = 5, kMostPairs = 800 };

#define FUNCTIONS(X)           \
  X(poprt_error_message)       \
  X(poprt_executable_open)     \
  X(poprt_runner_create)       \
  X(poprt_runner_input_count)  \
  X(poprt_runner_input)        \
  X(poprt_runner_output_count) \
  X(poprt_runner_output)       \
  X(poprt_anchor_bytes)        \
  X(poprt_anchor_dtype)        \
  X(poprt_anchor_name)         \
  X(poprt_runner_execute_indexed)

typedef struct build {
#define MEMBER(name) __typeof__(&name) name;
  FUNCTIONS(MEMBER)
  poprt_runner* runner;
  const void* inputs[kMost];
  void* outputs[kMost];
} build;

static void give_up(const char* why) {
  fprintf(stderr, "%s\n", why);
  exit(1);
}

static void check(const build* b, poprt_error* error) {
  if (error) give_up(b->poprt_error_message(error));
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint32_t next_random(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

static void* memory(size_t bytes) {
  void* p = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
  if (!p) give_up("out of memory");
  memset(p, 0, bytes);
  return p;
}

/* Floats from -1 to 1, integers 0 or 1, which index any table; masks are 1. */
static void fill(void* data, size_t bytes, poprt_dtype dtype, const char* name, uint64_t* state) {
  const int mask = strstr(name, "mask") != NULL;
  if (dtype == POPRT_DTYPE_F32)
    for (size_t i = 0; i < bytes / 4; i++)
      ((float*)data)[i] = (float)(next_random(state) % 20001) / 10000.0f - 1.0f;
  else if (dtype == POPRT_DTYPE_S64)
    for (size_t i = 0; i < bytes / 8; i++) ((int64_t*)data)[i] = mask ? 1 : next_random(state) % 2;
  else if (dtype == POPRT_DTYPE_S32)
    for (size_t i = 0; i < bytes / 4; i++)
      ((int32_t*)data)[i] = mask ? 1 : (int32_t)(next_random(state) % 2);
}

static void read_input(void* data, size_t bytes, const char* folder, const char* name) {
  char path[4096];
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  FILE* file = fopen(path, "rb");
  if (!file || fread(data, 1, bytes, file) != bytes) give_up(path);
  fclose(file);
}

static void open_build(build* b, const char* library, const char* popef, int threads,
                       const char* inputs) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) give_up(dlerror());
#define FIND(name)                          \
  *(void**)&b->name = dlsym(handle, #name); \
  if (!b->name) give_up(#name " is not in the library");
  FUNCTIONS(FIND)
  poprt_executable* executable = NULL;
  poprt_runner_options options;
  memset(&options, 0, sizeof(options));
  options.struct_size =
      offsetof(poprt_runner_options, device); /* the older build may know no more */
  options.threads = threads;
  check(b, b->poprt_executable_open(popef, &executable));
  check(b, b->poprt_runner_create(executable, &options, &b->runner));
  if (b->poprt_runner_input_count(b->runner) > kMost ||
      b->poprt_runner_output_count(b->runner) > kMost)
    give_up("the model has more anchors than this program");
  uint64_t state = 1;
  for (size_t i = 0; i < b->poprt_runner_input_count(b->runner); i++) {
    const poprt_anchor* a = b->poprt_runner_input(b->runner, i);
    const size_t bytes = b->poprt_anchor_bytes(a);
    void* data = memory(bytes);
    if (inputs)
      read_input(data, bytes, inputs, b->poprt_anchor_name(a));
    else
      fill(data, bytes, b->poprt_anchor_dtype(a), b->poprt_anchor_name(a), &state);
    b->inputs[i] = data;
  }
  for (size_t i = 0; i < b->poprt_runner_output_count(b->runner); i++)
    b->outputs[i] = memory(b->poprt_anchor_bytes(b->poprt_runner_output(b->runner, i)));
}

static double run(build* b, int times) {
  const double start = seconds();
  for (int i = 0; i < times; i++)
    check(b, b->poprt_runner_execute_indexed(b->runner, b->inputs, b->outputs));
  return (seconds() - start) / times;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  if (argc != 7 && argc != 8)
    give_up("usage: two_builds LIBRARY LIBRARY POPEF POPEF THREADS SECONDS [INPUTS]");
  static build builds[2];
  for (int k = 0; k < 2; k++)
    open_build(&builds[k], argv[1 + k], argv[3 + k], atoi(argv[5]), argc == 8 ? argv[7] : NULL);
  double fastest[2] = {1e9, 1e9};
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 2; k++) {
      const double t = run(&builds[k], 1);
      if (t < fastest[k]) fastest[k] = t;
    }
  int differ = 0;
  for (size_t i = 0; i < builds[0].poprt_runner_output_count(builds[0].runner); i++)
    differ +=
        memcmp(builds[0].outputs[i], builds[1].outputs[i],
               builds[0].poprt_anchor_bytes(builds[0].poprt_runner_output(builds[0].runner, i))) !=
        0;
  /* Each time that is read covers at least a millisecond. */
  const int times = fastest[0] < 1e-3 ? (int)(1e-3 / fastest[0]) + 1 : 1;
  const double pair = (fastest[0] + fastest[1]) * times;
  int pairs = (int)(atof(argv[6]) / kBlocks / pair);
  pairs = pairs < 3 ? 3 : pairs > kMostPairs ? kMostPairs : pairs;
  static double ratios[kMostPairs];
  double medians[kBlocks];
  for (int block = 0; block < kBlocks; block++) {
    for (int i = 0; i < pairs; i++) {
      double t[2];
      for (int k = 0; k < 2; k++) {
        const int which = (i + k) % 2;
        t[which] = run(&builds[which], times);
        if (t[which] < fastest[which]) fastest[which] = t[which];
      }
      ratios[i] = t[1] / t[0];
    }
    qsort(ratios, (size_t)pairs, sizeof(double), ascending);
    medians[block] = ratios[pairs / 2];
  }
  qsort(medians, kBlocks, sizeof(double), ascending);
  printf(
      "{\"ratio\": [%.4f, %.4f, %.4f], \"fastest\": %.4f, \"ms\": %.5f, \"pairs\": %d, \"differ\": "
      "%d}\n",
      medians[0], medians[kBlocks / 2], medians[kBlocks - 1], fastest[1] / fastest[0],
      fastest[1] * 1e3, pairs * kBlocks, differ);
  return 0;
}
