// C#: handles are SafeHandles, exceptions are PoprtException, strings cross as UTF-8.
%pragma(csharp) imclassclassmodifiers="internal unsafe class"
%pragma(csharp) moduleclassmodifiers="internal unsafe class"
%pragma(csharp) imclasscode=%{
  internal static readonly bool started = Library.Start();
%}
%typemap(csclassmodifiers) SWIGTYPE "internal unsafe class"
%typemap(csdispose) SWIGTYPE ""
%typemap(csdisposing, methodname="Dispose", methodmodifiers="public", parameters="") SWIGTYPE "{ swigCPtr.Dispose(); }"

%{
#include "poprt_csharp.h"
%}

// A class whose pointer is a SafeHandle: safe to dispose of while another thread calls, and freed on its own.
%define POPRT_CS_BODY(c_name, cs_name, RELEASE)
%typemap(csbody) c_name %{
  internal sealed class Handle : global::System.Runtime.InteropServices.SafeHandle {
    internal Handle(global::System.IntPtr pointer, bool owns) : base(global::System.IntPtr.Zero, owns) {
      SetHandle(pointer);
    }
    public override bool IsInvalid { get { return handle == global::System.IntPtr.Zero; } }
    protected override bool ReleaseHandle() {
      RELEASE;
      return true;
    }
  }

  internal readonly Handle swigCPtr;
  internal cs_name(global::System.IntPtr pointer, bool owns) { swigCPtr = new Handle(pointer, owns); }
  internal static Handle getCPtr(cs_name of) { return of.swigCPtr; }
%}
%typemap(imtype, out="global::System.IntPtr") c_name*, const c_name*, c_name&, const c_name& "cs_name.Handle"
%enddef
%define POPRT_CS_HANDLE(c_name, cs_name, free_name, DELETE)
POPRT_CS_BODY(c_name, cs_name, poprt_rawPINVOKE.free_name((long)handle))
%inline %{
static void free_name(int64_t address) {
  auto* self = static_cast<c_name*>(poprt_shim::pointer(address));
  DELETE;
}
%}
%enddef

POPRT_CS_BODY(raw_anchor, RawAnchor, )
POPRT_CS_HANDLE(raw_executable, RawExecutable, free_executable, poprt_executable_free(self))
POPRT_CS_HANDLE(raw_open_options, RawOpenOptions, free_open_options, delete self)
POPRT_CS_HANDLE(raw_blob, RawBlob, free_blob, delete self)
POPRT_CS_HANDLE(raw_compile_options, RawCompileOptions, free_compile_options, delete self)
POPRT_CS_HANDLE(raw_compiler, RawCompiler, free_compiler, poprt_compiler_free(self))
POPRT_CS_HANDLE(raw_device_manager, RawDeviceManager, free_device_manager, poprt_device_manager_free(self))
POPRT_CS_HANDLE(raw_device_request, RawDeviceRequest, free_device_request, delete self)
POPRT_CS_HANDLE(raw_device, RawDevice, free_device, poprt_device_free(self))
POPRT_CS_HANDLE(raw_runner, RawRunner, free_runner, poprt_runner_free(self))
POPRT_CS_HANDLE(raw_runner_options, RawRunnerOptions, free_runner_options, delete self)
POPRT_CS_HANDLE(raw_bindings, RawBindings, free_bindings, delete self)
POPRT_CS_HANDLE(raw_run, RawRun, free_run, self->release())

%typemap(imtype, inattributes="[global::System.Runtime.InteropServices.MarshalAs(global::System.Runtime.InteropServices.UnmanagedType.LPUTF8Str)]",
         out="global::System.IntPtr") const char* "string"
%typemap(csin) const char* "Utf8.Checked($csinput)"
%typemap(csout, excode=SWIGEXCODE) const char* { return Utf8.String($imcall); }
%typemap(out) const char* { $result = const_cast<char*>($1); }

%typemap(ctype) poprt_text "void*"
%typemap(imtype) poprt_text "global::System.IntPtr"
%typemap(cstype) poprt_text "string"
%typemap(out) poprt_text { $result = $1; }
%typemap(csout, excode=SWIGEXCODE) poprt_text {
    global::System.IntPtr text = $imcall;$excode
    return Utf8.Take(text);
  }

%typemap(ctype) poprt_result "void"
%typemap(imtype) poprt_result "void"
%typemap(cstype) poprt_result "void"
%typemap(out, canthrow=1, null="") poprt_result {
  if ($1) poprt_csharp::raise($1);
}
%typemap(csout, excode=SWIGEXCODE) poprt_result {
    $imcall;$excode
  }
%typemap(in, numinputs=0, canthrow=1) poprt_result* error (poprt_error* failure) {
  failure = nullptr;
  $1 = &failure;
}
%typemap(argout, canthrow=1) poprt_result* error {
  if (*$1) poprt_csharp::raise(*$1);
}

// The caller pins it.
%typemap(ctype) poprt_values "void*"
%typemap(imtype) poprt_values "long*"
%typemap(cstype) poprt_values "long*"
%typemap(csin) poprt_values "$csinput"
%typemap(in) poprt_values { $1 = $input; }

%inline %{
static void raw_set_error_fn(int64_t error_fn) {
  poprt_csharp::error_fn = poprt_shim::function<poprt_csharp::ErrorFn>(error_fn);
}
// What execute_async gets, and the managed function that it calls.
static int64_t raw_done_fn() {
  return poprt_shim::address(reinterpret_cast<const void*>(&poprt_csharp::done));
}
static void raw_set_done_fn(int64_t done_fn) {
  poprt_csharp::done_fn = poprt_shim::function<poprt_run_done_fn>(done_fn);
}
static int64_t raw_text_address(int64_t text) {
  return poprt_shim::address(poprt_string_data(static_cast<poprt_string*>(poprt_shim::pointer(text))));
}
static int64_t raw_text_bytes(int64_t text) {
  return static_cast<int64_t>(poprt_string_size(static_cast<poprt_string*>(poprt_shim::pointer(text))));
}
static void raw_free_text(int64_t text) {
  poprt_string_free(static_cast<poprt_string*>(poprt_shim::pointer(text)));
}
%}
