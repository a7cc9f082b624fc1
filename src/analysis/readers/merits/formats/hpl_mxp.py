"""HPL-MxP (once HPL-AI) as NVIDIA's program prints it: ``GFLOPS``, ``per GPU`` and ``LU GFLOPS``."""

from __future__ import annotations

from analysis.readers.merits.output import Format, Merit

FORMAT = Format(
    engine="hpl_mxp",
    tool="HPL-MxP",
    marks=(b"HPL-MxP-NVIDIA", b"HPL-AI-NVIDIA"),
    merits=(
        Merit("GFLOPS", r"^\s*GFLOPS = *(?P<value>[^\s,]+)", "Gflop/s"),
        Merit("GFLOPS per GPU", r"^\s*GFLOPS = *\S+ +per GPU = *(?P<value>[^\s,]+)", "Gflop/s"),
        Merit("LU GFLOPS", r"^\s*LU GFLOPS = *(?P<value>[^\s,]+)", "Gflop/s"),
    ),
    main="GFLOPS",
    closing=r"^\s*LU GFLOPS = .*\n",
    closed_by="'LU GFLOPS = ...'",
    opening=r"^\s*HPL-(?:MxP|AI)-NVIDIA",
    facts={"version": r"^\s*HPL-(?:MxP|AI)-NVIDIA +(\S+)"},
    starts=r"^\s*HPL-(?:MxP|AI)-NVIDIA",
    passed=r"^\s*\|\|Ax-b\|\|_oo.*\.\.\. PASSED",
    failed=r"^\s*\|\|Ax-b\|\|_oo.*\.\.\. FAILED",
)
sniff, parse = FORMAT.sniff, FORMAT.parse
