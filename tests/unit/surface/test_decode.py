"""Arguments as callers give them."""

from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from service.errors import InvalidRequest
from service.operations.operation import Operation
from service.surface.decode import read_arguments


class Name(msgspec.Struct, frozen=True):
    """A name with a kind."""

    name: str
    kind: str = "name"


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One of each."""

    text: Annotated[str, Meta(description="Text.")]
    count: Annotated[int, Meta(ge=1)] = 10
    ratio: float | None = None
    flag: bool = False
    maybe: Annotated[bool | None, Meta(description="Perhaps.")] = None
    words: list[str] = []
    names: list[Name] = []
    either: list[Name | str] = []
    params: dict[str, Any] = {}
    items: list[Any] = []
    everywhere: bool = msgspec.field(default=False, name="global")


class Nothing(msgspec.Struct, frozen=True):
    """No answer."""


async def _run(services: Any, caller: Any, request: Any) -> Nothing:
    return Nothing()


ASK = Operation("ask", "read", "Ask", Ask, Nothing, _run, aliases={"q": "text", "n": "count"})


def read(**raw: Any) -> Ask:
    return read_arguments(ASK, {"text": "x", **raw})


@pytest.mark.parametrize(
    ("name", "given", "read_as"),
    [
        ("count", "5", 5),
        ("count", " 5 ", 5),
        ("count", 5.0, 5),
        ("count", "5.0", 5),
        ("ratio", "0.5", 0.5),
        ("ratio", "1e-3", 0.001),
        ("ratio", 3, 3.0),
        ("flag", "true", True),
        ("flag", "False", False),
        ("maybe", "1", True),
        ("words", '["a", "b"]', ["a", "b"]),
        ("words", "a, b", ["a", "b"]),
        ("words", "", []),
        ("words", ["[1]"], ["[1]"]),
        ("names", '[{"name": "a"}]', [Name("a")]),
        ("names", ['{"name": "a", "kind": "b"}'], [Name("a", "b")]),
        ("names", ["a"], [Name("a")]),
        ("names", "a,b", [Name("a"), Name("b")]),
        ("either", ["a", {"name": "b"}], ["a", Name("b")]),
        ("params", '{"a": [1, "2"]}', {"a": [1, "2"]}),
        ("params", {"a": '["kept"]'}, {"a": '["kept"]'}),
        ("items", '[1, "2", null]', [1, "2", None]),
        ("items", [None, '{"kept": 1}'], [None, '{"kept": 1}']),
        ("global", "true", True),
        ("text", '{"kept": 1}', '{"kept": 1}'),
        ("text", "5", "5"),
        ("text", "nul \x00 and \ud83d", "nul \ufffd and \ufffd"),
        ("count", None, 10),
        ("words", None, []),
        ("n", 3, 3),
    ],
)
def test_reads_what_is_meant(name: str, given: Any, read_as: Any) -> None:
    field = {"global": "everywhere", "n": "count"}.get(name, name)
    assert getattr(read(**{name: given}), field) == read_as


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"params": "not json"}, "params: expected an object, got text that is no JSON."),
        ({"params": "[1]"}, "params: expected an object."),
        ({"names": "[1"}, "names: expected a list, got text that is no JSON."),
        ({"names": ['{"nam']}, "names[0]: expected an object, got text that is no JSON."),
        ({"names": [{"kind": "x"}]}, "names[0].name: must be given."),
        ({"count": "many"}, "count: expected a whole number, got text."),
        ({"count": 1.5}, "count: expected a whole number, got a number."),
        ({"count": 0}, "count: expected a whole number >= 1."),
        ({"flag": "perhaps"}, "flag: expected true or false, got text."),
        ({"text": 5}, "text: expected text, got a whole number."),
        ({"text": None}, "text: expected text, got null."),
        ({"words": [1]}, "words[0]: expected text, got a whole number."),
        ({"count": 1, "n": 2}, "n: the same argument as 'count'; give one of them."),
        ({"q": "y"}, "q: the same argument as 'text'; give one of them."),
        ({"everywhere": True}, "everywhere: there is no such argument."),
    ],
)
def test_says_what_is_wrong(raw: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read(**raw)
    assert caught.value.message == message


def test_an_unknown_name_is_told_the_likely_one_and_the_allowed() -> None:
    with pytest.raises(InvalidRequest) as caught:
        read(cuont=1)
    assert caught.value.hint == "Did you mean 'count'?"
    assert caught.value.members["allowed_arguments"][:2] == ["text", "count"]


def test_what_must_be_given_is_named() -> None:
    with pytest.raises(InvalidRequest, match="text: must be given"):
        read_arguments(ASK, {})
