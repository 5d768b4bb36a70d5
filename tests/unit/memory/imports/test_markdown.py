"""Folders of Markdown: pages in order, and a report for what is none."""

import os
import unicodedata
from datetime import UTC, datetime
from pathlib import Path

import pytest

from service.memory.extract import EntityName
from service.memory.imports.markdown import PageItem, read_folder
from service.memory.imports.report import Report


def write(root: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)


def read(root: Path, **options: int) -> tuple[list[PageItem], list[tuple[str, str]]]:
    items = list(read_folder(root, **options))
    return [item for item in items if isinstance(item, PageItem)], [(item.source, item.code) for item in items if isinstance(item, Report)]


def test_a_page_with_everything(tmp_path: Path) -> None:
    front = "---\ntitle: Cart\ntags: [shop, area/cart]\naliases: Basket\ndate: 2026-01-01\n---\n"
    write(tmp_path, {"docs/cart.md": f"\ufeff{front}# Heading\r\nsee src/cart.py\r\n"})
    pages, reports = read(tmp_path)
    assert pages == [
        PageItem(
            "docs/cart.md", "Cart", "# Heading\nsee src/cart.py\n", ("shop", "area/cart"), ("Basket",), datetime(2026, 1, 1, tzinfo=UTC),
            (EntityName("src/cart.py", "file"),),
        )
    ]  # fmt: skip
    assert reports == []


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("text\n# The *first* one ##\n# Second", "The *first* one"),
        ("Under\nThe line\n===\n", "The line"),
        ("```\n# comment\n```\n## second level\n", "some page"),
        ("# \n", "some page"),
        ("", "some page"),
        ("---\ntitle: [unclosed\n---\n# Real\n", "Real"),
        ("# " + "x" * 5000, "x" * 299 + "…"),
    ],
)
def test_titles(tmp_path: Path, body: str, title: str) -> None:
    write(tmp_path, {"some page.md": body})
    assert [page.title for page in read(tmp_path)[0]] == [title]


def test_what_is_left_out_is_reported(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    write(
        root,
        {
            ".obsidian/x.md": "x",
            "a/.hidden.md": "x",
            "big.md": "x" * 101,
            "fits.md": "x" * 100,
            "bin.md": b"a\x00b",
            "img.png": b"",
            "a/b.MDX": "x",
        },
    )
    write(tmp_path, {"outside.md": "secret", "elsewhere/x.md": "secret"})
    (root / "out.md").symlink_to(tmp_path / "outside.md")
    (root / "out").symlink_to(tmp_path / "elsewhere")
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "pipe.md")
    pages, reports = read(root, max_bytes=100)
    assert [page.path for page in pages] == ["a/b.MDX", "fits.md"]
    assert reports == [
        (".obsidian", "hidden"), ("a/.hidden.md", "hidden"), ("big.md", "too_large"), ("bin.md", "binary"), ("loop", "symlink"),
        ("out", "symlink"), ("out.md", "symlink"), ("pipe.md", "not_a_file"), (str(root), "ignored_files"),
    ]  # fmt: skip


def test_both_unicode_forms_of_a_path_are_one_page(tmp_path: Path) -> None:
    for form in ("NFC", "NFD"):
        write(tmp_path, {unicodedata.normalize(form, "café/パ.md"): form})
    pages, reports = read(tmp_path)
    assert [page.path for page in pages] == ["café/パ.md"]
    assert [code for _, code in reports] == ["duplicate_path"]


def test_bytes_that_are_no_utf8_are_replaced_and_reported(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": b"ok\nbad \xff\n", "late.md": b"x" * 9000 + b"\x00"})
    (tmp_path / os.fsdecode(b"n\xff.md")).write_text("x")
    items = list(read_folder(tmp_path))
    pages = {item.path: item.body for item in items if isinstance(item, PageItem)}
    assert pages["a.md"] == "ok\nbad \ufffd\n"
    assert pages["n\ufffd.md"] == "x"
    assert pages["late.md"].endswith("x\ufffd")
    faults = [item for item in items if isinstance(item, Report)]
    assert [(fault.source, fault.line, fault.code) for fault in faults] == [("a.md", 2, "invalid_utf8"), ("n\ufffd.md", None, "bad_name")]
    assert all(fault.is_fault for fault in faults)


def test_bad_front_matter_is_kept_as_body_and_reported(tmp_path: Path) -> None:
    text = "---\na: &a [*a]\n---\nbody\n"
    write(tmp_path, {"a.md": text})
    pages, reports = read(tmp_path)
    assert [page.body for page in pages] == [text]
    assert reports == [("a.md", "front_matter")]


def test_bad_front_matter_is_told_by_its_line_in_the_file(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "---\ntags: [x]\ntitle: a: b\n---\nbody\n"})
    (report,) = [item for item in read_folder(tmp_path) if isinstance(item, Report)]
    told = "The front matter cannot be read as YAML (mapping values are not allowed here); the page is stored with it as text."
    assert (report.line, report.message, report.is_fault, report.is_loss) == (3, told, True, False)


@pytest.mark.parametrize(
    ("count", "told"), [(1, "1 file with another ending was left alone."), (2, "2 files with other endings were left alone.")]
)
def test_files_with_other_endings_are_counted(tmp_path: Path, count: int, told: str) -> None:
    write(tmp_path, {f"{number}.png": b"" for number in range(count)})
    assert [item.message for item in read_folder(tmp_path) if isinstance(item, Report)] == [told]


def test_the_order_is_by_path_and_the_same_each_time(tmp_path: Path) -> None:
    write(tmp_path, dict.fromkeys(("b.md", "a/z.md", "a/b/c.md", "c/a.md", "a.md", "é.md"), "x"))
    first = read(tmp_path)
    assert [page.path for page in first[0]] == ["a/b/c.md", "a/z.md", "a.md", "b.md", "c/a.md", "é.md"]
    assert read(tmp_path) == first


def test_no_folder_is_a_fault(tmp_path: Path) -> None:
    items = list(read_folder(tmp_path / "none"))
    assert [item.code for item in items if isinstance(item, Report) and item.is_fault] == ["not_a_folder"]
