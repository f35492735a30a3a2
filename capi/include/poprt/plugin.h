/* Plug-ins: custom operators, passes, patterns and transforms in a shared library. A plug-in
 * needs only this header, in C11 or C++, and does not link to poprt. docs/plugins.md describes
 * how plug-ins are loaded and run. examples/plugins contains one of each kind.
 *
 * Example:
 *     static int32_t infer(const poprt_op_call* call, void* user_data) {
 *       (void)user_data;
 *       const poprt_op_tensor* x = call->inputs[0];
 *       return call->host->set_output(call, 0, x->dtype, x->rank, x->shape);
 *     }
 *     static int32_t compute(const poprt_op_call* call, void* state, void* user_data) {
 *       (void)state, (void)user_data;
 *       const float* x = call->inputs[0]->data;
 *       float* y = call->outputs[0]->data;
 *       for (uint64_t i = 0; i < call->inputs[0]->bytes / sizeof *x; i++) y[i] = 2 * x[i];
 *       return POPRT_OK;
 *     }
 *     static int32_t init(const poprt_plugin_host* host, poprt_plugin_registry* registry) {
 *       const poprt_operator twice = {.struct_size = sizeof twice,
 *                                     .domain = "org.example",
 *                                     .name = "Twice",
 *                                     .version = 1,
 *                                     .infer = infer,
 *                                     .compute = compute};
 *       return host->add_operator(registry, &twice);
 *     }
 *     POPRT_PLUGIN("twice", "1.0", init)
 *
 * Rules for all functions of a plug-in:
 * - They return POPRT_OK or another number of poprt_error_code, and report the reason with
 *   fail() of their host. The caller of poprt gets that line as an error. After fail(), the work
 *   has failed, whatever the return value is.
 * - Functions of a host may only be called during the call that received the host, on its
 *   thread, with handles of that call. Returned handles and pointers are valid until the call
 *   ends or their object is erased.
 * - An exception that leaves a function becomes an error if GCC's runtime can unwind it. Catch
 *   exceptions in the plug-in.
 * - Structs begin with struct_size. Set it in structs that the plug-in fills. Structs that poprt
 *   passes may have more fields at their end in later versions. Names are copied when they are
 *   added. */
#ifndef POPRT_PLUGIN_H
#define POPRT_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#include "poprt/anchor.h"
#include "poprt/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. Structs and tables of functions may grow at their ends without
 * another version. A plug-in that was built for an older poprt with the same version of the
 * interface is loaded, and one with another version is refused. */
#define POPRT_PLUGIN_ABI 1

/* ---- operators ---- */

/* A tensor of an operator. In inference, `dtype` may be undefined, and `rank` and dimensions may be
 * -1 for unknown. `data` is memory in compute(), the value of a constant input in infer(), and
 * otherwise null. Elements are dense and row-major. Inputs must not be written. */
typedef struct poprt_op_tensor {
  size_t struct_size;
  poprt_dtype dtype;
  int32_t rank;
  const int64_t* shape;
  void* data;
  uint64_t bytes; /* of data */
} poprt_op_tensor;

typedef struct poprt_op_host poprt_op_host;

/* One node. An omitted input is null. */
typedef struct poprt_op_call {
  size_t struct_size;
  const poprt_op_host* host;
  const char* node; /* its name, for messages */
  size_t input_count;
  const poprt_op_tensor* const* inputs;
  size_t output_count;
  const poprt_op_tensor* const* outputs;
} poprt_op_call;

/* The functions of poprt that an operator may call. */
struct poprt_op_host {
  size_t struct_size;
  /* Attributes by name. Return POPRT_OK if the attribute was written to the output, or
   * POPRT_NOT_FOUND if the node has none; the output then keeps its value, which can be a
   * default. An attribute of another kind fails the call like fail(). Text ends with a zero. */
  int32_t (*get_int)(const poprt_op_call* call, const char* name, int64_t* out);
  int32_t (*get_float)(const poprt_op_call* call, const char* name, float* out);
  int32_t (*get_string)(const poprt_op_call* call, const char* name, const char** out,
                        size_t* out_size);
  int32_t (*get_ints)(const poprt_op_call* call, const char* name, const int64_t** out,
                      size_t* out_count);
  int32_t (*get_floats)(const poprt_op_call* call, const char* name, const float** out,
                        size_t* out_count);
  int32_t (*get_tensor)(const poprt_op_call* call, const char* name, const poprt_op_tensor** out);
  /* In infer(): sets the type of an output. Unknown ranks and dimensions are -1. */
  int32_t (*set_output)(const poprt_op_call* call, size_t output, poprt_dtype dtype, int32_t rank,
                        const int64_t* shape);
  /* Fails the call with this code and this line, formatted like printf. Returns the code. */
  int32_t (*fail)(const poprt_op_call* call, poprt_error_code code, const char* format, ...);
  /* Writes a message to poprt's log. Levels are POPRT_LOG_* of log.h. */
  void (*log)(int32_t level, const char* message);
};

/* The cost of one run of a node on a chip, for reports. Zero means unknown. */
typedef struct poprt_op_cost {
  size_t struct_size;
  double cycles; /* of the slowest tile, between two synchronisations */
  double flops;
  double tile_bytes; /* of temporary memory, over all tiles */
} poprt_op_cost;

/* poprt_operator.flags */
enum {
  /* The result is not a function of inputs and attributes, so the node is neither folded nor
   * shared. */
  POPRT_OPERATOR_IMPURE = 1,
  /* Each element of output 0 depends only on the input elements at its (broadcast) position. */
  POPRT_OPERATOR_ELEMENTWISE = 2,
  /* The operator computes in f16 or bf16 if the model does. Without the flag, the emulator,
   * which stores halves and computes in f32, passes f32, and --precision fp16 keeps f32 between
   * casts. */
  POPRT_OPERATOR_HALF = 4,
  /* Place p along axis 0 of every output depends only on place p along axis 0 of those inputs that
   * have as many places there, in the same way for every p. Constant inputs, such as weights, are
   * excepted: they may be read as a whole. Requests can then share a batch. Since 1.0. */
  POPRT_OPERATOR_PER_SAMPLE = 8
};

/* An operator. All fields except names and compute() may be null or 0. Threads: infer(),
 * prepare(), parts() and cost() are called on any thread, one call for a node at a time.
 * compute() is also called on one thread at a time for a state, but on several threads for
 * several states. compute_part() is called on several threads for one state. All calls share
 * `user_data`. */
typedef struct poprt_operator {
  size_t struct_size;
  const char* domain; /* any except ONNX's own ("", "ai.onnx") and "poprt" */
  const char* name;
  int32_t version; /* the version of the computation, from 1: a PopEF file only runs with the
                    * version that compiled it */
  uint32_t flags;
  /* Sets types of outputs from those of inputs, which may be partially known. If null, types are
   * those that the model declares. */
  int32_t (*infer)(const poprt_op_call* call, void* user_data);
  /* Called once when a program is loaded (and when it is compiled), with types and attributes
   * but no data. Stores the state for compute() in *out_state. */
  int32_t (*prepare)(const poprt_op_call* call, void** out_state, void* user_data);
  /* Writes exactly `bytes` bytes of every output. The first run of each node checks the memory
   * around them. */
  int32_t (*compute)(const poprt_op_call* call, void* state, void* user_data);
  void (*release)(void* state, void* user_data); /* frees a state of prepare() */
  /* `out_cost` is zero at first. */
  int32_t (*cost)(const poprt_op_call* call, poprt_op_cost* out_cost, void* user_data);
  void* user_data;
  /* For nodes on several threads; set both functions or none. Called after prepare(): returns
   * the number of independent parts of about equal work. 1 leaves the node to compute().
   * Since 1.0. */
  int32_t (*parts)(const poprt_op_call* call, void* state, int64_t* out_parts, void* user_data);
  /* Called instead of compute(), which is still called for folding constants: computes parts
   * `begin` to `end` - 1. All parts together write every byte of every output. The thread that
   * computes a part must not influence the result. Since 1.0. */
  int32_t (*compute_part)(const poprt_op_call* call, void* state, int64_t begin, int64_t end,
                          void* user_data);
} poprt_operator;

/* ---- graphs: for passes, patterns and transforms ---- */

typedef struct poprt_graph poprt_graph;
typedef struct poprt_node poprt_node;
typedef struct poprt_value poprt_value;

/* The kind of an attribute. */
typedef int32_t poprt_attribute_kind;
enum {
  POPRT_ATTRIBUTE_NONE = 0, /* the node has no such attribute */
  POPRT_ATTRIBUTE_INT = 1,
  POPRT_ATTRIBUTE_FLOAT = 2,
  POPRT_ATTRIBUTE_STRING = 3,
  POPRT_ATTRIBUTE_TENSOR = 4,
  POPRT_ATTRIBUTE_INTS = 5,
  POPRT_ATTRIBUTE_FLOATS = 6,
  POPRT_ATTRIBUTE_STRINGS = 7,
  POPRT_ATTRIBUTE_TENSORS = 8,
  POPRT_ATTRIBUTE_GRAPH = 9,
  POPRT_ATTRIBUTE_GRAPHS = 10
};

/* A graph of nodes, in a valid order of execution, and values. A value is the result of a node,
 * an input of the graph or a constant. A node of a subgraph may read values of the enclosing
 * graphs. Functions that return a list write at most `capacity` entries and return its length;
 * call with capacity 0 first. Indices out of range return null. */
typedef struct poprt_graph_host {
  size_t struct_size;

  const char* (*graph_name)(const poprt_graph* graph);
  size_t (*graph_nodes)(poprt_graph* graph, poprt_node** out, size_t capacity);
  size_t (*graph_inputs)(poprt_graph* graph, poprt_value** out, size_t capacity);
  size_t (*graph_outputs)(poprt_graph* graph, poprt_value** out, size_t capacity);
  poprt_value* (*find_value)(poprt_graph* graph, const char* name); /* null: not found */

  poprt_graph* (*node_graph)(poprt_node* node);
  const char* (*node_type)(const poprt_node* node);
  const char* (*node_domain)(const poprt_node* node); /* "" is ONNX's domain, "poprt" is internal */
  const char* (*node_name)(const poprt_node* node);
  int64_t (*node_opset)(const poprt_node* node); /* of its domain; 0: not imported */
  size_t (*node_input_count)(const poprt_node* node);
  poprt_value* (*node_input)(poprt_node* node, size_t index); /* null: omitted */
  size_t (*node_output_count)(const poprt_node* node);
  poprt_value* (*node_output)(poprt_node* node, size_t index);

  /* Attributes by index or by name. get_* behave as in poprt_op_host. */
  size_t (*attribute_count)(const poprt_node* node);
  const char* (*attribute_name)(const poprt_node* node, size_t index);
  poprt_attribute_kind (*attribute_kind)(const poprt_node* node, const char* name);
  int32_t (*get_int)(const poprt_node* node, const char* name, int64_t* out);
  int32_t (*get_float)(const poprt_node* node, const char* name, float* out);
  int32_t (*get_string)(const poprt_node* node, const char* name, const char** out,
                        size_t* out_size);
  int32_t (*get_ints)(const poprt_node* node, const char* name, const int64_t** out,
                      size_t* out_count);
  int32_t (*get_floats)(const poprt_node* node, const char* name, const float** out,
                        size_t* out_count);
  /* Returns an attribute like a constant value. Set out->struct_size. */
  int32_t (*get_tensor)(const poprt_node* node, const char* name, poprt_op_tensor* out);
  int32_t (*get_graph)(const poprt_node* node, const char* name, poprt_graph** out);

  const char* (*value_name)(const poprt_value* value);
  /* Returns the type, and the data of a constant. Set out->struct_size. */
  void (*value_type)(const poprt_value* value, poprt_op_tensor* out);
  poprt_node* (*value_producer)(poprt_value* value); /* null: an input or a constant */
  /* The nodes that read the value. A node that reads it twice is listed twice. Outputs of the
   * graph are not included. */
  size_t (*value_readers)(poprt_value* value, poprt_node** out, size_t capacity);
  int32_t (*value_is_constant)(const poprt_value* value);
  int32_t (*value_is_output)(const poprt_value* value);

  /* Changes. An error returns null or a code and fails the call. */
  /* Inserts a node before `before` (null: at the end). Names of outputs are generated. */
  poprt_node* (*add_node)(poprt_graph* graph, const char* domain, const char* type,
                          poprt_value* const* inputs, size_t input_count, size_t output_count,
                          poprt_node* before);
  poprt_value* (*add_constant)(poprt_graph* graph, const char* name, poprt_dtype dtype,
                               int32_t rank, const int64_t* shape, const void* data, size_t bytes);
  int32_t (*set_name)(poprt_node* node, const char* name);
  int32_t (*set_type)(poprt_node* node, const char* domain, const char* type);
  int32_t (*set_input)(poprt_node* node, size_t index, poprt_value* value);
  int32_t (*set_int)(poprt_node* node, const char* name, int64_t value);
  int32_t (*set_float)(poprt_node* node, const char* name, float value);
  int32_t (*set_string)(poprt_node* node, const char* name, const char* value);
  int32_t (*set_ints)(poprt_node* node, const char* name, const int64_t* values, size_t count);
  int32_t (*set_floats)(poprt_node* node, const char* name, const float* values, size_t count);
  int32_t (*remove_attribute)(poprt_node* node, const char* name);
  /* All readers of `from` read `to` instead. If `from` is an output of the graph, `to` becomes
   * that output. */
  int32_t (*replace_value)(poprt_value* from, poprt_value* to);
  /* The outputs must not have readers. */
  int32_t (*erase_node)(poprt_node* node);
  /* Infers the types of the outputs. The whole graph is also inferred after the call. */
  int32_t (*infer)(poprt_node* node);

  int32_t (*fail)(poprt_graph* graph, poprt_error_code code, const char* format, ...);
  void (*log)(int32_t level, const char* message);

  /* In run() of a pass: returns the checked value of a parameter, or its default. Returns null
   * and fails the call if the pass has no such parameter. Since 1.0. */
  const char* (*get_parameter)(poprt_graph* graph, const char* name);
} poprt_graph_host;

/* The format of the value of a parameter, which is always text. */
typedef int32_t poprt_parameter_kind;
enum {
  POPRT_PARAMETER_TEXT = 0,    /* any text that is not empty */
  POPRT_PARAMETER_FLAG = 1,    /* "True" or "False" */
  POPRT_PARAMETER_INTEGER = 2, /* digits, as strtoll reads them */
  POPRT_PARAMETER_NAMES = 3,   /* separated by commas, without blanks */
  POPRT_PARAMETER_WORDS = 4    /* one word per line, such as KEY=VALUE of a map */
};

/* A parameter of a pass. Users set it by --pass_args PASS.NAME=TEXT, the map pass_args of YAML
 * files, arguments of get_pass() in Python, and arguments of passes in the other languages. */
typedef struct poprt_pass_parameter {
  size_t struct_size;
  const char* name;    /* letters, digits, _ */
  const char* summary; /* description for users */
  poprt_parameter_kind kind;
  int32_t required;     /* non-zero: the pass does not run without a value; there is no default */
  const char* standard; /* the default; null: "" */
} poprt_pass_parameter;

/* A pass, which runs at its position in --passes, like poprt's own passes. */
typedef struct poprt_pass {
  size_t struct_size;
  const char* name;      /* letters, digits, _ */
  const char* summary;   /* the effect, completing "the pass ..." */
  const char* condition; /* the condition; null: none */
  int32_t (*run)(const poprt_graph_host* host, poprt_graph* graph, void* user_data);
  void* user_data;
  /* Pointers to the parameters, which are copied when the pass is added. Since 1.0. */
  const poprt_pass_parameter* const* parameters;
  size_t parameter_count;
} poprt_pass;

/* Rewrites matching nodes until no node matches, at the beginning of compilation. The converted
 * ONNX file does not contain the changes. --compiler_options custom_patterns=NAME,OTHER:0
 * enables and disables patterns. */
typedef struct poprt_pattern {
  size_t struct_size;
  const char* name;
  const char* summary;
  int32_t enabled;   /* non-zero: enabled by default */
  int32_t mandatory; /* non-zero: always enabled */
  int32_t (*matches)(const poprt_graph_host* host, poprt_node* node, void* user_data); /* 0 or 1 */
  /* May erase the node. The pattern must not match its own result. */
  int32_t (*apply)(const poprt_graph_host* host, poprt_node* node, void* user_data);
  void* user_data;
} poprt_pattern;

/* May change the whole graph at the checkpoints in --compiler_options
 * custom_transform_applier_settings="{'Fwd0': ['NAME']}": Fwd0 (the converted graph), Fwd1
 * (after patterns), Bwd0 (the same, because there is no backward pass), PreAlias (composite
 * operators are expanded), MainLoops (after fusion) and Final (before lowering). */
typedef struct poprt_transform {
  size_t struct_size;
  const char* name;
  const char* summary;
  int32_t (*apply)(const poprt_graph_host* host, poprt_graph* graph, const char* checkpoint,
                   void* user_data);
  void* user_data;
} poprt_transform;

/* ---- the library itself ---- */

typedef struct poprt_plugin_registry poprt_plugin_registry;

/* Registers the contents of a plug-in. A name that is in use is an error (already_exists). Names
 * of operators are unique in their domain, those of passes, patterns and transforms among their
 * kind. */
typedef struct poprt_plugin_host {
  size_t struct_size;
  int32_t poprt_version; /* as POPRT_VERSION */
  int32_t reserved;
  int32_t (*add_operator)(poprt_plugin_registry* registry, const poprt_operator* op);
  int32_t (*add_pass)(poprt_plugin_registry* registry, const poprt_pass* pass);
  int32_t (*add_pattern)(poprt_plugin_registry* registry, const poprt_pattern* pattern);
  int32_t (*add_transform)(poprt_plugin_registry* registry, const poprt_transform* transform);
  int32_t (*fail)(poprt_plugin_registry* registry, poprt_error_code code, const char* format, ...);
  void (*log)(int32_t level, const char* message);
} poprt_plugin_host;

/* The description of a library. The first field never moves. */
typedef struct poprt_plugin {
  int32_t abi; /* POPRT_PLUGIN_ABI */
  int32_t reserved;
  size_t struct_size;
  const char* name;    /* letters, digits, _ - . */
  const char* version; /* the version of the plug-in, for users */
  /* Registers the contents of the library and has no other effect, because another copy of poprt
   * in the process may call it again. If it fails, nothing is registered. */
  int32_t (*init)(const poprt_plugin_host* host, poprt_plugin_registry* registry);
} poprt_plugin;

/* The only symbol that a plug-in exports is poprt_plugin_entry. A library stays loaded until the
 * process ends. */
typedef const poprt_plugin* (*poprt_plugin_entry_fn)(void);

#ifdef __cplusplus
#define POPRT_PLUGIN_EXPORT extern "C" POPRT_API
#else
#define POPRT_PLUGIN_EXPORT POPRT_API
#endif

/* Use it once, in one file of a plug-in. */
#define POPRT_PLUGIN(NAME, VERSION, INIT)                                                \
  POPRT_PLUGIN_EXPORT const poprt_plugin* poprt_plugin_entry(void);                      \
  POPRT_PLUGIN_EXPORT const poprt_plugin* poprt_plugin_entry(void) {                     \
    static const poprt_plugin self = {POPRT_PLUGIN_ABI, 0,   sizeof(poprt_plugin), NAME, \
                                      VERSION,          INIT};                           \
    return &self;                                                                        \
  }

#ifdef __cplusplus
}
#endif
#endif
