"""JupyterLab and a headless browser, for test_browser.py."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

from playwright.sync_api import Page

TOKEN = "a-token-for-tests"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]

# A long notebook is drawn piece by piece while it is scrolled: here all of it is drawn at once.
SETTINGS = {
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
}

POLLING = 100  # milliseconds; Playwright by itself asks at every frame, and the page draws them all
SCROLLER = "document.querySelector('.jp-WindowedPanel-outer')"
CURRENT = "window.jupyterapp.shell.currentWidget"


def find_browser() -> str | None:
    """The path of a Chromium on this machine."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for path in map(shutil.which, names) if path), None)


@contextmanager
def serve(notebooks: Path, scratch: Path):
    """Run JupyterLab on a copy of the notebooks, with no settings but ours; give its address."""
    shutil.copytree(notebooks, scratch / "notebooks")
    overrides = scratch / "config" / "labconfig" / "default_setting_overrides.json"
    overrides.parent.mkdir(parents=True)
    overrides.write_text(json.dumps(SETTINGS))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {
        "COURSE_PROGRESS": str(scratch / "progress.jsonl"),
        "JUPYTER_CONFIG_DIR": str(scratch / "config"),
        "JUPYTER_DATA_DIR": str(scratch / "data"),
        "JUPYTER_RUNTIME_DIR": str(scratch / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(scratch / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(scratch / "workspaces"),
        "IPYTHONDIR": str(scratch / "ipython"),
    }
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.open_browser": False,
        "ServerApp.allow_root": True,
        "ServerApp.root_dir": scratch,
        "IdentityProvider.token": TOKEN,
        "LabApp.expose_app_in_browser": True,
    }
    command = [sys.executable, "-m", "jupyterlab", *(f"--{k}={v}" for k, v in options.items())]
    log = scratch / "jupyter.log"
    with log.open("w") as output:
        server = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(address, server, log)
            yield address
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(timeout=15)
            except subprocess.TimeoutExpired:
                server.kill()


def _wait_for(address: str, server: subprocess.Popen, log: Path) -> None:
    for _ in range(600):
        with suppress(OSError), urllib.request.urlopen(f"{address}/api?token={TOKEN}"):
            return
        if server.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-3000:]}")


class Notebook:
    """One notebook, open in a page, with what the page did besides."""

    def __init__(self, page: Page, address: str, name: str):
        self.page, self.name = page, name
        self.page_errors: list[str] = []
        self.outside: list[str] = []
        inside = (address, address.replace("http", "ws"), "data:", "blob:")
        page.on("pageerror", lambda error: self.page_errors.append(str(error)))
        for event in ("request", "websocket"):
            page.on(event, lambda r: r.url.startswith(inside) or self.outside.append(r.url))
        page.goto(f"{address}/doc/tree/notebooks/{name}.ipynb?token={TOKEN}&reset")
        page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
        self._wait_until_idle()

    def _wait_until_idle(self) -> None:
        idle = f"{CURRENT}?.sessionContext?.session?.kernel?.status === 'idle'"
        self.page.wait_for_function(f"() => {idle}", timeout=60_000, polling=POLLING)

    def run_all(self) -> None:
        """Run every cell and wait for the last one, its widgets included."""
        self.page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
        self._wait_until_idle()
        waiting = "() => ![...document.querySelectorAll('.jp-InputPrompt')].some("
        self.page.wait_for_function(
            waiting + "prompt => prompt.textContent.includes('*'))", polling=POLLING
        )
        # Every widget view is either drawn or still says that it loads.
        self.page.wait_for_function(
            "() => [...document.querySelectorAll('.jp-OutputArea-output"
            '[data-mime-type="application/vnd.jupyter.widget-view+json"]\')]'
            ".every(output => output.querySelector('.explorable, .jupyter-widgets'))",
            polling=POLLING,
        )

    def cells(self) -> list[dict]:
        """The cells as the page has them now."""
        return self.page.evaluate(f"() => {CURRENT}.content.model.toJSON().cells")

    def state(self) -> tuple:
        """What a stray key would change: the selected cell, the mode, the cells' text."""
        at = f"() => [{CURRENT}.content.activeCellIndex, {CURRENT}.content.mode]"
        return (*self.page.evaluate(at), [(cell["id"], cell["source"]) for cell in self.cells()])

    @contextmanager
    def unrolled(self):
        """Make the window as tall as the notebook, and leave nothing hidden in it."""
        # JupyterLab's body has no height, and axe takes what overflows it for invisible.
        style = "html, body { height: 100vh; overflow: visible !important }"
        tag = self.page.add_style_tag(content=style)
        height = self.page.evaluate(f"() => {SCROLLER}.scrollHeight")
        self.page.set_viewport_size({"width": 1280, "height": height + 200})
        self.page.wait_for_timeout(500)
        self.page.evaluate(f"() => {{ {SCROLLER}.scrollTop = 0; }}")
        yield
        tag.evaluate("e => e.remove()")
        self.page.set_viewport_size({"width": 1280, "height": 900})

    def screenshots(self, folder: Path, width: int) -> None:
        """Save the notebook, one window after another."""
        self.page.set_viewport_size({"width": width, "height": 1400})
        self.page.wait_for_timeout(500)
        height = self.page.evaluate(f"() => {SCROLLER}.scrollHeight")
        for part, top in enumerate(range(0, height, 1250)):
            self.page.evaluate(f"() => {{ {SCROLLER}.scrollTop = {top}; }}")
            self.page.wait_for_timeout(150)
            self.page.screenshot(path=folder / f"{self.name}-{width}-{part:02}.png")

    def shut_down(self) -> None:
        self.page.evaluate(f"() => {CURRENT}.sessionContext.shutdown()")
