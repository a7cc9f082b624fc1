"""Meters that a node has for itself: RAPL, GPUs, and Slurm's own energy accounting."""

import re
from pathlib import Path

from analysis.measure.power.config import MeterSpec
from analysis.measure.power.meters import Context, Meter, MeterError, quantity

_ZONE = re.compile(r"intel-rapl(:\d+)+")
_ADDS = re.compile(r"(package-\d+(-die-\d+)?|dram)(:\d+)+")


class PowercapMeter(Meter):
    """RAPL's energy counters in the powercap tree of this node."""

    counts = True
    location = "CPU package, by RAPL"

    def __init__(self, spec: MeterSpec, context: Context) -> None:
        super().__init__(spec, context)
        self._zones = self._find(Path(spec.options.get("root", "/sys/class/powercap")))
        if not self._zones:
            context.warnings.append(f"{self.name}: no RAPL zone on this node, the log will be blank")

    def _find(self, root: Path) -> dict[str, Path]:
        zones: dict[str, Path] = {}
        # A zone inside another (dram of package-0) is called intel-rapl:0:1.
        found = (path for path in root.glob("intel-rapl:*") if _ZONE.fullmatch(path.name))
        for path in sorted(found, key=lambda p: [int(n) for n in p.name.split(":")[1:]]):
            try:
                label = (path / "name").read_text(encoding="ascii").strip()
            except OSError:
                continue
            number = path.name.partition(":")[2]
            zones[f"{self.name}:{label}:{number}"] = path
        return zones

    def names(self) -> list[str]:
        """Return the zones, ``<meter>:package-0:0``."""
        return list(self._zones) or [self.name]

    def overlapping(self) -> list[str]:
        """Return all zones but packages and DRAM: cores lie within a package, the platform around it."""
        return [name for name in self._zones if not _ADDS.fullmatch(name.removeprefix(f"{self.name}:"))]

    def ranges(self) -> dict[str, int]:
        """Return the range of each zone's counter in µJ."""
        found = {}
        for name, path in self._zones.items():
            try:
                found[name] = int((path / "max_energy_range_uj").read_text(encoding="ascii"))
            except (OSError, ValueError):
                self.context.warnings.append(f"{name}: no range, a wrap will look like a reset")
        return found

    def read(self) -> dict[str, float]:
        """Return the counters."""
        if not self._zones:
            raise MeterError("no RAPL zone on this node")
        try:
            return {
                name: float(int((path / "energy_uj").read_text(encoding="ascii")))
                for name, path in self._zones.items()
            }
        except PermissionError:
            raise MeterError("energy_uj is open to root only; let the site open it to a group") from None
        except (OSError, ValueError) as error:
            raise MeterError(f"energy_uj: {error}") from None


class NvidiaSmiMeter(Meter):
    """The GPUs of this node."""

    location = "GPU board, by its driver"

    def read(self) -> dict[str, float]:
        """Return the power of each GPU, ``<meter>:gpu0``; one that answers [N/A] is left out."""
        field_name = self.spec.options.get("field", "power.draw")
        argv = [str(self.spec.options.get("program", "nvidia-smi")), f"--query-gpu=index,{field_name}"]
        found = {}
        for line in self.run([*argv, "--format=csv,noheader,nounits"]).splitlines():
            index, _, cell = line.partition(",")
            value, _ = quantity(cell)
            if value is not None and index.strip().isdigit():
                found[f"{self.name}:gpu{index.strip()}"] = value
        if not found:
            raise MeterError("nvidia-smi lists no power")
        return self.found(found)


class SlurmMeter(Meter):
    """The power of a node by Slurm's own energy accounting."""

    location = "node, by Slurm's energy plugin"

    def read(self) -> dict[str, float]:
        """Return ``CurrentWatts`` of the node; 0 and n/s stand for no plugin."""
        program = str(self.spec.options.get("program", "scontrol"))
        text = self.run([program, "--oneliner", "show", "node", str(self.spec.options["node"])])
        cells = dict(cell.partition("=")[::2] for cell in text.split())
        watts = cells.get("CurrentWatts", "")
        if not watts.isdigit() or watts == "0":
            raise MeterError(f"CurrentWatts={watts or 'absent'}: no energy plugin on this node")
        return {self.name: float(watts)}
