"""How long processes and threads of the DataLoader wait before they look whether the others still live."""

MP_STATUS_CHECK_INTERVAL = 5.0  # seconds
