"""``python -m analysis.site.kernels --log FILE STAGE ...`` is ``benchbook stage``, and starts faster.

The words go to the process that a build keeps warm, and are read there: to import a command line takes
longer than all else that a stage does here. Where there is no such process, the command line does all.
"""

import os
import signal
import sys

from analysis.site.kernels import ask, say


def main(words: list[str]) -> int:
    """Carry out a stage; return 1 if it failed, after what its log says."""
    _, log, *stage = words
    order = {
        "prepared": stage[0] == "page",
        "function": "analysis.cli.stages:ordered",
        "before": "analysis.cli.stages:foreseen",
        "given": {"words": stage},
        "cwd": os.getcwd(),  # noqa: PTH109
    }
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word: the build has one
    try:
        stream = open(log, "wb")  # noqa: PTH123, SIM115
    except OSError as error:
        sys.exit(f"{log}: cannot be written ({error.strerror}); give the log another place")
    with stream:
        fault = ask(order, stream.fileno())
    if fault is None:
        import importlib

        signal.signal(signal.SIGINT, signal.default_int_handler)
        status: int = importlib.import_module("analysis.cli").main(["stage", *words])
        return status
    return say(fault, log)


raise SystemExit(main(sys.argv[1:]))
