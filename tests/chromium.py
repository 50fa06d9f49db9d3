"""A headless Chromium for tests, spoken to through a pipe in its DevTools protocol."""

import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from stackwars.setup import preflight

BINARY = shutil.which(preflight.BROWSER)
"""None if there is none."""
WITHOUT = preflight.explain_browser()
SECONDS = 60
FIRST_PICTURE = """(async () => {
  const drawn = () => performance.getEntriesByName("drawn")[0]?.startTime;
  while (!drawn()) await new Promise((done) => setTimeout(done, 5));
  return new Promise((done) => {
    // The first list may have the first paint alone, of a background.
    const each = (list) => list.getEntriesByName("first-contentful-paint").forEach(
      (one) => done(Math.max(drawn(), one.startTime)));
    new PerformanceObserver(each).observe({ type: "paint", buffered: true });
  });
})()"""
"""Evaluates to the milliseconds from the opening of the page until its first view is drawn."""
_GO = """(async () => {
  const wanted = %s;
  if (location.hash !== wanted) {
    const moved = new Promise((done) => addEventListener("hashchange", done, { once: true }));
    location.hash = wanted;
    await moved;
  }
  await show();
})()"""
_MARKUP = r"document.body.innerHTML.replace(/<script[^]*?<\/script>/g, '')"


class Chromium:
    """One browser with one page. errors: messages of its console."""

    def __init__(self, profile: Path) -> None:
        commands, self._out = os.pipe()
        self._in, answers = os.pipe()
        # Above 4, for the browser's own ends become 3 and 4.
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (commands, answers)]
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
        flags += [f"--user-data-dir={profile}", "--window-size=1280,900", "--no-first-run", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$0" "$@" 3<&{ends[0]} 4>&{ends[1]}', BINARY, *flags],
            pass_fds=ends, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for fd in (commands, answers, *ends):
            os.close(fd)
        self._received, self._count, self._session = b"", 0, None
        self.path, self._width = None, None
        self.errors: list[str] = []
        self._events: list[dict] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict:
        """Send a command and return its answer."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def open(self, path: Path) -> None:
        """Open a file, until it is loaded, in its first view."""
        self.path = path
        self._events.clear()
        self.call("Page.navigate", url=path.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._next()

    def show(self, path: Path) -> None:
        """Open a file, unless it is open."""
        if path != self.path:
            self.open(path)

    def resize(self, width: int) -> None:
        """Set the width of the page; another one needs the file to be opened again."""
        if width != self._width:
            size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            self.call("Emulation.setDeviceMetricsOverride", **size)
            self.path, self._width = None, width

    def go(self, view: str) -> None:
        """Show the report at this fragment."""
        self.evaluate(_GO % json.dumps(view and f"#{view}"))

    def visit(self, view: str) -> str:
        """Return the report's markup at this fragment, which may have megabytes."""
        self.go(view)
        return self.evaluate(_MARKUP)

    def evaluate(self, expression: str) -> Any:
        """Return the awaited value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def press(self, key: str, **more: Any) -> None:
        """Press a key and let it go."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **more)

    def close(self) -> None:
        """End the browser."""
        self._process.terminate()
        self._process.wait()
        os.close(self._out)
        os.close(self._in)

    def _next(self) -> dict:
        """Return the next message: an answer, or an event, which is recorded."""
        deadline = time.monotonic() + SECONDS
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._in], [], [], max(0, deadline - time.monotonic()))
            more = os.read(self._in, 2**20) if ready else b""
            assert more, "chromium gave no answer"
            self._received += more
        text, _, self._received = self._received.partition(b"\0")
        message = json.loads(text)
        if "method" in message:
            self._events.append(message)
            self._look(message["method"], message["params"])
        return message

    def _look(self, method: str, event: dict) -> None:
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(event["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning"):
            self.errors.append(json.dumps(event["args"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] == "error":
            self.errors.append(event["entry"]["text"])
