"""Whether two facts can both hold: by conservative rules, or by a model.

It stands above `hygiene` because it reads facts with the slots and the vocabulary of the consolidation. Pure: whoever
asks decides what becomes of the facts (`services/contradictions.py`).
"""
