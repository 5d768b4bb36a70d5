"""What providers over HTTP do when the other side is away, wrong, slow or in two minds; and that they tell nobody its words or the key."""

import asyncio
import gzip
import json
from collections.abc import Callable, Iterator, Sequence

import pytest

from service import remote
from service.embed.provider import Embedded, EmbeddingProvider, EmbeddingUnavailable, Failed
from tests.integration.embed.conftest import MakeRemote, Meanings, reply_with
from tests.integration.embed.misbehaving import HANG, PROSE, Call, Misbehaving, Reply, assert_discreet, refusal, watch_logs

TEXTS = [f"text number {number}" for number in range(5)]


@pytest.fixture(autouse=True)
def discretion(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield from watch_logs(caplog, capfd)


@pytest.fixture(params=["openai", "ollama"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def provider(name: str, make_remote: MakeRemote) -> EmbeddingProvider:
    return await make_remote(name, query_time_s=10.0, document_time_s=20.0)


async def unavailable(provider: EmbeddingProvider, *, query: bool = False) -> str:
    """The reason for which a provider gives nothing; nobody learns more than that."""
    with pytest.raises(EmbeddingUnavailable) as caught:
        await (provider.embed_query("a") if query else provider.embed_documents(TEXTS))
    assert_discreet(caught.value)
    return caught.value.reason


def failures(answers: Sequence[Embedded]) -> list[str | None]:
    return [answer.reason if isinstance(answer, Failed) else None for answer in answers]


@pytest.mark.parametrize(
    ("status", "tries", "reason"),
    [
        (401, 1, "key_refused"),
        (402, 1, "payment_required"),
        (403, 1, "key_refused"),
        (404, 1, "not_found"),
        (302, 1, "unavailable"),
        (429, 3, "rate_limited"),
        (502, 3, "unavailable"),
        (503, 3, "unavailable"),
    ],
)
async def test_a_refused_call_fails_as_a_whole(
    provider: EmbeddingProvider, embeddings: Misbehaving, status: int, tries: int, reason: str
) -> None:
    embeddings.rule = lambda call: refusal(status, location=embeddings.url)
    assert await unavailable(provider) == reason
    assert len(embeddings.calls) == tries
    assert await unavailable(provider, query=True) == reason


NESTED = Reply(body=b"[" * 100_000)


@pytest.mark.parametrize(
    "reply", [refusal(400), refusal(422, "too long"), refusal(500), PROSE, NESTED], ids=["400", "too-long", "500", "prose", "nested"]
)
async def test_a_provider_that_takes_nothing_is_not_asked_text_by_text(
    provider: EmbeddingProvider, embeddings: Misbehaving, reply: Reply
) -> None:
    embeddings.rule = lambda call: reply
    assert await unavailable(provider) == "refused"
    assert len(embeddings.calls) <= 6


@pytest.mark.parametrize("query", [True, False])
async def test_a_call_that_hangs_ends_with_its_time(name: str, make_remote: MakeRemote, embeddings: Misbehaving, query: bool) -> None:
    provider = await make_remote(name, query_time_s=1.0, document_time_s=1.0)
    embeddings.rule = lambda call: HANG
    assert await unavailable(provider, query=query) == "timeout"
    assert len(embeddings.calls) == 1


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("packed", [False, True])
async def test_an_answer_without_end_is_not_read_to_it(
    provider: EmbeddingProvider, embeddings: Misbehaving, monkeypatch: pytest.MonkeyPatch, status: int, packed: bool
) -> None:
    monkeypatch.setattr(remote, "MOST_BYTES", 100_000)
    body = b" " * 200_000
    reply = Reply(status, gzip.compress(body), {"content-encoding": "gzip"}) if packed else Reply(status, body)
    embeddings.rule = lambda call: reply
    assert await unavailable(provider) == "unavailable"
    assert len(embeddings.calls) == 1


async def test_a_caller_that_leaves_is_let_go(provider: EmbeddingProvider, embeddings: Misbehaving) -> None:
    embeddings.rule = lambda call: HANG
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await provider.embed_query("a")
    embeddings.behave()
    assert len(await provider.embed_query("a")) == 384


@pytest.mark.parametrize("wait", ["0", "-5", "0.001", "Sat, 01 Jan 2000 00:00:00 GMT", "soon"])
async def test_a_short_pause_is_kept_and_asked_again(provider: EmbeddingProvider, embeddings: Misbehaving, wait: str) -> None:
    embeddings.script.append(refusal(429, "You have exceeded the token rate limit", retry_after=wait))
    assert failures(await provider.embed_documents(TEXTS)) == [None] * 5
    assert len(embeddings.calls) == 2


@pytest.mark.parametrize("wait", ["3600", "Thu, 31 Dec 2099 23:59:59 GMT"])
async def test_a_pause_beyond_the_callers_time_is_not_begun(provider: EmbeddingProvider, embeddings: Misbehaving, wait: str) -> None:
    embeddings.rule = lambda call: refusal(429, retry_after=wait)
    assert await unavailable(provider, query=True) == "rate_limited"
    assert len(embeddings.calls) == 1


async def test_half_an_answer_is_asked_again(provider: EmbeddingProvider, embeddings: Misbehaving, meanings: Meanings) -> None:
    whole = reply_with(Call(embeddings.url, {}, {}), await meanings.vectors(TEXTS))
    embeddings.script.append(Reply(body=whole.body, cut=len(whole.body) // 2))
    assert failures(await provider.embed_documents(TEXTS)) == [None] * 5
    embeddings.script.append(Reply(body=whole.body[: len(whole.body) // 2]))
    assert failures(await provider.embed_documents(TEXTS)) == [None] * 5
    embeddings.rule = lambda call: Reply(body=whole.body, cut=100)
    assert await unavailable(provider) == "unreachable"


@pytest.mark.parametrize(
    ("vector", "reason"),
    [
        ([0.5] * 383, "wrong_size"),
        ([], "wrong_size"),
        ([0.0] * 384, "all_zero"),
        ([None] * 384, "not_numbers"),
        (None, "not_numbers"),
        ("AAAA", "not_numbers"),
        ({"a": 1.0}, "not_numbers"),
        ([float("nan")] * 384, "no_answer"),
        ([float("inf")] * 384, "no_answer"),
        ([1e300] * 384, None),
    ],
    ids=["short", "empty", "zeros", "nulls", "null", "text", "object", "nan", "inf", "huge"],
)
async def test_a_vector_that_cannot_be_used_fails_alone(
    provider: EmbeddingProvider, embeddings: Misbehaving, meanings: Meanings, vector: object, reason: str | None
) -> None:
    vectors = dict(zip(TEXTS, await meanings.vectors(TEXTS), strict=True))
    good = (await meanings.vectors(["ok"]))[0]
    embeddings.rule = lambda call: reply_with(call, [vector if text == TEXTS[3] else vectors.get(text, good) for text in call.texts])
    assert failures(await provider.embed_documents(TEXTS)) == [None, None, None, reason, None]
    if reason:
        with pytest.raises(EmbeddingUnavailable, match="bad_vector"):
            await provider.embed_query(TEXTS[3])


@pytest.mark.parametrize("status", [400, 422, 500])
async def test_one_bad_text_of_a_hundred_fails_alone(provider: EmbeddingProvider, embeddings: Misbehaving, status: int) -> None:
    texts = [f"text {number}" if number != 42 else "poison" for number in range(100)]
    embeddings.rule = lambda call: refusal(status, "invalid input") if "poison" in call.texts else None
    answers = await provider.embed_documents(texts)
    assert [place for place, reason in enumerate(failures(answers)) if reason] == [42]
    assert answers[42] == Failed("refused")
    assert answers[43] == pytest.approx(await provider.embed_query(texts[43]), abs=1e-5)
    assert len(embeddings.calls) < 40


@pytest.mark.parametrize(
    "change", [lambda found: found[:-1], lambda found: [*found, found[0]], lambda found: []], ids=["less", "more", "none"]
)
async def test_a_wrong_number_of_answers_is_put_right(
    provider: EmbeddingProvider, embeddings: Misbehaving, change: Callable[[list[object]], list[object]]
) -> None:
    async def miscount(call: Call) -> Reply:
        found = json.loads((await well(call)).body)
        for key in ("data", "embeddings"):
            if key in found and len(found[key]) > 1:
                found[key] = change(found[key])
        return Reply(body=json.dumps(found).encode())

    well, embeddings.well = embeddings.well, miscount
    answers = await provider.embed_documents(TEXTS)
    assert failures(answers) == [None] * 5
    assert answers[4] == pytest.approx(await provider.embed_query(TEXTS[4]), abs=1e-5)


TOO_LONG = {
    "openai": refusal(400, "This model's maximum context length is 8192 tokens, however you requested 9000 tokens."),
    "ollama": refusal(400, "the input length exceeds the context length"),
    "tei": refusal(413, "Input validation error: `inputs` must have less than 512 tokens. Given: 600"),
    "llama": refusal(500, "input is too large to process. increase the physical batch size"),
}


@pytest.mark.parametrize("said", TOO_LONG)
async def test_a_text_that_is_too_long_is_read_in_halves(provider: EmbeddingProvider, embeddings: Misbehaving, said: str) -> None:
    text = "The committee met and agreed on the minutes. " * 20 + "Penguins huddle against the antarctic wind. " * 20
    embeddings.rule = lambda call: TOO_LONG[said] if max(map(len, call.texts)) > 300 else None
    before, answer, after = await provider.embed_documents(["before", text, "after"])
    assert failures([before, answer, after]) == [None] * 3
    near, far = await provider.embed_query("penguins"), await provider.embed_query("tax return")
    assert not isinstance(answer, Failed)
    assert sum(map(float.__mul__, near, answer)) > sum(map(float.__mul__, far, answer)) + 0.1
    assert len(await provider.embed_query(text)) == 384


@pytest.mark.parametrize("text", ["word " * 2_000, "测" * 3_000, "👩‍👩‍👧" * 500, "a" * 9_000], ids=["words", "cjk", "emoji", "one-word"])
async def test_a_text_that_is_always_too_long_ends(provider: EmbeddingProvider, embeddings: Misbehaving, text: str) -> None:
    embeddings.rule = lambda call: TOO_LONG["ollama"] if max(map(len, call.texts)) > 10 else None
    answers = await provider.embed_documents([text, "short"])
    assert failures(answers) == ["refused", None]
    assert len(embeddings.calls) < 200


async def test_a_dead_provider_costs_no_more_calls(provider: EmbeddingProvider, embeddings: Misbehaving) -> None:
    embeddings.rule = lambda call: refusal(401)
    for _ in range(10):
        assert await unavailable(provider) == "key_refused"
    assert len(embeddings.calls) == 3


async def test_blank_texts_are_not_sent(provider: EmbeddingProvider, embeddings: Misbehaving) -> None:
    assert failures(await provider.embed_documents(["", " ", "\n\t"])) == ["empty_text"] * 3
    with pytest.raises(EmbeddingUnavailable):
        await provider.embed_query(" ")
    assert embeddings.calls == []


async def test_nobody_there(name: str, make_remote: MakeRemote) -> None:
    provider = await make_remote(name, url="http://127.0.0.1:9")
    assert await unavailable(provider) == "unreachable"
    assert await unavailable(provider, query=True) == "unreachable"
