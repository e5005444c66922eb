"""The offline responder: a deterministic stand-in for a language model, labelled as such."""

from memories.agent.offline.responder import OfflineResponder

__all__ = ["OfflineResponder"]
