#include "handles.h"

const char* poprt_string_data(const poprt_string* string) {
  return string ? string->text.c_str() : "";
}

size_t poprt_string_size(const poprt_string* string) { return string ? string->text.size() : 0; }

void poprt_string_free(poprt_string* string) { delete string; }
