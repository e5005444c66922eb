"""How Django writes dates and times, by language (the setting FORMAT_MODULE_PATH)."""
