#include <poprt/poprt.h>
#include <stdio.h>

int main(void) {
  static float image[8 * 64];
  poprt_executable* model = NULL;
  poprt_runner* runner = NULL;
  poprt_error* error = poprt_executable_load("digits.onnx", NULL, &model);
  if (!error) error = poprt_runner_create(model, NULL, &runner);
  for (int64_t batch = 1; !error && batch <= 8; batch += 7) {
    const int64_t shape[] = {batch, 1, 8, 8};
    const poprt_tensor in[] = {{"image", 0, image, 0, POPRT_DTYPE_F32, 0, shape, 4}};
    poprt_outputs* outputs = NULL;
    error = poprt_runner_run(runner, in, 1, &outputs);
    if (error) break;
    const poprt_tensor* out = poprt_outputs_at(outputs, 0);
    const float* scores = out->data;
    printf("%s [%d, %d] %g %g ...\n", out->name, (int)out->shape[0], (int)out->shape[1],
           (double)scores[0], (double)scores[1]);
    poprt_outputs_free(outputs);
  }
  if (error) return puts(poprt_error_message(error)), 1;
  poprt_runner_free(runner);
  poprt_executable_free(model);
  return 0;
}
