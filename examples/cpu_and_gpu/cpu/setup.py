import torch
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

release = ".".join(torch.__version__.split(".")[:2])
setup(
    # the C++ interface changes with PyTorch's releases
    install_requires=["demo == 1.0", f"torch == {release}.*"],
    ext_modules=[
        CppExtension("demo_cpu._C", ["csrc/scaled_add.cpp"], py_limited_api=True),
    ],
    cmdclass={"build_ext": BuildExtension},
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
