"""Checks that docs/options.md is a heading followed by the output of `poprt_exec options --markdown`. Writes it with --write.

    options.py POPRT_EXEC [--write]"""

import generated

HEADING = """# Options

The options of command `poprt`. The same names are used in its YAML file (`--config_yaml`), in `poprt_compile_options.options` of the C
library and in the compiler options of each language. All of them, and this page, come from one table
(`tests/lint/options.py POPRT_EXEC --write`). No option is ignored silently. An option

* *acts*: it has its documented effect;
* is *recorded*: it tunes a chip, and the emulated IPU does not need it. It is stored in the metadata of the PopEF file
  (`popef_dump -m`). Options whose note says so act on the estimate of a chip ([chip.md](chip.md#options));
* *warns*: it is accepted and recorded, and a warning states that it has no effect. Results do not change;
* *fails*: it is not available yet, and the error is one line.

The words of a list follow each other on the command line. In a text (C, other languages), each word is on its own line, and names are
separated by commas. On the command line, an option may be abbreviated to a prefix that is unique (`--input_mod`), and the last value of
an option with one value takes precedence. A YAML file contains lists, or maps if words begin with a name:

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

An option on the command line takes precedence over the file.

A function that loads either kind of file (`poprt_executable_load`, `Executable.load`) takes the options of a compilation. A PopEF file
is compiled already, so that they have no effect on it: one warning in the log names the options that were given. Libraries of
`custom_library_so_paths` are loaded, because the file may need them. The folder of the cache, the way the file is read and callbacks
cause no warning.

"""

if __name__ == "__main__":
    generated.check("docs/options.md", HEADING, "options", "tests/lint/options.py")
