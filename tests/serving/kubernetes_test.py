"""The manifests of examples/kubernetes against the schemas of Kubernetes and of KServe's resources, without a cluster.
Skipped without the validator (engine.py): pip install kubernetes-validate. KServe's schemas are read from the archive of
its Go module, if the virtual environment has it:

    curl -o ENV/kserve.zip https://proxy.golang.org/github.com/kserve/kserve/@v/v0.15.2.zip

Checked with kubernetes-validate 1.37.0 and KServe 0.15.2."""

import glob
import os
import subprocess
import sys
import unittest
import zipfile

import engine

engine.enter("kubernetes", "kubernetes_validate", "kubernetes-validate")

import jsonschema  # noqa: E402
import kubernetes_validate  # noqa: E402
import yaml  # noqa: E402

FILES = sorted(glob.glob(os.path.join(engine.EXAMPLES, "kubernetes", "*.yaml")))
KSERVE = os.path.join(sys.prefix, "kserve.zip")


def resources():
    for path in FILES:
        with open(path, encoding="utf-8") as file:
            for document in yaml.safe_load_all(file):
                yield os.path.basename(path), document


def closed(schema):
    """Returns the schema of a resource, which refuses unknown fields, as the server does for a strict request."""
    if isinstance(schema, list):
        return [closed(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    if isinstance(made.get("properties"), dict) and not made.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    if made.pop("x-kubernetes-int-or-string", False):
        made.pop("type", None)
    return made


class Kubernetes(unittest.TestCase):
    def test_resources_of_kubernetes_are_valid(self):
        found = [d for _, d in resources() if "kserve" not in d["apiVersion"]]
        self.assertEqual([d["kind"] for d in found], ["Deployment", "Service", "PodDisruptionBudget", "HorizontalPodAutoscaler"])
        for document in found:
            kubernetes_validate.validate(document, "1.31", strict=True)
        broken = dict(found[0], spec=dict(found[0]["spec"], replica=3))
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(broken, "1.31", strict=True)

    @unittest.skipUnless(os.path.exists(KSERVE), f"there is no {KSERVE}")
    def test_resources_of_kserve_are_valid(self):
        schemas = {}
        with zipfile.ZipFile(KSERVE) as archive:
            for name in archive.namelist():
                if "/config/crd/full/" in name and name.endswith(".yaml"):
                    crd = yaml.safe_load(archive.read(name))
                    if crd.get("kind") == "CustomResourceDefinition":
                        for version in crd["spec"]["versions"]:
                            key = (f"{crd['spec']['group']}/{version['name']}", crd["spec"]["names"]["kind"])
                            schemas[key] = version["schema"]["openAPIV3Schema"]
        found = [d for _, d in resources() if "kserve" in d["apiVersion"]]
        self.assertEqual([d["kind"] for d in found], ["ServingRuntime", "InferenceService"])
        for document in found:
            schema = closed(schemas[document["apiVersion"], document["kind"]])
            schema["properties"].pop("metadata")
            content = {key: value for key, value in document.items() if key != "metadata"}
            jsonschema.validate(content, schema)
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(dict(content, spec=dict(content["spec"], unknown=1)), schema)

    def test_the_server_knows_every_option(self):
        usage = subprocess.run([os.path.join(engine.BUILD, "bin", "poprt_serve"), "--help"], capture_output=True, text=True, check=True).stdout
        options = []
        for _, document in resources():
            spec = document.get("spec", {})
            for container in spec.get("containers") or spec.get("template", {}).get("spec", {}).get("containers", []):
                options += [argument for argument in container["args"] if argument.startswith("--")]
        with open(os.path.join(engine.EXAMPLES, "kubernetes", "Containerfile"), encoding="utf-8") as file:
            options += [word.strip('",[]') for word in file.read().split() if word.startswith('"--')]
        self.assertGreaterEqual(len(options), 6)
        for option in options:
            self.assertRegex(usage, rf"{option}\b")


if __name__ == "__main__":
    unittest.main()
