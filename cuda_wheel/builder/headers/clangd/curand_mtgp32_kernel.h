// For clangd without cuRAND's headers: clang's wrapper of CUDA's headers includes this one.
