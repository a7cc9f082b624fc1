"""Flags of compilers in names of files and folders: ``O3-xHost-ipo``, ``O2_march_native``, ``haswell-O2``."""

import re

from analysis.schema.factors import TABLE

_S, _E = r"(?<![A-Za-z0-9.])", r"(?![A-Za-z0-9])"
_LEVEL = r"O[0-3sgz]|Ofast"
# What nothing but a compiler is given, and what may be meant beside such a flag or a level.
_SURE = (
    r"x(?:Host|SSE\d\.\d|(?:CORE-?)?AVX[-\d\w]*)|m(?:arch|tune|cpu)[-_=][a-z][a-z0-9]*(?:-avx512)?"
    r"|qipo|f?(?:no-?)?lto|funroll(?:-(?:all-)?loops)?|f?fast-?math|ftree-vectorize|fno-[a-z]+(?:-[a-z]+)*"
    r"|fp-model[-_=](?:fast|precise|strict)|no-prec-div|qopt-[a-z]+(?:-[a-z]+)*|fomit-frame-pointer"
)
_BESIDE = r"ipo|pgo|unroll(?:ed)?|native|m?avx(?:2|512\w*)?|m?sse4?(?:\.\d)?|m?fma|fopenmp"
_FLAG = rf"(?:{_SURE}|{_BESIDE}|{_LEVEL})"
_FLAGS = re.compile(rf"{_S}-{{0,2}}({_FLAG}(?:[-_., +]{{1,3}}{_FLAG})*){_E}")
_SURELY = re.compile(rf"{_S}(?:{_SURE}){_E}")
OPTIMISED = re.compile(rf"{_S}(?:{_LEVEL}){_E}")
# The processor that a compiler optimises for is not what ran the program.
_TARGETS = "|".join(pattern for one in TABLE if one.name == "cpu" for pattern, _ in one.words)
_TARGET = rf"(?i:{_TARGETS}|neoverse[-_]?[a-z]\d|cortex[-_]?[a-z]\d+|znver\d)"
_TARGETED = re.compile(rf"{_S}({_TARGET}[-_.]-?(?:{_LEVEL})|(?:{_LEVEL})[-_.]{_TARGET}){_E}")
MOLECULES = {"O2", "O3"}  # of oxygen; a level of optimisation has no other meaning if it is another one


def found(text: str) -> list[str]:
    """Return the flags in a name that can be nothing else, neighbours as one text."""
    texts = [match[1] for match in _TARGETED.finditer(text)]
    rest = _TARGETED.sub(" ", text)
    texts += [match[1] for match in _FLAGS.finditer(rest) if _are_sure(match[1])]
    return texts


def _are_sure(text: str) -> bool:
    """Tell whether one of several flags is surely one, or beside a level of optimisation."""
    level = OPTIMISED.search(text)
    return _SURELY.search(text) is not None or (level is not None and level[0] != text)
