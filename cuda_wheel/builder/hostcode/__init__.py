"""Compile files that contain host code, unedited: NVRTC's front end itself reads the host code.

`front_end` has the options with which NVRTC accepts host code. `include/` has stand-in headers, which declare what host
code uses of CUDA's libraries and of PyTorch; `operator_headers` generates PyTorch's header for each operator. With
these, most files compile as with nvcc. If one does not, `leaving_out` leaves out host code at the places of the
compiler's errors, as long as no kernel is lost: `blocks` finds the functions in a text, `statements` the smallest part
of a function to leave out, and `reach` the kernels that a part launches; `constants` rewrites constants that NVRTC
takes for device variables; `edits` writes the changed files.
"""
