"""Writes the vectors in tests/data/ml as make_contrib_vectors.py writes those of com.microsoft: operators of ai.onnx.ml,
one by one and in models of scikit-learn. Needs numpy, onnx, onnxruntime, scikit-learn, skl2onnx."""

import os
import warnings

import make_contrib_vectors as vectors
import numpy as np
import onnxruntime as ort
from make_contrib_vectors import case, f32
from onnx import helper, numpy_helper
import onnx

OUT = os.path.join(vectors.HERE, "..", "data", "ml")
ML = "ai.onnx.ml"
rng = np.random.default_rng(11)


def ml(name, op, inputs, attributes=None, outputs=1, version=3, **rest):
    return case(name, op, inputs, attributes, outputs, domain=ML, domain_version=version, **rest)


def reference(op, x, attributes):
    """Returns the results of ONNX's own evaluator."""
    from onnx.reference import ReferenceEvaluator

    node = helper.make_node(op, ["x"], ["label", "scores"], domain=ML, **attributes)
    graph = helper.make_graph([node], op, [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape)],
                              [helper.make_empty_tensor_value_info(n) for n in node.output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(ML, 3)])
    return ReferenceEvaluator(model).run(None, {"x": x})


def trees(prefix, count, weights_of_leaf, modes=None, seed=3):
    """`count` trees of depth two over three features; weights_of_leaf(tree, leaf) lists (id, weight)."""
    r = np.random.default_rng(seed)
    n = {k: [] for k in ("nodeids", "treeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
                         "missing_value_tracks_true")}
    w = {k: [] for k in ("ids", "nodeids", "treeids", "weights")}
    for t in range(count):
        for node in range(7):
            leaf = node >= 3
            n["nodeids"].append(node)
            n["treeids"].append(t)
            n["featureids"].append(0 if leaf else int(r.integers(0, 3)))
            n["values"].append(0.0 if leaf else float(np.float32(r.standard_normal() / 2)))
            n["modes"].append("LEAF" if leaf else (modes or ["BRANCH_LEQ"])[(t * 3 + node) % len(modes or [0])])
            n["truenodeids"].append(0 if leaf else 2 * node + 1)
            n["falsenodeids"].append(0 if leaf else 2 * node + 2)
            n["missing_value_tracks_true"].append(0 if leaf else int(r.integers(0, 2)))
            if leaf:
                for i, weight in weights_of_leaf(t, node - 3):
                    w["ids"].append(i)
                    w["nodeids"].append(node)
                    w["treeids"].append(t)
                    w["weights"].append(float(np.float32(weight)))
    out = {"nodes_" + k: v for k, v in n.items()}
    out.update({f"{prefix}_{k}": v for k, v in w.items()})
    return out


def tree_vectors():
    x = rng.standard_normal((9, 3)).astype(np.float32)
    missing = x.copy()
    missing[::2, 1] = np.nan
    value = np.random.default_rng(5).standard_normal(400)
    both = lambda t, l: [(c, value[t * 16 + l * 4 + c]) for c in range(3)]  # noqa: E731
    one = lambda t, l: [(0, value[t * 16 + l * 4])]  # noqa: E731
    every = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_NEQ"]
    ml("tree_regressor", "TreeEnsembleRegressor", [x], {**trees("target", 4, one), "n_targets": 1, "base_values": [0.25]})
    ml("tree_regressor_modes", "TreeEnsembleRegressor", [x], {**trees("target", 5, one, every), "n_targets": 1})
    ml("tree_regressor_missing", "TreeEnsembleRegressor", [missing], {**trees("target", 4, one), "n_targets": 1})
    for how in ("AVERAGE", "MIN", "MAX"):
        ml("tree_regressor_" + how.lower(), "TreeEnsembleRegressor", [x],
           {**trees("target", 4, both), "n_targets": 3, "aggregate_function": how})
    ml("tree_regressor_targets", "TreeEnsembleRegressor", [x],
       {**trees("target", 4, both), "n_targets": 3, "base_values": [0.1, 0.2, 0.3]})
    ml("tree_regressor_f64", "TreeEnsembleRegressor", [x.astype(np.float64)], {**trees("target", 4, one), "n_targets": 1})
    for transform in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        ml("tree_classifier_" + transform.lower(), "TreeEnsembleClassifier", [x],
           {**trees("class", 4, both), "classlabels_int64s": [3, 5, 9], "post_transform": transform}, 2)
    ml("tree_classifier_base", "TreeEnsembleClassifier", [x],
       {**trees("class", 4, both), "classlabels_int64s": [3, 5, 9], "base_values": [0.3, -0.2, 0.1]}, 2)
    positive = lambda c: lambda t, l: [(c, abs(value[t * 4 + l]) / 6)]  # noqa: E731
    mixed = lambda c: lambda t, l: [(c, value[t * 4 + l])]  # noqa: E731
    two = lambda t, l: [(0, abs(value[t * 4 + l])), (1, abs(value[t * 4 + l + 50]))]  # noqa: E731
    for name, leaf in (("positive_0", positive(0)), ("positive_1", positive(1)), ("mixed_0", mixed(0)),
                       ("mixed_1", mixed(1)), ("two", two)):
        for transform in ("NONE", "LOGISTIC"):
            attributes = {**trees("class", 4, leaf), "classlabels_int64s": [0, 1], "post_transform": transform}
            # ONNX Runtime chooses the label by the second score only.
            want = reference("TreeEnsembleClassifier", x, attributes) if name == "two" else None
            ml(f"tree_binary_{name}_{transform.lower()}", "TreeEnsembleClassifier", [x], attributes, 2, want=want)
    ml("tree_binary_base", "TreeEnsembleClassifier", [x],
       {**trees("class", 4, mixed(0)), "classlabels_int64s": [0, 1], "base_values": [0.4], "post_transform": "LOGISTIC"}, 2)
    tensor = lambda v, t=np.float32: numpy_helper.from_array(np.array(v, t))  # noqa: E731
    common = {"n_targets": 2, "aggregate_function": 1, "post_transform": 0, "tree_roots": [0],
              "nodes_featureids": [0, 0, 0], "nodes_splits": tensor([3.14, 1.2, 4.2]),
              "nodes_modes": tensor([0, 0, 0], np.uint8), "nodes_truenodeids": [1, 0, 1],
              "nodes_trueleafs": [0, 1, 1], "nodes_falsenodeids": [2, 2, 3], "nodes_falseleafs": [0, 1, 1],
              "leaf_targetids": [0, 1, 0, 1], "leaf_weights": tensor([5.23, 12.12, -12.23, 7.21])}
    data = np.array([[1.2], [3.4], [-0.12], [1.66], [4.14], [1.77]], np.float32)
    ml("tree_ensemble", "TreeEnsemble", [data], common, version=5, opset=21)
    ml("tree_ensemble_f64", "TreeEnsemble", [data.astype(np.float64)],
       {**common, "nodes_splits": tensor([3.14, 1.2, 4.2], np.float64),
        "leaf_weights": tensor([5.23, 12.12, -12.23, 7.21], np.float64)}, version=5, opset=21)
    ml("tree_ensemble_members", "TreeEnsemble", [np.array([[1.0], [2.0], [3.0], [7.0], [8.0]], np.float32)],
       {**common, "nodes_modes": tensor([6, 0, 6], np.uint8), "nodes_splits": tensor([0, 1.2, 0]),
        "membership_values": tensor([1, 2, np.nan, 7, np.nan])}, version=5, opset=21)


def linear_vectors():
    x = rng.standard_normal((6, 4)).astype(np.float32)
    w3, w1 = rng.standard_normal(12).tolist(), rng.standard_normal(4).tolist()
    for transform in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        ml("linear_classifier_" + transform.lower(), "LinearClassifier", [x],
           {"coefficients": w3, "intercepts": [0.1, 0.2, -0.3], "classlabels_ints": [4, 7, 9],
            "post_transform": transform}, 2)
        if transform.startswith("SOFTMAX"):
            continue
        ml("linear_binary_" + transform.lower(), "LinearClassifier", [x],
           {"coefficients": w1, "intercepts": [0.1], "classlabels_ints": [4, 7], "post_transform": transform}, 2)
    ml("linear_classifier_s64", "LinearClassifier", [rng.integers(-5, 5, (6, 4))],
       {"coefficients": w3, "intercepts": [0.1, 0.2, -0.3], "classlabels_ints": [4, 7, 9]}, 2)
    ml("linear_regressor", "LinearRegressor", [x], {"coefficients": w3, "intercepts": [0.1, 0.2, -0.3], "targets": 3})
    ml("linear_regressor_one", "LinearRegressor", [x], {"coefficients": w1})
    ml("linear_regressor_logistic", "LinearRegressor", [x],
       {"coefficients": w3, "targets": 3, "post_transform": "LOGISTIC"},
       want=[(1 / (1 + np.exp(-x.astype(np.float64) @ np.array(w3, np.float32).reshape(3, 4).T))).astype(np.float32)])
    vectors3 = rng.standard_normal((5, 4)).astype(np.float32).ravel().tolist()
    for kind, parameters in (("LINEAR", [0.0, 0.0, 0.0]), ("POLY", [0.5, 1.0, 3.0]), ("RBF", [0.3, 0.0, 0.0]),
                             ("SIGMOID", [0.2, 0.1, 0.0])):
        ml("svm_regressor_" + kind.lower(), "SVMRegressor", [x],
           {"coefficients": rng.standard_normal(5).tolist(), "support_vectors": vectors3, "n_supports": 5, "rho": [0.3],
            "kernel_type": kind, "kernel_params": parameters})
    ml("svm_regressor_no_supports", "SVMRegressor", [x], {"coefficients": w1, "rho": [0.3], "n_supports": 0, "kernel_params": [0.0, 0.0, 0.0]})
    ml("svm_regressor_one_class", "SVMRegressor", [x],
       {"coefficients": rng.standard_normal(5).tolist(), "support_vectors": vectors3, "n_supports": 5, "rho": [0.3],
        "kernel_type": "RBF", "kernel_params": [0.3, 0.0, 0.0], "one_class": 1})
    ml("svm_classifier_linear", "SVMClassifier", [x],
       {"coefficients": w3, "rho": [0.1], "classlabels_ints": [4, 7, 9], "kernel_params": [0.0, 0.0, 0.0]}, 2)
    # Two rows of coefficients: ONNX Runtime gives the second label as soon as a score is positive.
    two = {"coefficients": w3[:8], "rho": [0.1], "classlabels_ints": [4, 7], "kernel_params": [0.0, 0.0, 0.0],
           "kernel_type": "LINEAR", "post_transform": "NONE"}
    ml("svm_binary_linear", "SVMClassifier", [x], two, 2, want=reference("SVMClassifier", x, two))
    many = {"coefficients": rng.standard_normal(10).tolist(), "support_vectors": vectors3, "rho": [0.3, -0.1, 0.2],
            "kernel_type": "RBF", "kernel_params": [0.3, 0.0, 0.0], "vectors_per_class": [2, 1, 2],
            "classlabels_ints": [4, 7, 9]}
    ml("svm_classifier", "SVMClassifier", [x], many, 2)
    ml("svm_classifier_probability", "SVMClassifier", [x],
       {**many, "prob_a": [-1.0, -1.5, -0.7], "prob_b": [0.1, 0.2, -0.1]}, 2, rtol=2e-3, atol=2e-3)
    pair = {"coefficients": rng.standard_normal(5).tolist(), "support_vectors": vectors3, "rho": [0.3],
            "kernel_type": "RBF", "kernel_params": [0.3, 0.0, 0.0], "vectors_per_class": [2, 3],
            "classlabels_ints": [4, 7]}
    ml("svm_binary", "SVMClassifier", [x], pair, 2)
    ml("svm_binary_logistic", "SVMClassifier", [x], {**pair, "post_transform": "LOGISTIC"}, 2)
    ml("svm_binary_probability", "SVMClassifier", [x], {**pair, "prob_a": [-1.0], "prob_b": [0.1]}, 2, rtol=2e-3,
       atol=2e-3)


def table_vectors():
    x = rng.standard_normal((4, 3)).astype(np.float32)
    ml("scaler", "Scaler", [x], {"offset": [0.1, 0.2, 0.3], "scale": [2.0, 3.0, 0.5]})
    ml("scaler_one", "Scaler", [x], {"offset": [0.1], "scale": [2.0]})
    ml("scaler_s64", "Scaler", [rng.integers(-9, 9, (4, 3))], {"offset": [0.1, 0.2, 0.3], "scale": [2.0, 3.0, 0.5]})
    ml("scaler_f64", "Scaler", [x.astype(np.float64)], {"offset": [0.1, 0.2, 0.3], "scale": [2.0, 3.0, 0.5]})
    for norm in ("MAX", "L1", "L2"):
        ml("normalizer_" + norm.lower(), "Normalizer", [np.abs(x) if norm == "MAX" else x], {"norm": norm})
    ml("normalizer_zero", "Normalizer", [np.concatenate([x, np.zeros((1, 3), np.float32)])], {"norm": "L2"})
    ml("binarizer", "Binarizer", [x], {"threshold": 0.2})
    holes = x.copy()
    holes[1, 1] = holes[2, 0] = np.nan
    nan = {"replaced_value_float": float("nan")}
    ml("imputer_nan", "Imputer", [holes], {"imputed_value_floats": [7.0, 8.0, 9.0], **nan})
    ml("imputer_one", "Imputer", [holes], {"imputed_value_floats": [7.0], **nan})
    ml("imputer_value", "Imputer", [np.array([[1, 2], [-1, 3]], np.float32)],
       {"imputed_value_floats": [7.0, 8.0], "replaced_value_float": -1.0})
    ml("imputer_s64", "Imputer", [np.array([[1, 2], [-1, 3]], np.int64)],
       {"imputed_value_int64s": [7, 8], "replaced_value_int64": -1})
    codes = np.array([[1, 5, 3], [3, 3, 4]], np.int64)
    ml("label_encoder_ints", "LabelEncoder", [codes], {"keys_int64s": [1, 3, 5], "values_int64s": [10, 30, 50]}, version=2)
    ml("label_encoder_int_float", "LabelEncoder", [codes],
       {"keys_int64s": [5, 3, 1], "values_floats": [0.5, 0.3, 0.1], "default_float": -2.0}, version=2)
    ml("label_encoder_floats", "LabelEncoder", [np.array([1.5, np.nan, 2.5, 9], np.float32)],
       {"keys_floats": [2.5, float("nan"), 1.5], "values_int64s": [25, 0, 15], "default_int64": 7}, version=4)
    tensor = lambda v, t: numpy_helper.from_array(np.array(v, t))  # noqa: E731
    ml("label_encoder_tensors", "LabelEncoder", [codes],
       {"keys_tensor": tensor([1, 3, 5], np.int64), "values_tensor": tensor([1, 3, 5], np.int16),
        "default_tensor": tensor([-7], np.int16)}, version=4,
       want=[np.array([[1, 5, 3], [3, 3, -7]], np.int16)])
    ml("label_encoder_doubles", "LabelEncoder", [np.array([1.5, 2.5], np.float64)],
       {"keys_tensor": tensor([1.5, 2.0], np.float64), "values_tensor": tensor([0.25, 0.5], np.float64),
        "default_tensor": tensor([-7], np.float64)}, version=4)
    ml("label_encoder_s16", "LabelEncoder", [codes.astype(np.int16)],
       {"keys_tensor": tensor([5, 1], np.int16), "values_tensor": tensor([50, 10], np.int16),
        "default_tensor": tensor([-7], np.int16)}, version=4, want=[np.array([[10, 50, -7], [-7, -7, -7]], np.int16)])
    ml("label_encoder_nan_opset2", "LabelEncoder", [np.array([1.5, np.nan, 2.5], np.float32)],
       {"keys_floats": [2.5, float("nan"), 1.5], "values_int64s": [25, 0, 15], "default_int64": 7}, version=2)
    ml("one_hot_encoder", "OneHotEncoder", [codes], {"cats_int64s": [1, 3, 5], "zeros": 1})
    ml("one_hot_encoder_float", "OneHotEncoder", [np.array([1, 3, 4], np.float32)], {"cats_int64s": [1, 3, 5], "zeros": 1})
    ml("array_feature_extractor", "ArrayFeatureExtractor", [x, np.array([2, 0], np.int64)])
    ml("array_feature_extractor_vector", "ArrayFeatureExtractor", [x[0], np.array([[2, 0, 2]], np.int64)])
    ml("feature_vectorizer", "FeatureVectorizer", [x, rng.standard_normal((4, 2)).astype(np.float32)],
       {"inputdimensions": [3, 2]})
    scores = np.abs(x)
    ml("zip_map", "ZipMap", [scores], {"classlabels_int64s": [0, 1, 2]}, want=[scores])


def scikit_models():
    """Whole models as skl2onnx writes them, without ZipMap."""
    from skl2onnx import to_onnx
    from sklearn import (cluster, ensemble, linear_model, naive_bayes, neural_network, pipeline, preprocessing,
                         svm, tree)
    from sklearn.datasets import load_iris

    data, target = load_iris(return_X_y=True)
    data = data.astype(np.float32)
    pair = target < 2
    test = data[::13]
    models = {
        "logistic": linear_model.LogisticRegression(max_iter=500), "linear_svc": svm.LinearSVC(max_iter=5000),
        "svc": svm.SVC(), "svc_probability": svm.SVC(probability=True, random_state=1),
        "svc_linear": svm.SVC(kernel="linear"), "nu_svc": svm.NuSVC(kernel="poly"),
        "forest": ensemble.RandomForestClassifier(5, max_depth=3, random_state=1),
        "boosting": ensemble.GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=1),
        "tree": tree.DecisionTreeClassifier(max_depth=3, random_state=1),
        "extra": ensemble.ExtraTreesClassifier(4, max_depth=3, random_state=1),
        "ada": ensemble.AdaBoostClassifier(n_estimators=3, random_state=1),
        "mlp": neural_network.MLPClassifier((5,), max_iter=300, random_state=1),
        "bayes": naive_bayes.GaussianNB(),
        "pipeline": pipeline.make_pipeline(preprocessing.StandardScaler(), preprocessing.Normalizer(),
                                           linear_model.LogisticRegression()),
        "k_means": cluster.KMeans(3, n_init=1, random_state=1),
        "svr": svm.SVR(), "forest_regressor": ensemble.RandomForestRegressor(4, max_depth=3, random_state=1),
        "ridge": linear_model.Ridge(), "boosting_regressor": ensemble.GradientBoostingRegressor(n_estimators=3, random_state=1),
        "one_class": svm.OneClassSVM(gamma=0.2),
    }
    for suffix, rows in (("", slice(None)), ("_binary", pair)):
        for name, model in models.items():
            if suffix and name in ("k_means", "svr", "forest_regressor", "ridge", "boosting_regressor", "one_class",
                                   "pipeline"):
                continue
            full = "sk_" + name + suffix
            if vectors.only and not full.startswith(vectors.only):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(data[rows], target[rows])
                try:
                    classifier = hasattr(model, "classes_")
                    m = to_onnx(model, data[:1], options={id(model): {"zipmap": False}} if classifier and name != "linear_svc" else None,
                                target_opset={"": 17, ML: 3})
                except Exception as error:  # noqa: BLE001
                    print(f"{full}: skl2onnx: {str(error)[:200]}")
                    continue
            name_in = m.graph.input[0].name
            del m.graph.input[1:]
            m.graph.input[0].CopyFrom(helper.make_tensor_value_info(name_in, onnx.TensorProto.FLOAT, test.shape))
            try:
                results = ort.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"]).run(
                    None, {name_in: test})
            except Exception as error:  # noqa: BLE001
                print(f"{full}: ONNX Runtime: {str(error)[:200]}")
                continue
            m.graph.initializer.append(numpy_helper.from_array(test, "feed/" + name_in))
            for o, value in zip(list(m.graph.output), results):
                m.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(value), "want/" + o.name))
            helper.set_model_props(m, {"rtol": "1e-3", "atol": "1e-3" if "probability" in name else "1e-4"})
            onnx.save(m, os.path.join(OUT, full + ".onnx"))
            vectors.made.append(full)


if __name__ == "__main__":
    os.makedirs(OUT, exist_ok=True)
    vectors.OUT = OUT
    for group in (tree_vectors, linear_vectors, table_vectors, scikit_models):
        group()
    size = sum(os.path.getsize(os.path.join(OUT, f)) for f in os.listdir(OUT))
    print(f"{len(vectors.made)} vectors made; the folder holds {size} bytes")
