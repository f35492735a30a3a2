/* Prints the inputs and outputs of a PopEF file.
 *
 *   anchors MODEL.popef */
#include <poprt/poprt.h>
#include <stdio.h>

static void print_anchor(const char* kind, const poprt_anchor* anchor) {
  printf("%s %s %s [", kind, poprt_anchor_name(anchor),
         poprt_dtype_name(poprt_anchor_dtype(anchor)));
  for (size_t i = 0; i < poprt_anchor_rank(anchor); i++)
    printf(i ? ",%lld" : "%lld", (long long)poprt_anchor_shape(anchor)[i]);
  printf("] %zu bytes\n", poprt_anchor_bytes(anchor));
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: anchors MODEL.popef\n");
    return 2;
  }
  poprt_executable* executable = NULL;
  poprt_error* error = poprt_executable_open(argv[1], &executable);
  if (error) {
    fprintf(stderr, "anchors: %s\n", poprt_error_message(error));
    poprt_error_free(error);
    return 1;
  }
  for (size_t i = 0; i < poprt_executable_input_count(executable); i++)
    print_anchor("input", poprt_executable_input(executable, i));
  for (size_t i = 0; i < poprt_executable_output_count(executable); i++)
    print_anchor("output", poprt_executable_output(executable, i));
  poprt_executable_free(executable);
  return 0;
}
