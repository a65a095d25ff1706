"""Campaigns whose store holds outcomes that a test wrote: verdicts, tables and pages are made from it without a run."""

import pytest

from zolal.campaigns import Campaign, Store


def holding(folder, outcomes, version="v", seconds=1.0):
    """A campaign whose store holds these pairs of a task and its outcome, read from the disk; a run that is not there fails the test."""
    writer = Campaign(Store(folder), 1, version, lambda *_: None)
    for task, outcome in outcomes:
        writer.keep(task, outcome, seconds)
    return Campaign(Store(folder), 1, version, lambda _, __, label: pytest.fail(f"{label} was run, though its outcome is held"))
