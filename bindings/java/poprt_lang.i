// Java: exceptions are PoprtException, strings are passed as UTF-8 bytes (JNI's own encoding is "modified"), arrays of
// long are copied (short ones to the stack), callbacks are objects with global references.
%pragma(java) jniclassclassmodifiers="final class"
%pragma(java) moduleclassmodifiers="final class"
%pragma(java) jniclasscode=%{
  static {
    NativeLibrary.load();
    NativeLibrary.checkVersion();
  }
%}
%javaconst(1);
%typemap(javaclassmodifiers) SWIGTYPE "final class"
%typemap(javafinalize) SWIGTYPE ""

%{
#include "poprt_jni.h"
%}

// The C ABI throws nothing, but the code around it allocates memory.
%exception {
  try {
    $action
  } catch (const std::bad_alloc&) {
    SWIG_JavaThrowException(jenv, SWIG_JavaOutOfMemoryError, "out of native memory");
    return $null;
  } catch (const std::exception& e) {
    SWIG_JavaThrowException(jenv, SWIG_JavaRuntimeException, e.what());
    return $null;
  }
}

%typemap(jni) const char* "jbyteArray"
%typemap(jtype) const char* "byte[]"
%typemap(jstype) const char* "String"
%typemap(javain) const char* "Utf8.bytes($javainput, \"$javainput\")"
%typemap(javaout) const char* { return Utf8.string($jnicall); }
%typemap(in) const char* (std::string text) {
  if (!$input) {
    SWIG_JavaThrowException(jenv, SWIG_JavaNullPointerException, "null string");
    return $null;
  }
  if (!poprt_jni::read_text(jenv, $input, text)) return $null;
  $1 = const_cast<char*>(text.c_str());
}
%typemap(freearg) const char* ""
%typemap(argout) const char* ""
%typemap(out) const char* { $result = poprt_jni::bytes(jenv, $1, std::strlen($1)); }

%typemap(jni) poprt_text "jbyteArray"
%typemap(jtype) poprt_text "byte[]"
%typemap(jstype) poprt_text "String"
%typemap(javaout) poprt_text { return Utf8.string($jnicall); }
%typemap(out) poprt_text {
  $result = poprt_jni::bytes(jenv, poprt_string_data($1), poprt_string_size($1));
  poprt_string_free($1);
}

%typemap(jni) poprt_result "void"
%typemap(jtype) poprt_result "void"
%typemap(jstype) poprt_result "void"
%typemap(javaout) poprt_result { $jnicall; }
%typemap(out) poprt_result {
  if ($1) poprt_jni::raise(jenv, $1);
}
%typemap(in, numinputs=0) poprt_result* error (poprt_error* failure) {
  failure = nullptr;
  $1 = &failure;
}
%typemap(argout) poprt_result* error {
  if (*$1) {
    poprt_jni::raise(jenv, *$1);
    return $null;
  }
}

%typemap(jni) poprt_values values "jlongArray"
%typemap(jtype) poprt_values values "long[]"
%typemap(jstype) poprt_values values "long[]"
%typemap(javain) poprt_values values "$javainput"
%typemap(in) poprt_values values (poprt_jni::Longs longs) {
  if (!$input) {
    SWIG_JavaThrowException(jenv, SWIG_JavaNullPointerException, "null array");
    return $null;
  }
  $1 = longs.read(jenv, $input);
  if (!$1) return $null;
}
%typemap(freearg) poprt_values values ""
%typemap(argout) poprt_values values ""

// The address of the memory of a direct buffer, or null for another buffer.
%typemap(jni) void* nio_buffer "jobject"
%typemap(jtype) void* nio_buffer "java.nio.Buffer"
%typemap(jstype) void* nio_buffer "java.nio.Buffer"
%typemap(javain) void* nio_buffer "$javainput"
%typemap(in) void* nio_buffer { $1 = $input ? jenv->GetDirectBufferAddress($input) : nullptr; }
%typemap(in) jobject callback { $1 = $input ? jenv->NewGlobalRef($input) : nullptr; }
%typemap(jni) jobject callback "jobject"
%typemap(jtype) jobject callback "Object"
%typemap(jstype) jobject callback "Object"
%typemap(javain) jobject callback "$javainput"

%inline %{
static int64_t raw_buffer_address(void* nio_buffer) { return poprt_shim::address(nio_buffer); }

// Returns the address of a global reference to a RawCallbacks, which is the user data of the functions below.
static int64_t raw_callback(jobject callback) { return poprt_shim::address(callback); }
static void raw_free_callback(int64_t callback) {
  if (callback) poprt_jni::env()->DeleteGlobalRef(static_cast<jobject>(poprt_shim::pointer(callback)));
}
// Returns the callback of sessions with a number of RawTargets. Its user data is the number of a target.
static int64_t raw_session_fn(int32_t which) { return poprt_jni::session_fn(which); }
// Returns the function that is called when an element or a run is done. It frees the RawCallbacks afterwards.
static int64_t raw_done_fn() {
  return poprt_shim::address(reinterpret_cast<const void*>(&poprt_jni::done));
}
static int64_t raw_write_fn() {
  return poprt_shim::address(reinterpret_cast<const void*>(&poprt_jni::write));
}
static int64_t raw_read_fn() {
  return poprt_shim::address(reinterpret_cast<const void*>(&poprt_jni::read));
}
// Returns the function that frees the RawCallbacks of a source.
static int64_t raw_release_fn() {
  return poprt_shim::address(reinterpret_cast<const void*>(&poprt_jni::release));
}
static int64_t raw_progress_fn() {
  return poprt_shim::address(reinterpret_cast<const void*>(&poprt_jni::progress));
}
static int64_t raw_after_pass_fn() {
  return poprt_shim::address(reinterpret_cast<const void*>(&poprt_jni::after_pass));
}
%}

// Native memory as a buffer, without a copy; valid as long as its owner exists.
%typemap(jni) jobject raw_view "jobject"
%typemap(jtype) jobject raw_view "Object"
%typemap(jstype) jobject raw_view "Object"
%typemap(javaout) jobject raw_view { return $jnicall; }
%typemap(out) jobject raw_view { $result = $1; }
%inline %{
static jobject raw_view(int64_t address, int64_t bytes) {
  return poprt_jni::env()->NewDirectByteBuffer(poprt_shim::pointer(address), bytes);
}
%}
