/* A user's C11 program: compiles a model (x -> Relu -> y) and runs it. */
#include <poprt/poprt.h>
#include <stdio.h>
#include <stdlib.h>

static void check(poprt_error* error) {
  if (!error) return;
  fprintf(stderr, "%s\n", poprt_error_message(error));
  poprt_error_free(error);
  exit(1);
}

int main(int argc, char** argv) {
  poprt_compiler* compiler = NULL;
  poprt_executable* executable = NULL;
  poprt_runner* runner = NULL;
  if (argc != 2 || poprt_version() != POPRT_VERSION) return 2;
  check(poprt_compiler_create(NULL, &compiler));
  check(poprt_compiler_compile_file(compiler, argv[1], &executable));
  check(poprt_runner_create(executable, NULL, &runner));

  const size_t count = poprt_anchor_bytes(poprt_runner_input(runner, 0)) / sizeof(float);
  float* x = malloc(count * sizeof *x);
  float* y = malloc(count * sizeof *y);
  if (!x || !y) return 1;
  for (size_t i = 0; i < count; i++) x[i] = (float)i - 3;
  const void* inputs[] = {x};
  void* outputs[] = {y};
  check(poprt_runner_execute_indexed(runner, inputs, outputs));

  printf("%s:", poprt_anchor_name(poprt_runner_output(runner, 0)));
  for (size_t i = 0; i < count; i++) printf(" %g", (double)y[i]);
  printf("\n");
  free(x);
  free(y);
  poprt_compiler_free(compiler);
  poprt_executable_free(executable);
  poprt_runner_free(runner);
  return 0;
}
