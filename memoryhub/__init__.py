"""The Django project: settings, environment, URLs, health, logging, background jobs. No models."""
