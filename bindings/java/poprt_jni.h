// Helpers of the generated JNI wrapper: exceptions, strings, callbacks.
#pragma once

#include <jni.h>

#include <new>
#include <string>
#include <vector>

#include "poprt_shim.h"
#include "session_jni.h"

namespace poprt_jni {

inline JavaVM* vm = nullptr;
inline jweak exception_class = nullptr;
inline jmethodID exception_of = nullptr;
inline jmethodID done_method = nullptr;
inline jmethodID write_method = nullptr;
inline jmethodID read_method = nullptr;
inline jmethodID progress_method = nullptr;
inline jmethodID after_pass_method = nullptr;

inline jbyteArray bytes(JNIEnv* env, const char* data, size_t size) {
  const auto n = static_cast<jsize>(size);
  jbyteArray made = env->NewByteArray(n);
  if (made) env->SetByteArrayRegion(made, 0, n, reinterpret_cast<const jbyte*>(data));
  return made;
}

// Throws the error as a PoprtException and frees it. The class was found when the library was
// loaded, because FindClass does not find it on threads of the library.
inline void raise(JNIEnv* env, poprt_error* error) {
  const char* message = poprt_error_message(error);
  const auto code = static_cast<jint>(poprt_error_get_code(error));
  const auto popef_class = static_cast<jint>(poprt_popef_error_get_class(error));
  jbyteArray text = bytes(env, message, std::strlen(message));
  poprt_error_free(error);
  if (!text) return;  // an OutOfMemoryError is pending
  const Class exception(env, exception_class);
  auto thrown = static_cast<jthrowable>(
      env->CallStaticObjectMethod(exception, exception_of, code, popef_class, text));
  if (thrown && !env->ExceptionCheck()) env->Throw(thrown);
}

// Resizes a string or vector. Returns false with an OutOfMemoryError pending.
template <class Container>
bool resize(JNIEnv* env, Container& to, jsize size) {
  try {
    to.resize(static_cast<size_t>(size));
    return true;
  } catch (const std::bad_alloc&) {
    env->ThrowNew(env->FindClass("java/lang/OutOfMemoryError"), "out of native memory");
    return false;
  }
}

// Copies bytes to a string. Returns false with an exception pending.
inline bool read_text(JNIEnv* env, jbyteArray from, std::string& to) {
  if (!resize(env, to, env->GetArrayLength(from))) return false;
  env->GetByteArrayRegion(from, 0, static_cast<jsize>(to.size()),
                          reinterpret_cast<jbyte*>(to.data()));
  return true;
}

// The elements of a long[], on the stack if there are at most kFew.
class Longs {
 public:
  // Returns null with an exception pending.
  const void* read(JNIEnv* env, jlongArray array) {
    const jsize n = env->GetArrayLength(array);
    jlong* to = few_;
    if (n > kFew) {
      if (!resize(env, many_, n)) return nullptr;
      to = many_.data();
    }
    env->GetLongArrayRegion(array, 0, n, to);
    return to;
  }

 private:
  static constexpr jsize kFew = 32;
  jlong few_[kFew];
  std::vector<jlong> many_;
};

// The JNIEnv of this thread, which is requested each time because a thread of the user may detach
// and attach itself between two calls. A thread of the library is attached once, as a daemon, until
// it ends: attaching for each call costs twenty times the call.
inline JNIEnv* env() {
  struct Attached {
    bool mine = false;
    ~Attached() {
      if (mine) vm->DetachCurrentThread();
    }
  };
  static thread_local Attached attached;
  void* found = nullptr;
  if (vm->GetEnv(&found, JNI_VERSION_1_8) == JNI_OK) return static_cast<JNIEnv*>(found);
  char name[] = "poprt";
  JavaVMAttachArgs args = {JNI_VERSION_1_8, name, nullptr};
  if (vm->AttachCurrentThreadAsDaemon(&found, &args) != JNI_OK) return nullptr;
  attached.mine = true;
  return static_cast<JNIEnv*>(found);
}

// Clears a pending exception. The Java side catches exceptions of users; this is for others, such
// as a stack overflow.
inline void clear(JNIEnv* env) {
  if (!env->ExceptionCheck()) return;
  env->ExceptionDescribe();
  env->ExceptionClear();
}

inline void done(int32_t code, const char* message, void* user_data) {
  JNIEnv* e = env();
  if (!e) return;  // the virtual machine is ending
  auto callback = static_cast<jobject>(user_data);
  jbyteArray text = code ? bytes(e, message, std::strlen(message)) : nullptr;
  clear(e);
  e->CallVoidMethod(callback, done_method, static_cast<jint>(code), text);
  clear(e);
  if (text) e->DeleteLocalRef(text);
  e->DeleteGlobalRef(callback);
}

// A poprt_write_fn. A buffer of Java has less than 2 GiB, so the data is passed in parts.
inline int32_t write(const void* data, size_t size, void* user_data) {
  constexpr size_t kPart = size_t{1} << 30;
  JNIEnv* e = env();
  if (!e) return 1;  // the virtual machine is ending
  auto* from = static_cast<char*>(const_cast<void*>(data));
  jboolean go_on = JNI_TRUE;
  do {
    const size_t part = size < kPart ? size : kPart;
    jobject buffer = e->NewDirectByteBuffer(from, static_cast<jlong>(part));
    go_on = JNI_FALSE;
    if (buffer) go_on = e->CallBooleanMethod(static_cast<jobject>(user_data), write_method, buffer);
    if (e->ExceptionCheck()) go_on = JNI_FALSE;
    clear(e);
    e->DeleteLocalRef(buffer);
    from += part;
    size -= part;
  } while (go_on && size > 0);
  return go_on ? 0 : 1;
}

// The functions of a poprt_popef_source; the second one frees the callback.
inline int32_t read(uint64_t offset, void* data, size_t size, void* user_data) {
  JNIEnv* e = env();
  if (!e) return 1;  // the virtual machine is ending
  auto* to = static_cast<char*>(data);
  jboolean done = JNI_TRUE;
  for (size_t at = 0; done && at < size;) {  // a buffer has less than 2 GiB
    const size_t part = size - at < (size_t{1} << 30) ? size - at : size_t{1} << 30;
    jobject buffer = e->NewDirectByteBuffer(to + at, static_cast<jlong>(part));
    done = buffer != nullptr && e->CallBooleanMethod(static_cast<jobject>(user_data), read_method,
                                                     static_cast<jlong>(offset + at), buffer);
    if (e->ExceptionCheck()) done = JNI_FALSE;
    clear(e);
    e->DeleteLocalRef(buffer);
    at += part;
  }
  return done ? 0 : 1;
}
inline void release(void* user_data) {
  JNIEnv* e = env();
  if (e) e->DeleteGlobalRef(static_cast<jobject>(user_data));
}

inline void progress(double part, const char* what, void* user_data) {
  JNIEnv* e = env();
  if (!e) return;
  jbyteArray text = bytes(e, what, std::strlen(what));
  if (text) e->CallVoidMethod(static_cast<jobject>(user_data), progress_method, part, text);
  clear(e);
  e->DeleteLocalRef(text);
}

inline void after_pass(const char* pass, int64_t rewrites, double milliseconds,
                       int64_t nodes_before, int64_t nodes_after, void* user_data) {
  JNIEnv* e = env();
  if (!e) return;
  jbyteArray text = bytes(e, pass, std::strlen(pass));
  if (text)
    e->CallVoidMethod(static_cast<jobject>(user_data), after_pass_method, text,
                      static_cast<jlong>(rewrites), milliseconds, static_cast<jlong>(nodes_before),
                      static_cast<jlong>(nodes_after));
  clear(e);
  e->DeleteLocalRef(text);
}

}  // namespace poprt_jni

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void*) {
  using namespace poprt_jni;
  void* found = nullptr;
  if (vm->GetEnv(&found, JNI_VERSION_1_8) != JNI_OK) return JNI_ERR;
  auto* env = static_cast<JNIEnv*>(found);
  poprt_jni::vm = vm;
  jclass exception = env->FindClass("org/poprt/PoprtException");
  if (!exception) return JNI_ERR;
  exception_class = env->NewWeakGlobalRef(exception);
  exception_of = env->GetStaticMethodID(exception, "of", "(II[B)Lorg/poprt/PoprtException;");
  jclass callbacks = env->FindClass("org/poprt/RawCallbacks");
  if (!exception_of || !callbacks) return JNI_ERR;
  done_method = env->GetMethodID(callbacks, "done", "(I[B)V");
  write_method = env->GetMethodID(callbacks, "write", "(Ljava/nio/ByteBuffer;)Z");
  read_method = env->GetMethodID(callbacks, "read", "(JLjava/nio/ByteBuffer;)Z");
  progress_method = env->GetMethodID(callbacks, "progress", "(D[B)V");
  after_pass_method = env->GetMethodID(callbacks, "afterPass", "([BJDJJ)V");
  const bool complete =
      done_method && write_method && read_method && progress_method && after_pass_method;
  return complete && load_session(env) ? JNI_VERSION_1_8 : JNI_ERR;
}

// Called when the class loader of the library was collected. Another one may load the library
// again.
extern "C" JNIEXPORT void JNICALL JNI_OnUnload(JavaVM* vm, void*) {
  void* found = nullptr;
  if (vm->GetEnv(&found, JNI_VERSION_1_8) != JNI_OK) return;
  auto* env = static_cast<JNIEnv*>(found);
  env->DeleteWeakGlobalRef(poprt_jni::exception_class);
  env->DeleteWeakGlobalRef(poprt_jni::targets_class);
}
