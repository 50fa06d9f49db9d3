"""Measuring: the parent that spawns, caps and classifies; the child that times; the statistics."""
