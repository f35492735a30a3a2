// Whether this is compiled for AddressSanitizer or ThreadSanitizer, which own malloc and the limits
// of memory.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define POPRT_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define POPRT_TEST_SANITIZED 1
#endif
#endif
#ifndef POPRT_TEST_SANITIZED
#define POPRT_TEST_SANITIZED 0
#endif
