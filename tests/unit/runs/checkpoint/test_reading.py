"""A folder that somebody has tampered with is told in one sentence, not in a traceback of the JSON reader."""

import pytest

from zolal.errors import CheckpointError
from zolal.runs.checkpoint import read_run

TAMPERED = {
    "missing": (None, r"run.json' cannot be read: No such file or directory\."),
    "torn": ('{"format": 1', r"'run.json' is no JSON \(.*\); `zolal repair .*` goes back to what is whole\."),
    "list": ("[1, 2]", r"'run.json' must hold an object and holds a list; "),
}


@pytest.mark.parametrize(("text", "sentence"), TAMPERED.values(), ids=TAMPERED)
def test_a_run_that_cannot_be_read_is_one_sentence(tmp_path, text, sentence):
    if text is not None:
        (tmp_path / "run.json").write_text(text)
    with pytest.raises(CheckpointError, match=sentence):
        read_run(tmp_path)
