"""The glue: settings, environment, addresses, health. No models."""
