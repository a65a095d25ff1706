"""A hook of mkdocs: the index of the search as a script, too, which a page that is opened from the disk may load."""

from pathlib import Path


def on_post_build(*, config):
    index = Path(config.site_dir, "search", "search_index.json")
    index.with_suffix(".js").write_text(f"var __index = {index.read_text(encoding='utf-8')}", encoding="utf-8")
