"""Demangle symbols of the Itanium C++ ABI: kernels and variables as a programmer wrote them.

`signatures.signature` is the entry. A reader turns a symbol into nodes (`nodes`) by recursive descent: `cursor` holds
the position and reads the terminals of the grammar; `names`, `types` and `expressions` read its rules. `writer` turns
the nodes into C++.
"""
