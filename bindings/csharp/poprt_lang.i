// C#: handles are SafeHandles, exceptions are PoprtException, strings are passed as UTF-8.
%pragma(csharp) imclassclassmodifiers="internal unsafe class"
%pragma(csharp) moduleclassmodifiers="internal unsafe class"
%pragma(csharp) imclasscode=%{
  internal static readonly bool started = Library.Start();
%}
%typemap(csclassmodifiers) SWIGTYPE "internal unsafe class"
%typemap(csdispose) SWIGTYPE ""
%typemap(csdisposing, methodname="Dispose", methodmodifiers="public", parameters="") SWIGTYPE "{ swigOwned.Dispose(); }"

%{
#include "poprt_csharp.h"
%}

// The C ABI throws nothing, but the code around it allocates memory. The error is thrown as PoprtException.
%exception {
  try {
    $action
  } catch (const std::bad_alloc&) {
    poprt_csharp::error_fn(POPRT_RESOURCE_EXHAUSTED, 0, "out of memory");
    return $null;
  } catch (const std::exception& e) {
    poprt_csharp::error_fn(POPRT_INTERNAL, 0, e.what());
    return $null;
  }
}
%feature("except:canthrow") "1";

// A class whose pointer is a SafeHandle: it may be disposed of while another thread calls, and is freed by the garbage
// collector.
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

  internal readonly Handle swigOwned;
  internal cs_name(global::System.IntPtr pointer, bool owns) { swigOwned = new Handle(pointer, owns); }
  // If another thread disposes of the object between this check and the native call, the call fails with SafeHandle's
  // message.
  internal Handle swigCPtr {
    get {
      if (swigOwned.IsClosed) throw new global::System.ObjectDisposedException(nameof(cs_name).Substring(3));
      return swigOwned;
    }
  }
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

%{
#include "popef_shim.h"
%}
POPRT_CS_BODY(raw_popef_blob, RawPopefBlob, )
POPRT_CS_HANDLE(raw_popef_anchor, RawPopefAnchor, free_popef_anchor, delete self)
POPRT_CS_HANDLE(raw_popef_metadata, RawPopefMetadata, free_popef_metadata, poprt_popef_metadata_free(self))
POPRT_CS_HANDLE(raw_popef_reader, RawPopefReader, free_popef_reader, poprt_popef_reader_free(self))
POPRT_CS_HANDLE(raw_popef_payload, RawPopefPayload, free_popef_payload, poprt_popef_payload_free(self))
POPRT_CS_HANDLE(raw_popef_model, RawPopefModel, free_popef_model, poprt_popef_model_free(self))
POPRT_CS_HANDLE(raw_popef_models, RawPopefModels, free_popef_models, delete self)
POPRT_CS_HANDLE(raw_popef_blob_info, RawPopefBlobInfo, free_popef_blob_info, delete self)
POPRT_CS_HANDLE(raw_popef_feeds, RawPopefFeeds, free_popef_feeds, delete self)
POPRT_CS_HANDLE(raw_popef_writer, RawPopefWriter, free_popef_writer, poprt_popef_writer_free(self))
POPRT_CS_HANDLE(raw_popef_blob_writer, RawPopefBlobWriter, free_popef_blob_writer, poprt_popef_blob_writer_free(self))

POPRT_CS_BODY(raw_anchor, RawAnchor, )
POPRT_CS_HANDLE(raw_executable, RawExecutable, free_executable, poprt_executable_free(self))
POPRT_CS_HANDLE(raw_open_options, RawOpenOptions, free_open_options, delete self)
POPRT_CS_HANDLE(raw_executables, RawExecutables, free_executables, delete self)
POPRT_CS_HANDLE(raw_blob, RawBlob, free_blob, delete self)
POPRT_CS_HANDLE(raw_compile_options, RawCompileOptions, free_compile_options, delete self)
POPRT_CS_HANDLE(raw_compiler, RawCompiler, free_compiler, poprt_compiler_free(self))
POPRT_CS_HANDLE(raw_estimate, RawEstimate, free_estimate, poprt_estimate_free(self))
POPRT_CS_HANDLE(raw_device_manager, RawDeviceManager, free_device_manager, poprt_device_manager_free(self))
POPRT_CS_HANDLE(raw_device_request, RawDeviceRequest, free_device_request, delete self)
POPRT_CS_HANDLE(raw_device, RawDevice, free_device, poprt_device_free(self))
POPRT_CS_HANDLE(raw_runner, RawRunner, free_runner, poprt_runner_free(self))
POPRT_CS_HANDLE(raw_runner_options, RawRunnerOptions, free_runner_options, delete self)
POPRT_CS_HANDLE(raw_request_options, RawRequestOptions, free_request_options, delete self)
POPRT_CS_HANDLE(raw_bindings, RawBindings, free_bindings, delete self)
POPRT_CS_HANDLE(raw_tensors, RawTensors, free_tensors, delete self)
POPRT_CS_HANDLE(raw_outputs, RawOutputs, free_outputs, poprt_outputs_free(self))
POPRT_CS_HANDLE(raw_counters, RawCounters, free_counters, delete self)
POPRT_CS_HANDLE(raw_run, RawRun, free_run, self->release())
POPRT_CS_HANDLE(raw_log, RawLog, free_log, delete self)
POPRT_CS_HANDLE(raw_passes, RawPasses, free_passes, delete self)
POPRT_CS_HANDLE(raw_pass_result, RawPassResult, free_pass_result, delete self)
POPRT_CS_HANDLE(raw_pack_options, RawPackOptions, free_pack_options, delete self)
POPRT_CS_HANDLE(raw_host_concats, RawHostConcats, free_host_concats, delete self)
POPRT_CS_HANDLE(raw_session_options, RawSessionOptions, free_session_options, delete self)
POPRT_CS_HANDLE(raw_queue_options, RawQueueOptions, free_queue_options, delete self)
POPRT_CS_HANDLE(raw_session, RawSession, free_session, delete self)
POPRT_CS_HANDLE(raw_generator, RawGenerator, free_generator, poprt_generator_free(self))
POPRT_CS_HANDLE(raw_sequence, RawSequence, free_sequence, poprt_sequence_free(self))
POPRT_CS_HANDLE(raw_queue_manager, RawQueueManager, free_queue_manager, delete self)
POPRT_CS_HANDLE(raw_queue, RawQueue, free_queue, delete self)

%typemap(imtype, inattributes="[global::System.Runtime.InteropServices.MarshalAs(global::System.Runtime.InteropServices.UnmanagedType.LPUTF8Str)]",
         out="global::System.IntPtr") const char* "string"
%typemap(csin) const char* "Utf8.Checked($csinput, nameof($csinput))"
%typemap(csout, excode=SWIGEXCODE) const char* {
    global::System.IntPtr text = $imcall;$excode
    return Utf8.String(text);
  }
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

// The caller pins the memory.
%typemap(ctype) poprt_values "void*"
%typemap(imtype) poprt_values "long*"
%typemap(cstype) poprt_values "long*"
%typemap(csin) poprt_values "$csinput"
%typemap(in) poprt_values { $1 = $input; }

%inline %{
static void raw_set_error_fn(int64_t error_fn) {
  poprt_csharp::error_fn = poprt_shim::function<poprt_csharp::ErrorFn>(error_fn);
}
// Completed runs, see poprt_csharp::Ended, by the address that raw_ended_new returned.
static int64_t raw_ended_new() { return poprt_shim::address(new poprt_csharp::Ended); }
// The callback of execute_async, whose user data is the result of raw_ended_expect.
static int64_t raw_ended_done_fn() {
  return poprt_shim::address(reinterpret_cast<const void*>(&poprt_csharp::Ended::done));
}
static int64_t raw_ended_expect(int64_t ended, int64_t self, bool counted) {
  return poprt_csharp::ended(ended).expect(self, counted);
}
static void raw_ended_forget(int64_t ended, int64_t run) { poprt_csharp::ended(ended).forget(run); }
// Blocks until the next run is complete and returns its object, or 0 after raw_ended_close. The same thread calls
// raw_ended_code and raw_ended_message for that run afterwards.
static int64_t raw_ended_take(int64_t ended) {
  auto& from = poprt_csharp::ended(ended);
  return from.take() ? from.last().self : 0;
}
static int32_t raw_ended_code(int64_t ended) { return poprt_csharp::ended(ended).last().code; }
static const char* raw_ended_message(int64_t ended) { return poprt_csharp::ended(ended).last().message.c_str(); }
static void raw_ended_close(int64_t ended, int64_t patience_ms) {
  poprt_csharp::ended(ended).close(std::chrono::milliseconds(patience_ms));
}
// The release_fn of a source, and the numbers with which it was called; 0 if there are no more.
static int64_t raw_released_fn() {
  return poprt_shim::address(reinterpret_cast<const void*>(&poprt_csharp::Released::add));
}
static int64_t raw_released_take() { return poprt_csharp::Released::take(); }
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
