"""How long processes and threads of the DataLoader wait before they check that the others are alive."""

MP_STATUS_CHECK_INTERVAL = 5.0  # seconds
