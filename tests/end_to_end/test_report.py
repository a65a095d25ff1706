"""The page of a run in a real browser: it opens without an error, its plots can be seen, its numbers are the run's, user text is text."""

import json
import os
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import NonlinearConstraint

import zolal
from zolal.report.run_page import _trailing_mean, run_page, write_run_page
from zolal.runs.checkpoint import read_run

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
EVIL = "<script>document.title='stolen'</script><img src=x onerror=document.title='stolen'>\"'&"


def evil_constraint(x):
    return x @ x


evil_constraint.__name__ = f"energy {EVIL}"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with constraints, failures whose sentences are hostile, and a folder of a strange name."""
    folder = tmp_path_factory.mktemp("runs") / "a <b>run</b> & more"
    calls = []

    def fun(x):
        calls.append(1)
        if len(calls) % 9 == 0:
            raise ValueError(EVIL)
        return float((x - 1.0) @ (x - 1.0))

    constraints = [
        NonlinearConstraint(evil_constraint, 1.0, 1.0, jac=lambda x: 2 * x),
        NonlinearConstraint(lambda x: x[:2], -np.inf, 2.0, jac=lambda x: np.eye(2, 3)),
    ]
    options = dict(step_size=0.02, penalty=10.0, dual_step=5.0, num_directions=8)
    res = zolal.minimize(fun, np.full(3, 0.5), constraints=constraints, maxfev=2500, rng=1, checkpoint=folder, options=options)
    page = folder / "report.html"
    write_run_page(folder, page)
    return res, folder, page


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None or DRIVER is None:
        assert not os.environ.get("ZOLAL_NEEDS_BROWSER"), "chromium and chromedriver must be installed here"
        pytest.skip("no chromium with chromedriver on this machine")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,1600"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser, run):
    browser.get_log("performance")
    browser.get(run[2].as_uri())
    return browser


def text(browser, name):
    return browser.find_element("id", name).text


def test_the_page_opens_without_an_error_and_without_the_network(opened, run):
    assert opened.get_log("browser") == []
    requests = [json.loads(entry["message"])["message"] for entry in opened.get_log("performance")]
    urls = [entry["params"]["request"]["url"] for entry in requests if entry["method"] == "Network.requestWillBeSent"]
    assert urls == [run[2].as_uri()]
    assert opened.title == f"{run[1].name} - zolal"
    assert opened.find_elements("tag name", "script") == []


def test_the_plots_can_be_seen(opened):
    for name in ("objective", "stationarity", "variables-plot"):
        svg = opened.find_element("css selector", f"#plot-{name} svg")
        assert svg.is_displayed()
        assert svg.size["width"] > 400
        assert svg.size["height"] > 120
        curves = opened.execute_script("return [...arguments[0].querySelectorAll('path')].filter(p => p.getBBox().width > 50).length", svg)
        assert curves >= 1
        assert len(set(svg.screenshot_as_png)) > 50  # not one colour


@pytest.mark.parametrize(
    ("scheme", "paper", "ink"), [("dark", "rgb(22, 24, 28)", "rgb(232, 233, 236)"), ("light", "rgb(255, 255, 255)", "rgb(31, 35, 40)")]
)
def test_the_page_can_be_read_in_the_dark_and_on_a_phone(opened, scheme, paper, ink):
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", dict(features=[dict(name="prefers-color-scheme", value=scheme)]))
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", dict(width=400, height=900, deviceScaleFactor=1, mobile=True))
    try:
        body, svg = opened.find_element("tag name", "body"), opened.find_element("css selector", "#plot-objective svg")
        colours = [
            opened.execute_script("const s = getComputedStyle(arguments[0]); return [s.backgroundColor, s.color]", part)
            for part in (body, svg)
        ]
        assert colours[0] == [paper, ink]
        assert colours[1][0] == "rgb(255, 255, 255)"  # curves and their labels are drawn for white
        assert svg.size["width"] > 500  # and are scrolled where they do not fit
        assert opened.execute_script("return document.documentElement.scrollWidth") == 400
    finally:
        opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", dict(features=[]))


def test_the_values_are_those_of_the_run(opened, run):
    res, folder, _ = run
    assert text(opened, "status") == res.status.name
    assert text(opened, "message") == res.message
    assert text(opened, "nfev") == f"{res.nfev:,}"
    assert text(opened, "nit") == f"{res.nit:,}"
    assert float(text(opened, "fun")) == pytest.approx(res.fun, rel=1e-7)
    assert float(text(opened, "maxcv")) == pytest.approx(res.maxcv, rel=1e-2)
    rows = opened.find_elements("css selector", "#constraints tbody tr")
    multipliers = [float(row.find_elements("tag name", "td")[6].text) for row in rows]
    np.testing.assert_allclose(multipliers, res.multipliers, rtol=1e-5)
    values = [float(row.find_elements("tag name", "td")[3].text) for row in rows]
    np.testing.assert_allclose(values, [res.x @ res.x, *res.x[:2]], rtol=1e-7)
    shown = [float(row.text.split()[1]) for row in opened.find_elements("css selector", "#variables tbody tr")]
    np.testing.assert_allclose(shown, res.x, rtol=1e-7)
    assert "0.02" in text(opened, "parameters")
    failed = sum(count for _, count in res.failures)
    assert text(opened, "failures").endswith(f" {failed}")
    assert failed == len((folder / "failures.jsonl").read_text().splitlines())


def test_only_rows_beyond_the_tolerance_are_marked(opened, run):
    rows = opened.find_elements("css selector", "#constraints tbody tr")
    marked = [row.get_attribute("class") == "violated" for row in rows]
    res = run[0]
    assert marked == [abs(res.x @ res.x - 1.0) > 1e-3, *(res.x[:2] > 2.0 + 1e-3)]


def test_what_users_write_is_shown_and_not_obeyed(opened):
    assert EVIL in text(opened, "failures")
    assert EVIL in opened.find_element("css selector", "#constraints tbody td").text
    assert opened.find_elements("css selector", "img, script, b > b, h1 b") == []
    assert "stolen" not in opened.title


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen, self.external = set(), []

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.external += [value for name, value in attrs if name in ("src", "href", "xlink:href") and not value.startswith("#")]


def test_the_page_is_one_file_without_scripts_or_links_to_elsewhere(run):
    tags = Tags()
    tags.feed(run[2].read_text())
    assert not tags.seen & {"script", "img", "iframe", "link", "object", "embed", "b>"}
    assert tags.external == []
    assert "default-src 'none'" in run[2].read_text()


def test_ids_are_unique(run):
    ids = _ids(run[2])
    assert len(ids) == len(set(ids))


def _ids(path: Path):
    found = []

    class Ids(HTMLParser):
        def handle_starttag(self, tag, attrs):
            found.extend(value for name, value in attrs if name == "id")

    Ids().feed(path.read_text())
    return found


def test_the_mean_of_the_last_steps_leaves_missing_values_out():
    np.testing.assert_allclose(_trailing_mean(np.array([1.0, 3.0, np.nan, 5.0, 9.0]), 2), [1.0, 2.0, 3.0, 5.0, 7.0])
    assert np.isnan(_trailing_mean(np.array([np.nan, np.nan]), 1)).all()


def test_a_long_point_is_shown_in_part_and_the_page_says_so(tmp_path):
    bound = NonlinearConstraint(lambda x: x[:300], -np.inf, 2.0, jac=lambda x: np.eye(300, x.size))
    arguments = dict(rng=0, maxfev=100, constraints=bound, checkpoint=tmp_path, options=dict(step_size=0.1, num_directions=2))
    zolal.minimize(lambda x: float(x @ x), np.ones(6000), **arguments)
    page = run_page(read_run(tmp_path))
    for words in ("its first 5,000 coordinates", "The first 200 of 6,000 coordinates.", "The first 200 of 300 rows."):
        assert words in page


def test_a_run_in_progress_has_a_page_too(tmp_path):
    pages = []

    def look(state):
        pages.append(run_page(read_run(tmp_path)))
        return state.k == 3

    zolal.minimize(lambda x: float(x @ x), np.ones(2), rng=0, checkpoint=tmp_path, callback=look, options=dict(step_size=0.1))
    assert "The run has not ended." in pages[0]
    assert pages[-1].count("<svg") == 2
