"""Lines of a file within a bound."""

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.memory.imports.lines import Line, read_lines


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b"").replace(b"\r", b""))),
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
)
def test_every_line_comes_out_whole_or_marked(tmp_path: Path, lines: list[bytes], end: bytes, ended: bool) -> None:
    file = tmp_path / "lines"
    file.write_bytes(end.join(lines) + (end if ended and lines else b""))
    read = list(read_lines(file, 10))
    expected = lines if ended or not lines or lines[-1] else lines[:-1]
    first = [raw.removeprefix(b"\xef\xbb\xbf") if number == 0 else raw for number, raw in enumerate(expected)]
    assert [line.number for line in read] == list(range(1, len(expected) + 1))
    assert [line.is_whole for line in read] == [len(raw) <= 10 for raw in expected]
    assert [line.raw for line in read if line.is_whole] == [raw for raw, whole in zip(first, expected, strict=True) if len(whole) <= 10]
    assert all(line.is_ended for line in read[:-1])


def test_a_last_line_without_an_end_is_marked(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"\xef\xbb\xbfa\nb")
    assert list(read_lines(file, 10)) == [Line(1, b"a"), Line(2, b"b", is_ended=False)]
