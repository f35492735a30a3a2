"""Converts models by the real exporters, compiles them and compares the results with the framework's.

Usage: real_exporters.py   (a Python with the exporters; PYTHONPATH has the package poprt)

Prints one line for each framework: "NAME: equal" or "NAME: not installed". exporters_onnx_test.py runs it with the
interpreter POPRT_FRONTENDS_PYTHON, for example of a virtual environment with

    pip install numpy onnx scikit-learn skl2onnx lightgbm xgboost onnxmltools packaging torch onnxscript

TensorFlow (tensorflow-cpu tf2onnx) and Paddle (paddlepaddle paddle2onnx) need a separate environment each.
"""

import importlib.util
import os
import sys
import tempfile

import numpy as np
from poprt import runtime
from poprt.compiler import Compiler
from poprt.frontend import convert

ROWS = 40
X = np.random.default_rng(1).standard_normal((ROWS, 4)).astype(np.float32)
LABELS = (X[:, 0] + X[:, 1] > 0).astype(np.int64)


def compare(wanted, model, *arguments, output=-1, **options):
    made = convert(model, *arguments, input_shape={"x": [ROWS, 4]}, **options)
    name = made.graph.input[0].name
    with runtime.Runner(Compiler.compile(made.SerializeToString())) as runner:
        results = list(runner.run({name: X}).values())
    np.testing.assert_allclose(results[output].reshape(np.shape(wanted)), wanted, rtol=1e-4, atol=1e-5)


def sklearn(folder):
    import joblib
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, LABELS)
    compare(model.predict_proba(X), model)
    forest = RandomForestRegressor(5, random_state=1).fit(X, X[:, 0])
    path = os.path.join(folder, "forest.joblib")
    joblib.dump(forest, path)
    compare(forest.predict(X), path, "sklearn")


def lightgbm(folder):
    from lightgbm import LGBMClassifier, LGBMRegressor
    model = LGBMClassifier(n_estimators=4, verbose=-1).fit(X, LABELS)
    compare(model.predict_proba(X), model)
    trees = LGBMRegressor(n_estimators=4, verbose=-1).fit(X, X[:, 0])
    path = os.path.join(folder, "trees.txt")
    trees.booster_.save_model(path)
    compare(trees.predict(X), path, "lightgbm")


def xgboost(folder):
    from xgboost import XGBClassifier, XGBRegressor
    model = XGBClassifier(n_estimators=4).fit(X, LABELS)
    compare(model.predict_proba(X), model)
    trees = XGBRegressor(n_estimators=4).fit(X, X[:, 0])
    path = os.path.join(folder, "trees.json")
    trees.get_booster().save_model(path)
    compare(trees.predict(X), path, "xgboost")


def torch(folder):
    import torch as library
    library.manual_seed(1)
    module = library.nn.Sequential(library.nn.Linear(4, 8), library.nn.ReLU(), library.nn.Linear(8, 3), library.nn.Softmax(dim=1)).eval()
    wanted = module(library.from_numpy(X)).detach().numpy()
    compare(wanted, module)
    script = os.path.join(folder, "module.pt")
    library.jit.trace(module, library.from_numpy(X)).save(script)
    compare(wanted, script)
    program = os.path.join(folder, "program.pt2")
    library.export.save(library.export.export(module, (library.from_numpy(X),)), program)
    compare(wanted, program)


def tensorflow(folder):
    import tensorflow as library
    layers = library.keras.layers
    model = library.keras.Sequential([layers.Input((4,), batch_size=ROWS, name="x"), layers.Dense(8, activation="relu"), layers.Dense(3)])
    wanted = model(X).numpy()
    compare(wanted, model)
    path = os.path.join(folder, "model.keras")
    model.save(path)
    compare(wanted, path)


def paddle(folder):
    import paddle as library
    layer = library.nn.Sequential(library.nn.Linear(4, 8), library.nn.ReLU(), library.nn.Linear(8, 3))
    compare(layer(library.to_tensor(X)).numpy(), layer)


# Frameworks, and the packages that they need.
NEEDS = {sklearn: ("sklearn", "skl2onnx"), lightgbm: ("lightgbm", "onnxmltools"), xgboost: ("xgboost", "onnxmltools"),
         torch: ("torch", "onnxscript"), tensorflow: ("tensorflow", "tf2onnx"), paddle: ("paddle", "paddle2onnx")}


def main():
    for check, packages in NEEDS.items():
        if any(importlib.util.find_spec(p) is None for p in packages):
            print(f"{check.__name__}: not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            check(folder)
        print(f"{check.__name__}: equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
