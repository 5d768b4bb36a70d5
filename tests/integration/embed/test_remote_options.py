"""What providers over HTTP send and how they learn what they are not told: addresses, keys, sizes, prefixes, batches, the order of answers."""

import json

import pytest

from service.embed.choose import make_provider
from service.embed.provider import EmbeddingUnavailable, ProviderOptions, Space
from service.errors import InvalidSetting
from service.remote import Secret
from tests.integration.embed.conftest import MakeRemote, Meanings, reply_with
from tests.integration.embed.misbehaving import GOSSIP, KEY, Call, Misbehaving, Reply, assert_discreet, refusal


async def test_answers_out_of_order_are_put_in_order_by_their_index(make_remote: MakeRemote, embeddings: Misbehaving) -> None:
    async def turned(call: Call) -> Reply:
        found = json.loads((await well(call)).body)
        return Reply(body=json.dumps({"data": found["data"][::-1]}).encode())

    well, embeddings.well = embeddings.well, turned
    provider = await make_remote("openai")
    answers = await provider.embed_documents([f"text {number}" for number in range(40)])
    assert answers[7] == pytest.approx(await provider.embed_query("text 7"), abs=1e-5)
    assert len(embeddings.calls) == 3


@pytest.mark.parametrize("index", [{}, {"index": None}, {"index": 0}], ids=["none", "null", "one-for-all"])
async def test_answers_without_an_index_of_their_own_are_told_apart(
    make_remote: MakeRemote, embeddings: Misbehaving, index: dict[str, object]
) -> None:
    async def unmarked(call: Call) -> Reply:
        found = json.loads((await well(call)).body)["data"]
        return Reply(body=json.dumps({"data": [{"embedding": item["embedding"], **index} for item in found]}).encode())

    well, embeddings.well = embeddings.well, unmarked
    provider = await make_remote("openai")
    answers = await provider.embed_documents(["a", "b", "c"])
    assert answers[2] == pytest.approx(await provider.embed_query("c"), abs=1e-5)


@pytest.mark.parametrize(
    ("url", "target", "header"),
    [
        ("/v1", "/v1/embeddings", ("authorization", f"Bearer {KEY}")),
        ("/v1/", "/v1/embeddings", ("authorization", f"Bearer {KEY}")),
        ("/v1/embeddings", "/v1/embeddings", ("authorization", f"Bearer {KEY}")),
        (
            "/openai/deployments/small?api-version=2024-02-01",
            "/openai/deployments/small/embeddings?api-version=2024-02-01",
            ("api-key", KEY),
        ),
    ],
)
async def test_the_address_and_the_key_go_where_the_server_wants_them(
    make_remote: MakeRemote, embeddings: Misbehaving, url: str, target: str, header: tuple[str, str]
) -> None:
    provider = await make_remote("openai", url=embeddings.url + url)
    await provider.embed_query("a")
    assert embeddings.calls[0].target == target
    sent = {name: text for name, text in embeddings.calls[0].headers.items() if KEY in text}
    assert sent == dict([header])


async def test_a_server_without_a_key_gets_none(make_remote: MakeRemote, embeddings: Misbehaving) -> None:
    await (await make_remote("ollama", key=None)).embed_query("a")
    assert embeddings.calls[0].target == "/api/embed"
    assert not {"authorization", "api-key"} & set(embeddings.calls[0].headers)
    assert embeddings.calls[0].body == {"model": "m", "input": ["a"], "truncate": False}


@pytest.mark.parametrize("name", ["openai", "ollama"])
async def test_an_unknown_size_is_asked_once(make_remote: MakeRemote, embeddings: Misbehaving, name: str) -> None:
    embeddings.script.append(refusal(503))
    provider = await make_remote(name, dim=None)
    assert provider.space == Space(name, "m", 384)
    assert len(embeddings.calls) == 2
    await provider.embed_query("a")
    assert len(embeddings.calls) == 3


@pytest.mark.parametrize("name", ["openai", "ollama"])
@pytest.mark.parametrize("reply", [refusal(401), refusal(503), Reply(body=b"{}"), Reply(body=b'{"data": [], "embeddings": [[]]}')])
async def test_a_size_that_cannot_be_learnt_is_to_be_set(make_remote: MakeRemote, embeddings: Misbehaving, name: str, reply: Reply) -> None:
    embeddings.rule = lambda call: reply
    with pytest.raises(EmbeddingUnavailable) as caught:
        await make_remote(name, dim=None)
    assert_discreet(caught.value)
    assert "MUNIMENT_EMBEDDING_DIM" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("model", "dim", "size", "asked"),
    [
        ("text-embedding-3-small", None, 1536, None),
        ("text-embedding-3-small", 1536, 1536, None),
        ("text-embedding-3-large", None, 3072, None),
        ("text-embedding-3-large", 256, 256, 256),
        ("text-embedding-ada-002", None, 1536, None),
        ("bge-small", 384, 384, None),
    ],
)
async def test_known_models_need_no_size_and_shorten_on_demand(
    make_remote: MakeRemote, embeddings: Misbehaving, model: str, dim: int | None, size: int, asked: int | None
) -> None:
    provider = await make_remote("openai", model=model, dim=dim)
    assert provider.space == Space("openai", model, size)
    assert embeddings.calls == []
    embeddings.rule = lambda call: reply_with(call, [[1.0] * size for _ in call.texts])
    assert len(await provider.embed_query("a")) == size
    assert embeddings.calls[0].body.get("dimensions") == asked


async def test_prefixes_stand_before_every_piece(make_remote: MakeRemote, embeddings: Misbehaving) -> None:
    provider = await make_remote("openai", query_prefix="query: ", document_prefix="passage: ", window=100)
    await provider.embed_query("disk")
    await provider.embed_documents(["short", "word " * 400])
    query, *documents = [text for call in embeddings.calls for text in call.texts]
    assert query == "query: disk"
    assert len(documents) > 4
    assert all(text.startswith("passage: ") and len(text) <= 300 for text in documents)
    assert sum(text.count("word") for text in documents) == 400


async def test_batches_keep_within_items_and_tokens(make_remote: MakeRemote, embeddings: Misbehaving, meanings: Meanings) -> None:
    provider = await make_remote("openai", batch_items=8, batch_tokens=1_000)
    await provider.embed_documents([f"text {number}" for number in range(20)] + ["word " * 240] * 4)
    assert [len(call.texts) for call in embeddings.calls] == [8, 8, 6, 2]


@pytest.mark.parametrize("url", ["ftp://host/v1", "host/v1", "", "https://", "http://[::1", f"https://user:{KEY}@host/v1"])
def test_an_address_that_is_none_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        make_provider("ollama", ProviderOptions(url=url or "http:", dim=3))
    assert_discreet(caught.value)


def test_a_key_that_no_header_carries_is_refused_without_being_repeated() -> None:
    for key in (f"{KEY}\r\nx: y", f"{KEY}\u2026"):
        with pytest.raises(InvalidSetting) as caught:
            make_provider("openai", ProviderOptions(key=Secret(key)))
        assert_discreet(caught.value)


def test_openai_itself_wants_a_key() -> None:
    with pytest.raises(InvalidSetting) as caught:
        make_provider("openai")
    assert "MUNIMENT_EMBEDDING_KEY" in str(caught.value.hint)


def test_options_do_not_show_the_key() -> None:
    assert KEY not in repr(ProviderOptions(key=Secret(KEY)))
    assert GOSSIP not in repr(Secret(GOSSIP))
