/* Classifies handwritten digits with a compiled model, for the quick start.
 *
 *   digits MODEL.popef IMAGES.idx3-ubyte LABELS.idx1-ubyte
 *
 * Prints accuracy over all images and latency per batch. Images and labels are in MNIST's IDX
 * format. */
#define _POSIX_C_SOURCE 199309L
#include <poprt/poprt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kPixels = 8 * 8, kClasses = 10 };

static void check(poprt_error* error) {
  if (!error) return;
  fprintf(stderr, "digits: %s\n", poprt_error_message(error));
  poprt_error_free(error);
  exit(1);
}

/* Returns the payload of an IDX file of bytes. `count` receives the first dimension. */
static unsigned char* read_idx(const char* path, unsigned rank, size_t item_bytes, size_t* count) {
  FILE* file = fopen(path, "rb");
  unsigned char header[16];
  if (!file || fread(header, 1, 4 + 4 * rank, file) != 4 + 4 * rank || header[2] != 8 ||
      header[3] != rank) {
    fprintf(stderr, "digits: %s is no IDX file of bytes with %u dimensions\n", path, rank);
    exit(1);
  }
  *count = (size_t)header[4] << 24 | (size_t)header[5] << 16 | (size_t)header[6] << 8 | header[7];
  unsigned char* data = malloc(*count * item_bytes);
  if (!data || fread(data, item_bytes, *count, file) != *count) {
    fprintf(stderr, "digits: %s is truncated\n", path);
    exit(1);
  }
  fclose(file);
  return data;
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static float score(const void* scores, poprt_dtype dtype, size_t i) {
  return dtype == POPRT_DTYPE_F16 ? (float)((const _Float16*)scores)[i] : ((const float*)scores)[i];
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: digits MODEL.popef IMAGES.idx3-ubyte LABELS.idx1-ubyte\n");
    return 2;
  }
  size_t count = 0, labels_count = 0;
  unsigned char* images = read_idx(argv[2], 3, kPixels, &count);
  unsigned char* labels = read_idx(argv[3], 1, 1, &labels_count);

  const double opening = now_ms();
  poprt_executable* executable = NULL;
  poprt_runner* runner = NULL;
  check(poprt_executable_open(argv[1], &executable));
  check(poprt_runner_create(executable, NULL, &runner));
  const double ready = now_ms();

  const poprt_anchor* in = poprt_runner_input(runner, 0);
  const poprt_anchor* out = poprt_runner_output(runner, 0);
  const size_t batch = (size_t)poprt_anchor_shape(in)[0];
  const poprt_dtype dtype = poprt_anchor_dtype(in);
  void* input = malloc(poprt_anchor_bytes(in));
  void* output = malloc(poprt_anchor_bytes(out));
  if (!input || !output || labels_count != count) return 1;

  size_t correct = 0;
  double fastest = 1e30, total = 0;
  for (size_t first = 0; first < count; first += batch) {
    const size_t n = count - first < batch ? count - first : batch;
    for (size_t i = 0; i < batch * kPixels;
         i++) { /* scale pixels 0..16 to 0..1; pad the last batch */
      const float pixel = i < n * kPixels ? (float)images[first * kPixels + i] / 16.0f : 0.0f;
      if (dtype == POPRT_DTYPE_F16)
        ((_Float16*)input)[i] = (_Float16)pixel;
      else
        ((float*)input)[i] = pixel;
    }
    const void* inputs[] = {input};
    void* outputs[] = {output};
    const double start = now_ms();
    check(poprt_runner_execute_indexed(runner, inputs, outputs));
    const double ms = now_ms() - start;
    fastest = ms < fastest ? ms : fastest;
    total += ms;
    for (size_t i = 0; i < n; i++) {
      size_t best = 0;
      for (size_t c = 1; c < kClasses; c++)
        if (score(output, poprt_anchor_dtype(out), i * kClasses + c) >
            score(output, poprt_anchor_dtype(out), i * kClasses + best))
          best = c;
      correct += best == labels[first + i];
    }
  }
  printf("%s: %zu held-out images, accuracy %.4f\n", poprt_dtype_name(dtype), count,
         (double)correct / (double)count);
  printf("  ready after %.2f ms; batch %zu: fastest %.4f ms, mean %.4f ms\n", ready - opening,
         batch, fastest, total / (double)((count + batch - 1) / batch));

  /* The order does not matter. */
  poprt_executable_free(executable);
  poprt_runner_free(runner);
  free(images);
  free(labels);
  free(input);
  free(output);
  return 0;
}
