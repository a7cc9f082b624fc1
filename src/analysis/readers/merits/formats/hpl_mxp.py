"""HPL-MxP (once HPL-AI) as NVIDIA's program prints it: ``GFLOPS``, ``per GPU`` and ``LU GFLOPS``."""

from analysis.readers.merits.output import Merit, TextFormat

_BANNER = r"^\s*HPL-(?:MxP|AI)-NVIDIA"

FORMAT = TextFormat(
    engine="hpl_mxp", tool="HPL-MxP", marks=(b"HPL-MxP-NVIDIA", b"HPL-AI-NVIDIA"), near=r"HPL-(?:MxP|AI)",
    merits=(
        Merit("GFLOPS", r"^\s*GFLOPS = *(?P<value>[^\s,]+)", "Gflop/s"),
        Merit("GFLOPS per GPU", r"^\s*GFLOPS = *\S+ +per GPU = *(?P<value>[^\s,]+)", "Gflop/s"),
        Merit("LU GFLOPS", r"^\s*LU GFLOPS = *(?P<value>[^\s,]+)", "Gflop/s"),
    ),
    figure_of_merit="GFLOPS", unit="Gflop/s", closing=r"^\s*LU GFLOPS = .*\n",
    closed_by="'LU GFLOPS = ...'", opening=_BANNER, facts={"version": rf"{_BANNER} +(\S+)"}, starts=_BANNER,
    passed=r"^\s*\|\|Ax-b\|\|_oo.*\.\.\. PASSED", failed=r"^\s*\|\|Ax-b\|\|_oo.*\.\.\. FAILED",
)  # fmt: skip
