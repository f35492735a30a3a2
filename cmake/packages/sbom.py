"""Writes the software bill of materials of a package, CycloneDX 1.5 as JSON: all third-party parts in it with the versions
of the Debian packages that they are from. Standard library and dpkg.

Usage: sbom.py --name NAME [--kinds KIND...] [--bundled LIBRARY...]     prints it; kinds are those of "linked_in" in metadata.json"""

import argparse
import datetime
import functools
import json
import subprocess
import sys
import uuid

import metadata

NAMESPACE = uuid.UUID("3f0c1f6e-7d0a-5b7e-9d55-0a5b0f2d7c11")  # of serial numbers, so that the same parts have the same number


@functools.cache
def debian_version(package):
    found = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\n", package], capture_output=True, text=True, check=False)
    if found.returncode != 0 or not found.stdout.strip():
        sys.exit(f"bill of materials: Debian package {package} is not installed, so its version is unknown")
    return found.stdout.split()[0]


def licence(text):
    """One entry of the field `licenses`: an identifier or an expression of SPDX, else a text."""
    if text in metadata.load()["spdx_texts"]:
        return {"expression": metadata.load()["spdx_texts"][text]}
    return {"license": {"id": text}}


def component(name, text, package, linked):
    version = debian_version(package)
    return {"type": "library", "bom-ref": f"{package}/{name}@{version}", "name": name, "version": version,
            "licenses": [licence(text)], "purl": f"pkg:deb/debian/{package}@{version.replace(':', '%3A').replace('+', '%2B')}?distro=debian-12",
            "properties": [{"name": "poprt:included", "value": "linked in" if linked else "as a file"}]}


def components(kinds, bundled=()):
    linked = [component(*part, True) for part in metadata.parts(kinds)]
    files = []
    for name, _, package in metadata.parts([], bundled):
        known = metadata.load()["bundled_licences"]
        if package not in known:
            sys.exit(f"bill of materials: the licence of {package} ({name}) is not in bundled_licences of metadata.json")
        files.append(component(name, known[package], package, False))
    return sorted(linked + files, key=lambda c: c["bom-ref"])


def document(name, kinds, bundled=(), application=False):
    """Returns the JSON of a package. The same parts and date give the same bytes."""
    data, version = metadata.load(), metadata.version()
    parts = components(kinds, bundled)
    reference = f"{name}@{version}"
    date = datetime.datetime.fromtimestamp(metadata.epoch(), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    serial = uuid.uuid5(NAMESPACE, json.dumps([reference, date, parts]))
    root = {"type": "application" if application else "library", "bom-ref": reference, "name": name, "version": version, "description": data["summary"],
            "licenses": [{"license": {"id": data["licence"]}}], "copyright": data["copyright"],
            "externalReferences": [{"type": "website", "url": data["url"]}, {"type": "vcs", "url": data["scm"]}]}
    return json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.5", "serialNumber": f"urn:uuid:{serial}", "version": 1,
                       "metadata": {"timestamp": date, "component": root}, "components": parts,
                       "dependencies": [{"ref": reference, "dependsOn": [c["bom-ref"] for c in parts]}]}, indent=2) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", required=True)
    parser.add_argument("--kinds", nargs="*", default=[])
    parser.add_argument("--bundled", nargs="*", default=[])
    options = parser.parse_args()
    print(document(options.name, options.kinds, options.bundled), end="")


if __name__ == "__main__":
    main()
