import numpy
from poprt.compiler import Compiler, CompilerOptions
from poprt.runtime import Runner

model = Compiler.compile("digits.onnx", ["scores"], CompilerOptions(batch_size=8))
runner = Runner(model)
outputs = {"scores": numpy.empty((8, 10), numpy.float32)}
runner.execute({"image": numpy.zeros((8, 1, 8, 8), numpy.float32)}, outputs)
print(model.get_outputs()[0], outputs["scores"][0])
