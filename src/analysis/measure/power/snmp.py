"""Outlets of a PDU over SNMP, asked with net-snmp's snmpget."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from analysis.measure.power.config import MeterSpec
from analysis.measure.power.credentials import Secret
from analysis.measure.power.meters import Context, Meter, MeterError, quantity, watts


class SnmpMeter(Meter):
    """Numeric objects of one agent, all in one request.

    An argument of snmpget could be read by everybody on the node: community and pass phrases are in its
    configuration file, which exists in memory only and is inherited as an open file.
    """

    location = "rack outlet, by the PDU"

    def __init__(self, spec: MeterSpec, context: Context) -> None:
        super().__init__(spec, context)
        options = spec.options
        self._feeds, self._objects = _outlets(spec)
        self._scale = _watts_per_count(spec)
        self._settings = _settings(spec, context)
        # Of the private folder only a link is used, and what net-snmp keeps for itself.
        self._folder = Path(tempfile.mkdtemp(prefix="benchbook-snmp-"))
        pause = max(1, int(context.timeout / 2))
        self._argv = [str(options.get("program", "snmpget")), f"-v{options['version']}", "-Oqv"]
        self._argv += ["-t", str(pause), "-r", "0", f"udp:{options['host']}:{options.get('port', 161)}"]

    def names(self) -> list[str]:
        """Return the objects, ``<meter>:<label>``."""
        return list(self._objects)

    def feeds(self) -> dict[str, str]:
        """Return the node of each outlet that feeds one."""
        return self._feeds

    def read(self) -> dict[str, float]:
        """Return the power of every object; one that the agent lacks is left out."""
        with self._configured() as fd:
            place = str(self._folder)
            kept = {"SNMPCONFPATH": place, "SNMP_PERSISTENT_DIR": place, "MIBS": "", "MIBDIRS": place}
            text = self.run([*self._argv, *self._objects.values()], kept, (fd,))
        lines = text.splitlines()
        if len(lines) != len(self._objects):
            raise MeterError(f"{len(lines)} answers to {len(self._objects)} objects")
        found, why = {}, ""
        for name, line in zip(self._objects, lines, strict=True):
            try:
                found[name] = watts(line.strip().strip('"'), self._scale)
            except MeterError as error:
                why = str(error)
        if not found:
            raise MeterError(why)
        return found

    @contextlib.contextmanager
    def _configured(self) -> Iterator[int]:
        """Hold snmpget's configuration as an open file in memory that the private folder points at."""
        fd = os.memfd_create("snmp.conf")
        try:
            os.write(fd, "".join(f"{key} {_text(value)}\n" for key, value in self._settings).encode())
            link = self._folder / "snmp.conf"
            link.unlink(missing_ok=True)
            link.symlink_to(f"/proc/self/fd/{fd}")
            yield fd
        finally:
            os.close(fd)

    def close(self) -> None:
        """Remove the private folder."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _outlets(spec: MeterSpec) -> tuple[dict[str, str], dict[str, str]]:
    """Return the node and the OID of each reading by its name; of two cords of a node each is one."""
    feeds: dict[str, str] = {}
    objects = {f"{spec.name}:{label}": str(oid) for label, oid in spec.options.get("objects", {}).items()}
    for node, oids in spec.options.get("nodes", {}).items():
        several = isinstance(oids, list) and len(oids) > 1
        for number, oid in enumerate(oids if isinstance(oids, list) else [oids], 1):
            name = f"{spec.name}:{node}" + (f":{number}" if several else "")
            feeds[name], objects[name] = node, str(oid)
    return feeds, objects


def _watts_per_count(spec: MeterSpec) -> float:
    text = str(spec.options.get("unit", "W"))
    count, factor = quantity(text)
    scale = (1.0 if count is None else count) * (factor or 0.0)
    if not scale > 0:
        raise spec.error(f"the unit {text!r} is no power", "write W, kW or what a count is, like 0.1 W")
    return scale


def _settings(spec: MeterSpec, context: Context) -> list[tuple[str, str | Secret]]:
    """Return the lines of net-snmp's configuration for this agent."""
    options = spec.options
    if options["version"] == "2c":
        community = context.secret(spec, "community")
        assert community is not None  # the schema sees to it
        return [("defCommunity", community)]
    settings: list[tuple[str, str | Secret]] = [
        ("defSecurityName", options["user"]),
        ("defSecurityLevel", "authPriv" if "privacy" in options else "authNoPriv"),
        ("defAuthType", options["auth"]),
    ]
    for key, name in (("defAuthPassphrase", "auth_password"), ("defPrivPassphrase", "privacy_password")):
        secret = context.secret(spec, name)
        if secret is not None:
            if len(secret.reveal()) < 8:
                raise spec.error(f"{name} is shorter than 8 characters", "SNMPv3 asks for 8 or more")
            settings.append((key, secret))
    if "privacy" in options:
        settings.append(("defPrivType", options["privacy"]))
    return settings


def _text(value: str | Secret) -> str:
    return f'"{value.reveal()}"' if isinstance(value, Secret) else value
