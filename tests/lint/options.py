"""docs/options.md is what `poprt_exec options --markdown` prints below its heading. Writes it with --write.

    options.py POPRT_EXEC [--write]"""

import generated

HEADING = """# Options

Of command `poprt`, and by the same names in its YAML file (`--config_yaml`), in `poprt_compile_options.options` of the C
library and in each language's compiler options. One table makes them all and this page, by
`tests/lint/options.py POPRT_EXEC --write`. None is ignored in silence. An option

* *acts*: it does what it is for;
* is *recorded*: it tunes a chip, which the emulated IPU does not need; it goes into the PopEF file's metadata, where the model
  of the chip finds it (`popef_dump -m`);
* *warns*: it is accepted and recorded, a warning says that nothing else happens, and results are the same;
* *fails*: it is not available yet, which is an error of one line.

Words of a list follow each other on the command line; in a text (C, other languages) each has a line of its own, and names are
separated by commas. On the command line a beginning that no other option has stands for the whole name (`--input_mod`), and of an
option of one value the last one counts. A YAML file has lists, or maps where words begin with a name:

```yaml
input_model: model.onnx
input_shape:
  - image=2,1,8,8
precision: fp16
export_popef: True
compiler_options:
  partials_type: half
  custom_patterns: [Mine, Other:0]
serialize_matmul:
  fc1: 4                                                       # fc1=4
  fc2: {factor: 2, mode: reducing_dim, keep_precision: True}   # fc2=2/reducing_dim/True
passes: merge_matmul
pass_args:
  merge_matmul: {names: [query, key, value]}                   # merge_matmul.names=query,key,value
```

What the command line says comes before the file.

"""

if __name__ == "__main__":
    generated.check("docs/options.md", HEADING, "options", "tests/lint/options.py")
