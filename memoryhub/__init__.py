"""The Django project: settings, environment, URLs, health, logging, background jobs. No models."""

__version__ = "0.1.0"
