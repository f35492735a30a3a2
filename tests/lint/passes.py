"""Checks that docs/passes.md is a heading and the output of `poprt_exec passes --markdown`. Writes it with --write.

    passes.py POPRT_EXEC [--write]"""

import generated

HEADING = """# Passes

The passes that rewrite a model, from the table that the compiler uses. Made by `tests/lint/passes.py POPRT_EXEC --write`.

* *where*: the condition of a rewrite. If it does not hold, the graph does not change.
* *parameters*: `NAME=DEFAULT`. They are set by `--pass_args PASS.NAME=TEXT`, by the option for the pass, or through the language
  bindings.
* *numerics*: *exact* (no result changes), *rounding* (products and sums are rounded in another order or less often, so the
  last bits of a result may differ), *precision* (values are stored in another element type).
* *runs*: in the converter, whose result `poprt --output_model` saves; in the compiler, after the converter; or only if `--passes`
  or an option such as `--precision fp16` selects the pass. `core/compiler/pipeline.cpp` defines the order.
* *after*: passes that must run earlier in a list given with `--passes`. They are added automatically.

`poprt --skip_passes NAME` omits a pass, and `--passes NAME` adds one to the converter. `poprt_exec opt` shows the model
after each pass. `poprt_exec opt --rewrite_limit N` stops after N rewrites, which finds a wrong rewrite by bisection.
`poprt --list_all_passes --json` prints this table as JSON.

If PopRT has a pass, its name is used here, too. Passes that only a chip or PopART's opset 11 needs (the `_workaround`s,
WhereV2, RoundV2, IsInfV2, SoftmaxV2, ErfV2, NotZero, FastNorm, Remap ...) run only if they are selected. These operators of
`ai.graphcore` have the same kernels as the standard ones, so the results and the speed do not change, but other tools may not
read them. `attention_pattern` is the compiler's fusion of attention; `fused_attention` is PopRT's pass, which merges projections.

"""

if __name__ == "__main__":
    generated.check("docs/passes.md", HEADING, "passes", "tests/lint/passes.py")
