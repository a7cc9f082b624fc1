"""Names the formats as engines of xarray when the package is built, for ``open_dataset(engine="hpcg")``."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class CustomMetadataHook(MetadataHookInterface):
    """Adds the entry points of the group ``xarray.backends``."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add them to the project's metadata."""
        listing = runpy.run_path(str(Path(self.root) / "src/analysis/readers/format.py"))
        engines = {name: f"analysis.readers.engines:{name}" for name in listing["modules"]()}
        metadata["entry-points"] = {"xarray.backends": engines}
