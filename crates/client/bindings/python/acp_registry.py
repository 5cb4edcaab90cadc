"""Client of `acp-registry rpc` for Python 3.10 and later, without dependencies. Types: acp_registry.pyi.

A request blocks its thread; `Registry.begin` does not, and its future also works with `asyncio.wrap_future`.
"""

import json
import os
import subprocess
import sysconfig
import threading
from concurrent.futures import Future


def _program():
    """The program that a wheel has installed beside this Python, whose directory need not be in PATH; else that in PATH."""
    installed = os.path.join(sysconfig.get_path("scripts"), "acp-registry.exe" if os.name == "nt" else "acp-registry")
    return installed if os.path.isfile(installed) else "acp-registry"


class RpcError(Exception):
    """A request that failed. `data["code"]` is the stable name of the failure."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error["code"]
        self.data = error["data"]


class Call:
    """A request in progress."""

    def __init__(self, registry, number, on_event):
        self.future = Future()
        # A caller may stop waiting, for example with `asyncio.wait_for`: the request then continues until `cancel`.
        self.future.set_running_or_notify_cancel()
        self.on_event = on_event
        self._registry, self._number = registry, number

    def result(self, timeout=None):
        return self.future.result(timeout)

    def cancel(self):
        """Asks to cancel the request, which then fails with the code -32800 unless it has ended."""
        self._registry._send({"method": "$/cancel_request", "params": {"requestId": self._number}})


class Registry:
    """A running `acp-registry rpc`. Events arrive on a thread of its own."""

    def __init__(self, args=(), program=None, env=None):
        self._process = subprocess.Popen(
            [program or _program(), "rpc", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
        )
        self._lock = threading.Lock()
        self._calls = {}
        self._last = 0
        self._has_ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def begin(self, method, params=None, on_event=None):
        """Sends a request. `on_event` gets its progress."""
        with self._lock:
            if self._has_ended:
                raise ConnectionError("acp-registry has ended")
            self._last += 1
            number = self._last
            call = self._calls[number] = Call(self, number, on_event)
        self._send({"id": number, "method": method, "params": params or {}})
        return call

    def request(self, method, params=None, on_event=None):
        """Sends a request, and waits for its result."""
        return self.begin(method, params, on_event).result()

    def close(self):
        """Lets requests that only read finish, cancels all others, and ends the process."""
        with self._lock:
            try:
                self._process.stdin.close()
            except BrokenPipeError:
                pass  # It has ended, and left a part of a request unread.
        self._reader.join()
        self._process.stdout.close()
        self._process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _send(self, message):
        line = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
        with self._lock:
            if not self._has_ended and not self._process.stdin.closed:
                try:
                    self._process.stdin.write(line.encode())
                    self._process.stdin.flush()
                except BrokenPipeError:
                    pass  # The reader notices the end of the process.

    def _read(self):
        try:
            for line in self._process.stdout:
                self._receive(json.loads(line))
        finally:
            with self._lock:
                self._has_ended = True
                calls, self._calls = self._calls, {}
            for call in calls.values():
                call.future.set_exception(ConnectionError("acp-registry has ended"))

    def _receive(self, message):
        if message.get("method") == "$/progress":
            number = message["params"]["requestId"]
            call = self._calls.get(number)
            if call and call.on_event:
                try:
                    call.on_event(message["params"]["event"])
                except Exception as error:  # Of the caller, whose request it fails.
                    del self._calls[number]
                    call.cancel()
                    call.future.set_exception(error)
        elif message["id"] is None:
            # The answer to a line that could not be read, which may have been any request.
            with self._lock:
                calls, self._calls = self._calls, {}
            for call in calls.values():
                call.future.set_exception(RpcError(message["error"]))
        elif call := self._calls.pop(message["id"], None):
            if "error" in message:
                call.future.set_exception(RpcError(message["error"]))
            else:
                call.future.set_result(message["result"])


def launch(agent, **options):
    """Starts an installed agent, which speaks the Agent Client Protocol on stdin and stdout."""
    env = {**agent["env"], **os.environ}
    if path := os.environ.get("PATH"):
        env["PATH"] = os.pathsep.join([path, *agent.get("path", [])])
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": env}
    return subprocess.Popen([agent["program"], *agent["args"]], **{**pipes, **options})
