"""Stack Wars: JAX and PyTorch through one compiler, measured and compared."""
