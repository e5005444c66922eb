"""What wakes the eraser of this process: an approval, or a hold that was released."""

from __future__ import annotations

import threading

# Set when there may be something to erase.
waiting = threading.Event()
