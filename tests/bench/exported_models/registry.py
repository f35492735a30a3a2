"""The table of models: a name, a description, and a function that makes the model."""
import dataclasses
import typing

import torch


@dataclasses.dataclass
class Entry:
    name: str
    about: str
    make: typing.Callable  # returns (module, inputs), or for other libraries an onnx.ModelProto


MODELS = {}


def add(name, about, make):
    """Add a model by a function without parameters."""
    if name in MODELS:
        raise ValueError(f"two models are called {name}")
    MODELS[name] = Entry(name, about, make)


def model(about):
    """Add the decorated function under its own name."""

    def decorate(function):
        add(function.__name__, about, function)
        return function

    return decorate


class Selected(torch.nn.Module):
    """A module of transformers with positional inputs and a tuple of tensors as its result."""

    def __init__(self, module, names, select):
        super().__init__()
        self.module, self.names, self.select = module, names, select

    def forward(self, *inputs):
        return self.select(self.module(**dict(zip(self.names, inputs))))


def image(size, channels=3, batch=1):
    return (torch.randn(batch, channels, size, size),)


def tokens(length, vocabulary, batch=1):
    return torch.randint(0, vocabulary, (batch, length))
