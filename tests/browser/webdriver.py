"""A browser driven through WebDriver's HTTP, with nothing but the standard library."""
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Escape": "\ue00c", "Enter": "\ue007", "Tab": "\ue004", "Up": "\ue013", "Down": "\ue015",
        "Left": "\ue012", "Right": "\ue014"}


class Failed(Exception):
    pass


def missing():
    """Why there can be no browser here; "" if there can."""
    for program in "chromium", "chromedriver":
        if not shutil.which(program):
            return f"no {program} (Debian packages chromium and chromium-driver)"
    return ""


class Browser:
    def __init__(self, profile, width=1300, height=900):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
        port = ""
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                port = line.rstrip(".\n").split()[-1]
                break
        self.base = f"http://127.0.0.1:{port}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", f"--user-data-dir={profile}", f"--window-size={width},{height}"]
        asked = {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"}}}}
        self.session = self.call("POST", "/session", asked)["sessionId"]

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"},
                                         method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise Failed(json.load(error)["value"]["message"].splitlines()[0]) from None

    def ask(self, method, path, body=None):
        return self.call(method, f"/session/{self.session}{path}", body)

    def open(self, url):
        # another fragment of the same file is no new document
        self.ask("POST", "/url", {"url": "about:blank"})
        self.ask("POST", "/url", {"url": url})

    def script(self, text, *arguments):
        return self.ask("POST", "/execute/sync", {"script": text, "args": list(arguments)})

    def address(self):
        return self.ask("GET", "/url")

    def find(self, selector):
        return self.ask("POST", "/element", {"using": "css selector", "value": selector})

    def click(self, element):
        self.ask("POST", f"/element/{element[ELEMENT]}/click", {})

    def press(self, *keys):
        """Keys typed at whatever has the focus: names of KEYS or text."""
        actions = []
        for key in keys:
            for letter in [KEYS[key]] if key in KEYS else key:
                actions += [{"type": "keyDown", "value": letter}, {"type": "keyUp", "value": letter}]
        self.ask("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def dark(self, is_dark):
        self.ask("POST", "/goog/cdp/execute", {
            "cmd": "Emulation.setEmulatedMedia",
            "params": {"features": [{"name": "prefers-color-scheme",
                                     "value": "dark" if is_dark else "light"}]}})

    def scripts_off(self, are_off):
        self.ask("POST", "/goog/cdp/execute", {"cmd": "Emulation.setScriptExecutionDisabled",
                                               "params": {"value": are_off}})

    def size(self, width, height):
        self.ask("POST", "/window/rect", {"width": width, "height": height})

    def screenshot(self, path):
        import base64
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.ask("GET", "/screenshot")))

    def console(self):
        """What the console holds since it was last asked: errors and warnings."""
        entries = self.ask("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]

    def wait(self, text, what, seconds=5):
        """Until the script's value is true; its value."""
        until = time.monotonic() + seconds
        while True:
            value = self.script(text)
            if value:
                return value
            if time.monotonic() > until:
                raise Failed(f"not so: {what}")
            time.sleep(0.02)

    def close(self):
        try:
            self.ask("DELETE", "")
        except (Failed, OSError):
            pass
        self.driver.terminate()
        self.driver.wait(10)
        self.driver.stdout.close()
