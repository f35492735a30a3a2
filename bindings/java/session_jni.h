// Callbacks of sessions into RawTargets.java, on a thread that has called a session.
#pragma once

#include <jni.h>

#include <cstdint>

#include "session_shim.h"

namespace poprt_jni {

inline JNIEnv* env();
inline void clear(JNIEnv* env);
inline jbyteArray bytes(JNIEnv* env, const char* data, size_t size);

// A class of the package during a call from the library, or null if its class loader was collected.
// The global references to the classes are weak, because strong ones would keep their class loader,
// and with it this library, from being unloaded. Another class loader can load the library
// afterwards.
class Class {
 public:
  Class(JNIEnv* env, jweak of) : env_(env), class_(static_cast<jclass>(env->NewLocalRef(of))) {}
  Class(const Class&) = delete;
  Class& operator=(const Class&) = delete;
  ~Class() { env_->DeleteLocalRef(class_); }
  operator jclass() const { return class_; }

 private:
  JNIEnv* env_;
  jclass class_;
};

inline jweak targets_class = nullptr;
inline jmethodID transfer_method = nullptr;
inline jmethodID event_method = nullptr;
inline jmethodID accepts_method = nullptr;
inline jmethodID timeout_method = nullptr;

// The numbers of RawTargets.java.
enum SessionFn { kAccepts, kTimeout, kPrefetch, kFetch, kComplete, kInvalidate, kInterrupt };

inline bool load_session(JNIEnv* e) {
  jclass found = e->FindClass("org/poprt/RawTargets");
  if (!found) return false;
  targets_class = e->NewWeakGlobalRef(found);
  transfer_method = e->GetStaticMethodID(found, "transfer", "(JILjava/nio/ByteBuffer;)I");
  event_method = e->GetStaticMethodID(found, "event", "(JI)V");
  accepts_method = e->GetStaticMethodID(found, "accepts", "(J[BZ[I)Z");
  timeout_method = e->GetStaticMethodID(found, "timeout", "(J[B)V");
  return transfer_method && event_method && accepts_method && timeout_method;
}

inline jlong number(void* user_data) { return static_cast<jlong>(poprt_shim::address(user_data)); }

template <SessionFn which>
int32_t transfer(void* data, size_t size, void* user_data) {
  JNIEnv* e = env();
  if (!e) return 1;  // the virtual machine is ending
  jobject buffer = e->NewDirectByteBuffer(data, static_cast<jlong>(size));
  jint answer = 1;
  const Class targets(e, targets_class);
  if (buffer && targets)
    answer = e->CallStaticIntMethod(targets, transfer_method, number(user_data),
                                    static_cast<jint>(which), buffer);
  if (e->ExceptionCheck()) answer = 1;
  clear(e);
  e->DeleteLocalRef(buffer);
  return answer;
}

template <SessionFn which>
void event(void* user_data) {
  JNIEnv* e = env();
  if (!e) return;
  const Class targets(e, targets_class);
  if (targets)
    e->CallStaticVoidMethod(targets, event_method, number(user_data), static_cast<jint>(which));
  clear(e);
}

inline int32_t accepts(const char* name, int32_t is_output, const uint32_t* programs,
                       size_t program_count, void* user_data) {
  JNIEnv* e = env();
  if (!e) return 0;
  jbyteArray text = bytes(e, name, std::strlen(name));
  const auto count = static_cast<jsize>(program_count);
  jintArray list = text ? e->NewIntArray(count) : nullptr;
  jboolean answer = JNI_FALSE;
  const Class targets(e, targets_class);
  if (list && targets) {
    static_assert(sizeof(jint) == sizeof(uint32_t));
    e->SetIntArrayRegion(list, 0, count, reinterpret_cast<const jint*>(programs));
    answer = e->CallStaticBooleanMethod(targets, accepts_method, number(user_data), text,
                                        static_cast<jboolean>(is_output != 0), list);
  }
  if (e->ExceptionCheck()) answer = JNI_FALSE;
  clear(e);
  e->DeleteLocalRef(list);
  e->DeleteLocalRef(text);
  return answer;
}

inline void timeout(const char* queue, void* user_data) {
  JNIEnv* e = env();
  if (!e) return;
  jbyteArray text = bytes(e, queue, std::strlen(queue));
  const Class targets(e, targets_class);
  if (text && targets) e->CallStaticVoidMethod(targets, timeout_method, number(user_data), text);
  clear(e);
  e->DeleteLocalRef(text);
}

template <class Function>
int64_t address_of(Function* function) {
  return poprt_shim::address(reinterpret_cast<const void*>(function));
}

inline int64_t session_fn(int32_t which) {
  switch (which) {
    case kAccepts: return address_of(accepts);
    case kTimeout: return address_of(timeout);
    case kPrefetch: return address_of(transfer<kPrefetch>);
    case kFetch: return address_of(transfer<kFetch>);
    case kComplete: return address_of(event<kComplete>);
    case kInvalidate: return address_of(event<kInvalidate>);
    case kInterrupt: return address_of(event<kInterrupt>);
    default: return 0;
  }
}

}  // namespace poprt_jni
