"""The sampler: every meter at its own steady pace; one that is lost is asked again, ever more rarely."""

import resource
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from analysis.measure.power.config import PowerConfig, here
from analysis.measure.power.credentials import redact
from analysis.measure.power.meters import Context, Meter, MeterError
from analysis.measure.power.output import LogFile, stamp

Say = Callable[[str], None]

# s that meters have for the first reading before the job begins, and for the last after it has ended.
_FIRST, _LAST = 10.0, 3.0


@dataclass(slots=True)
class MeterState:
    """What became of one meter."""

    meter: Meter
    readings: int = 0  # ticks with a value
    blank: int = 0  # and without
    missed: int = 0  # and those that passed while the reading before was still on its way
    failures: int = 0  # since the last reading
    retry: float = 0.0  # time (monotonic, s) before which a lost meter is not asked
    gaps: list[dict[str, str]] = field(default_factory=list)  # start, end (not while it lasts), reason


class Sampler:
    """Reads meters until it is stopped; `logs` are where powers (False) and counters (True) go."""

    def __init__(
        self,
        config: PowerConfig,
        meters: list[Meter],
        logs: Mapping[bool, LogFile],
        context: Context,
        say: Say,
    ) -> None:
        self.config, self.logs, self.context, self.say = config, logs, context, say
        self.tracks = [MeterState(meter) for meter in meters]
        self._started = 0

    def run(self, stop: threading.Event, begun: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Sample until `stop` is set; return the summary. `begun` is called once every meter was asked."""
        self._started = time.time_ns()
        begin = time.monotonic()
        asked = threading.Semaphore(0)
        threads = [
            threading.Thread(
                target=self._loop,
                args=(track, begin, stop, asked.release),
                daemon=True,
                name=track.meter.name,
            )
            for track in self.tracks
        ]
        for thread in threads:
            thread.start()
        for _ in threads:
            asked.acquire(timeout=max(0.0, begin + min(self.config.timeout, _FIRST) - time.monotonic()))
        begun()
        stop.wait()
        self._end(threads)
        return self.summary(ended=True)

    def _end(self, threads: list[threading.Thread]) -> None:
        """Give the meters the time for a last reading; nobody waits longer."""
        latest = time.monotonic() + min(self.config.timeout, _LAST)
        for thread in threads:
            thread.join(max(0.0, latest - time.monotonic()))
        self.context.commands.end()
        latest = time.monotonic() + 1.0
        for thread in threads:
            thread.join(max(0.0, latest - time.monotonic()))
        for log in self.logs.values():
            log.close()
        for track in self.tracks:
            track.meter.close()

    def _loop(
        self, track: MeterState, begin: float, stop: threading.Event, asked: Callable[[], None]
    ) -> None:
        tick = 0
        while not stop.is_set():
            # From the first tick, not from the last reading: delays do not add up.
            due = begin + tick * self.config.period
            if stop.wait(max(0.0, due - time.monotonic())):
                break
            self._tick(track, stop)
            if tick == 0:
                asked()
            late = int((time.monotonic() - due) / self.config.period)
            if late:
                track.missed += late
                if not track.failures:
                    self.say(f"{track.meter.name}: a reading took {late + 1} periods, {late} tick(s) missed")
            tick += 1 + late
        if not track.failures:  # the readings reach over the end of the job
            self._tick(track, stop)

    def _tick(self, track: MeterState, stop: threading.Event) -> None:
        before = time.time_ns()
        now = time.monotonic()
        if now < track.retry:
            self._blank(track, before, f"not asked: lost, next try in {track.retry - now:.1f} s")
            return
        try:
            values = track.meter.read()
        except MeterError as error:
            reason = str(error)
        except Exception as error:  # a fault of ours must not cost the other meters their readings
            reason = f"unexpected {type(error).__name__}: {error}"
        else:
            # The reading was taken somewhere between question and answer.
            self._write_reading(track, (before + time.time_ns()) // 2, values)
            return
        if not stop.is_set():  # what the end of the sampler cut short is no gap
            self._lost(track, before, redact(reason, self.context.secrets))

    def _write_reading(self, track: MeterState, when: int, values: Mapping[str, float]) -> None:
        if track.failures:
            gap = track.gaps[-1]
            gap["end"] = stamp(when)
            self.say(f"{track.meter.name}: back at {gap['end']}, lost since {gap['start']}")
        track.failures, track.retry = 0, 0.0
        track.readings += 1
        absent = [(name, None, "no value") for name in track.meter.names() if name not in values]
        self._write(track, when, [*((name, value, "") for name, value in values.items()), *absent])

    def _lost(self, track: MeterState, when: int, reason: str) -> None:
        if not track.failures:
            track.gaps.append({"start": stamp(when), "reason": reason})
            self.say(f"{track.meter.name}: lost at {stamp(when)}: {reason}")
        wait = min(self.config.period * 2.0**track.failures, self.config.longest_wait)
        track.failures = min(track.failures + 1, 60)
        # Half a period early, or the tick at which it is due would find it not yet due.
        track.retry = time.monotonic() + wait - 0.5 * self.config.period
        self._blank(track, when, reason)

    def _blank(self, track: MeterState, when: int, note: str) -> None:
        track.blank += 1
        self._write(track, when, [(name, None, note) for name in track.meter.names()])

    def _write(self, track: MeterState, when: int, rows: list[tuple[str, float | None, str]]) -> None:
        try:
            self.logs[track.meter.counts].add(when, rows)
        except OSError as error:
            self.say(f"{track.meter.name}: a reading at {stamp(when)} could not be written: {error.strerror}")

    def summary(self, *, ended: bool = False) -> dict[str, Any]:
        """Return what was sampled so far; no secret and no user is in it."""
        usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return {
            "started": stamp(self._started or time.time_ns()),
            "ended": stamp(time.time_ns()) if ended else None,
            "period": self.config.period,
            "nodes": list(self.config.nodes),
            "host": here(),
            "cpu_seconds": round(sum(one.ru_utime + one.ru_stime for one in usage), 3),
            "warnings": list(self.context.warnings),
            "meters": [_described(track) for track in self.tracks],
        }


def _described(track: MeterState) -> dict[str, Any]:
    """Say what a meter is, for the readers, and what became of it."""
    meter = track.meter
    return {
        "name": meter.name,
        "type": meter.spec.type,
        "node": meter.spec.node,
        "feeds": dict(meter.feeds()),
        "apart": meter.overlapping(),
        "reading": "energy counter" if meter.counts else "instantaneous",
        "location": meter.spec.options.get("location", meter.location),
        "accuracy": meter.spec.options.get("accuracy"),
        "readings": track.readings,
        "blank": track.blank,
        "missed": track.missed,
        "gaps": track.gaps,
    }
