"""A page in headless Chromium, driven over its remote debugging pipe.

The pipe is the descriptors 3 and 4 of the browser: no port is open, and the browser ends with it.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",  # in a container there is often no namespace for one
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]
KEY_CODES = {"Tab": 9, "Enter": 13, "Escape": 27, "Backspace": 8, "Home": 36}
KEY_CODES.update({"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40})


class Browser:
    """One browser with one page.  Use it in a with statement."""

    def __init__(self):
        self.folder = tempfile.mkdtemp()
        self.last_id = 0
        self.unread = b""
        self.errors = []  # what the page's console said, and what was thrown
        self.requests = []  # addresses that were asked for
        self.start()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.call(domain + ".enable")

    def start(self):
        self.session = None
        ours, its = [os.pipe(), os.pipe()], [3, 4]
        # Above the numbers that the browser's ends get, so that none overwrites another.
        theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (ours[0][0], ours[1][1])]

        def place():
            for end, number in zip(theirs, its):
                os.dup2(end, number)

        self.process = subprocess.Popen(
            ["chromium", *ARGUMENTS, "--user-data-dir=" + self.folder],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self.folder},
            preexec_fn=place,
            close_fds=False,
        )
        for end in [ours[0][0], ours[1][1], *theirs]:
            os.close(end)
        self.to, self.from_ = ours[0][1], ours[1][0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.to)
        os.close(self.from_)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- The protocol ---

    def call(self, method, **parameters):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        text = json.dumps(message).encode() + b"\0"
        while text:
            text = text[os.write(self.to, text) :]
        while True:
            answer = self.receive()
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self):
        while b"\0" not in self.unread:
            if not select.select([self.from_], [], [], 60)[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self.from_, 1 << 16)
            if not more:
                raise EOFError("the browser has ended")
            self.unread += more
        text, self.unread = self.unread.split(b"\0", 1)
        message = json.loads(text)
        self.note(message)
        return message

    def note(self, message):
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded":
            text = parameters["entry"]["text"]
            if "willReadFrequently" not in text:  # advice about getImageData, which tests call
                self.errors.append(text)
        elif method == "Runtime.consoleAPICalled":
            self.errors.append(str([arg.get("value") for arg in parameters["args"]]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    # --- What a person does ---

    def open(self, path, width=1200, height=900, theme="light"):
        self.errors, self.requests = [], []
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": theme},
                    {"name": "prefers-reduced-motion", "value": "reduce"}]
        self.call("Emulation.setEmulatedMedia", features=features)
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait("document.readyState === 'complete' && "
                  "document.documentElement.dataset.readyMillis")

    def run(self, script):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def wait(self, condition):
        end = time.monotonic() + 60
        while not self.run(condition):
            if time.monotonic() > end:
                raise TimeoutError(condition)
            time.sleep(0.02)

    def key(self, key, shift=False):
        event = {"key": key, "modifiers": 8 if shift else 0}
        event["windowsVirtualKeyCode"] = KEY_CODES.get(key, ord(key[0].upper()))
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
        self.call("Input.dispatchKeyEvent", **down, **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def write(self, text):
        self.call("Input.insertText", text=text)

    def mouse(self, kind, x, y, button="none"):
        pressed = 1 if button == "left" and kind != "mouseReleased" else 0
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button,
                  buttons=pressed, clickCount=1 if button == "left" else 0)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, "left")
        self.mouse("mouseReleased", x, y, "left")

    def drag(self, start, end):
        self.mouse("mouseMoved", *start)
        self.mouse("mousePressed", *start, "left")
        for part in (0.3, 0.6, 1):
            x = start[0] + (end[0] - start[0]) * part
            self.mouse("mouseMoved", x, end[1], "left")
        self.mouse("mouseReleased", *end, "left")

    def wheel(self, x, y, pixels, ctrl=False):
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=pixels,
                  modifiers=2 if ctrl else 0)

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def screenshot(self, path):
        self.run("1")
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
