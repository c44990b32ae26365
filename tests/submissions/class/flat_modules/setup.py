from setuptools import setup

setup(
    name="assignment1",
    version="0.1",
    py_modules=["attn", "bpe", "lm", "norm", "ops"],
    install_requires=["torch", "heapdict"],
)
