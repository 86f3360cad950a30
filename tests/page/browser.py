"""A real Chromium without a window, driven over W3C WebDriver, with Python's standard library."""

import base64
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "ArrowDown": "\ue015", "ArrowUp": "\ue013",
        "ArrowLeft": "\ue012", "ArrowRight": "\ue014", "Tab": "\ue004", "Home": "\ue011", "End": "\ue010"}


def find_programs():
    """Chromium and its driver, or None."""
    chromium = shutil.which("chromium")
    driver = shutil.which("chromedriver")
    return (chromium, driver) if chromium and driver else None


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Browser:
    """One window. To be used in a with statement."""

    def __init__(self, width=1280, height=800):
        self.size = (width, height)

    def __enter__(self):
        chromium, driver = find_programs()
        self.profile = tempfile.mkdtemp(prefix="flor-browser-")
        port = free_port()
        self.driver = subprocess.Popen(
            [driver, f"--port={port}", "--allowed-ips=127.0.0.1", "--log-level=OFF"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self.profile, "TMPDIR": self.profile})
        self.base = f"http://127.0.0.1:{port}"
        self.wait_until(lambda: self.call("GET", "/status")["ready"], "chromedriver to start", 30)
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync",
                     "--disable-dev-shm-usage", "--hide-scrollbars", "--force-device-scale-factor=1",
                     f"--user-data-dir={self.profile}/profile", f"--window-size={self.size[0]},{self.size[1]}"]
        wanted = {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"},
                  "goog:chromeOptions": {"binary": chromium, "args": arguments}}
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = f"/session/{answer['sessionId']}"
        self.resize(*self.size)
        return self

    def __exit__(self, *_):
        try:
            self.call("DELETE", self.session)
        except (OSError, AttributeError, RuntimeError):
            pass
        self.driver.terminate()
        self.driver.wait(10)
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, path, body=None):
        data = None if method in ("GET", "DELETE") else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.base + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=180) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise RuntimeError(f"{value['error']}: {value['message'].splitlines()[0]}") from None

    def wait_until(self, condition, what, seconds=40):
        """Waits until `condition` is true, and returns what it is."""
        end = time.monotonic() + seconds
        while True:
            try:
                value = condition()
                if value:
                    return value
            except (OSError, RuntimeError, KeyError, TypeError, IndexError, ValueError):
                pass
            if time.monotonic() > end:
                raise AssertionError(f"waited {seconds} s for {what}")
            time.sleep(0.03)

    def open(self, url):
        self.call("POST", self.session + "/url", {"url": url})

    def run(self, script, *arguments):
        """What the script returns; it has its arguments in `arguments`."""
        return self.call("POST", self.session + "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector):
        found = self.call("POST", self.session + "/element", {"using": "css selector", "value": selector})
        return found[ELEMENT]

    def click(self, selector):
        self.wait_for(selector)
        self.call("POST", f"{self.session}/element/{self.find(selector)}/click")

    def write(self, selector, text):
        self.call("POST", f"{self.session}/element/{self.find(selector)}/value", {"text": text})

    def press(self, *keys):
        """Keys, one after the other, to whatever has the focus."""
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.call("POST", self.session + "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def drag(self, selector, start, end):
        """Draws with the mouse over an element, from one share of its width to another."""
        box = self.run("const b = document.querySelector(arguments[0]).getBoundingClientRect();"
                       "return [b.left, b.top, b.width, b.height];", selector)
        at = [{"type": "pointerMove", "duration": 40, "x": int(box[0] + share * box[2]),
               "y": int(box[1] + box[3] / 2)} for share in (start, (start + end) / 2, end)]
        actions = [at[0], {"type": "pointerDown", "button": 0}, at[1], at[2], {"type": "pointerUp", "button": 0}]
        self.call("POST", self.session + "/actions", {"actions": [
            {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}]})

    def text(self, selector):
        return self.run("const e = document.querySelector(arguments[0]); return e && e.innerText;", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.innerText.trim());", selector)

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length;", selector)

    def wait_for(self, selector, seconds=40):
        self.wait_until(lambda: self.count(selector) > 0, selector, seconds)

    def wait_text(self, selector, part, seconds=40):
        self.wait_until(lambda: part in (self.text(selector) or ""), f"'{part}' in {selector}", seconds)

    def resize(self, width, height):
        """Of what is seen, not of the window."""
        self.cdp("Emulation.setDeviceMetricsOverride",
                 width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme):
        """What the system is said to prefer: light or dark."""
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def cdp(self, command, **parameters):
        return self.call("POST", self.session + "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def screenshot(self, name):
        """Kept in FLOR_TEST_SCREENSHOTS, where that is set."""
        place = os.environ.get("FLOR_TEST_SCREENSHOTS")
        if not place:
            return
        pathlib.Path(place).mkdir(parents=True, exist_ok=True)
        picture = self.call("GET", self.session + "/screenshot")
        (pathlib.Path(place) / f"{name}.png").write_bytes(base64.b64decode(picture))

    def complaints(self):
        """What the browser wrote to its console: errors of the script, what the policy refused."""
        entries = self.call("POST", self.session + "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]
