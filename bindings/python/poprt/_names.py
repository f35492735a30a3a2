"""Names that programs and files share."""

# The opaque blob of a PopEF file, and entry of a model's metadata_props, with the configuration of HostConcatRunner.
sHostConcatRunnerConfig = "HostConcatRunnerConfig"
