"""`runner` is no part of the installed package."""

import sys
from pathlib import Path

if (root := str(Path(__file__).resolve().parents[2])) not in sys.path:
    sys.path.append(root)
