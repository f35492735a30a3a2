// Declarations of the parts of TensorFlow's C interface for operators and kernels that the operator
// uses. No package of Debian contains TensorFlow's headers. TensorFlow defines the functions;
// names, types and numbers are those of
// tensorflow/c/{c_api,kernels,ops,tf_tensor,tf_status,tf_tstring}.h, which are equal in 2.16
// and 2.21.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

struct TF_KernelBuilder;
struct TF_OpDefinitionBuilder;
struct TF_OpKernelConstruction;
struct TF_OpKernelContext;
struct TF_ShapeInferenceContext;
struct TF_Status;
struct TF_TString;
struct TF_Tensor;

// Unscoped, as in C; the underlying type is that of TensorFlow's compilers.
enum TF_DataType : unsigned {
  TF_FLOAT = 1,
  TF_DOUBLE = 2,
  TF_INT32 = 3,
  TF_UINT8 = 4,
  TF_INT16 = 5,
  TF_INT8 = 6,
  TF_STRING = 7,
  TF_INT64 = 9,
  TF_BOOL = 10,
  TF_BFLOAT16 = 14,
  TF_UINT16 = 17,
  TF_HALF = 19,
  TF_UINT32 = 22,
  TF_UINT64 = 23,
};
enum TF_Code : unsigned {
  TF_OK = 0,
  TF_CANCELLED = 1,
  TF_UNKNOWN = 2,
  TF_INVALID_ARGUMENT = 3,
  TF_DEADLINE_EXCEEDED = 4,
  TF_NOT_FOUND = 5,
  TF_ALREADY_EXISTS = 6,
  TF_PERMISSION_DENIED = 7,
  TF_RESOURCE_EXHAUSTED = 8,
  TF_FAILED_PRECONDITION = 9,
  TF_ABORTED = 10,
  TF_OUT_OF_RANGE = 11,
  TF_UNIMPLEMENTED = 12,
  TF_INTERNAL = 13,
  TF_UNAVAILABLE = 14,
  TF_DATA_LOSS = 15,
};

TF_Status* TF_NewStatus();
void TF_DeleteStatus(TF_Status* status);
void TF_SetStatus(TF_Status* status, TF_Code code, const char* message);
TF_Code TF_GetCode(const TF_Status* status);
const char* TF_Message(const TF_Status* status);

const char* TF_StringGetDataPointer(const TF_TString* string);
size_t TF_StringGetSize(const TF_TString* string);

TF_DataType TF_TensorType(const TF_Tensor* tensor);
int TF_NumDims(const TF_Tensor* tensor);
int64_t TF_Dim(const TF_Tensor* tensor, int dimension);
size_t TF_TensorByteSize(const TF_Tensor* tensor);
void* TF_TensorData(const TF_Tensor* tensor);
void TF_DeleteTensor(TF_Tensor* tensor);

TF_OpDefinitionBuilder* TF_NewOpDefinitionBuilder(const char* name);
void TF_OpDefinitionBuilderAddAttr(TF_OpDefinitionBuilder* builder, const char* attr);
void TF_OpDefinitionBuilderAddInput(TF_OpDefinitionBuilder* builder, const char* input);
void TF_OpDefinitionBuilderAddOutput(TF_OpDefinitionBuilder* builder, const char* output);
void TF_OpDefinitionBuilderSetIsStateful(TF_OpDefinitionBuilder* builder, bool stateful);
void TF_OpDefinitionBuilderSetShapeInferenceFunction(TF_OpDefinitionBuilder* builder,
                                                     void (*infer)(TF_ShapeInferenceContext*,
                                                                   TF_Status*));
void TF_RegisterOpDefinition(TF_OpDefinitionBuilder* builder, TF_Status* status);
void TF_ShapeInferenceContextSetUnknownShape(TF_ShapeInferenceContext* context, TF_Status* status);

TF_KernelBuilder* TF_NewKernelBuilder(const char* op, const char* device,
                                      void* (*create)(TF_OpKernelConstruction*),
                                      void (*compute)(void*, TF_OpKernelContext*),
                                      void (*destroy)(void*));
void TF_RegisterKernelBuilder(const char* name, TF_KernelBuilder* builder, TF_Status* status);
void TF_OpKernelConstruction_GetAttrSize(TF_OpKernelConstruction* context, const char* attr,
                                         int32_t* list_size, int32_t* total_size,
                                         TF_Status* status);
void TF_OpKernelConstruction_GetAttrInt64(TF_OpKernelConstruction* context, const char* attr,
                                          int64_t* value, TF_Status* status);
void TF_OpKernelConstruction_GetAttrStringList(TF_OpKernelConstruction* context, const char* attr,
                                               char** values, size_t* lengths, int count,
                                               void* storage, size_t storage_size,
                                               TF_Status* status);
void TF_OpKernelConstruction_Failure(TF_OpKernelConstruction* context, TF_Status* status);
void TF_OpKernelContext_Failure(TF_OpKernelContext* context, TF_Status* status);
int TF_NumInputs(TF_OpKernelContext* context);
int TF_NumOutputs(TF_OpKernelContext* context);
void TF_GetInput(TF_OpKernelContext* context, int index, TF_Tensor** tensor, TF_Status* status);
TF_DataType TF_ExpectedOutputDataType(TF_OpKernelContext* context, int index);
TF_Tensor* TF_AllocateOutput(TF_OpKernelContext* context, int index, TF_DataType type,
                             const int64_t* dims, int rank, size_t bytes, TF_Status* status);

}  // extern "C"
