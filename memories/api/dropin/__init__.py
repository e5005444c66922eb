"""Drop-ins: the APIs of OpenAI and Anthropic, passed on to their own models with memory added (docs/drop-in.md)."""
