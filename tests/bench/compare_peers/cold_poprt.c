/* Computes one answer and exits: cold_poprt MODEL.popef THREADS. Inputs are ones. */
#include <poprt/poprt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(poprt_error* error) {
  if (!error) return;
  fprintf(stderr, "%s\n", poprt_error_message(error));
  exit(1);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  poprt_executable* executable = NULL;
  poprt_runner* runner = NULL;
  poprt_runner_options options;
  memset(&options, 0, sizeof(options));
  options.struct_size = sizeof(options);
  options.threads = atoi(argv[2]);
  check(poprt_executable_open(argv[1], &executable));
  check(poprt_runner_create(executable, &options, &runner));
  const void* inputs[16];
  void* outputs[16];
  for (size_t i = 0; i < poprt_runner_input_count(runner); i++) {
    const poprt_anchor* a = poprt_runner_input(runner, i);
    const size_t bytes = poprt_anchor_bytes(a);
    char* p = malloc(bytes);
    memset(p, 0, bytes);
    if (poprt_anchor_dtype(a) == POPRT_DTYPE_F32)
      for (size_t k = 0; k < bytes / 4; k++) ((float*)p)[k] = 1.0f;
    else if (poprt_anchor_dtype(a) == POPRT_DTYPE_S64)
      for (size_t k = 0; k < bytes / 8; k++) ((int64_t*)p)[k] = 1;
    inputs[i] = p;
  }
  for (size_t i = 0; i < poprt_runner_output_count(runner); i++)
    outputs[i] = malloc(poprt_anchor_bytes(poprt_runner_output(runner, i)));
  check(poprt_runner_execute_indexed(runner, inputs, outputs));
  printf("%g\n", (double)((float*)outputs[0])[0]);
  return 0;
}
