"""Readers of figures of merit: one module per program in `formats`, one contract, the rest shared."""
