"""Every tests/core/**/x_test.cpp tests a core/**/x.h or x.cpp, at the same place or in common/ below it; a test
named after its folder tests the files of that folder together."""

import os

import tree

# Suites of a whole folder that have another name.
SUITES = {
    "tests/core/base/recorded_lines_test.cpp",  # support/recorded_lines.h, the records of all tests
    "tests/core/generate/encoder_test.cpp",  # T5, BART and Whisper through compiler and generator
    "tests/core/generate/recurrent_test.cpp",  # Mamba, RWKV, linear attention and LSTM through compiler and generator
    "tests/core/compiler/recorded_flow_test.cpp",  # control flow and graphs of passes' cases, compiled and run
    "tests/core/ops/types_in_part_test.cpp",  # partly known types of operators that move tensors
    "tests/core/passes/recorded_passes_test.cpp",  # every pass with its parameters on a few graphs
    "tests/core/program/recorded_links_test.cpp",  # programs of several models and IPUs, whole
    "tests/core/runtime/runner/forked_shape_runner_test.cpp",  # shape_runner.h in a process that was forked
    "tests/core/runtime/runner/recorded_requests_test.cpp",  # requests and configurations of every runner
    "tests/core/runtime/session/recorded_sessions_test.cpp",  # callbacks of sessions, in order
    "tests/core/compiler/nested_loops_test.cpp",  # memory of values in random nested loops
    "tests/core/compiler/chip_validation_test.cpp",  # estimates of the chip against published results; tables of docs/chip.md
    "tests/core/compiler/random_graphs_test.cpp",  # random graphs through the whole compiler
    "tests/core/compiler/sized_graphs_test.cpp",  # data-dependent sizes through converter and compiler
    "tests/core/compiler/thread_balance_test.cpp",  # tasks of compiled networks, for up to 16 threads
    "tests/core/compiler/compiled_calls_test.cpp",  # calls of kernels that compiled graphs make
    "tests/core/ops/altered_samples_test.cpp",  # every sample with partly known types
    "tests/core/ops/converted_samples_test.cpp",  # every sample in every opset
    "tests/core/ops/contract_test.cpp",  # the contract that every operator fulfils
    "tests/core/ops/data_movement_samples_test.cpp",  # samples for contract_test.cpp
    "tests/core/ops/integer_product_test.cpp",  # 8-bit operators over one packed product
    "tests/core/ops/kernel_calls_test.cpp",  # calls of kernels that only prepare() can refuse
    "tests/core/ops/malformed_nodes_test.cpp",  # every operator with random inputs and attributes
    "tests/core/passes/altered_cases_test.cpp",  # the cases of passes and other graphs, with one fact changed
    "tests/core/passes/copied_cases_test.cpp",  # the cases of passes twice in one graph, in branches and without types
    "tests/core/passes/cases_test.cpp",  # before and after of every pass, from tests/data/passes
    "tests/core/compiler/transforms_test.cpp",  # checkpoints of run_compile_stages
    "tests/core/compiler/flow/sized_indices_test.cpp",  # indices into axes whose size depends on data
    "tests/core/compiler/flow/sized_limits_test.cpp",  # bounds and refusals of OpDef::bound and size_ranges.cpp
    "tests/core/compiler/flow/sized_test.cpp",  # OpDef::bound of every operator, compiled and run
    "tests/core/compiler/flow/data_sizes_test.cpp",  # operators whose sizes depend on data, compiled and run
    "tests/core/compiler/flow/sequences_test.cpp",  # OpDef::resolve of sequences and optionals, compiled and run
    "tests/core/compiler/flow/scan_test.cpp",  # OpDef::resolve of Scan, compiled and run
    "tests/core/compiler/flow/search_test.cpp",  # OpDef::resolve of the operators that generate text, compiled and run
    "tests/core/kernels/extreme_values_test.cpp",  # casting and quantising kernels on NaN, infinities, largest values
    "tests/core/ops/node_lines_test.cpp",  # types, kernels and results of the nodes that tests/data/nodes lists
    "tests/core/ops/recorded_results_test.cpp",  # sums of what every operator computes on altered samples
    "tests/core/ops/refusals_test.cpp",  # messages of every operator for changed samples, recorded
    "tests/core/ops/refused_inputs_test.cpp",  # inputs that operators refuse, and the messages
    "tests/core/popef/verify_test.cpp",  # checksums of blobs, written and verified
    "tests/core/popef/recorded_dumps_test.cpp",  # the models and dumps of random files
}


def main():
    known = set(tree.files())
    problems = []
    tests = [f for f in known if f.startswith("tests/core/") and f.endswith("_test.cpp")]
    for test in sorted(tests):
        if test in SUITES:
            continue
        stem = test.removeprefix("tests/").removesuffix("_test.cpp")
        folder, name = os.path.split(stem)
        if name == os.path.basename(folder) and any(f.startswith(folder + "/") for f in known):
            continue
        places = (stem, f"{folder}/common/{name}")
        if not any(place + ending in known for place in places for ending in (".h", ".cpp", ".capnp")):
            problems.append(f"{test}: there is no {stem}.h or {name}.cpp")
    for suite in sorted(SUITES - known):
        problems.append(f"{suite}: listed in mirror.py, but it is gone")
    tree.finish(problems, len(tests), "tests")


if __name__ == "__main__":
    main()
