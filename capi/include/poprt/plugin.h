/* Plug-ins: operators, passes, patterns and transforms of your own in a shared library. This header
 * is all that one is built with, in C11 or C++; it links to nothing of poprt. docs/plugins.md tells
 * how they are loaded and run, examples/plugins has one of each.
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
 * What holds for all functions of a plug-in:
 * - They return POPRT_OK or another number of poprt_error_code, and say why with their host's
 *   fail(): whoever asked for the work gets that line as an error. After fail() the work has
 *   failed, whatever is returned.
 * - Functions of a host may be called from the call that was given it, on its thread, and take
 *   handles of that call alone. Handles and pointers that they return live as long as the call, or
 *   until what they are of is erased.
 * - An exception that leaves one is an error, too, where GCC's run time unwinds it; catch your own.
 * - Structs begin with struct_size, as everywhere in poprt; what you fill you set it in, what you
 *   are given has more at its end in later versions. Names are copied when they are added. */
#ifndef POPRT_PLUGIN_H
#define POPRT_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#include "poprt/anchor.h"
#include "poprt/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of everything below. Structs grow at their ends and tables of functions, too, without
 * another number: a plug-in that is older than poprt is loaded, one of another number is refused.
 */
#define POPRT_PLUGIN_ABI 1

/* ---- operators ---- */

/* A tensor as an operator sees it. `rank` is -1 and dimensions are -1 where they are not known,
 * which only inference meets. `data` is memory in compute(), and the value of a constant input in
 * infer(); otherwise null. Elements are dense, row-major; memory of inputs is only read. */
typedef struct poprt_op_tensor {
  size_t struct_size;
  poprt_dtype dtype;
  int32_t rank;
  const int64_t* shape;
  void* data;
  uint64_t bytes; /* of data */
} poprt_op_tensor;

typedef struct poprt_op_host poprt_op_host;

/* One node. An input that was left out is null. */
typedef struct poprt_op_call {
  size_t struct_size;
  const poprt_op_host* host;
  const char* node; /* its name, for messages */
  size_t input_count;
  const poprt_op_tensor* const* inputs;
  size_t output_count;
  const poprt_op_tensor* const* outputs;
} poprt_op_call;

/* What an operator may ask of poprt. */
struct poprt_op_host {
  size_t struct_size;
  /* Attributes by name. POPRT_OK: it was written. POPRT_NOT_FOUND: the node has none, and what you
   * put there as default stays. One of another kind fails the call, as fail() does. Text ends with
   * a zero. */
  int32_t (*get_int)(const poprt_op_call* call, const char* name, int64_t* out);
  int32_t (*get_float)(const poprt_op_call* call, const char* name, float* out);
  int32_t (*get_string)(const poprt_op_call* call, const char* name, const char** out,
                        size_t* out_size);
  int32_t (*get_ints)(const poprt_op_call* call, const char* name, const int64_t** out,
                      size_t* out_count);
  int32_t (*get_floats)(const poprt_op_call* call, const char* name, const float** out,
                        size_t* out_count);
  int32_t (*get_tensor)(const poprt_op_call* call, const char* name, const poprt_op_tensor** out);
  /* In infer(): the type of an output; rank -1 or dimensions -1 where you cannot know. */
  int32_t (*set_output)(const poprt_op_call* call, size_t output, poprt_dtype dtype, int32_t rank,
                        const int64_t* shape);
  /* The call fails with this code and this line, of printf's arguments if there are any. Returns
   * the code. */
  int32_t (*fail)(const poprt_op_call* call, poprt_error_code code, const char* format, ...);
  /* A message of poprt's log: POPRT_LOG_* of log.h. */
  void (*log)(int32_t level, const char* message);
};

/* What one run of a node costs on a chip, for the report; zeros mean unknown. */
typedef struct poprt_op_cost {
  size_t struct_size;
  double cycles; /* of the slowest tile, from sync to sync */
  double flops;
  double tile_bytes; /* of temporary memory, over all tiles */
} poprt_op_cost;

/* poprt_operator.flags */
enum {
  /* Its result is no function of inputs and attributes: it is neither folded nor shared. */
  POPRT_OPERATOR_IMPURE = 1,
  /* Each element of output 0 depends on the elements in its (broadcast) place alone. */
  POPRT_OPERATOR_ELEMENTWISE = 2,
  /* It is computed in f16 or bf16 where the model says so. Without it the emulator, which stores
   * halves and computes in f32, gives it f32; and --precision fp16 leaves it f32 between casts. */
  POPRT_OPERATOR_HALF = 4
};

/* An operator. Everything but names and compute() may be null or 0.
 * Threads: infer(), prepare(), parts() and cost() are called on any thread, one call of a node at a
 * time; compute() too, on one thread for a state, on several for several states at once;
 * compute_part() on several for one state. `user_data` is shared by all. */
typedef struct poprt_operator {
  size_t struct_size;
  const char* domain; /* any but ONNX's own ("", "ai.onnx") and "poprt" */
  const char* name;
  int32_t
      version; /* of what it computes, from 1: a PopEF file runs with the one it was made with */
  uint32_t flags;
  /* Types of outputs from those of inputs, which may be known in part. Null: they are what the
   * model declares. */
  int32_t (*infer)(const poprt_op_call* call, void* user_data);
  /* Once when a program is loaded (and when it is compiled), with types and attributes but no data:
   * what compute() needs goes to *out_state. */
  int32_t (*prepare)(const poprt_op_call* call, void** out_state, void* user_data);
  /* Writes every byte of every output and not one more; `bytes` says how many. The first run of
   * each node checks what lies behind them. */
  int32_t (*compute)(const poprt_op_call* call, void* state, void* user_data);
  void (*release)(void* state, void* user_data); /* of each state that prepare() has made */
  /* All zero when it is called. */
  int32_t (*cost)(const poprt_op_call* call, poprt_op_cost* out_cost, void* user_data);
  void* user_data;
  /* For nodes that are worth several threads, both or none of the two. After prepare(): how many
   * independent parts of about equal work there are; 1 leaves the node to compute(). Since 1.0. */
  int32_t (*parts)(const poprt_op_call* call, void* state, int64_t* out_parts, void* user_data);
  /* In place of compute(), which folding constants still calls: parts `begin` to `end` - 1.
   * Together they write every byte of every output. Who computes which part never changes a result.
   * Since 1.0. */
  int32_t (*compute_part)(const poprt_op_call* call, void* state, int64_t begin, int64_t end,
                          void* user_data);
} poprt_operator;

/* ---- graphs: for passes, patterns and transforms ---- */

typedef struct poprt_graph poprt_graph;
typedef struct poprt_node poprt_node;
typedef struct poprt_value poprt_value;

/* What an attribute holds. */
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

/* A graph of nodes, in the order in which they may run, and values. A value is made by a node, or
 * is an input of the graph or a constant; a node of a subgraph may read values of the graphs around
 * it. Where a list is asked for, as much of it as `capacity` allows is written and its length
 * returned: ask with capacity 0 first. Indices out of range give null. */
typedef struct poprt_graph_host {
  size_t struct_size;

  const char* (*graph_name)(const poprt_graph* graph);
  size_t (*graph_nodes)(poprt_graph* graph, poprt_node** out, size_t capacity);
  size_t (*graph_inputs)(poprt_graph* graph, poprt_value** out, size_t capacity);
  size_t (*graph_outputs)(poprt_graph* graph, poprt_value** out, size_t capacity);
  poprt_value* (*find_value)(poprt_graph* graph, const char* name); /* null: there is none */

  poprt_graph* (*node_graph)(poprt_node* node);
  const char* (*node_type)(const poprt_node* node);
  const char* (*node_domain)(const poprt_node* node); /* "" is ONNX's, "poprt" is internal */
  const char* (*node_name)(const poprt_node* node);
  int64_t (*node_opset)(const poprt_node* node); /* of its domain; 0: none is imported */
  size_t (*node_input_count)(const poprt_node* node);
  poprt_value* (*node_input)(poprt_node* node, size_t index); /* null: left out */
  size_t (*node_output_count)(const poprt_node* node);
  poprt_value* (*node_output)(poprt_node* node, size_t index);

  /* Attributes, by index or by name. Those of get_* are as in poprt_op_host. */
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
  /* As find_value tells a value. Set out->struct_size. */
  int32_t (*get_tensor)(const poprt_node* node, const char* name, poprt_op_tensor* out);
  int32_t (*get_graph)(const poprt_node* node, const char* name, poprt_graph** out);

  const char* (*value_name)(const poprt_value* value);
  /* Type, and data of a constant. Set out->struct_size. */
  void (*value_type)(const poprt_value* value, poprt_op_tensor* out);
  poprt_node* (*value_producer)(poprt_value* value); /* null: an input or a constant */
  /* Nodes that read it, one that reads it twice twice; outputs of the graph are none of them. */
  size_t (*value_readers)(poprt_value* value, poprt_node** out, size_t capacity);
  int32_t (*value_is_constant)(const poprt_value* value);
  int32_t (*value_is_output)(const poprt_value* value);

  /* Changes. Those that fail return null or a code and fail the call. */
  /* In front of `before` (null: at the end), in its graph; names of outputs are made up. */
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
  /* Whoever reads `from` reads `to`; if it is an output of the graph, `to` becomes that output. */
  int32_t (*replace_value)(poprt_value* from, poprt_value* to);
  /* Nothing may read its outputs. */
  int32_t (*erase_node)(poprt_node* node);
  /* Types of its outputs from its inputs. The graph is inferred when the call has ended, too. */
  int32_t (*infer)(poprt_node* node);

  int32_t (*fail)(poprt_graph* graph, poprt_error_code code, const char* format, ...);
  void (*log)(int32_t level, const char* message);

  /* In run() of a pass: what its parameter was given, checked by its kind, or its default. Null and
   * a failed call: the pass has no such parameter. Since 1.0. */
  const char* (*get_parameter)(poprt_graph* graph, const char* name);
} poprt_graph_host;

/* What the value of a parameter looks like; it is a text in any case. */
typedef int32_t poprt_parameter_kind;
enum {
  POPRT_PARAMETER_TEXT = 0,    /* anything but nothing */
  POPRT_PARAMETER_FLAG = 1,    /* "True" or "False" */
  POPRT_PARAMETER_INTEGER = 2, /* digits, as strtoll reads them */
  POPRT_PARAMETER_NAMES = 3,   /* separated by commas, without blanks */
  POPRT_PARAMETER_WORDS = 4    /* a line each, such as KEY=VALUE of a map */
};

/* What users may tell a pass: --pass_args PASS.NAME=TEXT, the map pass_args of YAML files,
 * arguments of get_pass() in Python and of passes in the other languages. */
typedef struct poprt_pass_parameter {
  size_t struct_size;
  const char* name;    /* letters, digits, _ */
  const char* summary; /* what it is, for people */
  poprt_parameter_kind kind;
  int32_t required;     /* non-zero: the pass does not run without; there is no default then */
  const char* standard; /* the default; null: "" */
} poprt_pass_parameter;

/* Runs where --passes names it, as poprt's own do. */
typedef struct poprt_pass {
  size_t struct_size;
  const char* name;      /* letters, digits, _ */
  const char* summary;   /* what it does, continuing "it ..." */
  const char* condition; /* where it does it; null: everywhere */
  int32_t (*run)(const poprt_graph_host* host, poprt_graph* graph, void* user_data);
  void* user_data;
  /* Pointers to its parameters, which are copied when the pass is added. Since 1.0. */
  const poprt_pass_parameter* const* parameters;
  size_t parameter_count;
} poprt_pass;

/* Rewrites each node that it matches, again and again until none does, at the beginning of
 * compilation; the converted ONNX file does not show it. --compiler_options
 * custom_patterns=NAME,OTHER:0 turns patterns on and off. */
typedef struct poprt_pattern {
  size_t struct_size;
  const char* name;
  const char* summary;
  int32_t enabled;   /* non-zero: on unless it is turned off */
  int32_t mandatory; /* non-zero: on, and cannot be turned off */
  int32_t (*matches)(const poprt_graph_host* host, poprt_node* node, void* user_data); /* 0 or 1 */
  /* May erase the node. Afterwards the pattern must not match what it has left. */
  int32_t (*apply)(const poprt_graph_host* host, poprt_node* node, void* user_data);
  void* user_data;
} poprt_pattern;

/* Sees, and may change, the whole graph at the checkpoints that --compiler_options
 * custom_transform_applier_settings="{'Fwd0': ['NAME']}" names: Fwd0 (the graph as it was
 * converted), Fwd1 (after patterns), Bwd0 (the same: there is no backward pass), PreAlias
 * (operators that are defined by others are expanded), MainLoops (after fusion) and Final (as it is
 * lowered). */
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

/* Names that are taken are an error (already_exists): of operators with their domain, of passes,
 * patterns and transforms each among their kind. */
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

/* What a library is. The first field never moves. */
typedef struct poprt_plugin {
  int32_t abi; /* POPRT_PLUGIN_ABI */
  int32_t reserved;
  size_t struct_size;
  const char* name;    /* letters, digits, _ - . */
  const char* version; /* of yours, for people */
  /* Adds what the library has, and nothing else: it may be called once more by another copy of
   * poprt in the process. When it fails, nothing has been added. */
  int32_t (*init)(const poprt_plugin_host* host, poprt_plugin_registry* registry);
} poprt_plugin;

/* The one symbol that a plug-in exports: poprt_plugin_entry. A library stays loaded for ever. */
typedef const poprt_plugin* (*poprt_plugin_entry_fn)(void);

#ifdef __cplusplus
#define POPRT_PLUGIN_EXPORT extern "C" POPRT_API
#else
#define POPRT_PLUGIN_EXPORT POPRT_API
#endif

/* Once in one file of a plug-in. */
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
