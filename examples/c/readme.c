#include <poprt/poprt.h>
#include <stdio.h>

int main(void) {
  poprt_compile_options options = {.struct_size = sizeof options, .batch_size = 8};
  static float image[8 * 64], scores[8 * 10];
  poprt_compiler* compiler = NULL;
  poprt_executable* model = NULL;
  poprt_runner* runner = NULL;
  poprt_error* error = poprt_compiler_create(&options, &compiler);
  if (!error) error = poprt_compiler_compile_file(compiler, "digits.onnx", &model);
  if (!error) error = poprt_runner_create(model, NULL, &runner);
  const void* inputs[] = {image};
  void* outputs[] = {scores};
  if (!error) error = poprt_runner_execute_indexed(runner, inputs, outputs);
  if (error) return puts(poprt_error_message(error)), 1;
  const poprt_anchor* out = poprt_runner_output(runner, 0);
  printf("%s [%d, %d] %g %g ...\n", poprt_anchor_name(out), (int)poprt_anchor_shape(out)[0],
         (int)poprt_anchor_shape(out)[1], (double)scores[0], (double)scores[1]);
  poprt_runner_free(runner);
  poprt_executable_free(model);
  poprt_compiler_free(compiler);
  return 0;
}
