"""Checks that docs/passes.md is a heading followed by the output of `poprt_exec passes --markdown`. Writes it with --write.

    passes.py POPRT_EXEC [--write]"""

import generated

HEADING = """# Passes

The passes that rewrite a model before it becomes a program, generated from the compiler's own table by
`tests/lint/passes.py POPRT_EXEC --write`.

* *where*: the condition of a rewrite. Other nodes are unchanged.
* *parameters*: `NAME=DEFAULT`, set by `--pass_args PASS.NAME=TEXT`, by the option that enables the pass, or in the languages.
* *numerics*: *exact* (no result changes), *rounding* (products and sums are rounded in another order or less often: the
  last bits of a result may differ), *precision* (values have another element type).
* *runs*: in the converter, whose result `poprt --output_model` saves; in the compiler, after it; or only when `--passes` names it
  (or an option such as `--precision fp16` enables it). The order is that of `core/compiler/pipeline.cpp`.
* *after*: passes that must run before it in a list given with `--passes`. They are added.

`poprt --skip_passes NAME` excludes a pass, `--passes NAME` adds one to the converter. `poprt_exec opt` prints a model after each
pass. `poprt_exec opt --rewrite_limit N` stops after N rewrites, to find a faulty one by bisection. `poprt --list_all_passes --json`
prints this table for programs.

Passes that PopRT has are named as in PopRT. Some passes were needed by a chip or by PopART's opset 11 only (the `_workaround`s, WhereV2,
RoundV2, IsInfV2, SoftmaxV2, ErfV2, NotZero, FastNorm, Remap ...). They run on request. Their operators of `ai.graphcore` use the
kernels of the standard operators, so speed does not change. `attention_pattern` is the compiler's own fusion, and
`fused_attention` is PopRT's, which includes projections.

"""

if __name__ == "__main__":
    generated.check("docs/passes.md", HEADING, "passes", "tests/lint/passes.py")
