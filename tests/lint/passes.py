"""docs/passes.md is what `poprt_exec passes --markdown` prints below its heading. Writes it with --write.

    passes.py POPRT_EXEC [--write]"""

import generated

HEADING = """# Passes

What rewrites a model on its way to a program, by the same table that the compiler uses. Made by
`tests/lint/passes.py POPRT_EXEC --write`.

* *where*: what must hold for a rewrite; everything else stays as it is.
* *parameters*: `NAME=DEFAULT`, by `--pass_args PASS.NAME=TEXT`, by the option that stands for the pass, or by the languages.
* *numerics*: *exact* (no result changes), *rounding* (products and sums are rounded in another order or less often: the
  last bits of a result may differ), *precision* (values are kept in another element type).
* *runs*: in the converter, whose result `poprt --output_model` saves; in the compiler, after it; or only when `--passes` names it
  (or an option such as `--precision fp16` stands for it). The order is that of `core/compiler/pipeline.cpp`.
* *after*: passes that must run before it in a list given with `--passes`; they are added.

`poprt --skip_passes NAME` leaves a pass out, `--passes NAME` adds one to the converter. `poprt_exec opt` shows a model
after each; `poprt_exec opt --rewrite_limit N` stops after N rewrites, which finds the one that matters by bisection.
`poprt --list_all_passes --json` has all of this for programs.

Names are PopRT's where it has the pass. What a chip or PopART's opset 11 needed and this runtime does not (the `_workaround`s,
WhereV2, RoundV2, IsInfV2, SoftmaxV2, ErfV2, NotZero, FastNorm, Remap ...) runs when it is asked for; those operators
of `ai.graphcore` share kernels with the standard ones, so nothing is won or lost but what other tools can read. `attention_pattern` is the
compiler's own fusion; `fused_attention` is PopRT's, of projections.

"""

if __name__ == "__main__":
    generated.check("docs/passes.md", HEADING, "passes", "tests/lint/passes.py")
