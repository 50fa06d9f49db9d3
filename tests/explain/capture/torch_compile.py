"""Call a network that torch.compile gives to PyTorch/XLA."""

import torch
import torch_xla

device = torch_xla.device()
model = (
    torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.Tanh(), torch.nn.Linear(512, 16)).to(device).eval()
)
call = torch.compile(model, backend="openxla")
x = torch.randn(64, 256).to(device)
torch_xla.sync()
with torch.no_grad():
    for _ in range(6):
        result = call(x)
        torch_xla.sync()
print(result.cpu().shape)
