import numpy
from poprt.runtime import Runner

runner = Runner("digits.onnx")  # a batch size is compiled when it first arrives
for batch in (1, 8):
    scores = runner.run({"image": numpy.zeros((batch, 1, 8, 8), numpy.float32)})["scores"]
    print("scores", list(scores.shape), scores[0])
