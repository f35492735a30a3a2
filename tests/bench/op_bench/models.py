"""The models and inputs of the cases of op_bench, as files."""
import os

import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference


def model_of(case):
    inputs, constants, names = [], [], []
    for i, value in enumerate(case["inputs"] + case["more"]):
        if i < len(case["inputs"]):
            names.append(f"x{i}" if value is not None else "")
        if value is None:
            continue
        if type(value).__name__ == "C":
            constants.append(numpy_helper.from_array(value.data, f"x{i}"))
        else:
            inputs.append(helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(value.data.dtype), value.data.shape))
    outputs = [f"y{i}" for i in range(case["outputs"])]
    node = helper.make_node(case["op"], names, outputs, domain=case["domain"][0], **case["attributes"])
    graph = helper.make_graph([node], "case", inputs, [helper.make_empty_tensor_value_info(y) for y in outputs], constants)
    opset = case["opset"]
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(*case["domain"])] if case["domain"][0] else [])
    model = helper.make_model(graph, opset_imports=imports, ir_version=10 if opset < 25 else 13)
    return model


def write_case(case, directory):
    """Writes the model, and a file for each input. Returns the model and the folder of the inputs."""
    path, data = os.path.join(directory, "case.onnx"), os.path.join(directory, "inputs")
    os.makedirs(data, exist_ok=True)
    for i, value in enumerate(case["inputs"] + case["more"]):
        if value is not None:
            value.data.tofile(os.path.join(data, f"x{i}"))
    model = model_of(case)
    del model.graph.output[:]
    inferred = {}
    try:
        full = onnx.ModelProto()
        full.CopyFrom(model)
        full = shape_inference.infer_shapes(full, data_prop=True)
        inferred = {v.name: v for v in full.graph.value_info}
    except Exception:
        pass
    for i, y in enumerate(model.graph.node[0].output):
        if i < len(case["types"]):
            model.graph.output.append(helper.make_tensor_value_info(y, helper.np_dtype_to_tensor_dtype(np.dtype(case["types"][i])), None))
        elif y in inferred:
            model.graph.output.append(inferred[y])
        else:
            first = next(v for v in case["inputs"] if v is not None)
            model.graph.output.append(helper.make_tensor_value_info(y, helper.np_dtype_to_tensor_dtype(first.data.dtype), None))
    onnx.save(model, path)
    return path, data
