"""Files of public data: from the folder that ZOLAL_DATA names, from the cache, or from the network, always with their checksum."""

import gzip
import hashlib
import io
import os
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from zolal._safe import replace_file
from zolal.errors import DataError

# KeyError: no such member; RuntimeError: an encrypted one or an unknown compression; what requests raises is an OSError
UNREADABLE = (OSError, EOFError, zlib.error, zipfile.BadZipFile, KeyError, RuntimeError)
TIMEOUT = 30.0  # seconds without an answer before a source is given up


@final
@dataclass(frozen=True)
class Source:
    """Where a file can be had. members: the path to it through archives in archives, empty when it is served itself (plain or gzip)."""

    url: str
    members: tuple[str, ...] = ()


@final
@dataclass(frozen=True)
class DataFile:
    """A public file: its place below the data folder, the sha256 of its uncompressed content, and where it comes from.

    origin: where people find it when it cannot be downloaded as it is.
    """

    name: str
    sha256: str
    sources: tuple[Source, ...] = ()
    origin: str = ""

    def read(self) -> bytes:
        """The uncompressed content, checked. Nothing is downloaded that ZOLAL_DATA or the cache holds."""
        if own := os.environ.get("ZOLAL_DATA"):
            found = self._stored(Path(own))
            if found is not None:
                return found
        folder = cache_folder(self.name)
        found = self._stored(folder)
        return self._download(folder) if found is None else found

    def _stored(self, folder: Path) -> bytes | None:
        """The content of the file in `folder`, plain or with .gz, or None where there is neither."""
        for path in (folder / self.name, folder / f"{self.name}.gz"):
            if path.is_file():
                try:
                    content = unpack(path.read_bytes())
                except UNREADABLE as error:
                    raise DataError(f"{path} could not be read ({type(error).__name__}: {error}).") from error
                if difference := self._difference(content):
                    raise DataError(f"{path} is not the expected file: {difference}; replace or delete it.")
                return content
        return None

    def _difference(self, content: bytes) -> str | None:
        got = hashlib.sha256(content).hexdigest()
        return None if got == self.sha256 else f"its uncompressed content has the sha256 {got} instead of {self.sha256}"

    def _download(self, folder: Path) -> bytes:
        """The content from the first source that gives it, kept uncompressed in `folder`."""
        target, failures = folder / self.name, []
        try:
            for source in self.sources:
                target.parent.mkdir(parents=True, exist_ok=True)  # before anything is downloaded in vain
                content, failure = self._from(source)
                if failure is None:
                    return _kept(content, target)
                failures.append(f"{source.url} ({failure})")
        except OSError as error:
            raise DataError(
                f"The cache {folder} cannot be written ({type(error).__name__}: {error}); put {self.name} into the folder that the "
                f"environment variable ZOLAL_DATA names."
            ) from error
        tried = f"could not be downloaded from {' or '.join(failures)}" if failures else f"has no download; it comes from {self.origin}"
        raise DataError(
            f"{self.name} {tried}; put the file (plain or as .gz) at {target}, or at the same place below a folder that the environment "
            f"variable ZOLAL_DATA names."
        )

    def _from(self, source: Source) -> tuple[bytes, str | None]:
        """What a source gives, and what is wrong with it."""
        downloader, content = pooch(self.name).HTTPDownloader(timeout=TIMEOUT), io.BytesIO()
        try:
            downloader(source.url, content, None)
            found = unpack(content.getvalue(), source.members)
        except UNREADABLE as error:
            return b"", _reason(error)
        return found, self._difference(found)


def unpack(content: bytes, members: tuple[str, ...] = ()) -> bytes:
    """The content without gzip, or behind the members of zip archives in zip archives; without names, behind the first member."""
    if members or content.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            first, *rest = members or archive.namelist()[:1]
            return unpack(archive.read(first), tuple(rest))
    return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content


def cache_folder(name: str = "data") -> Path:
    """The user's cache, where downloads are kept."""
    return Path(pooch(name).os_cache("zolal"))


def pooch(name: str) -> Any:
    """The package pooch, imported only when something beyond ZOLAL_DATA is asked for."""
    try:
        import pooch
    except ImportError as error:
        raise DataError(
            f"{name} is not in the folder that the environment variable ZOLAL_DATA names, and downloading needs pooch: "
            f'pip install "zolal[experiments]".'
        ) from error
    return pooch


def _reason(error: Exception) -> str:
    """What went wrong, in a few words: the address is told already, and errors of connections go on for lines."""
    text = str(error).split(" for url:")[0]
    return f"{type(error).__name__}: {text}" if len(text) < 150 else type(error).__name__


def _kept(content: bytes, target: Path) -> bytes:
    """The content, written under another name first, so that nobody sees half a file."""
    replace_file(target, lambda file: file.write(content))
    return content
