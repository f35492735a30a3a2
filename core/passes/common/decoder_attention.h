// Writes fused attention of decoders as the operators that it consists of.
//
// onnxruntime-genai exports the self-attention of Whisper as one node of com.microsoft:
//
//   y, present_key, present_value = MultiHeadAttention(q, k, v, bias, , , past_key, past_value)
//
// A generator writes new keys into a cache of fixed size before attention reads it, and hides the
// places after them. So the node becomes
//
//   present_key = Concat(past_key, heads(k)), present_value = Concat(past_value, heads(v))
//   y           = Softmax(heads(q) * scale * present_key^T) * present_value
#pragma once

#include "ir/graph.h"

namespace poprt::passes {

// Rewrites the nodes MultiHeadAttention whose past keys are an input of the graph. The result is
// that of the node for one new token, which sees all keys before it, so causal attention needs no
// mask. The types of the graph are not inferred yet. Throws unimplemented, with the node, for a
// form that it does not know.
void decompose_attention(ir::Graph& graph);

// Rewrites the nodes Attention of com.microsoft (GPT-2 of onnxruntime.transformers) whose past is
// an input of the graph: past keys and values [2,B,N,P,D] in one tensor become two inputs [B,N,P,D]
// of MultiHeadAttention, `NAME.key` and `NAME.value`, and the present tensor becomes two outputs.
// Throws unimplemented, with the node, for a form that it does not know.
void separate_pasts(ir::Graph& graph);

}  // namespace poprt::passes
