import click
import pytest
from click.testing import CliRunner

from service.surface.cli.options import TextCommand, joined_text


@click.command(cls=TextCommand)
@click.argument("text", nargs=-1, required=True, callback=joined_text)
@click.option("--tag")
@click.option("--loud", is_flag=True)
def say(text: str, tag: str | None, loud: bool) -> None:
    click.echo(f"{text}|{tag}|{loud}")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-retry payment"], "-retry payment|None|False"),
        (["payment", "-retry", "--loud"], "payment -retry|None|True"),
        (["--loud", "-retry", "-x", "--tag", "-t", "-"], "-retry -x -|-t|True"),
        (["--tag", "a", "--", "-retry", "--loud", "-h"], "-retry --loud -h|a|False"),
        (["-hello"], "-hello|None|False"),
        (["two", '"a phrase"', "words"], 'two "a phrase" words|None|False'),
        ([""], "|None|False"),
    ],
)
def test_a_text_of_words_some_with_a_minus(words: list[str], said: str) -> None:
    result = CliRunner().invoke(say, words)
    assert (result.exit_code, result.output) == (0, said + "\n")


@pytest.mark.parametrize("words", [["a", "--nothing"], [], ["--tag", "a"]])
def test_options_that_there_are_not_and_no_text_are_refused(words: list[str]) -> None:
    assert CliRunner().invoke(say, words).exit_code == 2
