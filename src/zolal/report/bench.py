"""The report of a benchmark: every claim with its target, what was measured, and whether it is met."""

from collections.abc import Sequence

from zolal.bench import Claim, Finding
from zolal.report._field_profiles import data_profiles, performance_profiles
from zolal.report._profiles import profiles
from zolal.report.base import Drawing, Report
from zolal.tables import Table

VERDICTS = {True: "met", False: "missed", None: "—"}


def report_bench(found: Finding) -> Report:
    """The table of claims first, then what stands behind it."""
    tables = [claims_table(found.name, found.title, found.claims)] if found.claims else []
    return Report(found.name, found.title, found.lead, _drawings(found), tables + found.tables)


def _drawings(found: Finding) -> list[Drawing]:
    if found.name == "peers":
        return [profiles(found.details)]
    if found.name in ("cutest", "more-wild", "simulated") and found.details:
        return [data_profiles(found.name, found.details), performance_profiles(found.name, found.details)]
    return []


def claims_table(name: str, title: str, claims: Sequence[Claim]) -> Table:
    """What was asked for, measured, met; the aims where there are any."""
    aims = any(claim.aim for claim in claims)
    columns = ("what", "target", "measured", "verdict", *(("aim", "reached") if aims else ()))
    rows = []
    for claim in claims:
        beyond = (claim.aim or "—", VERDICTS[claim.aimed]) if aims else ()
        rows.append((claim.case, claim.target, claim.measured, VERDICTS[claim.met], *beyond))
    return Table(name, title, columns, rows)
