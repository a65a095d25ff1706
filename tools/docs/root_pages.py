"""A hook of mkdocs: CHANGELOG.md and CONTRIBUTING.md, which lie beside docs/, become pages, with their links as seen from docs/."""

from pathlib import Path

from mkdocs.structure.files import File

ROOT_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md")


def on_files(files, *, config):
    root = Path(config.config_file_path).parent
    for name in ROOT_PAGES:
        text = (root / name).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, name.lower(), content=text))
    return files
