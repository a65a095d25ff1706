"""Files of public data: where they are looked for, what is checked, and what is told when they cannot be had."""

import gzip
import hashlib
import io
import socket
import subprocess
import sys
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from zolal.errors import DataError, ZolalError
from zolal.problems.datasets import _fetch
from zolal.problems.datasets._fetch import DataFile, Source

CONTENT = b"1 2 3\n4 5 6\n"
SUM = hashlib.sha256(CONTENT).hexdigest()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format, *args):
        self.server.requested.append(self.path)


@pytest.fixture
def served(tmp_path):
    """A folder and the address and log of the server that serves it."""
    folder = tmp_path / "served"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    server.requested = []
    thread = threading.Thread(target=server.serve_forever, kwargs=dict(poll_interval=0.01), daemon=True)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}", server.requested
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.delenv("ZOLAL_DATA", raising=False)
    monkeypatch.setattr(_fetch, "cache_folder", lambda name: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def dead():
    """An address where nobody answers."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/file"


def zipped(name, content):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(name, content)
    return archive.getvalue()


@pytest.mark.parametrize(
    ("name", "stored", "members"),
    [
        ("plain", CONTENT, ()),
        ("file.gz", gzip.compress(CONTENT), ()),
        ("outer.zip", zipped("inner.zip", zipped("deep.csv", CONTENT)), ("inner.zip", "deep.csv")),
    ],
    ids=["plain", "gzip", "zip"],
)
def test_a_download_is_unpacked_checked_and_kept(served, cache, name, stored, members):
    folder, address, requested = served
    (folder / name).write_bytes(stored)
    file = DataFile("some/data", SUM, (Source(f"{address}/{name}", members),))
    assert file.read() == file.read() == CONTENT
    assert len(requested) == 1
    assert [path.name for path in (cache / "some").iterdir()] == ["data"]


def test_the_second_source_serves_when_the_first_is_dead_missing_or_wrong(served, cache, dead):
    folder, address, _ = served
    (folder / "right").write_bytes(CONTENT)
    (folder / "wrong").write_bytes(b"something else")
    sources = [Source(url) for url in (dead, f"{address}/absent", f"{address}/wrong", f"{address}/right")]
    assert DataFile("data", SUM, tuple(sources)).read() == CONTENT


def test_sources_that_all_fail_are_told_with_their_reasons_and_the_place_for_the_file(served, cache, dead):
    folder, address, _ = served
    (folder / "wrong").write_bytes(b"something else")
    (folder / "no.zip").write_bytes(b"not an archive")
    sources = (Source(dead), Source(f"{address}/absent"), Source(f"{address}/wrong"), Source(f"{address}/no.zip", ("a",)))
    with pytest.raises(DataError) as caught:
        DataFile("some/data", SUM, sources).read()
    told = str(caught.value)
    parts = (*(source.url for source in sources), "404", hashlib.sha256(b"something else").hexdigest(), SUM, "BadZipFile", "ZOLAL_DATA")
    assert all(part in told for part in (*parts, str(cache / "some" / "data")))
    assert isinstance(caught.value, ZolalError)
    assert isinstance(caught.value, OSError)
    assert not (cache / "some" / "data").exists()
    assert len(told) < 1000


def test_a_file_without_download_names_its_origin(cache):
    """Whether the cache can be written or not."""
    cache.write_text("a file where the folder should be")
    with pytest.raises(DataError, match=r"data has no download; it comes from the attic; put the file .* at .*cache/data, or"):
        DataFile("data", SUM, origin="the attic").read()


@pytest.mark.parametrize(("name", "stored"), [("data", CONTENT), ("data.gz", gzip.compress(CONTENT))], ids=["plain", "gzip"])
def test_the_own_folder_comes_first(served, cache, tmp_path, monkeypatch, name, stored):
    (tmp_path / "own" / "some").mkdir(parents=True)
    (tmp_path / "own" / "some" / name).write_bytes(stored)
    monkeypatch.setenv("ZOLAL_DATA", str(tmp_path / "own"))
    _, address, requested = served
    assert DataFile("some/data", SUM, (Source(f"{address}/data"),)).read() == CONTENT
    assert not requested


def test_what_the_own_folder_lacks_is_downloaded_to_the_cache(served, cache, tmp_path, monkeypatch):
    monkeypatch.setenv("ZOLAL_DATA", str(tmp_path / "nowhere"))
    folder, address, _ = served
    (folder / "data").write_bytes(CONTENT)
    assert DataFile("data", SUM, (Source(f"{address}/data"),)).read() == CONTENT
    assert (cache / "data").read_bytes() == CONTENT


def test_a_wrong_stored_file_is_told_with_both_sums(cache):
    cache.mkdir()
    (cache / "data").write_bytes(b"damaged")
    with pytest.raises(DataError, match=f"cache/data is not the expected file.*{hashlib.sha256(b'damaged').hexdigest()} instead of {SUM}"):
        DataFile("data", SUM).read()


def test_a_broken_archive_is_told(cache):
    cache.mkdir()
    (cache / "data.gz").write_bytes(gzip.compress(CONTENT)[:-4])
    with pytest.raises(DataError, match=r"cache/data.gz could not be read \(EOFError"):
        DataFile("data", SUM).read()


def test_a_cache_that_cannot_be_written_is_told(served, cache):
    folder, address, requested = served
    (folder / "data").write_bytes(CONTENT)
    cache.write_text("a file where the folder should be")
    with pytest.raises(DataError, match=r"cache cannot be written .*; put data into the folder that .* ZOLAL_DATA names"):
        DataFile("data", SUM, (Source(f"{address}/data"),)).read()
    assert not requested  # told before anything is downloaded


def test_a_server_that_breaks_off_is_told(cache):
    """It promises 100 bytes and sends 5."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer():
            connection, _ = listening.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        with pytest.raises(DataError, match=r"could not be downloaded from .*IncompleteRead"):
            DataFile("data", SUM, (Source(f"http://127.0.0.1:{listening.getsockname()[1]}/data"),)).read()
        thread.join()


def test_downloading_without_pooch_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.delenv("ZOLAL_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataError, match=r'data is not in the folder .*: pip install "zolal\[experiments\]"\.'):
        DataFile("data", SUM, (Source("http://127.0.0.1:9/data"),)).read()


def test_the_cache_is_the_users(monkeypatch):
    assert "zolal" in str(_fetch.cache_folder()).lower()


def test_importing_zolal_brings_no_network_library():
    code = "import sys, zolal, zolal.problems.datasets; print([name for name in ('pooch', 'requests', 'urllib3') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
