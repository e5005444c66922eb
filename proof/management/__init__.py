"""The management command of the proof."""
