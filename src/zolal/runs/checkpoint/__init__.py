"""Runs in folders: kept so that they can be continued bit for bit, whatever ended them."""

from zolal._safe import replace_file
from zolal.runs.checkpoint._files import plain, replace_json
from zolal.runs.checkpoint._reading import RunRecord, read_run
from zolal.runs.checkpoint._record import constraint_table, plain_record, result_record
from zolal.runs.checkpoint._repair import repair
from zolal.runs.checkpoint.folder import RunFolder

__all__ = [
    "RunFolder",
    "RunRecord",
    "constraint_table",
    "plain",
    "plain_record",
    "read_run",
    "repair",
    "replace_file",
    "replace_json",
    "result_record",
]
