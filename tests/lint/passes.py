"""docs/passes.md is what `poprt_exec passes --markdown` prints below its heading. Writes it with --write.

    passes.py POPRT_EXEC [--write]"""

import generated

HEADING = """# Passes

What rewrites a model on its way to a program, by the same table that the compiler uses. Made by
`tests/lint/passes.py POPRT_EXEC --write`.

* *where*: what must hold for a rewrite; everything else stays as it is.
* *numerics*: *exact* (no result changes), *rounding* (products and sums are rounded in another order or less often: the
  last bits of a result may differ), *precision* (values are kept in another element type).
* *runs*: in the converter, whose result `poprt --output_model` saves; in the compiler, after it; or only when `--passes` names it
  (or an option such as `--precision fp16` stands for it). The order is that of `core/compiler/pipeline.cpp`.
* *after*: passes that must run before it in a list given with `--passes`; they are added.

`poprt --skip_passes NAME` leaves a pass out, `--passes NAME` adds one to the converter. `poprt_exec opt` shows a model
after each; `poprt_exec opt --rewrite_limit N` stops after N rewrites, which finds the one that matters by bisection.

"""

if __name__ == "__main__":
    generated.check("docs/passes.md", HEADING, "passes", "tests/lint/passes.py")
