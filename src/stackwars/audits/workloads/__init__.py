"""Workloads that only an audit runs; the paper's are in `stackwars.workloads`."""
