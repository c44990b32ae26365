"""Headless Chromium, controlled by the DevTools protocol over a pipe: no server, no port."""

import base64
import json
import os
import select
import shutil
import subprocess
import time


def find():
    """The browser's path, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One page. `complaints` are its console messages, `requests` the addresses that it loaded."""

    def __init__(self, profile):
        # The browser reads commands from its descriptor 3 and writes answers to 4.
        command_end, self._out = os.pipe()
        self._in, answer_end = os.pipe()
        high = [os.dup(end) for end in (command_end, answer_end)]  # out of the way of 3 and 4
        shell = f'exec "$0" "$@" 3<&{high[0]} 4>&{high[1]}'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, find(), "--headless=new", "--no-sandbox", "--disable-gpu",
             "--remote-debugging-pipe", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             f"--user-data-dir={profile}", "about:blank"],
            pass_fds=high, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        for end in (command_end, answer_end, *high):
            os.close(end)
        self._rest, self._count, self._session = b"", 0, None
        self.complaints, self.requests, self._loaded = [], [], False
        targets = self.ask("Target.getTargets")["targetInfos"]
        target = next(each["targetId"] for each in targets if each["type"] == "page")
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def close(self):
        self._process.kill()
        self._process.wait()
        os.close(self._out)
        os.close(self._in)

    def _message(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self._rest:
            if not select.select([self._in], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self._in, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended")
            self._rest += piece
        message, self._rest = self._rest.split(b"\0", 1)
        message = json.loads(message)
        method, told = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.complaints.append([each.get("value") for each in told["args"]])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(told["exceptionDetails"])
        elif method == "Log.entryAdded":
            self.complaints.append(told["entry"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method == "Page.loadEventFired":
            self._loaded = True
        return message

    def ask(self, method, seconds=60, **words):
        self._count += 1
        question = {"id": self._count, "method": method, "params": words}
        if self._session:
            question["sessionId"] = self._session
        os.write(self._out, json.dumps(question).encode() + b"\0")
        while True:
            message = self._message(seconds)
            if message.get("id") == self._count:
                assert "error" not in message, (method, message["error"])
                return message["result"]

    def open(self, address):
        self.complaints, self.requests, self._loaded = [], [], False
        self.ask("Page.navigate", url=address)
        self._wait_for_page(60)

    def _wait_for_page(self, seconds):
        while not self._loaded:
            self._message(seconds)

    def look(self, width=1280, height=900, dark=False, printed=False):
        """Sets the size of the window, the colour scheme and the medium."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", media="print" if printed else "", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def value(self, expression):
        """The value of a JavaScript expression in the page."""
        return self.ask("Runtime.evaluate", expression=expression,
                        returnByValue=True)["result"].get("value")

    def click(self, x, y):
        """Clicks once the page is drawn: what is pressed before that, the browser drops."""
        self.ask("Runtime.evaluate", awaitPromise=True, expression=(
            "new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))"))
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, name, code, text=""):
        """Presses a key, which writes the text."""
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code,
                     text=text if kind == "keyDown" else "")

    def follow(self, x, y):
        """Clicks what opens another page and waits for that: a busy browser may lose a click."""
        self._loaded = False
        for _ in range(3):
            self.click(x, y)
            try:
                return self._wait_for_page(10)
            except TimeoutError:
                pass
        raise TimeoutError("a click opens no page")

    def screenshot(self):
        """The whole page, as PNG."""
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def pdf(self):
        """The page as it is printed."""
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=False)["data"])
