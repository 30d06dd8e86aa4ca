"""Compile files that contain host code, unedited: NVRTC's front end itself reads the host code.

`front_end` has the options with which NVRTC accepts host code, and the folders of stand-in headers: declarations of
what host code includes and this environment does not have. Then a file compiles as with nvcc. If it still does not
compile, `leaving_out` removes the host functions that the compiler's errors point to, as long as no kernel is lost:
`blocks` finds the functions in a text, `reach` the kernels that a function launches, `edits` writes the changed files.
"""
