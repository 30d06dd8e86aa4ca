"""Read C++ as text: tokens, macros, definitions, kernels, parameter types, and mangled symbols."""
