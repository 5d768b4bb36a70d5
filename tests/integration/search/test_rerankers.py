"""What every reranker must do, in each shape of the API: its scores where they are whole, and else the order before, with a note."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from service.remote import Endpoint, Retries, Secret
from service.search.rerank import Judged, NoJudgement, rerank
from service.search.rerankers.choose import RERANKERS
from service.search.rerankers.remote import RemoteReranker, RerankOptions
from tests.integration.embed.misbehaving import (
    GOSSIP,
    HANG,
    KEY,
    PROSE,
    Call,
    Misbehaving,
    Reply,
    assert_discreet,
    misbehaving,
    refusal,
    watch_logs,
)

QUERY = "why did the deploy fail"
TEXTS = ["apple pie", "the deploy did fail", "the weather", "why the deploy did fail"]
BEST_FIRST = (3, 1, 2, 0)
Pairs = list[tuple[Any, Any]]
LATE, FAILED, UNUSABLE = "gave no answer in time", "failed", "gave an answer that cannot be used"


def chat(pairs: Pairs) -> Any:
    return said(json.dumps({"scores": [{"id": place, "score": score} for place, score in pairs]}))


def said(content: object) -> Any:
    return {"id": "c", "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]}


SHAPES: dict[str, Callable[[Pairs], Any]] = {
    "chat": chat,
    "cohere": lambda pairs: {"id": "c", "results": [{"index": place, "relevance_score": score} for place, score in pairs], "meta": {}},
    "jina": lambda pairs: {
        "model": "j",
        "results": [{"index": place, "document": {"text": "t"}, "relevance_score": score} for place, score in pairs],
        "usage": {"total_tokens": 9},
    },
    "voyage": lambda pairs: {"object": "list", "data": [{"relevance_score": score, "index": place} for place, score in pairs]},
    "tei": lambda pairs: [{"index": place, "score": score} for place, score in pairs],
}
KNOWN_FIELDS = {"model", "query", "documents"}


class Judge:
    """A server of one shape: `pairs` says how it scores; by words in common when it does well."""

    def __init__(self, shape: str) -> None:
        self.shape = shape
        self.pairs: Callable[[list[str]], Pairs] = lambda texts: [
            (place, len(set(QUERY.split()) & set(text.split())) / 5) for place, text in enumerate(texts)
        ][::-1]

    async def well(self, call: Call) -> Reply:
        if self.shape == "chat":
            texts = [document["text"] for document in json.loads(call.body["messages"][1]["content"])["documents"]]
        elif self.shape == "tei":
            if "texts" not in call.body:
                return refusal(422, "missing field `texts`")
            texts = call.body["texts"]
        else:
            if set(call.body) - KNOWN_FIELDS:
                return refusal(400, "unknown argument")
            texts = call.body["documents"]
        return Reply(body=json.dumps(SHAPES[self.shape](self.pairs(texts))).encode())


@pytest.fixture(autouse=True)
def discretion(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield from watch_logs(caplog, capfd)


@pytest.fixture(params=list(SHAPES))
def judge(request: pytest.FixtureRequest) -> Judge:
    return Judge(request.param)


@pytest.fixture
async def server(judge: Judge) -> AsyncIterator[Misbehaving]:
    async with misbehaving(judge.well) as started:
        yield started


@pytest.fixture
async def reranker(judge: Judge, server: Misbehaving) -> AsyncIterator[RemoteReranker]:
    made = make(judge, server)
    yield made
    await made.close()


def make(judge: Judge, server: Misbehaving, **options: Any) -> RemoteReranker:
    kind = "chat" if judge.shape == "chat" else "rerank"
    return RERANKERS[kind](RerankOptions(Endpoint(server.url + "/v1", Secret(KEY)), "judge-1", retries=Retries(2, 0.001), **options))


def assert_unchanged(judged: Judged, reranker: RemoteReranker, why: str) -> None:
    assert judged.order == judged.scores == ()
    assert judged.note == f"Not reranked: {reranker.provider} (judge-1) {why}; the fused order stands."


async def test_the_best_text_comes_first(reranker: RemoteReranker, server: Misbehaving) -> None:
    judged = await rerank(reranker, QUERY, TEXTS, 10_000)
    assert judged.order == BEST_FIRST
    assert judged.scores == pytest.approx((0.0, 0.8, 0.2, 1.0))
    assert judged.note is None
    assert server.calls[0].headers["authorization"] == f"Bearer {KEY}"


async def test_equal_scores_keep_the_order(judge: Judge, reranker: RemoteReranker) -> None:
    judge.pairs = lambda texts: [(place, 0.5) for place in reversed(range(len(texts)))]
    assert (await rerank(reranker, QUERY, TEXTS, 10_000)).order == (0, 1, 2, 3)


async def test_the_form_that_a_server_takes_is_kept(judge: Judge, reranker: RemoteReranker, server: Misbehaving) -> None:
    for _ in range(3):
        assert (await rerank(reranker, QUERY, TEXTS, 10_000)).note is None
    assert len(server.calls) == (4 if judge.shape == "tei" else 3)


@pytest.mark.parametrize(
    "pairs",
    [
        [(0, 0.1), (0, 0.2), (1, 0.3), (2, 0.4)],
        [(0, 0.1), (1, 0.2), (2, 0.3), (3, 0.4), (3, 0.4)],
        [(0, 0.1), (0, 0.2), (99, 0.3), (-1, 0.4)],
        [(0, 0.1), (1, 0.2), (2, 0.3), ("x", 0.4)],
        [(0, 0.1), (1, 0.2), (2, 0.3), (3.5, 0.4)],
        [(0, 0.1), (1, 0.2)],
        [],
        [(0, 0.1), (1, 0.2), (2, 0.3), (3, 1.5)],
        [(0, 0.1), (1, 0.2), (2, 0.3), (3, -0.1)],
        [(0, 0.1), (1, 0.2), (2, 0.3), (3, float("nan"))],
        [(0, 0.1), (1, 0.2), (2, 0.3), (3, float("inf"))],
        [(0, 0.1), (1, 0.2), (2, 0.3), (3, None)],
        [(0, 0.1), (1, 0.2), (2, 0.3), (3, "high")],
    ],
    ids=["repeated", "one-more", "out-of-range", "text-id", "half-id", "half", "none", "above", "below", "nan", "inf", "null", "text"],
)
async def test_scores_that_cannot_be_leave_the_order(judge: Judge, reranker: RemoteReranker, pairs: Pairs) -> None:
    judge.pairs = lambda texts: pairs
    assert_unchanged(await rerank(reranker, QUERY, TEXTS, 10_000), reranker, UNUSABLE)


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"[]",
        b"null",
        b"",
        b"[0, 0, 99, -1, 'x']",
        PROSE.body,
        json.dumps(said(f"None are relevant. {GOSSIP}")).encode(),
        b'{"scores"',
        b"[" * 100_000,
    ],
    ids=["object", "list", "null", "nothing", "places", "prose", "none-relevant", "cut", "nested"],
)
async def test_answers_that_are_none_leave_the_order(reranker: RemoteReranker, server: Misbehaving, body: bytes) -> None:
    server.rule = lambda call: Reply(body=body)
    assert_unchanged(await rerank(reranker, QUERY, TEXTS, 10_000), reranker, UNUSABLE)


@pytest.mark.parametrize("content", ["[0, 1]", "{}", "I think 0.5", None, '{"scores": [{"id": 0}]}', '```json\n{"scores": []}\n```'])
async def test_a_judge_that_chats_leaves_the_order(content: object) -> None:
    judge = Judge("chat")
    async with misbehaving(judge.well) as server:
        reranker = make(judge, server)
        server.rule = lambda call: Reply(body=json.dumps(said(content)).encode())
        assert_unchanged(await rerank(reranker, QUERY, TEXTS, 10_000), reranker, UNUSABLE)
        await reranker.close()


@pytest.mark.parametrize(
    ("reply", "tries"),
    [
        (refusal(401), 1),
        (refusal(402), 1),
        (refusal(500), 2),
        (refusal(429), 2),
        (refusal(429, retry_after="3600"), 1),
        (refusal(429, retry_after="Thu, 31 Dec 2099 23:59:59 GMT"), 1),
        (refusal(413, "too long"), 1),
        (refusal(400), 3),
    ],
)
async def test_a_refused_call_leaves_the_order(reranker: RemoteReranker, server: Misbehaving, reply: Reply, tries: int) -> None:
    server.rule = lambda call: reply
    assert_unchanged(await rerank(reranker, QUERY, TEXTS, 10_000), reranker, FAILED)
    assert len(server.calls) <= tries
    with pytest.raises(NoJudgement) as caught:
        await reranker.judge(QUERY, TEXTS)
    assert_discreet(caught.value)


@pytest.mark.parametrize("wait", ["0", "0.001", "Sat, 01 Jan 2000 00:00:00 GMT"])
async def test_a_short_pause_is_kept_and_asked_again(reranker: RemoteReranker, server: Misbehaving, wait: str) -> None:
    server.script.append(refusal(429, retry_after=wait))
    assert (await rerank(reranker, QUERY, TEXTS, 10_000)).order == BEST_FIRST


async def test_half_an_answer_is_asked_again_and_then_given_up(reranker: RemoteReranker, server: Misbehaving) -> None:
    server.rule = lambda call: Reply(body=b'{"results": [{"index": 0}]}', cut=9)
    assert_unchanged(await rerank(reranker, QUERY, TEXTS, 10_000), reranker, FAILED)
    assert len(server.calls) == 2


@pytest.mark.parametrize(("deadline_s", "timeout_ms"), [(0.1, 20_000), (20.0, 100)], ids=["own", "caller's"])
async def test_a_judge_that_is_late_leaves_the_order(judge: Judge, server: Misbehaving, deadline_s: float, timeout_ms: int) -> None:
    reranker = make(judge, server, deadline_s=deadline_s)
    server.rule = lambda call: HANG
    assert_unchanged(await rerank(reranker, QUERY, TEXTS, timeout_ms), reranker, LATE)
    server.behave()
    assert (await rerank(reranker, QUERY, TEXTS, 20_000)).order == BEST_FIRST
    await reranker.close()


async def test_a_full_house_skips_and_never_queues(judge: Judge, server: Misbehaving) -> None:
    reranker = make(judge, server, in_flight=2)
    server.rule = lambda call: HANG
    running = [asyncio.create_task(rerank(reranker, QUERY, TEXTS, 20_000)) for _ in range(2)]
    for _ in running:
        await server.hung.get()
    assert_unchanged(await rerank(reranker, QUERY, TEXTS, 20_000), reranker, "is busy with other searches")
    assert len(server.calls) == 2
    server.released.set()
    assert all(judged.order == () for judged in await asyncio.gather(*running))
    server.behave()
    assert (await rerank(reranker, QUERY, TEXTS, 20_000)).order == BEST_FIRST
    await reranker.close()


@pytest.mark.parametrize(
    ("reply", "why"),
    [(refusal(500), FAILED), (Reply(body=b"{}"), UNUSABLE), (HANG, LATE), (PROSE, UNUSABLE), (refusal(402), FAILED)],
    ids=["fails", "empty", "hangs", "prose", "unpaid"],
)
@pytest.mark.parametrize("timeout_ms", [20_000, 50], ids=["own", "caller's"])
async def test_a_dead_judge_costs_no_more_calls(judge: Judge, server: Misbehaving, reply: Reply, why: str, timeout_ms: int) -> None:
    reranker = make(judge, server, deadline_s=0.05 if reply.hang else 20.0)
    if not reply.hang:
        timeout_ms = 20_000
    server.rule = lambda call: reply
    for _ in range(3):
        assert_unchanged(await rerank(reranker, QUERY, TEXTS, timeout_ms), reranker, why)
    for _ in range(5):
        assert_unchanged(
            await rerank(reranker, "asked later", TEXTS, timeout_ms), reranker, "failed several times and is left alone for a while"
        )
    assert not any("asked later" in json.dumps(call.body) for call in server.calls)
    await reranker.close()


async def test_callers_that_leave_say_nothing_of_the_judge(judge: Judge, server: Misbehaving) -> None:
    reranker = make(judge, server)
    server.rule = lambda call: HANG
    for _ in range(4):
        task = asyncio.create_task(rerank(reranker, QUERY, TEXTS, 20_000))
        await server.hung.get()
        task.cancel()
        await asyncio.wait({task})
    server.behave()
    assert (await rerank(reranker, QUERY, TEXTS, 20_000)).order == BEST_FIRST
    await reranker.close()


async def test_long_and_odd_texts_are_judged(reranker: RemoteReranker, server: Misbehaving) -> None:
    judged = await rerank(reranker, QUERY, ["x" * 50_000, "\ud83d lone", "\x00", QUERY], 10_000)
    assert judged.order[0] == 3
    assert len(json.dumps(server.calls[-1].body)) < 10_000


async def test_a_chat_model_that_refuses_a_schema_is_asked_plainly() -> None:
    judge = Judge("chat")
    async with misbehaving(judge.well) as server:
        reranker = make(judge, server)
        server.rule = lambda call: refusal(400, "unsupported") if {"temperature", "response_format"} & set(call.body) else None
        for _ in range(2):
            assert (await rerank(reranker, QUERY, TEXTS, 10_000)).order == BEST_FIRST
        assert len(server.calls) == 4
        await reranker.close()
