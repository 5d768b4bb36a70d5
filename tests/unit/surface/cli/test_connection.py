from pathlib import Path

import msgspec
import pytest

from service.surface.cli.connection import FILE_NAME, Connection, Options, data_folder, find_connection, require_key
from service.surface.cli.failure import UNREACHABLE, USAGE, Failure

OWN = Connection(
    url="http://127.0.0.1:8000", key="mun_own", workspace="main", project="first", mcp="http://127.0.0.1:8000/mcp", database="x"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / FILE_NAME).write_bytes(msgspec.json.encode(OWN))
    return tmp_path


def find(folder: Path, environment: dict[str, str] | None = None, **options: str) -> Connection:
    return find_connection(Options(data=folder, **options), environment or {})


def test_the_file_names_the_server(folder: Path) -> None:
    found = find(folder)
    assert (found.url, found.key, found.workspace, found.project, found.mcp_url) == (OWN.url, OWN.key, "main", "first", OWN.mcp)


def test_options_win_over_the_environment_and_both_over_the_file(folder: Path) -> None:
    environment = {"MUNIMENT_KEY": "mun_env", "MUNIMENT_PROJECT": "env", "MUNIMENT_WORKSPACE": "env"}
    found = find(folder, environment, project="option")
    assert (found.url, found.key, found.workspace, found.project) == (OWN.url, "mun_env", "env", "option")
    found = find(folder, {**environment, "MUNIMENT_URL": "http://env:1/"}, key="mun_option")
    assert (found.url, found.key, found.mcp_url) == ("http://env:1", "mun_option", "http://env:1/mcp")
    assert find(folder, {"MUNIMENT_URL": "http://env:1"}, url="http://option:2").url == "http://option:2"


@pytest.mark.parametrize("end", ["", "/", "/mcp", "/mcp/", "/api/v1", "/api/v1/", "/api", "//"])
def test_the_address_of_a_surface_leads_to_its_server(folder: Path, end: str) -> None:
    assert find(folder, url=OWN.url + end).key == OWN.key
    assert find(folder, url="https://host/memory" + end).url == "https://host/memory"


def test_what_only_looks_like_a_surface_stays(folder: Path) -> None:
    assert find(folder, url="https://host/mcpx").url == "https://host/mcpx"
    assert find(folder, url="https://mcp").url == "https://mcp"
    assert find(folder, url="https://api/mcp").url == "https://api"


def test_the_key_of_the_file_goes_to_its_own_server_only(folder: Path) -> None:
    other = find(folder, url="http://elsewhere:1")
    assert (other.key, other.workspace, other.project) == (None, None, None)
    with pytest.raises(Failure) as caught:
        require_key(other)
    assert caught.value.exit_code == USAGE
    assert find(folder, url="http://127.0.0.1:8000/").key == OWN.key


def test_the_files_project_is_that_of_the_files_key_alone(folder: Path) -> None:
    for found in (find(folder, key="mun_wren"), find(folder, {"MUNIMENT_KEY": "mun_wren"}), find(folder, key="mun_wren", url=OWN.url)):
        assert (found.url, found.key, found.workspace, found.project, found.mcp_url) == (OWN.url, "mun_wren", None, None, OWN.mcp)
    assert find(folder, {"MUNIMENT_PROJECT": "named"}, key="mun_wren").project == "named"
    assert find(folder, key="mun_own").project == "first"


@pytest.mark.parametrize("folder_name", ["nothing", "file"])
def test_without_a_server_the_error_says_what_to_do(tmp_path: Path, folder_name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Failure) as caught:
        find(tmp_path / folder_name)
    assert caught.value.exit_code == UNREACHABLE
    assert str(tmp_path / folder_name) in caught.value.problem.error
    for way in ("muniment serve", "--data", "MUNIMENT_DATA", "--url"):
        assert way in (caught.value.problem.hint or "")


def test_a_broken_file_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text('{"url": 3}')
    with pytest.raises(Failure) as caught:
        find(tmp_path)
    assert str(tmp_path / FILE_NAME) in caught.value.problem.error


@pytest.mark.parametrize("url", ["ftp://x", "127.0.0.1:8000", "http://", "http://[", "http://x:99999", ""])
def test_an_address_that_is_none_is_wrong_usage(folder: Path, url: str) -> None:
    if not url:
        assert find(folder, url=url).url == OWN.url
        return
    with pytest.raises(Failure) as caught:
        find(folder, url=url)
    assert caught.value.exit_code == USAGE
    assert "http://127.0.0.1:8000" in (caught.value.problem.hint or "")


@pytest.mark.parametrize("key", ["mun_\nX: y", "mun_ä", "mun a"])
def test_a_key_that_cannot_be_sent_is_wrong_usage(folder: Path, key: str) -> None:
    with pytest.raises(Failure) as caught:
        find(folder, key=key)
    assert caught.value.exit_code == USAGE
    assert key not in caught.value.problem.error


def test_the_data_folder(tmp_path: Path) -> None:
    assert data_folder(tmp_path, {"MUNIMENT_DATA": "/elsewhere"}) == tmp_path
    assert data_folder(None, {"MUNIMENT_DATA": "/elsewhere"}) == Path("/elsewhere")
    assert data_folder(None, {}).name == "muniment"
