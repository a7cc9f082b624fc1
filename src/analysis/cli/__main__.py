"""``python -m analysis.cli`` is ``benchbook``."""

from analysis.cli import main

raise SystemExit(main())
