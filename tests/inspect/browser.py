"""A headless Chromium, driven through its DevTools protocol over a pipe."""
import base64
import json
import os
import shutil
import subprocess
import tempfile

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


def program():
    """The path of a browser, or None."""
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Browser:
    """One page without a network. `errors` collects exceptions, console errors and requests."""

    def __init__(self, width=1200, height=900):
        self.profile = tempfile.mkdtemp()
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        command = [program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                   "--disable-background-networking", "--disable-dev-shm-usage",
                   "--allow-file-access-from-files", "--remote-debugging-pipe",
                   f"--user-data-dir={self.profile}", "about:blank"]
        shell = f"exec \"$@\" 3<&{to_browser} 4>&{from_browser}"
        self.process = subprocess.Popen(["bash", "-c", shell, "bash", *command],
                                        pass_fds=(to_browser, from_browser),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.last_id, self.session = b"", 0, None
        self.errors, self.loaded = [], False
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.send("Network.emulateNetworkConditions", offline=True, latency=0,
                  downloadThroughput=-1, uploadThroughput=-1)
        self.resize(width, height)

    def send(self, method, **parameters):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def read(self):
        while b"\0" not in self.buffer:
            chunk = os.read(self.input, 1 << 20)
            if not chunk:
                raise RuntimeError("the browser has gone")
            self.buffer += chunk
        message, self.buffer = self.buffer.split(b"\0", 1)
        answer = json.loads(message)
        self.note(answer)
        return answer

    def note(self, event):
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.errors.append(str(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.errors.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = parameters["request"]["url"]
            if not url.startswith(("file:", "data:", "blob:")):
                self.errors.append(f"request: {url}")

    def open(self, path, ready="document.documentElement.dataset.ready === 'true'"):
        """Waits until the page says that it is drawn."""
        self.loaded = False
        self.send("Page.navigate", url=f"file://{path}")
        while not self.loaded:
            self.read()
        self.evaluate(f"new Promise((done, fail) => {{ let left = 400; const look = () => {ready} ? "
                      "done(true) : left-- > 0 ? setTimeout(look, 50) : fail('never drawn'); look(); })")

    def evaluate(self, expression):
        """The value of an expression, awaited."""
        result = self.send("Runtime.evaluate", expression=expression, awaitPromise=True,
                           returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def resize(self, width, height, mobile=False):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=mobile)

    def set_print(self, on):
        """Lays the page out as on paper."""
        self.send("Emulation.setEmulatedMedia", media="print" if on else "")

    def set_dark(self, dark):
        self.send("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def point_at(self, selector, index=0):
        """Moves the mouse to the middle of an element."""
        x, y = self.evaluate(f"(() => {{ const e = document.querySelectorAll({selector!r})[{index}];"
                             "e.scrollIntoView({block: 'center', behavior: 'instant'});"
                             "const r = e.getBoundingClientRect();"
                             "return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key,
                      text=key if len(key) == 1 and kind == "keyDown" else "")

    def choose(self, selector, value):
        """Picks an option of a select element."""
        self.evaluate(f"(() => {{ const e = document.querySelector({selector!r}); e.value = {value!r};"
                      "e.dispatchEvent(new Event('change', {bubbles: true})); })()")

    def settle(self):
        """Lets what the page does next happen."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 60)))")

    def screenshot(self, path, whole_page=True):
        data = self.send("Page.captureScreenshot", captureBeyondViewport=whole_page)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)
