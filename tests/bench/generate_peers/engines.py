"""One library that generates tokens, in a process of its own. generate_peers starts it:

    engines.py prepare GGUF FOLDER LENGTH          writes the forms of the model that the engines read
    engines.py save FOLDER POPEF '{"length": ...}'
    engines.py save_openvino GGUF FOLDER
    engines.py ENGINE '{"folder": ...}'            measures, and prints one JSON object

A measurement loads the model, runs the texts once to warm up and then `repetitions` times, and returns the best repetition.
"""
import importlib
import json
import os
import subprocess
import sys
import time


def private_bytes():
    """Resident memory of the process that no file contains."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) * 1024


class Rates:
    """The times of one repetition: the prompts of all sequences, then their other tokens."""

    def __init__(self):
        self.start = time.perf_counter()
        self.first = self.end = 0.0

    def result(self, prompts, decoded, tokens):
        return {"first_ms": (self.first - self.start) * 1e3, "prefill": sum(map(len, prompts)) / (self.first - self.start),
                "decode": decoded / (self.end - self.first), "tokens": tokens}


class Poprt:
    """A PopEF file, which Generator.save() wrote."""

    package = "poprt"

    def __init__(self, given):
        import poprt
        self.generator = poprt.Generator(given["popef"], threads=given["threads"])

    def run(self, prompts, new):
        rates = Rates()
        texts = [self.generator.generate(prompt, max_new_tokens=new, ignore_stop=1) for prompt in prompts]
        tokens = [[text.next(-1)] for text in texts]
        rates.first = time.perf_counter()
        before = json.loads(self.generator.statistics())["decode_tokens"]
        # The first text ends first. Until then, all decode.
        while (token := texts[0].next(-1)) >= 0:
            tokens[0].append(token)
        rates.end = time.perf_counter()
        decoded = json.loads(self.generator.statistics())["decode_tokens"] - before
        for text in texts[1:]:
            list(text)
        return rates.result(prompts, decoded, tokens[0])


class OnnxRuntimeGenai:
    package = "onnxruntime_genai"

    def __init__(self, given):
        import onnxruntime_genai
        self.library = onnxruntime_genai
        config = onnxruntime_genai.Config(given["genai"])
        config.overlay(json.dumps({"model": {"decoder": {"session_options": {"intra_op_num_threads": given["threads"]}}}}))
        self.model = onnxruntime_genai.Model(config)
        self.length = given["length"]

    def run(self, prompts, new):
        options = self.library.GeneratorParams(self.model)
        length = len(prompts[0]) + new
        options.set_search_options(batch_size=len(prompts), max_length=length, min_length=length, do_sample=False)
        rates = Rates()
        generator = self.library.Generator(self.model, options)
        generator.append_tokens(prompts if len(prompts) > 1 else prompts[0])
        generator.generate_next_token()
        rates.first = time.perf_counter()
        steps = 0
        while not generator.is_done():
            generator.generate_next_token()
            steps += 1
        rates.end = time.perf_counter()
        tokens = [int(token) for token in generator.get_sequence(0)[len(prompts[0]):]]
        return rates.result(prompts, steps * len(prompts), tokens)


class OpenVino:
    """LLMPipeline for one sequence, and the pipeline with continuous batching for several."""

    package = "openvino_genai"

    def __init__(self, given):
        import openvino_genai
        self.library = openvino_genai
        properties = {"INFERENCE_NUM_THREADS": given["threads"]}
        self.batched = given["sequences"] > 1
        if self.batched:
            scheduler = openvino_genai.SchedulerConfig()
            scheduler.cache_size = 1
            scheduler.max_num_batched_tokens = 2048
            self.pipeline = openvino_genai.ContinuousBatchingPipeline(given["openvino"], scheduler, "CPU", properties)
        else:
            self.pipeline = openvino_genai.LLMPipeline(given["openvino"], "CPU", **properties)

    def run(self, prompts, new):
        import numpy
        import openvino
        config = self.library.GenerationConfig()
        config.max_new_tokens, config.ignore_eos, config.do_sample, config.apply_chat_template = new, True, False, False
        rates = Rates()
        if not self.batched:
            library, times = self.library, []

            class Times(library.StreamerBase):
                def write(self, _):
                    times.append(time.perf_counter())
                    return library.StreamingStatus.RUNNING

                def end(self):
                    pass

            ids = openvino.Tensor(numpy.array([prompts[0]], numpy.int64))
            found = self.pipeline.generate(ids, config, Times())
            rates.first, rates.end = times[0], times[-1]
            return rates.result(prompts, len(times) - 1, list(found.tokens[0]))
        handles = [self.pipeline.add_request(i, openvino.Tensor(numpy.array([prompt], numpy.int64)), config)
                   for i, prompt in enumerate(prompts)]
        counts, tokens = [0] * len(prompts), []
        decoded = 0
        while self.pipeline.has_non_finished_requests():
            self.pipeline.step()
            for i, handle in enumerate(handles):
                while handle.can_read():
                    for output in handle.read().values():
                        counts[i] += len(output.generated_ids)
                        decoded += len(output.generated_ids) if rates.first else 0
                        if i == 0:
                            tokens += output.generated_ids
            if not rates.first and all(counts):
                rates.first = time.perf_counter()
        rates.end = time.perf_counter()
        return rates.result(prompts, decoded, tokens)


class LlamaCpp:
    package = "llama_cpp"

    def __init__(self, given):
        import ctypes

        import llama_cpp
        self.library = llama_cpp
        # The library reports each layer to standard error.
        self.log = llama_cpp.llama_log_callback(lambda *_: None)
        llama_cpp.llama_log_set(self.log, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        model = llama_cpp.llama_model_default_params()
        model.n_gpu_layers = 0
        self.model = llama_cpp.llama_model_load_from_file(given["gguf"].encode(), model)
        context = llama_cpp.llama_context_default_params()
        context.n_ctx = given["length"] * given["sequences"]
        context.n_batch = context.n_ubatch = 2048 if given["sequences"] > 1 else 512
        context.n_seq_max = given["sequences"]
        context.n_threads = context.n_threads_batch = given["threads"]
        self.context = llama_cpp.llama_init_from_model(self.model, context)
        self.batch = llama_cpp.llama_batch_init(4096, 0, 1)
        self.sampler = llama_cpp.llama_sampler_init_greedy()

    def decode(self, rows):
        """Computes rows of (token, position, sequence, whether it has logits)."""
        batch = self.batch
        batch.n_tokens = len(rows)
        for i, (token, position, sequence, logits) in enumerate(rows):
            batch.token[i], batch.pos[i], batch.n_seq_id[i] = token, position, 1
            batch.seq_id[i][0], batch.logits[i] = sequence, logits
        if self.library.llama_decode(self.context, batch):
            sys.exit("llama_decode failed")

    def choose(self, row):
        return self.library.llama_sampler_sample(self.sampler, self.context, row)

    def run(self, prompts, new):
        library, count = self.library, len(prompts)
        library.llama_memory_clear(library.llama_get_memory(self.context), True)
        rates = Rates()
        rows, lasts = [], []
        for sequence, prompt in enumerate(prompts):
            rows += [(token, i, sequence, i + 1 == len(prompt)) for i, token in enumerate(prompt)]
            lasts.append(len(rows) - 1)
        self.decode(rows)
        now = [self.choose(last) for last in lasts]
        rates.first = time.perf_counter()
        tokens = [now[0]]
        for step in range(new - 1):
            self.decode([(token, len(prompts[i]) + step, i, True) for i, token in enumerate(now)])
            now = [self.choose(i) for i in range(count)]
            tokens.append(now[0])
        rates.end = time.perf_counter()
        return rates.result(prompts, (new - 1) * count, tokens)


ENGINES = {"poprt": Poprt, "onnxruntime-genai": OnnxRuntimeGenai, "OpenVINO GenAI": OpenVino, "llama.cpp": LlamaCpp}


def measure(engine, given):
    import numpy
    random = numpy.random.default_rng(1)

    def prompts():  # other ones for each text, because some engines keep prefixes
        return [[int(token) for token in random.integers(3, given["vocabulary"], given["prompt"])] for _ in range(given["sequences"])]

    importlib.import_module(engine.package)
    before = private_bytes()
    start = time.perf_counter()
    made = engine(given)
    found = {"load_ms": (time.perf_counter() - start) * 1e3}
    made.run(prompts(), min(given["new"], 8))
    busy = None
    if given["busy"]:  # another process uses one core
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        runs = [made.run(prompts(), given["new"]) for _ in range(given["repetitions"])]
    finally:
        if busy:
            busy.kill()
            busy.wait()
    found["first_ms"] = min(run["first_ms"] for run in runs)
    found["prefill"] = max(run["prefill"] for run in runs)
    found["decode"] = max(run["decode"] for run in runs)
    found["tokens"] = runs[0]["tokens"]
    found["private_mb"] = private_bytes() / 1e6
    found["model_mb"] = (private_bytes() - before) / 1e6
    return found


def prepare(source, folder, context):
    """Writes the folder for onnxruntime-genai and poprt. It has the quantised weights of the GGUF file."""
    from poprt.frontend import gguf as convert
    import gguf
    convert(source, folder, accuracy_level=4)
    path = os.path.join(folder, "genai_config.json")
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    reader = gguf.GGUFReader(source)
    read = lambda name: int(reader.fields["llama." + name].contents())
    heads, hidden = read("attention.head_count"), read("embedding_length")
    model, decoder = config["model"], config["model"]["decoder"]
    # onnxruntime-genai needs the sizes; poprt reads them from the graph.
    model.update(context_length=context, bos_token_id=1, pad_token_id=2, eos_token_id=2)
    decoder.update(head_size=hidden // heads, hidden_size=hidden, num_attention_heads=heads,
                   num_key_value_heads=read("attention.head_count_kv"), num_hidden_layers=read("block_count"),
                   session_options={"log_id": "onnxruntime-genai", "provider_options": []})
    decoder["inputs"].update(past_key_names="past_key_values.%d.key", past_value_names="past_key_values.%d.value")
    decoder["outputs"].update(present_key_names="present.%d.key", present_value_names="present.%d.value")
    config["search"] = {"max_length": context, "do_sample": False, "past_present_share_buffer": True, "num_beams": 1, "min_length": 0,
                        "temperature": 1.0, "top_k": 1, "top_p": 1.0, "repetition_penalty": 1.0, "num_return_sequences": 1,
                        "early_stopping": True, "length_penalty": 1.0, "no_repeat_ngram_size": 0, "diversity_penalty": 0.0}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file, indent=1)
    return {"vocabulary": int(model["vocab_size"])}


def save_openvino(source, folder):
    """Writes the form of OpenVINO, so that loading it does not convert the GGUF file."""
    import openvino_genai
    os.makedirs(folder)
    link = os.path.join(folder, "model.gguf")
    os.symlink(source, link)
    openvino_genai.LLMPipeline(link, "CPU", enable_save_ov_model=True)
    return {"files": sorted(os.listdir(folder))}


def save(folder, file, given):
    """Compiles the folder for so many sequences, and returns the time."""
    import poprt
    start = time.perf_counter()
    poprt.Generator(folder, max_length=given["length"], slots=given["sequences"], prefill=given["prefill"]).save(file)
    return {"compile_ms": (time.perf_counter() - start) * 1e3}


if __name__ == "__main__":
    if sys.argv[1] == "prepare":
        result = prepare(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    elif sys.argv[1] == "save_openvino":
        result = save_openvino(sys.argv[2], sys.argv[3])
    elif sys.argv[1] == "save":
        result = save(sys.argv[2], sys.argv[3], json.loads(sys.argv[4]))
    else:
        result = measure(ENGINES[sys.argv[1]], json.loads(sys.argv[2]))
    print(json.dumps(result))
