"""Makes `runner`, which is not in the installed package, importable for these tests."""

import sys
from pathlib import Path

if (root := str(Path(__file__).resolve().parents[2])) not in sys.path:
    sys.path.append(root)
