/* binding_bench_c MODEL ROUNDS RUNS: nanoseconds of one execute, the fastest round, and bytes
 * copied. */
#define _POSIX_C_SOURCE 199309L
#include <poprt/poprt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void check(poprt_error* error) {
  if (!error) return;
  fprintf(stderr, "binding_bench_c: %s\n", poprt_error_message(error));
  poprt_error_free(error);
  exit(1);
}

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int rounds = atoi(argv[2]);
  const int runs = atoi(argv[3]);
  poprt_executable* executable = NULL;
  poprt_runner* runner = NULL;
  const poprt_runner_options options = {.struct_size = sizeof options, .threads = 1};
  check(poprt_executable_open(argv[1], &executable));
  check(poprt_runner_create(executable, &options, &runner));
  float x[8] = {3};
  float y[8] = {0};
  const poprt_input input = {NULL, 0, x, sizeof x};
  const poprt_output output = {NULL, 0, y, sizeof y};
  double best = 1e30;
  for (int round = 0; round < rounds; round++) {
    const double start = now_ns();
    for (int i = 0; i < runs; i++) check(poprt_runner_execute(runner, &input, 1, &output, 1));
    const double ns = (now_ns() - start) / runs;
    if (ns < best) best = ns;
  }
  poprt_runner_free(runner);
  poprt_executable_free(executable);
  if (y[0] != 7) return 1;
  printf("%f 0\n", best);
  return 0;
}
