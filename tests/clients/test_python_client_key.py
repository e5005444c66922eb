"""The Python client with a backend key: acting for users, the two calls of an integration, administration."""

from __future__ import annotations

import asyncio

import pytest

from memoryhub_client import AsyncClient, Client, Forbidden, NotFound
from tests.clients.test_python_client import OF_A_KEY, SCOPES, run

pytestmark = pytest.mark.long


def test_messages_are_learned_from_for_one_user_and_found_again_by_context(url: str, key: str) -> None:
    with Client(url, token=key) as backend:
        alice, bob = backend.for_user("alice"), backend.for_user("Žofie, 3")
        done = alice.messages(
            [{"role": "user", "content": "I live in Porto.", "id": "1"}, {"role": "assistant", "content": "Noted."}],
            session="thread-1",
            learn="now",
        )
        assert done.session == "thread-1" and [each.created for each in done.messages] == [True, True]
        assert done.operation is not None and done.operation.ended_at is not None
        assert [each.id for each in alice.operations.list()] == [done.operation.id]
        learned = alice.operations.wait(done.operation.id).memories[0]
        context = alice.context("Where do I live?", explain=True)
        assert "Porto" in context.text and context.tokens > 0 and context.instructions
        assert context.items[0].signals and alice.recall("Where do I live?").items[0].score is not None
        assert (
            not alice.messages([{"role": "user", "content": "I live in Porto.", "id": "1"}], session="thread-1")
            .messages[0]
            .created
        )
        assert "Porto" not in bob.context("Where do I live?").text
        with pytest.raises(NotFound):
            bob.memories.get(learned.id)


def test_members_are_made_changed_and_forgotten(url: str, key: str) -> None:
    with Client(url, token=key) as backend:
        assert backend.me().member is None
        carol = backend.for_user("carol")
        carol.memories.write("Keeps bees.")
        me = carol.me()
        assert me.member is not None and me.member.user_id == "carol" and me.token is not None and me.token.backend_key
        assert backend.members.create("dora", name="Dora").name == "Dora"
        assert [each.user_id for each in backend.members.list(limit=1)] == ["carol", "dora"]
        assert backend.members.forget_memories("carol").memories == 1
        assert not list(carol.memories.list())
        assert not backend.members.change("carol", active=False).active
        with pytest.raises(NotFound):
            carol.recall("bees")


def test_tokens_are_made_rotated_and_revoked(url: str, key: str) -> None:
    with Client(url, token=key) as backend:
        made = backend.tokens.create("reader", scopes=["memory:read"])
        with Client(url, token=made.token, user_id="alice") as reader:
            assert not list(reader.memories.list())
            with pytest.raises(Forbidden):
                reader.memories.write("Keeps bees.")
        assert backend.tokens.rotate(made.id, grace_hours=0).token != made.token
        assert made.id in [each.id for each in backend.tokens.list()]
        assert backend.tokens.revoke(made.id).state == backend.tokens.get(made.id).state != made.state


def test_the_asynchronous_client_acts_for_users_as_well(url: str, key: str) -> None:
    async def use() -> None:
        async with AsyncClient(url, token=key) as backend:
            dora = backend.for_user("dora")
            done = await dora.messages([{"role": "user", "content": "I keep bees."}], learn="off")
            assert done.operation is None
            later = (await dora.messages([{"role": "user", "content": "I keep goats."}])).operation
            assert later is not None and (await dora.operations.wait(later.id)).state == "done"
            assert (await dora.context("What do I keep?")).text

    asyncio.run(use())


@pytest.mark.parametrize("example", OF_A_KEY, ids=range(len(OF_A_KEY)))
def test_each_example_of_a_key_runs_as_it_is_written(
    example: str, url: str, key: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client(url, token=key) as backend:
        made = backend.tokens.create("guide", scopes=SCOPES["BACKEND_KEY"])
    monkeypatch.setenv("MEMORYHUB_KEY", made.token)
    run(example, url, {"BACKEND_KEY": made.token})
    assert "Edinburgh" in capsys.readouterr().out
