"""Names that programs and files share."""

# Opaque blob of a PopEF file, and entry of a model's metadata_props: what HostConcatRunner joins.
sHostConcatRunnerConfig = "HostConcatRunnerConfig"
