/* Anchors: the named inputs and outputs of an executable.
 *
 * Example:
 *     static void print_anchor(const poprt_anchor* anchor) {
 *       printf("%s: %s [", poprt_anchor_name(anchor),
 *              poprt_dtype_name(poprt_anchor_dtype(anchor)));
 *       for (size_t i = 0; i < poprt_anchor_rank(anchor); i++)
 *         printf(i ? ", %lld" : "%lld", (long long)poprt_anchor_shape(anchor)[i]);
 *       printf("], %zu bytes\n", poprt_anchor_bytes(anchor));
 *     }
 */
#ifndef POPRT_ANCHOR_H
#define POPRT_ANCHOR_H

#include "poprt/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Element types. Values are stored densely, row-major, little-endian. */
typedef int32_t poprt_dtype;
enum {
  POPRT_DTYPE_UNDEFINED = 0,
  POPRT_DTYPE_F32 = 1,
  POPRT_DTYPE_F64 = 2,
  POPRT_DTYPE_F16 = 3,
  POPRT_DTYPE_BF16 = 4,
  POPRT_DTYPE_S8 = 5,
  POPRT_DTYPE_U8 = 6,
  POPRT_DTYPE_S16 = 7,
  POPRT_DTYPE_U16 = 8,
  POPRT_DTYPE_S32 = 9,
  POPRT_DTYPE_U32 = 10,
  POPRT_DTYPE_S64 = 11,
  POPRT_DTYPE_U64 = 12,
  POPRT_DTYPE_BOOL = 13,
  POPRT_DTYPE_F8E4M3FN = 14,
  POPRT_DTYPE_F8E4M3FNUZ = 15,
  POPRT_DTYPE_F8E5M2 = 16,
  POPRT_DTYPE_F8E5M2FNUZ = 17,
  POPRT_DTYPE_F8143 = 18,  /* the IPU's quarter, format F143 */
  POPRT_DTYPE_F8152 = 19,  /* the IPU's quarter, format F152 */
  POPRT_DTYPE_S4 = 20,     /* two elements per byte, low nibble first */
  POPRT_DTYPE_U4 = 21,     /* as S4 */
  POPRT_DTYPE_S2 = 22,     /* four elements per byte, low bits first */
  POPRT_DTYPE_U2 = 23,     /* as S2 */
  POPRT_DTYPE_F4E2M1 = 24, /* two elements per byte, as S4 */
  POPRT_DTYPE_STRING = 25,
  POPRT_DTYPE_C64 = 26,
  POPRT_DTYPE_C128 = 27,
  POPRT_DTYPE_F8E8M0 = 28, /* a power of two, 2^(code - 127) */
  POPRT_DTYPE_F8 = 29      /* PopEF's generic one-byte float, in PopEF files only. Since 1.0 */
};

/* The name, such as "f32", "s64" or "bool", or "undefined" for unknown numbers. Static storage.
 * Since 0.1. */
POPRT_API const char* poprt_dtype_name(poprt_dtype dtype);
/* The number of bits of one element; 0 for strings and unknown numbers. Since 0.1. */
POPRT_API int32_t poprt_dtype_bits(poprt_dtype dtype);

/* Borrowed from the executable, runner, session or queue that returned it. Immutable, and may be
 * used on any thread. All functions below accept null and then return "", 0 or null. */
typedef struct poprt_anchor poprt_anchor;

/* UTF-8, borrowed from the anchor. Since 0.1. */
POPRT_API const char* poprt_anchor_name(const poprt_anchor* anchor);
/* One of POPRT_DTYPE_*. Since 0.1. */
POPRT_API poprt_dtype poprt_anchor_dtype(const poprt_anchor* anchor);
/* The number of dimensions; 0 for a scalar. Since 0.1. */
POPRT_API size_t poprt_anchor_rank(const poprt_anchor* anchor);
/* `rank` dimensions, borrowed from the anchor; null for a scalar. A dimension is -1 if requests may
 * have any size there, because the shapes are compiled on demand. Since 0.1. */
POPRT_API const int64_t* poprt_anchor_shape(const poprt_anchor* anchor);
/* The number of bytes of the anchor in one compiled batch; 0 if a dimension is -1. Since 0.1. */
POPRT_API size_t poprt_anchor_bytes(const poprt_anchor* anchor);

#ifdef __cplusplus
}
#endif
#endif
