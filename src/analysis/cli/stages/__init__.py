"""The workflow's stages, one module each."""
