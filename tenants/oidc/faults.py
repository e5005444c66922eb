"""The words of what is wrong with a provider, in the language of the page; the log keeps the English ones."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from memoryhub.languages import parts_of

# Faults that the protocols give (`tenants/oidc/protocol.py`, `tenants/saml/protocol.py`), which follow a colon.
FAULTS: Final = frozenset({
    gettext_noop("it did not sign you in"),
    gettext_noop("it does not answer with JSON"),
    gettext_noop("it gives you another name at each sign-in; have it send a lasting NameID"),
    gettext_noop("it is no certificate"),
    gettext_noop("it is not the metadata of one provider with a sign-in page and certificates"),
    gettext_noop("it is too long"),
    gettext_noop("its answer has a document type"),
    gettext_noop("its answer is no response"),
    gettext_noop("its answer is no XML"),
    gettext_noop("its answer is not valid"),
    gettext_noop("its answer must have one assertion"),
    gettext_noop("its answers are about two people"),
    gettext_noop("its assertion does not say that you signed in"),
    gettext_noop("its assertion has a time that is none"),
    gettext_noop("its assertion has no end"),
    gettext_noop("its assertion is encrypted; have it signed only"),
    gettext_noop("its assertion is for another address"),
    gettext_noop("its assertion is for another audience"),
    gettext_noop("its assertion is of another issuer"),
    gettext_noop("its assertion is over"),
    gettext_noop("its assertion is over, or the clocks differ"),
    gettext_noop("its assertion names nobody"),
    gettext_noop("its configuration is not that of this issuer"),
    gettext_noop("its ID token answers another request"),
    gettext_noop("its ID token is for another client"),
    gettext_noop("its ID token is signed with a key that it does not publish"),
    gettext_noop("its secret cannot be decrypted"),
    gettext_noop("its sign-in page has an address that is not allowed"),
    gettext_noop("its signature is of something else"),
    gettext_noop("too many people sign in at once"),
})  # fmt: skip
_COMPOSED: Final = (
    gettext_noop("it does not answer (%(fault)s)"),
    gettext_noop("its answer is not signed by it (%(fault)s)"),
    gettext_noop("its answer is not valid (%(fault)s)"),
    gettext_noop("its ID token is not valid (%(fault)s)"),
)


def provider_fault_words(fault: str) -> str:
    """The fault for the reader; one without words stays as it is."""
    if fault in FAULTS:
        return _(fault)
    for composed in _COMPOSED:
        if (parts := parts_of(composed, fault)) is not None:
            return _(composed) % parts
    return fault
