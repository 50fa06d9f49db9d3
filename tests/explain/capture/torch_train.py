"""Train a network in PyTorch/XLA, call it by torch.compile, and compile a graph by TorchInductor."""

import torch
import torch_xla

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
x = torch.ones(4)
# With options Inductor's function calls itself; the second graph is none of Inductor.
torch.compile(lambda x: x + 1, options={"max_autotune": False})(x)
torch.compile(lambda x: x - 1, backend="eager")(x)
