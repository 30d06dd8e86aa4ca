"""CMake's side of cuda-wheel: `CudaWheel.cmake`, found through the entry point `cmake.module`, and its Python."""
