"""Compile files that mix host and device code: extract the device code, so that the files need no editing for NVRTC.

`mixed_source` is the entry point; it compiles one job. `unit` reads a source with the project's headers and finds the
CUDA markers. `choice` selects the definitions to compile, by the names that device code uses and by the compiler's
errors. `template_deduction` (with `template_types`) finds the instances of kernel templates that host code launches.
`device_code` blanks all other definitions and calls the compiler. In a later version, the compiler itself will read
host code, which will replace `template_deduction`, `template_types`, `choice` and `unit`; they stay unchanged until
then.
"""
