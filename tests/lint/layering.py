"""Compares every #include with the folders that a folder may include: POPRT_LAYERS (cmake/layers.cmake) and the table below."""

import os
import re

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)

# An area is a path prefix; a file belongs to the longest one that fits. Values: areas whose headers it may
# include in addition to its own ("core/" means every layer). Layers and their tests are added from the table.
ALLOWED = {
    "capi/include/": [],
    "capi/": ["capi/include/", "core/"],
    # Headers that the libraries share, and a folder for each library.
    "capi/src/": ["capi/include/", "core/"],
    "capi/src/libpoprt/": ["capi/src/", "capi/include/", "core/"],
    "capi/src/libpoprt_compiler/": ["capi/src/", "capi/include/", "core/"],
    "capi/src/libpoprt_images/": ["core/"],
    "cmake/": [],
    "cli/": ["bindings/serving/", "capi/include/"],
    "cli/serve/": ["cli/", "bindings/serving/", "capi/include/"],
    # Developer commands.
    "cli/exec/": ["cli/", "bindings/serving/", "capi/include/", "capi/src/", "core/", "inspector/model/"],
    "cli/poprt_exec.cpp": ["cli/", "cli/exec/", "capi/include/", "core/"],
    "inspector/model/": ["core/"],
    "inspector/views/": ["inspector/model/", "core/"],
    "inspector/app/": ["inspector/views/", "inspector/model/", "core/", "cli/"],  # cli/: options and their help
    "bindings/": ["capi/include/"],
    "bindings/serving/": ["capi/include/"],
    "bindings/tensorflow/": ["bindings/serving/", "capi/include/"],
    "bindings/triton/": ["bindings/serving/", "capi/include/"],
    "examples/": ["capi/include/"],
    "examples/clients/": ["cli/serve/"],
    "tests/": ["capi/include/"],
    "tests/bindings/triton/": ["bindings/triton/", "capi/include/", "tests/"],  # ONNX models in bytes
    "tests/cli/": ["cli/", "cli/exec/", "capi/include/", "core/", "tests/support/"],
    "tests/capi/lone_library_": ["capi/src/", "capi/include/", "core/"],  # the interface between the two libraries
    "tests/capi/other_compiler": ["capi/src/", "capi/include/"],
    "tests/capi/recorded_": ["capi/include/", "tests/support/"],  # the helper that reads records
    "tests/capi/on_demand_": ["capi/include/", "tests/", "tests/support/"],  # whether a sanitizer is used: tests that fork
    "tests/capi/fork_": ["capi/include/", "tests/support/"],
    "tests/capi/src/": ["capi/src/", "capi/src/libpoprt/", "capi/include/", "core/", "tests/"],  # functions that the library hides
    "tests/hostile/": ["capi/include/", "tests/support/"],
    "tests/support/": ["core/", "capi/include/"],
    "tests/bench/": ["core/", "capi/include/", "tests/support/"],
    "tests/bench/inspector_attach_bench": ["core/", "inspector/model/"],
    "tests/bench/inspector_bench": ["core/", "tests/support/", "inspector/model/", "inspector/views/"],
    "tests/bench/compare_peers/": ["capi/include/"],
    "tests/conformance/": ["core/", "tests/support/"],
    "tests/cli/serve/": ["cli/serve/", "capi/include/"],
    "tests/cli/commands/": ["cli/", "cli/exec/", "core/", "capi/include/", "inspector/model/", "tests/support/"],
    "tests/fuzz/": ["core/", "tests/support/"],
    "tests/long/": ["core/", "tests/support/"],
    "tests/inspector/": ["inspector/model/", "inspector/views/", "core/", "tests/support/"],
}
# Layers that the tests of a layer may include in addition to those of the layer.
TEST_EXTRA = {
    "ops": ["core/opsets/"],  # to which its samples are converted
    "compiler": ["core/device/"],  # compiled programs run on the emulated device
    "generate": ["core/compiler/"],  # its models are compiled
    "plugins": ["capi/include/"],  # the contract with plug-ins
    "runtime": ["tests/bench/"],  # the ring that the bench compares with
}
# Layers whose contract with others is a public header.
CONTRACTS = {"plugins": ["capi/include/"]}
# Where "x/y.h" is searched for, after the folder of the including file.
ROOTS = ["core/", "capi/include/", "capi/src/", "cli/", "tests/", "inspector/", "bindings/", "bindings/swig/"]
# Headers that CMake writes, and the files that they are made from.
GENERATED = {"inference.grpc.pb.h": "cli/serve/inference.proto", "exec/commands.inc": "cli/exec/commands.h"}
# Libraries that one layer only may see.
LIBRARIES = {
    "onnx/": ["core/onnx/", "tests/core/onnx/", "tests/hostile/"],
    "google/protobuf/": ["core/onnx/", "tests/core/onnx/"],
    "zstd.h": ["core/popef/"],
    "re2/": ["core/ops/"],
    "utf8proc.h": ["core/ops/"],
    "grpcpp/": ["cli/serve/", "examples/clients/"],
    "microhttpd.h": ["cli/serve/"],
    "sentencepiece_": ["cli/tokenizer/"],
    "lz4": ["core/popef/"],
    "allheaders.h": ["capi/src/libpoprt_images/"],
    "imgui": ["inspector/views/", "inspector/app/", "tests/inspector/views/", "tests/bench/inspector_bench"],
    "EGL/": ["inspector/app/"],
    "GLFW/": ["inspector/app/"],
}
# Compiled once per instruction set: an inline function of the standard library compiled for AVX-512 must
# never be the copy that the linker keeps. The rule applies to everything that these files include.
ISA_FOLDER = "core/kernels/isa/"
ISA_HEADERS = {"cstdint", "cstddef", "immintrin.h"}  # intrinsics are always inlined

# The steps of a compilation, which core/compiler/driver.h puts in order; tests may call one of them alone.
STEPS = re.compile(r"\b(?:compiler::(?:convert|compile|lower|link_graphs|link_shapes|split_graph|fuse_graphs|make_weights_variable|"
                   r"attach_values|note_plugins|select_outputs|change_outputs|kept_model)|onnx::import_(?:file|bytes))\s*\(")
STEP_USERS = ("core/", "tests/")


def layers():
    """{layer: layers it may include} from the CMake table."""
    text = tree.read("cmake/layers.cmake")
    table = re.search(r"set\(POPRT_LAYERS(.*?)\n\)", text, re.S)
    assert table, "cmake/layers.cmake: set(POPRT_LAYERS ...) is missing"
    rows = re.findall(r'"([a-z]+):([a-z ]*)\|', table.group(1))
    assert rows, "cmake/layers.cmake: POPRT_LAYERS is empty"
    return {name: uses.split() for name, uses in rows}


def add_layers(allowed):
    for name, uses in layers().items():
        areas = [f"core/{u}/" for u in uses]
        allowed[f"core/{name}/"] = [*areas, *CONTRACTS.get(name, [])]
        allowed[f"tests/core/{name}/"] = [f"core/{name}/", *areas, "tests/support/",
                                        *TEST_EXTRA.get(name, [])]


def area_of(path, areas):
    fits = [a for a in areas if path.startswith(a)]
    return max(fits, key=len) if fits else None


def resolve(name, path, known):
    """The file of the repository that `name` means, or None."""
    folder = os.path.dirname(path) + "/"
    for root in [folder, *ROOTS]:
        candidate = os.path.normpath(root + name)
        if candidate in known:
            return candidate
        schema = candidate.removesuffix(".h")
        if candidate.endswith(".capnp.h") and schema in known:
            return schema
    return GENERATED.get(name)


def check_file(path, known, allowed):
    problems = []
    area = area_of(path, allowed)
    for match in INCLUDE.finditer(tree.read(path)):
        kind, name = match.groups()
        line = tree.read(path).count("\n", 0, match.start(2)) + 1
        where = f"{path}:{line}"
        if kind == "<":
            for prefix, users in LIBRARIES.items():
                if name.startswith(prefix) and not path.startswith(tuple(users)):
                    problems.append(f"{where}: <{name}> is for {' '.join(users)} only")
            # Users' code includes the public headers in this form.
            if not name.startswith("poprt/"):
                continue
        target = resolve(name, path, known)
        if target is None:
            problems.append(f'{where}: "{name}" is no file of the repository')
            continue
        if path.startswith("core/") and target.startswith("core/") and target.removesuffix(".capnp") != "core/" + name.removesuffix(".capnp.h"):
            problems.append(f'{where}: write "{name}" with its path from core/')
        target_area = area_of(target, allowed)
        fine = target_area == area or any(
            target_area == a or (a == "core/" and target.startswith(a)) for a in allowed[area])
        if not fine:
            problems.append(f"{where}: {area} may not include {target_area} ({target})")
    return problems


def check_steps(path):
    """Outside of core/compiler there is no second pipeline."""
    if path.startswith(STEP_USERS):
        return []
    text = tree.read(path)
    return [f"{path}:{text.count(chr(10), 0, m.start()) + 1}: {m.group()[:-1].strip()} is a step of core/compiler/driver.h: "
            "call read_model, convert_model or compile_model" for m in STEPS.finditer(text)]


def check_isa(known):
    problems = []
    pending = [f for f in known if f.startswith(ISA_FOLDER) and f.endswith(".cpp")]
    seen = set(pending)
    while pending:
        path = pending.pop()
        for kind, name in INCLUDE.findall(tree.read(path)):
            if kind == "<":
                if name not in ISA_HEADERS:
                    problems.append(
                        f"{path}: reached from {ISA_FOLDER}*.cpp, which may include "
                        f"{', '.join(sorted(ISA_HEADERS))} and no other library header, found <{name}>")
                continue
            target = resolve(name, path, known)
            if target and target not in seen:
                seen.add(target)
                pending.append(target)
    return problems


def main():
    allowed = dict(ALLOWED)
    add_layers(allowed)
    known = set(tree.files())
    problems = []
    checked = 0
    for path in tree.code_files():
        if area_of(path, allowed) is None:
            problems.append(f"{path}: no area of {os.path.basename(__file__)} holds this file")
            continue
        checked += 1
        problems += check_file(path, known, allowed) + check_steps(path)
    problems += check_isa(sorted(known))
    tree.finish(problems, checked, "files")


if __name__ == "__main__":
    main()
