"""Serves a model by KServe's model server: versions 1 and 2 of its protocol by HTTP, and version 2 by gRPC.

    kserve_server.py --model_name digits --model MODEL.popef --http_port 8080 --grpc_port 8081
"""

import argparse

import kserve
from poprt.serving import kserve_model


def main():
    parser = argparse.ArgumentParser(parents=[kserve.model_server.parser], description=__doc__.split("\n")[0])
    parser.add_argument("--model", required=True, help="a PopEF or ONNX file")
    arguments = parser.parse_args()
    kserve.ModelServer().start([kserve_model(arguments.model_name, arguments.model)])


if __name__ == "__main__":
    main()
