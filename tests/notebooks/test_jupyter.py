"""Run All Cells in JupyterLab and a real browser gives no error in any notebook.

`make test-jupyter` runs this; pictures of the notebooks go to build/screenshots. Everything stays
on the loopback interface, and the server always ends with the module.
"""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.jupyter, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SCREENSHOTS = ROOT / "build" / "screenshots"

START_SECONDS = 60
"""How long the server, a page or a kernel may take to come up."""

RUN_SECONDS = 400
"""How long one notebook may take at quick size."""

TALLEST_PIXELS = 12_000
"""Where a picture of a long notebook ends."""

SETTINGS = {
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}
"""Draw cells that are not visible, and do not look for news."""

BROWSER = [
    f"--{option}"
    for option in [
        "no-sandbox",
        "disable-gpu",
        "disable-quic",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
    ]
]
"""How Chromium is started: also for root in a container, and without calls to its makers."""


def chromium() -> str | None:
    """Return the file of a Chromium: PQCHAIN_CHROMIUM, or the first one on PATH."""
    named = os.environ.get("PQCHAIN_CHROMIUM")
    names = ("chromium", "chromium-browser", "google-chrome")
    return named or next(filter(None, map(shutil.which, names)), None)


@dataclass(frozen=True, slots=True)
class Lab:
    """A running JupyterLab: its address, its token, and the folder with the notebooks."""

    address: str
    token: str
    folder: Path

    def ask(self, path: str, method: str = "GET") -> Any:
        """Call the server's REST interface."""
        headers = {"Authorization": f"token {self.token}"}
        request = urllib.request.Request(f"{self.address}/api/{path}", None, headers, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def session(self, name: str) -> dict[str, Any] | None:
        """Return the session of a notebook, None before it has one."""
        return next((row for row in self.ask("sessions") if row["path"] == name), None)

    def idle(self, name: str) -> bool:
        """Tell whether the notebook has a kernel that waits for work."""
        session = self.session(name)
        return session is not None and session["kernel"]["execution_state"] == "idle"

    def code_cells(self, name: str) -> list[dict[str, Any]]:
        """Return the non-empty code cells of the saved notebook."""
        cells = json.loads((self.folder / name).read_text())["cells"]
        return [c for c in cells if c["cell_type"] == "code" and "".join(c["source"]).strip()]


def free_port() -> int:
    """Return a free port on the loopback interface."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def lab(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Start JupyterLab on copies of the notebooks without outputs, if there is a browser."""
    pytest.importorskip("jupyterlab", reason="JupyterLab is not installed: make test-jupyter")
    home = tmp_path_factory.mktemp("jupyter")
    folder = home / "notebooks"
    folder.mkdir()
    for path in NOTEBOOKS:
        notebook = json.loads(path.read_text())
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell.update(outputs=[], execution_count=None)
        (folder / path.name).write_text(json.dumps(notebook))
    for plugin, settings in SETTINGS.items():
        extension, _, name = plugin.partition(":")
        file = home / "settings" / extension / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings))
    port, token = free_port(), secrets.token_hex(16)
    folders = {
        "IPYTHONDIR": "ipython",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "HOME": "",
    }
    own = {name: str(home / folder) for name, folder in folders.items()}
    own |= {"JUPYTER_TOKEN": token, "PQCHAIN_PRESET": "quick"}
    options = [
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={folder}",
        "--LabApp.expose_app_in_browser=True",
        "--LabApp.extension_manager=readonly",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    log = home / "server.log"
    with log.open("wb") as sink:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options],
            env=os.environ | own,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        started = Lab(f"http://127.0.0.1:{port}", token, folder)
        limit = time.monotonic() + START_SECONDS
        while True:
            try:
                started.ask("status")
                break
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                if server.poll() is not None or time.monotonic() > limit:
                    pytest.fail(f"JupyterLab does not start:\n{log.read_text()[-3000:]}")
                time.sleep(0.2)
        yield started
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait(20)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start Chromium without a window."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: make test-jupyter"
    )
    file = chromium()
    if file is None:
        pytest.skip("no Chromium: install it (Debian: chromium), or name it in PQCHAIN_CHROMIUM")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(
            executable_path=file, args=BROWSER, timeout=START_SECONDS * 1000
        )
        try:
            yield running
        finally:
            running.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """Open a new window with empty storage."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    context.set_default_timeout(START_SECONDS * 1000)
    try:
        yield context.new_page()
    finally:
        context.close()


def errors(cells: list[dict[str, Any]]) -> list[str]:
    """Return the errors shown in the cells."""
    outputs = [output for cell in cells for output in cell["outputs"]]
    raised = [f"{o['ename']}: {o['evalue']}" for o in outputs if o["output_type"] == "error"]
    return raised + ["".join(o["text"]) for o in outputs if o.get("name") == "stderr"]


def show(lab: Lab, page: Any, name: str) -> None:
    """Open a notebook in a new workspace and wait until its kernel is ready."""
    workspace = name.removesuffix(".ipynb")
    page.goto(f"{lab.address}/lab/workspaces/{workspace}/tree/{name}?token={lab.token}")
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
    limit = time.monotonic() + START_SECONDS
    while not lab.idle(name):
        if time.monotonic() > limit:
            pytest.fail(f"the kernel of {name} is not ready after {START_SECONDS} s")
        time.sleep(0.2)


def run_all(lab: Lab, page: Any, name: str) -> list[dict[str, Any]]:
    """Choose Run All Cells, wait until the kernel is done or fails, and return the code cells."""
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.locator(".lm-Menu-itemLabel", has_text="Run All Cells").first.click()
    limit = time.monotonic() + RUN_SECONDS
    while True:
        time.sleep(1)
        page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
        cells = lab.code_cells(name)
        result = lab.idle(name) and all(cell["execution_count"] for cell in cells)
        if result or errors(cells):
            return cells
        if time.monotonic() > limit:
            counts = [cell["execution_count"] for cell in cells]
            pytest.fail(f"{name} is not done after {RUN_SECONDS} s; execution counts: {counts}")


def photograph(page: Any, file: Path) -> None:
    """Save a picture of the whole notebook, as tall as it is."""
    panel = ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-WindowedPanel-outer"
    height = page.evaluate(f"document.querySelector('{panel}').scrollHeight")
    page.set_viewport_size({"width": 1280, "height": min(height + 150, TALLEST_PIXELS)})
    page.evaluate(f"document.querySelector('{panel}').scrollTop = 0")
    page.wait_for_timeout(1000)
    file.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=file)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_in_jupyterlab(lab: Lab, page: Any, path: Path) -> None:
    show(lab, page, path.name)
    cells = run_all(lab, page, path.name)
    photograph(page, SCREENSHOTS / f"{path.stem}.png")
    session = lab.session(path.name)
    assert session is not None
    lab.ask(f"sessions/{session['id']}", "DELETE")
    assert errors(cells) == []
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert any("image/png" in o.get("data", {}) for cell in cells for o in cell["outputs"])
    shown = page.locator('[data-mime-type="application/vnd.jupyter.error"]')
    assert shown.count() == 0


def test_cell_error_is_detected(lab: Lab, page: Any) -> None:
    """Checks the check: a failing notebook must be detected."""
    name = "failing.ipynb"
    notebook = json.loads(NOTEBOOKS[0].read_text())
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    notebook["cells"] = [cell | {"id": "a", "source": "1 / 0"}, cell | {"id": "b", "source": "2"}]
    (lab.folder / name).write_text(json.dumps(notebook))
    show(lab, page, name)
    assert errors(run_all(lab, page, name)) == ["ZeroDivisionError: division by zero"]


def test_slider_changes_the_figure(lab: Lab, page: Any) -> None:
    """The explorer of notebook 09: keys move the slider, and the figure follows."""
    name = "explorer.ipynb"
    notebook = json.loads((lab.folder / "09_explore.ipynb").read_text())
    notebook["cells"] = [c for c in notebook["cells"] if c["cell_type"] == "code"][:1]
    (lab.folder / name).write_text(json.dumps(notebook))
    show(lab, page, name)
    assert errors(run_all(lab, page, name)) == []
    picture = page.locator(".jp-OutputArea .widget-image").first
    picture.wait_for()
    before = picture.get_attribute("src")
    slider = page.locator(".widget-hslider:visible", has_text="nodes").locator(".noUi-handle")
    slider.focus()
    slider.press("ArrowRight")
    handle = picture.element_handle()
    page.wait_for_function("([image, before]) => image.src !== before", arg=[handle, before])
