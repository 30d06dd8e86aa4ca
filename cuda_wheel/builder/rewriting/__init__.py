"""Compile files that contain host code, unedited: NVRTC's front end itself reads the host code.

`front_end` has the options with which NVRTC accepts host code. `builder.headers` has stand-in headers, which declare
what host code uses of CUDA's libraries and of PyTorch; `project_texts` generates PyTorch's header for each operator.
With these, most files compile as with nvcc. If one does not, `editing` changes its text: `constants`, `declarations`
and `expressions` rewrite what nvcc accepts and NVRTC does not. Where a module asks for it, `leaving_out` removes the
bodies of host functions that no kernel depends on; `preprocessed` finds these dependences. `blocks` finds the functions
in a text; `project_texts` reads the files, and writes the changed ones.
"""
