"""Memories, and proposals to forget some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from memoryhub_client.calls import C, Call, Resource, as_json, at, delete, endpoint, get, paged, patch, post, upload
from memoryhub_client.types import (
    Batch,
    Chain,
    Contradiction,
    ExportFormat,
    Fact,
    Filters,
    ForgetProposal,
    Forgotten,
    ForgottenAll,
    Imported,
    Kind,
    Memory,
    NewMemory,
    Playbook,
    Scope,
    Status,
    Written,
)


class Memories(Resource[C]):
    """The owner's memories."""

    @endpoint
    def write(
        self,
        text: str,
        *,
        key: str | None = None,
        category: str | None = None,
        source: str | None = None,
        confidence: float | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        learned_at: datetime | None = None,
        supporting_episode_ids: Sequence[str] | None = None,
        supersedes_ids: Sequence[str] | None = None,
        contradiction: Contradiction | None = None,
        scope: Scope | None = None,
        task: str | None = None,
        pinned: bool | None = None,
        review_after: datetime | None = None,
        expires_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        reason: str | None = None,
    ) -> Call[Written]:
        """Store a fact. It merges into an equal one, and supersedes the current one with the same `key`."""
        return post(
            "/memories/",
            kind="semantic",
            text=text,
            key=key,
            category=category,
            source=source,
            confidence=confidence,
            valid_from=valid_from,
            valid_to=valid_to,
            learned_at=learned_at,
            supporting_episode_ids=supporting_episode_ids,
            supersedes_ids=supersedes_ids,
            contradiction=contradiction,
            scope=scope,
            task=task,
            pinned=pinned,
            review_after=review_after,
            expires_at=expires_at,
            metadata=metadata,
            reason=reason,
        )

    @endpoint
    def write_playbook(
        self,
        title: str,
        *,
        steps: Sequence[str] | None = None,
        text: str | None = None,
        trigger: str | None = None,
        category: str | None = None,
        supersedes_ids: Sequence[str] | None = None,
        contradiction: Contradiction | None = None,
        success_count: int | None = None,
        failure_count: int | None = None,
        last_success_at: datetime | None = None,
        last_failure_at: datetime | None = None,
        learned_at: datetime | None = None,
        scope: Scope | None = None,
        task: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        reason: str | None = None,
    ) -> Call[Written]:
        """Store a procedure that works: a title, with steps or a text."""
        return post(
            "/memories/",
            kind="procedural",
            title=title,
            steps=steps,
            text=text,
            trigger=trigger,
            category=category,
            supersedes_ids=supersedes_ids,
            contradiction=contradiction,
            success_count=success_count,
            failure_count=failure_count,
            last_success_at=last_success_at,
            last_failure_at=last_failure_at,
            learned_at=learned_at,
            scope=scope,
            task=task,
            metadata=metadata,
            reason=reason,
        )

    @endpoint
    def write_episode(
        self,
        text: str,
        *,
        session_id: str,
        name: str | None = None,
        context: str | None = None,
        happened_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Call[Written]:
        """Store what was said in a session, verbatim. `name` is who said it, if it was not the owner."""
        return post(
            "/memories/",
            kind="episodic",
            text=text,
            session_id=session_id,
            name=name,
            context=context,
            happened_at=happened_at,
            metadata=metadata,
        )

    @endpoint
    def write_catalog_entry(
        self, title: str, text: str, *, source_url: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> Call[Written]:
        """Store knowledge that the tenant shares; for administrators."""
        return post("/memories/", kind="catalog", title=title, text=text, source_url=source_url, metadata=metadata)

    @endpoint
    def batch(self, memories: Sequence[NewMemory]) -> Call[Batch]:
        """Store up to 1,000 memories in this order, each with its own result; one that is refused stops no other."""
        return post("/memories/batch/", memories=memories)

    @paged
    def list(
        self,
        kind: Kind = "semantic",
        *,
        status: Sequence[Status] | None = None,
        q: str | None = None,
        category: str | None = None,
        key: str | None = None,
        session: str | None = None,
        shared: bool | None = None,
        filters: Filters | None = None,
        as_of: datetime | None = None,
        limit: int | None = None,
    ) -> Call[Memory]:
        """List memories of one kind: current ones unless `status` says otherwise, or those believed at `as_of`.

        `limit` is the size of a page.
        """
        return get(
            "/memories/",
            kind=kind,
            status=status,
            q=q,
            category=category,
            key=key,
            session=session,
            shared=shared,
            filters=as_json(filters),
            as_of=as_of,
            limit=limit,
        )

    @endpoint
    def get(self, memory_id: str) -> Call[Memory]:
        """Read a memory of any kind and status."""
        return get(at("memories", memory_id))

    @endpoint
    def chain(self, memory_id: str) -> Call[Chain]:
        """Read the history of a memory: all states linked by supersession or undo, oldest first."""
        return get(at("memories", memory_id, "chain"))

    @endpoint
    def correct(
        self, memory_id: str, text: str, *, reason: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> Call[Written]:
        """State the right text of a memory that was wrong; the old one stays in the history as never true."""
        return post(at("memories", memory_id, "correct"), text=text, reason=reason, metadata=metadata)

    @endpoint
    def supersede(
        self,
        memory_id: str,
        text: str,
        *,
        also_ids: Sequence[str] | None = None,
        contradiction: Contradiction | None = None,
        key: str | None = None,
        valid_from: datetime | None = None,
        supporting_episode_ids: Sequence[str] | None = None,
        source: str | None = None,
        reason: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Call[Written]:
        """Replace a fact, and those in `also_ids`, by one that is true now."""
        return post(
            at("memories", memory_id, "supersede"),
            text=text,
            also_ids=also_ids,
            contradiction=contradiction,
            key=key,
            valid_from=valid_from,
            supporting_episode_ids=supporting_episode_ids,
            source=source,
            reason=reason,
            metadata=metadata,
        )

    @endpoint
    def retire(
        self,
        memory_id: str,
        *,
        also_ids: Sequence[str] | None = None,
        contradiction: Contradiction | None = None,
        valid_to: datetime | None = None,
        reason: str | None = None,
    ) -> Call[Written]:
        """End a memory without a successor; with `contradiction="harsh"` it never was true."""
        return post(
            at("memories", memory_id, "retire"),
            also_ids=also_ids,
            contradiction=contradiction,
            valid_to=valid_to,
            reason=reason,
        )

    @endpoint
    def undo(self, memory_id: str, *, reason: str | None = None) -> Call[Written]:
        """Bring back the memory that this one replaced, or this one if it was replaced or retired."""
        return post(at("memories", memory_id, "undo"), reason=reason)

    @endpoint
    def describe(self, memory_id: str, metadata: Mapping[str, Any]) -> Call[Memory]:
        """Replace the metadata of a fact or playbook."""
        return patch(at("memories", memory_id), metadata=metadata)

    @endpoint
    def promote(self, memory_id: str, to: Scope, *, reason: str | None = None) -> Call[Written]:
        """Copy a memory into a wider scope."""
        return post(at("memories", memory_id, "promote"), to=to, reason=reason)

    @endpoint
    def pin(self, memory_id: str, *, pinned: bool = True) -> Call[Fact]:
        """Put a fact into every prompt, or stop."""
        return post(at("memories", memory_id, "pin"), pinned=pinned)

    @endpoint
    def confirm(self, memory_id: str, *, reason: str | None = None) -> Call[Fact]:
        """Say that a fact still holds."""
        return post(at("memories", memory_id, "confirm"), reason=reason)

    @endpoint
    def restore(self, memory_id: str, *, reason: str | None = None) -> Call[Memory]:
        """Undo an archival or eviction."""
        return post(at("memories", memory_id, "restore"), reason=reason)

    @endpoint
    def record_outcome(
        self,
        memory_id: str,
        *,
        success: bool,
        refined_steps: Sequence[str] | None = None,
        supporting_episode_ids: Sequence[str] | None = None,
        at_time: datetime | None = None,
        reason: str | None = None,
    ) -> Call[Written]:
        """Say that a playbook worked or failed; `refined_steps` replace its steps."""
        return post(
            at("memories", memory_id, "outcome"),
            success=success,
            refined_steps=refined_steps,
            supporting_episode_ids=supporting_episode_ids,
            at=at_time,
            reason=reason,
        )

    @endpoint
    def accept(self, memory_id: str) -> Call[Playbook]:
        """Accept a playbook that an agent proposed. Needs `memory:decide`."""
        return post(at("memories", memory_id, "accept"))

    @paged
    def to_confirm(self, *, limit: int | None = None) -> Call[Fact]:
        """List facts that nobody has confirmed for long, in one page."""
        return get("/memories/review/", limit=limit)

    @endpoint
    def forget(self, memory_id: str, *, cascade: bool | None = None, sources: bool | None = None) -> Call[Forgotten]:
        """Erase a memory for good, at once. Needs `memory:decide`; what is no longer true is retired instead."""
        return delete(at("memories", memory_id), cascade=cascade, sources=sources)

    @endpoint
    def forget_all(
        self, *, dry_run: bool | None = None, confirm: str | None = None, filters: Filters | None = None
    ) -> Call[ForgottenAll]:
        """Erase all memories with the conversations, or the memories that `filters` matches. Needs `memory:decide`.

        First count them with `dry_run`; then repeat it with the `confirm` of that count until `complete`.
        """
        return delete("/memories/", dry_run=dry_run, confirm=confirm, filters=as_json(filters))

    @endpoint
    def export(self) -> Call[bytes]:
        """Read the own episodes, facts and playbooks in every status, as JSON lines. Not for backend keys."""
        return get("/export/")

    @endpoint
    def import_(
        self,
        file: bytes,
        *,
        format: ExportFormat | None = None,  # noqa: A002 - the name of the parameter
        source_user: str | None = None,
        dry_run: bool | None = None,
        learn: Literal["background", "off"] | None = None,
    ) -> Call[Imported]:
        """Import an export of memoryhub or another product; with `dry_run` say what would come.

        Repeat it until `complete`: nothing is added twice.
        """
        return upload("/import/", file, format=format, source_user=source_user, dry_run=dry_run, learn=learn)


class ForgetProposals(Resource[C]):
    """Forgetting in two steps: an agent proposes, the member decides (`memory:decide`)."""

    @endpoint
    def create(self, memory_ids: Sequence[str]) -> Call[ForgetProposal]:
        """Propose to forget these memories; nothing is hidden or erased yet."""
        return post("/forget-proposals/", memory_ids=memory_ids)

    @endpoint
    def get(self, proposal_id: str) -> Call[ForgetProposal]:
        """Read what would go, what stays, and the state."""
        return get(at("forget-proposals", proposal_id))

    @endpoint
    def confirm(self, proposal_id: str) -> Call[ForgetProposal]:
        """Hide the memories at once; they are erased at `erase_at`."""
        return post(at("forget-proposals", proposal_id, "confirm"))

    @endpoint
    def undo(self, proposal_id: str) -> Call[ForgetProposal]:
        """Until `erase_at`: bring everything back as it was."""
        return post(at("forget-proposals", proposal_id, "undo"))

    @endpoint
    def keep(self, proposal_id: str) -> Call[ForgetProposal]:
        """Close the proposal; nothing changes."""
        return post(at("forget-proposals", proposal_id, "keep"))
