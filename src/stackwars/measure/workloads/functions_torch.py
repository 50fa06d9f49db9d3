"""The torch modules of a program file: a function of tensors, or a module whose parameters are inputs.

Neither has parameters of its own: an input takes the place of each in every call, as a weight of the other APIs' forms
is an input too.
"""

import torch
from torch import nn


class Program(nn.Module):
    """The file's function `torch`."""

    def __init__(self, workload):
        super().__init__()
        self.workload, self.without_weights = workload, nn.Module()

    def forward(self, *tensors):
        return self.workload.call("torch", *tensors)

    def place(self, put):
        """Nothing is to be placed."""


class ProgramOfModule(Program):
    """The module that the file's `torch_module` returns.

    names: {name of a parameter: input}. Raises the file's error for names that the module does not have.
    """

    def __init__(self, workload, module, names):
        super().__init__(workload)
        own = [*dict(module.named_parameters(remove_duplicate=False)), *dict(module.named_buffers())]
        known = [name for name, _ in module.named_parameters()]
        unknown = [name for name in names if name not in own]
        missing = [name for name in known if name not in names]
        if unknown or missing:
            got = f"no such {', '.join(unknown)}" if unknown else f"no input for {', '.join(missing)}"
            expected = f"NAMES to name every parameter of the module ({', '.join(known)})"
            raise workload.error("torch_module", expected, got, "NAMES")
        self.module, self.names = module, names
        inputs = list(workload.INPUTS)
        self.parameter_places = [(name, inputs.index(one)) for name, one in names.items()]
        self.places = [place for place, one in enumerate(inputs) if one not in names.values()]
        for name in names:
            owner, _, last = name.rpartition(".")
            leaves = module.get_submodule(owner)
            (leaves._parameters if last in leaves._parameters else leaves._buffers).pop(last)

    def forward(self, *tensors):
        parameters = {name: tensors[place] for name, place in self.parameter_places}
        returned = torch.func.functional_call(self.module, parameters, tuple(tensors[i] for i in self.places))
        return self.workload.results("torch_module", returned)

    def place(self, put):
        """Place the constants that the module keeps as buffers."""
        for owner in self.module.modules():
            for name, constant in owner._buffers.items():
                if constant is not None:
                    owner._buffers[name] = put(constant.numpy())
