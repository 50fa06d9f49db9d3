"""Train a network in PyTorch/XLA, call it by torch.compile, and compile a graph by TorchInductor."""

import torch
import torch_xla
from torch._inductor import compile_fx

torch.manual_seed(0)
device = torch_xla.device()
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.Tanh(), torch.nn.Linear(512, 16)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
x, y = torch.randn(64, 256).to(device), torch.randn(64, 16).to(device)
torch_xla.sync()
for _ in range(10):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    torch_xla.sync()
print("trained", loss.item())
call = torch.compile(model.eval(), backend="openxla")
with torch.no_grad():
    for _ in range(6):
        result = call(x)
        torch_xla.sync()
print(result.cpu().shape)


def inductor(graph, inputs):
    """Compile by TorchInductor, which calls itself if it has options, without its C++, which takes ten seconds."""
    options = {"max_autotune": False}
    return compile_fx.compile_fx(
        graph, inputs, inner_compile=lambda graph, *_, **__: graph.forward, config_patches=options
    )


x = torch.ones(4)
torch.compile(lambda x: x + 1, backend=inductor)(x)
torch.compile(lambda x: x - 1, backend="eager")(x)
