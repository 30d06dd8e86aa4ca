"""Compile files that contain host code, unedited: NVRTC's front end itself reads the host code.

`front_end` has the options with which NVRTC accepts host code. `include/` has stand-in headers, which declare what host
code uses of CUDA's libraries and of PyTorch; `operator_headers` generates PyTorch's header for each operator. With
these, most files compile as with nvcc. If one does not, `editing` changes its text: `constants` and `rewriting` write
in another way what only nvcc reads, and, where a module asks for it, `leaving_out` takes the bodies of host functions
that no kernel depends on, which `preprocessed` tells. `blocks` finds the functions in a text, `own_files` reads the
files, and `edits` writes the changed ones.
"""
