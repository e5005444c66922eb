"""How memories come to be: consolidation, operations and reviews."""

from __future__ import annotations

from dataclasses import replace

from memoryhub_client.calls import C, Call, Resource, at, endpoint, get, paged, post, waiting
from memoryhub_client.types import Consolidated, Operation, OperationDetail, Review, Run


class Consolidation(Resource[C]):
    """Runs that turn episodes into facts and playbooks."""

    @endpoint
    def run(self) -> Call[Consolidated]:
        """Read the oldest waiting batch now; with a model this may take a minute."""
        return post("/consolidation/")

    @paged
    def list(self, *, limit: int | None = None) -> Call[Run]:
        """List the runs, latest first."""
        return get("/consolidation/", limit=limit)

    @endpoint
    def get(self, run_id: str) -> Call[Run]:
        """Read a run with its decisions and their reasons."""
        return get(at("consolidation", run_id))

    @endpoint
    def rerun(self, run_id: str) -> Call[Consolidated]:
        """Read the episodes of an ended run again."""
        return post(at("consolidation", run_id, "rerun"))


class Operations(Resource[C]):
    """Learning that `messages` asked for."""

    @paged
    def list(self, *, limit: int | None = None) -> Call[Operation]:
        """List the operations, latest first."""
        return get("/operations/", limit=limit)

    @endpoint
    def get(self, operation_id: str) -> Call[OperationDetail]:
        """Read the state, the decisions, and the memories that they stored."""
        return get(at("operations", operation_id))

    @waiting
    def wait(self, operation_id: str, *, within: float = 60.0) -> Call[OperationDetail]:
        """Read it once it is done, has failed or is cancelled. Raises TimedOut after `within` seconds."""
        return replace(get(at("operations", operation_id)), within=within)

    @endpoint
    def cancel(self, operation_id: str) -> Call[OperationDetail]:
        """Learn nothing more from its messages; what was learned stays."""
        return post(at("operations", operation_id, "cancel"))

    @endpoint
    def retry(self, operation_id: str) -> Call[OperationDetail]:
        """Try an operation that waits, failed or was cancelled again, in the background."""
        return post(at("operations", operation_id, "retry"))


class Reviews(Resource[C]):
    """Questions about contradicting or useless memories, for a person to decide."""

    @paged
    def list(self, *, decided: bool | None = None, limit: int | None = None) -> Call[Review]:
        """List open reviews, oldest first; or decided ones, latest first."""
        return get("/reviews/", decided=decided, limit=limit)

    @endpoint
    def get(self, review_id: str) -> Call[Review]:
        """Read a review with its memories as they are now."""
        return get(at("reviews", review_id))

    @endpoint
    def decide(
        self,
        review_id: str,
        decision: str,
        *,
        keep: str | None = None,
        never_true: bool | None = None,
        text: str | None = None,
        first_text: str | None = None,
        second_text: str | None = None,
        reason: str | None = None,
    ) -> Call[Review]:
        """Decide a review. Needs `memory:decide`.

        `keep_one` (with `keep`), `keep_both`, `merge` (with `text`) or `edit`; of an eviction `evict` or `keep`.
        """
        return post(
            at("reviews", review_id, "decide"),
            decision=decision,
            keep=keep,
            never_true=never_true,
            text=text,
            first_text=first_text,
            second_text=second_text,
            reason=reason,
        )

    @endpoint
    def undo(self, review_id: str, *, reason: str | None = None) -> Call[Review]:
        """Undo a decision: the review is open again. Needs `memory:decide`."""
        return post(at("reviews", review_id, "undo"), reason=reason)
